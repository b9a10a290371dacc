import { Command, CommanderError } from "commander";
import { ConfigError } from "../config.ts";
import type { CliContext } from "./context.ts";
import { registerRegions, registerVehicleTypes } from "./descriptions.ts";
import { registerBikes, registerStations } from "./fleet.ts";
import { registerImportGbfs, registerReplayGbfs, registerSyncGbfs } from "./gbfs.ts";
import { registerImportTrips } from "./import-trips.ts";
import { registerImports } from "./imports.ts";
import { registerKeys } from "./keys.ts";
import { registerMaintenance } from "./maintenance.ts";
import { UsageError } from "./options.ts";
import { registerPartners } from "./partners.ts";
import { registerServe } from "./serve.ts";
import { registerSimulate } from "./simulate.ts";
import { registerStart } from "./start.ts";
import { registerSystems } from "./systems.ts";
import { registerWebhooks } from "./webhooks.ts";

/** Exit statuses of every command. */
const FAILED = 1;
const WRONG_USAGE = 2;

/** The options of every command. */
export interface GlobalOptions {
  readonly json: boolean;
  readonly system: string | undefined;
}

/**
 * Runs the command line.
 * @param open makes what the commands work with, once the global options are known
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage
 */
export async function runProgram(
  args: readonly string[],
  version: string,
  open: (options: GlobalOptions) => CliContext,
): Promise<number> {
  try {
    await createProgram(version, open).parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    return exitStatus(error, (text) => process.stderr.write(`${text}\n`));
  }
}

/** Every command of the program, with its options. */
export function createProgram(version: string, open: (options: GlobalOptions) => CliContext): Command {
  const program = new Command("bikeshare")
    .description("The Bike-Sharing Data Service")
    .version(version)
    .option("--json", "one JSON object on stdout, everything else on stderr")
    .option("--system <id>", "which bike-share system, where there are several")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  let opened: CliContext | undefined;
  const context = () => {
    const { json = false, system } = program.opts<Partial<GlobalOptions>>();
    return (opened ??= open({ json, system }));
  };
  registerStart(program, context);
  registerServe(program, context);
  registerSystems(program, context);
  registerVehicleTypes(program, context);
  registerRegions(program, context);
  registerStations(program, context);
  registerBikes(program, context);
  registerPartners(program, context);
  registerKeys(program, context);
  registerWebhooks(program, context);
  const imports = program.command("import").description("import data");
  registerImportGbfs(imports, context);
  registerImportTrips(imports, context);
  registerImports(imports, context);
  registerMaintenance(program, context);
  registerSimulate(program, context);
  registerReplayGbfs(program.command("replay").description("apply recorded data"), context);
  registerSyncGbfs(program.command("sync").description("follow live data"), context);
  return program;
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

/** The message and what caused it, without stack traces: they are for developers, not for operators. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `\n  because: ${describeFailure(error.cause)}` : "";
  return `${error.message}${cause}`;
}
