import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { z } from "zod";
import { readVersion } from "../version.ts";
import { type CliContext, type OpenCli, type ParentCommand, run, type RunCommand } from "./context.ts";
import { UsageError } from "./options.ts";
import { localAddress } from "./serve.ts";

/* The commands `run`, which runs the commands of a file, and `openapi`. */

/** A line of the file that `run` reads: a command's words. */
const commandLine = z.array(z.string()).min(1);

/** Commands that `run` rejects: they run until they are stopped, or run other commands. */
const REJECTED: ReadonlySet<string> = new Set(["start", "serve", "run", "simulate", "sync"]);

/**
 * Registers `run`, which runs many commands in one process and on one pool of connections, because starting a process takes
 * a second.
 */
export function registerRun(program: ParentCommand, cli: OpenCli, runCommand: RunCommand): void {
  program
    .command("run")
    .description("run the commands of a file: each line is one, as a JSON array of its words")
    .argument("<file>", "the file, or - for standard input")
    .action((file) => runLines(cli(), file, runCommand));
}

async function runLines(cli: CliContext, file: string, runCommand: RunCommand): Promise<void> {
  await cli.withDatabase(async (db, applied) => {
    const context: CliContext = { ...cli, withDatabase: (work) => work(db, applied) };
    let line = 0;
    // Opened just before its lines are read: an earlier error of the stream would find no handler, and end the process.
    const input = file === "-" ? process.stdin : (await open(file)).createReadStream();
    for await (const text of createInterface({ input })) {
      line++;
      if (text.trim() === "") continue;
      try {
        await runCommand(readCommand(text), context);
      } catch (error) {
        throw new Error(`Line ${line} of ${file} failed; later lines were not run.`, { cause: error });
      }
    }
  });
}

function readCommand(text: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const { data: words } = commandLine.safeParse(value);
  if (words === undefined)
    throw new UsageError(
      `${text} is not a JSON array of strings. Write a command such as ["partners","create","Journey Planner"].`,
    );
  if (REJECTED.has(words[0] ?? ""))
    throw new UsageError(`${words[0]} cannot be one of several commands: run it by itself.`);
  return words;
}

/** Registers `openapi`, which prints the OpenAPI document without a running service. */
export function registerOpenApi(program: ParentCommand, cli: OpenCli): void {
  program
    .command("openapi")
    .description("print the OpenAPI document that the service serves at /openapi.json")
    .action(() =>
      run(cli(), async ({ config }) => {
        // Loaded here, so that the other commands do not wait for it.
        const { createOpenApiDocument } = await import("@bikeshare/contract/openapi");
        const baseUrl = config.publicUrl ?? localAddress(config);
        const document = createOpenApiDocument({ baseUrl, version: readVersion() });
        return { object: document, text: JSON.stringify(document, null, 2) };
      }),
    );
}
