#!/usr/bin/env node
import { userInfo } from "node:os";
import type { CliContext, Signals } from "./cli/context.ts";
import { createOutput } from "./cli/output.ts";
import { runProgram } from "./cli/program.ts";
import { processEnvironment, readConfig } from "./config.ts";
import { openStore } from "./db/open.ts";
import { createIds } from "./ids.ts";
import { prepareDataDir } from "./startup/data-dir.ts";
import { explainDatabaseFailure } from "./startup/database-failure.ts";
import { resolveSystem } from "./systems/service.ts";
import { readVersion } from "./version.ts";

const clock = () => Date.now();
const ids = createIds(clock);

process.exitCode = await runProgram(process.argv.slice(2), readVersion(), createContext);
// A connection that is dead without saying so must not keep the process alive.
setTimeout(() => process.exit(), 2_000).unref();

function createContext({ json }: { readonly json: boolean }): CliContext {
  const config = readConfig(processEnvironment(), process.cwd());
  const output = createOutput(json, process);
  const actor = `cli:${accountName()}`;
  return {
    config,
    actor,
    clock,
    ids,
    output,
    signals: createSignals(),
    async withDatabase(work) {
      for (const warning of config.warnings) output.note(`Warning: ${warning}`);
      if (config.databaseUrl === undefined) await prepareDataDir(config);
      const store = await openStore({
        databaseUrl: config.databaseUrl,
        dataDir: config.dataDir,
        // Imports run as long as they must.
        statementTimeout: 0,
        onEmbeddedEvent: () => undefined,
        onConnectionLost: () => undefined,
      }).catch((error: unknown) => {
        throw explainDatabaseFailure(error, config);
      });
      try {
        return await work(store.db, store.applied);
      } finally {
        await store.close();
      }
    },
    resolveSystem: (db, named) => resolveSystem({ db, clock, ids, actor }, named, config.systemId),
  };
}

/** The account of the operating system that runs the command: who acted, for the audit log. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return String(process.getuid?.() ?? "unknown");
  }
}

/** The first signal stops gently; a second one, for the impatient, at once. */
function createSignals(): Signals {
  return {
    untilStopped: () =>
      new Promise((resolve) => {
        const stop = () => {
          process.once("SIGTERM", () => process.exit(1));
          process.once("SIGINT", () => process.exit(1));
          resolve();
        };
        let stopped = false;
        for (const signal of ["SIGTERM", "SIGINT"] as const) {
          process.once(signal, () => {
            if (stopped) return;
            stopped = true;
            stop();
          });
        }
      }),
  };
}
