import { userInfo } from "node:os";
import { Command, CommanderError } from "@commander-js/extra-typings";
import { resolveSystem } from "../city/systems/service.ts";
import { ConfigError, processEnvironment, readConfig } from "../config.ts";
import { compareClock, createServiceClock, type ServiceClock } from "../health/conditions/service-clock.ts";
import { createIds } from "../ids.ts";
import { explainDatabaseFailure, explainFullDisk, prepareDataDir } from "../runtime/startup/checks.ts";
import { createSignals, watchLauncher } from "../runtime/startup/signals.ts";
import { openServer, openStore } from "../storage/db/connections.ts";
import type { Database } from "../storage/db/database.ts";
import { auditLogOwner, createFirstPartitions } from "../storage/partitions/service.ts";
import { readVersion } from "../version.ts";
import type { CliContext, OpenCli, ParentCommand, RunCommand } from "./context.ts";
import { UsageError } from "./options.ts";
import { createOutput, type Output } from "./output.ts";

/*
 * The command line `bikeshare`: reads the global options, loads the module of the command that is called, gives it a context
 * (configuration, clock, database), and turns an error into an exit status.
 */

/**
 * Runs the command line of this process.
 * @param machineClock milliseconds since 1970
 * @returns the exit status
 */
export function runCommandLine(machineClock: () => number): Promise<number> {
  return runProgram(process.argv.slice(2), readVersion(), (options) => createContext(machineClock, options));
}

const monotonic = () => performance.now();

/**
 * Makes the command use the database's clock. Otherwise a key that is revoked on a machine whose clock is an hour ahead
 * would still work for that hour.
 */
async function keepTime(db: Database, clock: ServiceClock, output: Output): Promise<void> {
  const difference = await compareClock(db, clock, monotonic);
  if (difference !== undefined) output.note(`Warning: ${difference.detail}. ${difference.fix}`);
}

function createContext(machineClock: () => number, { json, system }: GlobalOptions): CliContext {
  const serviceClock = createServiceClock(machineClock, monotonic);
  const clock = serviceClock.now;
  const ids = createIds(clock);
  const config = readConfig(processEnvironment(), process.cwd());
  const output = createOutput(json, process);
  const actor = `cli:${accountName()}`;
  const where = { databaseUrl: config.databaseUrl, dataDir: config.dataDir, onEmbeddedEvent: () => undefined };
  const prepare = async () => {
    for (const warning of config.warnings) output.note(`Warning: ${warning}`);
    if (config.databaseUrl === undefined) await prepareDataDir(config);
  };
  const explain = (error: unknown) => {
    throw explainDatabaseFailure(error, config);
  };
  return {
    config,
    actor,
    system,
    clock,
    serviceClock,
    ids,
    output,
    signals: createSignals({ source: process, watchLauncher, monotonic }),
    async openDatabaseAsIs() {
      await prepare();
      return openServer(where).catch(explain);
    },
    async withDatabase(work) {
      await prepare();
      // Statements have no time limit, because imports may run for hours.
      const settings = {
        statementTimeoutMs: 0,
        auditLog: auditLogOwner,
        onConnectionLost: () => undefined,
        onMigrating: (message: string) => output.note(message),
      };
      const store = await openStore({ ...where, ...settings }).catch(explain);
      try {
        await keepTime(store.db, serviceClock, output);
        if (store.applied.length > 0) await createFirstPartitions(store.db, clock);
        return await work(store.db, store.applied);
      } catch (error) {
        throw explainFullDisk(error, config, await store.findFullDisk());
      } finally {
        await store.close();
      }
    },
    resolveSystem: (db, named) => resolveSystem({ db, clock, ids, actor }, named, config.systemId),
  };
}

/** Returns the operating system account that runs the command, which the audit log names as the actor. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user id may have no name.
    return String(process.getuid?.() ?? "unknown");
  }
}

/** Exit statuses of every command. */
const FAILED = 1;
const WRONG_USAGE = 2;

/** The options of every command. */
interface GlobalOptions {
  readonly json: boolean;
  readonly system: string | undefined;
}

/**
 * Runs the command line.
 * @param open creates the commands' context once the global options are known
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage
 */
async function runProgram(
  args: readonly string[],
  version: string,
  open: (options: GlobalOptions) => CliContext,
): Promise<number> {
  let opened: CliContext | undefined;
  const remember = (options: GlobalOptions) => (opened = open(options));
  try {
    const program = await createProgram(version, remember, args[0]);
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    // `note` clears a progress line first, so that the message does not follow it on the same line.
    return exitStatus(error, (text) =>
      opened === undefined ? process.stderr.write(`${text}\n`) : opened.output.note(text),
    );
  }
}

type Register = (program: ParentCommand, cli: OpenCli, runCommand: RunCommand) => void;

