import { Command, CommanderError } from "commander";
import { ConfigError } from "../config.ts";
import { registerAudit } from "./audit.ts";
import { registerBikes } from "./bikes.ts";
import { registerCheck } from "./check.ts";
import type { CliContext } from "./context.ts";
import { registerImportGbfs } from "./import-gbfs.ts";
import { registerImportList } from "./import-list.ts";
import { registerImportTrips } from "./import-trips.ts";
import { registerImportUndo } from "./import-undo.ts";
import { registerKeys } from "./keys.ts";
import { registerMigrate } from "./migrate.ts";
import { registerOpenApi } from "./openapi.ts";
import { registerPartners } from "./partners.ts";
import { registerRegions } from "./regions.ts";
import { registerReplayGbfs } from "./replay-gbfs.ts";
import { registerServe } from "./serve.ts";
import { registerSimulate } from "./simulate.ts";
import { registerStart } from "./start.ts";
import { registerStations } from "./stations.ts";
import { registerSyncGbfs } from "./sync-gbfs.ts";
import { registerSystems } from "./systems.ts";
import { UsageError } from "./usage-error.ts";
import { registerVehicleTypes } from "./vehicle-types.ts";
import { registerWebhooks } from "./webhooks.ts";

/** Exit statuses of every command. */
const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * Runs the command line.
 * @param open makes what the commands work with, once the global options are known
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage
 */
export async function runProgram(
  args: readonly string[],
  version: string,
  open: (options: { readonly json: boolean }) => CliContext,
): Promise<number> {
  try {
    await createProgram(version, open).parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    return exitStatus(error, (text) => process.stderr.write(`${text}\n`));
  }
}

/** Every command of the program, with its options. */
export function createProgram(version: string, open: (options: { readonly json: boolean }) => CliContext): Command {
  const program = new Command("bikeshare")
    .description("The Bike-Sharing Data Service")
    .version(version)
    .option("--json", "one JSON object on stdout, everything else on stderr")
    .option("--system <id>", "which bike-share system, where there are several")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  let opened: CliContext | undefined;
  const context = () => (opened ??= open({ json: program.opts<{ json?: boolean }>().json === true }));
  registerStart(program, context);
  registerServe(program, context);
  registerMigrate(program, context);
  registerSystems(program, context);
  registerVehicleTypes(program, context);
  registerRegions(program, context);
  registerStations(program, context);
  registerBikes(program, context);
  registerPartners(program, context);
  registerKeys(program, context);
  registerAudit(program, context);
  registerWebhooks(program, context);
  const imports = program.command("import").description("bring data in");
  registerImportGbfs(imports, context);
  registerImportTrips(imports, context);
  registerImportList(imports, context);
  registerImportUndo(imports, context);
  registerCheck(program, context);
  registerSimulate(program, context);
  registerReplayGbfs(program.command("replay").description("apply recorded data"), context);
  registerSyncGbfs(program.command("sync").description("follow live data"), context);
  registerOpenApi(program, context);
  return program;
}

function exitStatus(error: unknown, say: (text: string) => void): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof UsageError || error instanceof ConfigError) {
    say(error.message);
    return WRONG_USAGE;
  }
  say(describeFailure(error));
  return FAILED;
}

/** The message and what caused it, without stack traces: they are for us, not for the person at the terminal. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `\n  because: ${describeFailure(error.cause)}` : "";
  return `${error.message}${cause}`;
}
