import { UsageError } from "../errors/errors.ts";
import type { ClientOptions } from "../options.ts";
import { type Given, textOf } from "./command.ts";
import type { Host } from "./host.ts";
import type { Output } from "./output.ts";

/** Shorter waits for the limit go by before they are read. */
const WAIT_WORTH_SAYING_MS = 2_000;

/**
 * What a client is made of: from the options, else from the environment.
 *
 * @throws UsageError that names what is missing
 */
export async function readConnection(given: Given, host: Host, output: Output): Promise<ClientOptions> {
  const { env } = host;
  const baseUrl = textOf(given, "base-url") ?? env["BIKESHARE_BASE_URL"];
  if (!baseUrl) throw new UsageError("say where the service is: set BIKESHARE_BASE_URL, or give --base-url <URL>");
  const apiKey = await readKey(textOf(given, "api-key-file"), host);
  return {
    baseUrl,
    apiKey,
    userAgent: "bikeshare-sdk-cli",
    onRateLimit: ({ waitMs }) => {
      if (waitMs > WAIT_WORTH_SAYING_MS) output.note(`Waiting ${Math.ceil(waitMs / 1000)} s for the key's limit …`);
    },
  };
}

async function readKey(file: string | undefined, { env, readFile }: Host): Promise<string> {
  const text = file === undefined ? env["BIKESHARE_API_KEY"] : await readSecretFile("api-key-file", file, readFile);
  if (text?.trim()) return text.trim();
  throw new UsageError("say which key: set BIKESHARE_API_KEY, or give --api-key-file <path>");
}

/**
 * What a file holds that an option names. A key or secret on the command line itself would be in the shell's history and
 * in every list of processes.
 *
 * @throws UsageError that names the option
 */
export async function readSecretFile(flag: string, file: string, readFile: Host["readFile"]): Promise<string> {
  return readFile(file).catch((error: unknown) => {
    throw new UsageError(`--${flag}: ${error instanceof Error ? error.message : "it cannot be read"}`);
  });
}
