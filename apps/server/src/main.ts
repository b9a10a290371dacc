#!/usr/bin/env node
// Imports the whole module: older versions of Node lack some of its names, and would fail before the message below.
import nodeModule from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";

/** The oldest Node that works, as in `engines` of package.json. Checked here because npm only warns of an older one. */
const OLDEST_NODE = "22.18";
/**
 * By how many percent the heap may grow before V8 collects all garbage. Too low: costs processor time. Too high: from 60 %
 * on, following a hostile feed takes more than 300 MB; V8's default is 300 %.
 */
const HEAP_GROWTH_PERCENT = 40;
/**
 * After how many milliseconds this begins. Too low: a start, during which little becomes garbage, spends an eighth of its
 * processor time collecting it. Too high: what begins with much garbage takes more memory.
 */
const HEAP_GROWTH_FROM_MS = 2_000;
/** How long open connections may keep the process alive after its command has ended. */
const EXIT_TIMEOUT_MS = 2_000;

if (!isNodeRecent(process.versions.node)) {
  process.stderr.write(
    `Node.js ${OLDEST_NODE} or newer is needed, and this is ${process.versions.node}. Install a newer one, or ` +
      "`npm install node@24` beside this package and run it through npx.\n",
  );
  process.exit(2);
}

setTimeout(() => setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`), HEAP_GROWTH_FROM_MS).unref();

// Caches compiled modules in the directory of the installed packages: an account that may write there could change the
// program anyway. If this account may not write there, nothing is cached, and each start spends half of its time compiling.
nodeModule.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/compiled"));

// A closed terminal (EIO) or a reader that has ended (EPIPE: `bikeshare openapi | head`) accepts no more output. The command
// goes on to its end: a service whose first line was read through a pipe continues to serve, and stops gracefully.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EIO" && error.code !== "EPIPE") throw error;
  });
}

// Imported only after the cache is enabled, because modules that are loaded before are not cached.
const { runCommandLine } = await import("./cli/command-line.ts");
process.exitCode = await runCommandLine(() => Date.now());
// A half-open connection must not keep the process alive.
setTimeout(() => process.exit(), EXIT_TIMEOUT_MS).unref();

function isNodeRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split(".").map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
