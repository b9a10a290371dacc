import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { systemsOf } from "../city/systems/service.ts";
import type { ActorContext } from "../command-context.ts";
import type { Config } from "../config.ts";
import type { ServiceClock } from "../health/conditions/service-clock.ts";
import type { Ids } from "../ids.ts";
import type { Signals } from "../runtime/startup/signals.ts";
import { noteSandboxUse } from "../sandbox/service.ts";
import type { Server } from "../storage/db/connections.ts";
import type { Database } from "../storage/db/database.ts";
import type { Output, Result } from "./output.ts";

/** The program, or a command with subcommands. */
export type ParentCommand = CommandUnknownOpts;

/** Returns the context once the options of the command line are read. */
export type OpenCli = () => CliContext;

/** Runs a command line within this process. */
export type RunCommand = (args: readonly string[], cli: CliContext) => Promise<void>;

/** The context of every command, created once by `runCommandLine`. */
export interface CliContext {
  readonly config: Config;
  /** Milliseconds since 1970. Follows the database's clock once the database is open. */
  readonly clock: () => number;
  /** The clock behind `clock` and `ids`, for commands that run a service. */
  readonly serviceClock?: ServiceClock;
  readonly ids: Ids;
  /** The actor of the command for the audit log: `cli:` and the name of the account. */
  readonly actor: string;
  /** The system that `--system` names. */
  readonly system: string | undefined;
  readonly output: Output;
  readonly signals: Signals;
  /**
   * Opens the database (our own PostgreSQL when none is configured), brings its schema up to date, runs `work`
   * with it and the names of the migrations just applied, and closes everything again.
   */
  readonly withDatabase: <Value>(work: (db: Database, applied: readonly string[]) => Promise<Value>) => Promise<Value>;
  /** Opens the database (our own PostgreSQL when none is configured) and leaves its schema as it is. */
  readonly openDatabaseAsIs: () => Promise<Server>;
  /**
   * Returns the system that a command works on: the one that is named, or the only one there is (created when there is
   * none).
   */
  readonly resolveSystem: (db: Database, named: string | undefined) => Promise<string>;
}

/** The context of a command on the whole deployment. */
export interface DeploymentContext extends CliContext, ActorContext {
  readonly db: Database;
}

/** The context of a command on one system. */
export interface SystemContext extends DeploymentContext {
  readonly systemId: string;
  /** Beginning of the commands that hints suggest: `--system <id> ` where there are several systems, otherwise empty. */
  readonly systemOption: string;
}

/** Runs a command and prints its result. */
export async function run(cli: CliContext, command: (cli: CliContext) => Promise<Result>): Promise<void> {
  cli.output.result(await command(cli));
}

/**
 * Opens the database, runs a command on the system that `--system` names, or on the only one, and prints its result. A
 * command that prints by itself while it runs returns undefined.
 */
export function runOnSystem(
  cli: CliContext,
  command: (context: SystemContext) => Promise<Result | undefined>,
): Promise<void> {
  return cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, cli.system);
    const systems = (await systemsOf(db)).map(({ system_id: id }) => id);
    // `systemsOf` lists no sandboxes.
    const isSandbox = !systems.includes(systemId);
    const isOneOfMany = systems.length > 1 || isSandbox;
    // Keeps deliveries and rides of the sandbox going for a while after the command.
    if (isSandbox) await noteSandboxUse({ ...cli, db }, systemId);
    const result = await command({ ...cli, db, systemId, systemOption: isOneOfMany ? `--system ${systemId} ` : "" });
    if (result !== undefined) cli.output.result(result);
  });
}

/** Opens the database, runs a command on the whole deployment, whatever systems it has, and prints its result. */
export function runOnDeployment(
  cli: CliContext,
  command: (context: DeploymentContext) => Promise<Result>,
): Promise<void> {
  return cli.withDatabase(async (db) => cli.output.result(await command({ ...cli, db })));
}

/** Returns a signal that is aborted with the message when the process is told to stop. */
export function stopSignal({ signals }: CliContext, message: string): AbortSignal {
  const stop = new AbortController();
  signals.untilStopped().then(
    () => stop.abort(new Error(message)),
    (error: unknown) => stop.abort(error),
  );
  return stop.signal;
}
