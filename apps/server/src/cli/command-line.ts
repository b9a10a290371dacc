import { userInfo } from "node:os";
import { resolveSystem } from "../city/systems/service.ts";
import { processEnvironment, readConfig } from "../config.ts";
import { createServiceClock } from "../health/conditions/service-clock.ts";
import { createIds } from "../ids.ts";
import { prepareDataDir } from "../runtime/startup/checks.ts";
import { explainDatabaseFailure, explainFullDisk } from "../runtime/startup/database-failure.ts";
import { watchLauncher } from "../runtime/startup/launcher.ts";
import { createSignals } from "../runtime/startup/signals.ts";
import { openServer, openStore } from "../storage/db/open.ts";
import { auditLogOwner } from "../storage/partitions/audit-owner.ts";
import { createFirstPartitions } from "../storage/partitions/service.ts";
import { readVersion } from "../version.ts";
import type { CliContext } from "./context.ts";
import { createOutput } from "./output.ts";
import { type GlobalOptions, runProgram } from "./program.ts";

/**
 * Runs the command line of this process.
 * @param machineClock milliseconds since 1970
 * @returns the exit status
 */
export function runCommandLine(machineClock: () => number): Promise<number> {
  return runProgram(process.argv.slice(2), readVersion(), (options) => createContext(machineClock, options));
}

function createContext(machineClock: () => number, { json, system }: GlobalOptions): CliContext {
  const serviceClock = createServiceClock(machineClock, () => performance.now());
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
    signals: createSignals({ source: process, watchLauncher, monotonic: () => performance.now() }),
    async openDatabaseAsIs() {
      await prepare();
      return openServer(where).catch(explain);
    },
    async withDatabase(work) {
      await prepare();
      // Imports may run for hours.
      const timing = {
        statementTimeoutMs: 0,
        auditLog: auditLogOwner,
        onConnectionLost: () => undefined,
        onMigrating: (message: string) => output.note(message),
      };
      const store = await openStore({ ...where, ...timing }).catch(explain);
      try {
        if (store.applied.length > 0) await createFirstPartitions(store.db, clock);
        return await work(store.db, store.applied);
      } catch (error) {
        throw explainFullDisk(error, config);
      } finally {
        await store.close();
      }
    },
    resolveSystem: (db, named) => resolveSystem({ db, clock, ids, actor }, named, config.systemId),
  };
}

/** The operating system account that runs the command, which the audit log names as the actor. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user id may have no name.
    return String(process.getuid?.() ?? "unknown");
  }
}
