#!/usr/bin/env node
// oxlint-disable eslint/no-restricted-properties, node/no-process-env -- here the program takes what is the machine's
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { runProgram } from "./program.ts";

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());
// Whoever reads only the beginning, as `head` does, is not told about a broken pipe.
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
