import { BikeShare } from "../client.ts";
import { isBikeShareError } from "../errors/errors.ts";
import { VERSION } from "../version.ts";
import { readArguments } from "./arguments.ts";
import { readConnection } from "./connection.ts";
import { endpointCommands } from "./endpoint-commands.ts";
import { helpOf, overview } from "./help.ts";
import type { Host } from "./host.ts";
import { listenCommand } from "./listen.ts";
import { createOutput, shown } from "./output.ts";

/** Exit statuses of every command. */
const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

const commands = [...endpointCommands(), listenCommand];

/** Runs the command line. @returns the exit status: 0 done, 1 failed, 2 wrong usage */
export async function runProgram(args: readonly string[], host: Host): Promise<number> {
  try {
    const { command, id, given } = readArguments(args, commands);
    const output = createOutput(given["json"] === true, host);
    if (given["version"] === true) host.stdout.write(`${VERSION}\n`);
    else if (command === undefined || given["help"] === true) {
      host.stdout.write(`${command === undefined ? overview(commands) : helpOf(command)}\n`);
    } else {
      const client = new BikeShare(await readConnection(given, host, output));
      await command.run({ client, id, given, output, host });
    }
    return DONE;
  } catch (error) {
    return exitStatus(error, host);
  }
}

function exitStatus(error: unknown, { stderr, stopped }: Host): number {
  if (stopped.aborted) return FAILED;
  const message = shown(error instanceof Error ? error.message : error);
  if (!isBikeShareError(error)) {
    stderr.write(`${message}\n`);
    return FAILED;
  }
  stderr.write(`${message}${error.requestId === undefined ? "" : ` (request ${shown(error.requestId)})`}\n`);
  return error.name === "UsageError" ? WRONG_USAGE : FAILED;
}