/** The modules of commands by their first words, in the order of the program's help. */
const groups: readonly { readonly words: readonly string[]; readonly load: () => Promise<Register> }[] = [
  { words: ["start"], load: async () => (await import("./start.ts")).registerStart },
  { words: ["serve"], load: async () => (await import("./serve.ts")).registerServe },
  { words: ["systems"], load: async () => (await import("./systems.ts")).registerSystems },
  { words: ["vehicle-types"], load: async () => (await import("./descriptions.ts")).registerVehicleTypes },
  { words: ["regions"], load: async () => (await import("./descriptions.ts")).registerRegions },
  { words: ["pricing-plans"], load: async () => (await import("./descriptions.ts")).registerPricingPlans },
  { words: ["zones"], load: async () => (await import("./descriptions.ts")).registerZones },
  { words: ["alerts"], load: async () => (await import("./alerts.ts")).registerAlerts },
  { words: ["stations"], load: async () => (await import("./fleet.ts")).registerStations },
  { words: ["bikes"], load: async () => (await import("./fleet.ts")).registerBikes },
  { words: ["rides"], load: async () => (await import("./fleet.ts")).registerRides },
  { words: ["partners"], load: async () => (await import("./partners.ts")).registerPartners },
  { words: ["keys"], load: async () => (await import("./keys.ts")).registerKeys },
  { words: ["mds"], load: async () => (await import("./mds.ts")).registerMds },
  { words: ["console"], load: async () => (await import("./console.ts")).registerConsole },
  { words: ["secrets"], load: async () => (await import("./maintenance.ts")).registerSecrets },
  { words: ["webhooks"], load: async () => (await import("./webhooks.ts")).registerWebhooks },
  { words: ["import"], load: loadImports },
  {
    words: ["export"],
    load: async () => below("export", "write open data into files", (await import("./exports.ts")).registerExports),
  },
  { words: ["migrate"], load: async () => (await import("./maintenance.ts")).registerMigrate },
  { words: ["gbfs"], load: async () => (await import("./gbfs.ts")).registerGbfs },
  { words: ["check"], load: async () => (await import("./check.ts")).registerCheck },
  { words: ["audit"], load: async () => (await import("./partners.ts")).registerAudit },
  { words: ["openapi"], load: async () => (await import("./run.ts")).registerOpenApi },
  { words: ["set-aside"], load: async () => (await import("./maintenance.ts")).registerSetAside },
  { words: ["doctor"], load: async () => (await import("./check.ts")).registerDoctor },
  { words: ["forget"], load: async () => (await import("./maintenance.ts")).registerForget },
  { words: ["distribute"], load: async () => (await import("./maintenance.ts")).registerDistribute },
  { words: ["backup", "restore"], load: async () => (await import("./maintenance.ts")).registerBackup },
  { words: ["run"], load: async () => (await import("./run.ts")).registerRun },
  { words: ["simulate"], load: async () => (await import("./simulate.ts")).registerSimulate },
  {
    words: ["replay"],
    load: async () => below("replay", "apply recorded data", (await import("./gbfs.ts")).registerReplayGbfs),
  },
  {
    words: ["sync"],
    load: async () => below("sync", "follow live data", (await import("./gbfs.ts")).registerSyncGbfs),
  },
];

async function loadImports(): Promise<Register> {
  const { registerImportGbfs } = await import("./gbfs.ts");
  const { registerImports, registerImportTrips } = await import("./imports.ts");
  return below("import", "import data", (imports, cli) => {
    registerImportGbfs(imports, cli);
    registerImportTrips(imports, cli);
    registerImports(imports, cli);
  });
}

/** Adds commands below a word that is not a command itself. */
function below(word: string, description: string, register: Register): Register {
  return (program, cli, runCommand) => register(program.command(word).description(description), cli, runCommand);
}

/**
 * Creates the program with its commands and their options.
 * @param called the first word of the command line. Only the modules of this command are loaded, because loading all would
 * delay the start of a service by half a second. All are loaded if the word is not a command, such as `--help`.
 */
export async function createProgram(
  version: string,
  open: (options: GlobalOptions) => CliContext,
  called?: string,
): Promise<ParentCommand> {
  const program = new Command("bikeshare")
    .description("The Bike-Sharing Data Service")
    .version(version)
    .option("--json", "print one JSON object on stdout, everything else on stderr")
    .option("--system <id>", "the bike-share system, if there are several")
    .exitOverride()
    .showHelpAfterError("--help shows the commands and options.")
    .configureHelp({ showGlobalOptions: true });
  let opened: CliContext | undefined;
  const cli = () => {
    const { json = false, system } = program.opts();
    return (opened ??= open({ json, system }));
  };
  // `run` gives each line of its file a program of its own, in the context of the whole run.
  const runCommand: RunCommand = async (args, context) => {
    const openLine = (given: GlobalOptions) => {
      rejectGlobalOptions(given);
      return context;
    };
    const commands = await createProgram(version, openLine, args[0]);
    await commands.parseAsync(args, { from: "user" });
  };
  const only = groups.filter(({ words }) => words.includes(called ?? ""));
  for (const { load } of only.length === 0 ? groups : only) (await load())(program, cli, runCommand);
  return program;
}

/** @throws UsageError when a line of the file that `run` reads has an option that holds for the whole run */
function rejectGlobalOptions({ json, system }: GlobalOptions): void {
  if (system === undefined && !json) return;
  const given = system === undefined ? "--json" : "--system";
  throw new UsageError(`A line cannot have ${given} of its own: give it to \`run\` itself, for all lines.`);
}

function exitStatus(error: unknown, write: (text: string) => void): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof UsageError || error instanceof ConfigError) {
    write(error.message);
    return WRONG_USAGE;
  }
  write(describeFailure(error));
  return FAILED;
}

/** Returns the message and its causes, without stack traces, which serve developers only. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `\n  because: ${describeFailure(error.cause)}` : "";
  return `${error.message}${cause}`;
}
