import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { CliContext, OpenCli, ParentCommand, RunCommand } from "./context.ts";
import { UsageError } from "./options.ts";

/** A command as its words. */
const commandLine = z.array(z.string()).min(1);

/** Commands that run until they are stopped, or that run others. */
const REJECTED: ReadonlySet<string> = new Set(["start", "serve", "run", "simulate", "sync"]);

/**
 * `run`: many commands in one process and over one connection to the database. To make 200 partners with a process for
 * each takes minutes.
 */
export function registerRun(program: ParentCommand, cli: OpenCli, runCommand: RunCommand): void {
  program
    .command("run")
    .description("run many commands: each line of a file is one, as a JSON array of its words")
    .argument("<file>", "the file, or - for standard input")
    .action((file) => runLines(cli(), file, runCommand));
}

async function runLines(cli: CliContext, file: string, runCommand: RunCommand): Promise<void> {
  const input = file === "-" ? process.stdin : createReadStream(file);
  await cli.withDatabase(async (db, applied) => {
    const context: CliContext = { ...cli, withDatabase: (work) => work(db, applied) };
    let line = 0;
    for await (const text of createInterface({ input })) {
      line++;
      if (text.trim() === "") continue;
      try {
        await runCommand(readCommand(text), context);
      } catch (error) {
        throw new Error(`Line ${line} failed, and nothing after it was run.`, { cause: error });
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
    throw new UsageError('Is not a JSON array of strings, such as ["partners","create","Journey Planner"].');
  if (REJECTED.has(words[0] ?? ""))
    throw new UsageError(`${words[0]} cannot be one of many commands: run it by itself.`);
  return words;
}
