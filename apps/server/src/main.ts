#!/usr/bin/env node
import { userInfo } from "node:os";
import type { CliContext } from "./cli/context.ts";
import { createOutput } from "./cli/output.ts";
import { type GlobalOptions, runProgram } from "./cli/program.ts";
import { processEnvironment, readConfig } from "./config.ts";
import { openStore } from "./db/open.ts";
import { createIds } from "./ids.ts";
import { prepareDataDir } from "./startup/checks.ts";
import { explainDatabaseFailure, explainFullDisk } from "./startup/database-failure.ts";
import { watchLauncher } from "./startup/launcher.ts";
import { createSignals } from "./startup/signals.ts";
import { resolveSystem } from "./systems/service.ts";
import { readVersion } from "./version.ts";

/** How long open connections may keep the process alive after its command has ended. */
const EXIT_TIMEOUT_MS = 2_000;

const clock = () => Date.now();
const ids = createIds(clock);

// A closed terminal accepts no more output; the process still has to stop in order.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EIO") throw error;
  });
}

process.exitCode = await runProgram(process.argv.slice(2), readVersion(), createContext);
// A half-open connection must not keep the process alive.
setTimeout(() => process.exit(), EXIT_TIMEOUT_MS).unref();

function createContext({ json, system }: GlobalOptions): CliContext {
  const config = readConfig(processEnvironment(), process.cwd());
  const output = createOutput(json, process);
  const actor = `cli:${accountName()}`;
  return {
    config,
    actor,
    system,
    clock,
    ids,
    output,
    signals: createSignals({ source: process, watchLauncher, monotonic: () => performance.now() }),
    async withDatabase(work) {
      for (const warning of config.warnings) output.note(`Warning: ${warning}`);
      if (config.databaseUrl === undefined) await prepareDataDir(config);
      const store = await openStore({
        databaseUrl: config.databaseUrl,
        dataDir: config.dataDir,
        // Imports may run for hours.
        statementTimeoutMs: 0,
        onEmbeddedEvent: () => undefined,
        onConnectionLost: () => undefined,
      }).catch((error: unknown) => {
        throw explainDatabaseFailure(error, config);
      });
      try {
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
