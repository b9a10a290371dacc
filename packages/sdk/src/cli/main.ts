#!/usr/bin/env node
// oxlint-disable eslint/no-restricted-properties, node/no-process-env -- the entry point reads the process's environment
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { runProgram } from "./program.ts";

/* The entry point of the command line `bikeshare-sdk`: gives the program what it uses of the process. */

const stopping = new AbortController();
// Once, so that a second signal ends a process that does not stop.
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());
// When the reader of the output stops early, as `head` does, the pipe closes. This is not an error.
process.stdout.on("error", () => process.exit());

process.exitCode = await runProgram(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: () => Date.now(),
  randomBytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
  wait: (ms, signal) => setTimeout(ms, undefined, { signal }),
  readFile: (path) => readFile(path, "utf8"),
  stopped: stopping.signal,
});
