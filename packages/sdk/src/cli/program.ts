import { BikeShare } from "../client.ts";
import { isBikeShareError } from "../errors/errors.ts";
import { VERSION } from "../version.ts";
import { readClientOptions } from "./client-options.ts";
import { commandHelp, parseCommandLine, programHelp } from "./command.ts";
import { endpointCommands } from "./endpoint-commands.ts";
import type { Environment } from "./environment.ts";
import { fakeCommand } from "./fake/fake-command.ts";
import { listenCommand } from "./listen/listen-command.ts";
import { createOutput, printable } from "./output.ts";
import { triggerCommand } from "./trigger-command.ts";

/** The exit statuses of every command. */
const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

const commands = [...endpointCommands(), listenCommand, triggerCommand, fakeCommand];

/** Runs the command line. @returns the exit status: 0 done, 1 failed, 2 wrong usage */
export async function runProgram(args: readonly string[], environment: Environment): Promise<number> {
  try {
    const { command, id, values } = parseCommandLine(args, commands);
    const { stdout } = environment;
    if (values["version"] === true) stdout.write(`${VERSION}\n`);
    else if (command === undefined) stdout.write(`${programHelp(commands)}\n`);
    else if (values["help"] === true) stdout.write(`${commandHelp(command)}\n`);
    else {
      const output = createOutput(values["json"] === true, environment);
      const context = { id, values, output, environment };
      if ("runLocally" in command) await command.runLocally(context);
      else {
        const clientOptions = await readClientOptions(values, environment, output);
        await command.run({ ...context, client: new BikeShare(clientOptions), clientOptions });
      }
    }
    return DONE;
  } catch (error) {
    return reportError(error, environment);
  }
}

/** Prints why a command failed. @returns the exit status */
function reportError(error: unknown, { stderr, stopped }: Environment): number {
  if (stopped.aborted) return FAILED;
  const message = printable(error instanceof Error ? error.message : error);
  if (!isBikeShareError(error)) {
    stderr.write(`${message}\n`);
    return FAILED;
  }
  stderr.write(`${message}${error.requestId === undefined ? "" : ` (request ${printable(error.requestId)})`}\n`);
  return error.name === "UsageError" ? WRONG_USAGE : FAILED;
}
