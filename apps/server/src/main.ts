#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { join } from "node:path";

/** How long open connections may keep the process alive after its command has ended. */
const EXIT_TIMEOUT_MS = 2_000;

// Beside the installed packages, so that whoever may write there could change the programs as well. Where this account may
// not, nothing is kept, and each start compiles all modules again: that is half of its time.
enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/compiled"));

// A closed terminal accepts no more output; the process still has to stop in order.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EIO") throw error;
  });
}

// Only now: what is imported before is not kept.
const { runCommandLine } = await import("./cli/command-line.ts");
process.exitCode = await runCommandLine(() => Date.now());
// A half-open connection must not keep the process alive.
setTimeout(() => process.exit(), EXIT_TIMEOUT_MS).unref();
