import { UsageError } from "../../errors/errors.ts";
import { readSecretFile } from "../client-options.ts";
import { type OptionValues, textOf } from "../command.ts";
import type { Environment } from "../environment.ts";

/** The names of this machine, as `URL.hostname` writes them. */
const LOOPBACK = /^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Returns the address for deliveries. Deliveries contain a partner's data, so an address of another machine must be allowed
 * by `--allow-remote`.
 *
 * @param option the name of the option with the address
 * @throws UsageError that says what is wrong
 */
export function parseTarget(option: string, values: OptionValues): URL {
  const text = textOf(values, option) ?? "";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new UsageError(`--${option} must be an http URL`);
  if (url.username || url.password) throw new UsageError(`--${option} must not contain a user name or password`);
  if (values["allow-remote"] === true || LOOPBACK.test(url.hostname)) return url;
  throw new UsageError(`${url.hostname} is not this machine: give --allow-remote to deliver there`);
}

/** Returns the signing secret and its source. Without a given secret it makes a new one, and `source` is undefined. */
export async function readSecret(
  values: OptionValues,
  { env, readFile, randomBytes }: Environment,
): Promise<{ readonly secret: string; readonly source?: string }> {
  const file = textOf(values, "secret-file");
  const source = file === undefined ? "BIKESHARE_WEBHOOK_SECRET" : `the secret in ${file}`;
  const text =
    file === undefined ? env["BIKESHARE_WEBHOOK_SECRET"] : await readSecretFile("secret-file", file, readFile);
  if (text === undefined) return { secret: `whsec_${Buffer.from(randomBytes(32)).toString("base64url")}` };
  if (text.trim() === "") throw new UsageError("the secret must not be empty");
  return { secret: text.trim(), source };
}
