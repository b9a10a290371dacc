import { UsageError } from "../errors/errors.ts";
import type { ClientOptions } from "../options.ts";
import { type OptionValues, textOf } from "./command.ts";
import type { Environment } from "./environment.ts";
import type { Output } from "./output.ts";

/** Shorter waits for the rate limit are not announced, because they end before a person has read the message. */
const MIN_ANNOUNCED_WAIT_MS = 2_000;

/**
 * Returns the client's options from the command line or, for those not given, from environment variables.
 *
 * @throws UsageError that names what is missing, or the option whose file cannot be read
 */
export async function readClientOptions(
  values: OptionValues,
  { env, readFile }: Environment,
  output: Output,
): Promise<ClientOptions> {
  const baseUrl = textOf(values, "base-url") ?? env["BIKESHARE_BASE_URL"];
  if (!baseUrl) throw new UsageError("the service's URL is missing: set BIKESHARE_BASE_URL, or give --base-url <URL>");
  const file = textOf(values, "api-key-file");
  const key = file === undefined ? env["BIKESHARE_API_KEY"] : await readSecretFile("api-key-file", file, readFile);
  const apiKey = key?.trim();
  if (!apiKey) throw new UsageError("the API key is missing: set BIKESHARE_API_KEY, or give --api-key-file <path>");
  return {
    baseUrl,
    apiKey,
    userAgent: "bikeshare-sdk-cli",
    onRateLimit: ({ waitMs }) => {
      if (waitMs > MIN_ANNOUNCED_WAIT_MS) {
        output.note(`Waiting ${Math.ceil(waitMs / 1000)} s for the key's rate limit …`);
      }
    },
  };
}

/**
 * Returns the content of a file that an option names. Keys and secrets are read from files, because a value on the command
 * line would be visible in the shell's history and in every list of processes.
 *
 * @throws UsageError that names the option
 */
export async function readSecretFile(option: string, file: string, readFile: Environment["readFile"]): Promise<string> {
  return readFile(file).catch((error: unknown) => {
    throw new UsageError(`--${option}: ${error instanceof Error ? error.message : "the file cannot be read"}`);
  });
}
