#!/usr/bin/env node
import { userInfo } from "node:os";
import type { CliContext } from "./cli/context.ts";
import { createOutput } from "./cli/output.ts";
import { runProgram } from "./cli/program.ts";
import { processEnvironment, readConfig } from "./config.ts";
import { openStore } from "./db/open.ts";
import { createIds } from "./ids.ts";
import { prepareDataDir } from "./startup/data-dir.ts";
import { explainDatabaseFailure, explainFullDisk } from "./startup/database-failure.ts";
import { watchLauncher } from "./startup/launcher.ts";
import { createSignals } from "./startup/signals.ts";
import { resolveSystem } from "./systems/service.ts";
import { readVersion } from "./version.ts";

const clock = () => Date.now();
const ids = createIds(clock);

// A terminal that was closed takes no more words; what is under way still has to end in order.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EIO") throw error;
  });
}

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
    signals: createSignals(process, watchLauncher),
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
      } catch (error) {
        throw explainFullDisk(error, config);
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
