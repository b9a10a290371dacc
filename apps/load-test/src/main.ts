import { runProgram } from "./program.ts";

/*
 * The command `load-test`. The first signal stops the run gracefully. The same signal again ends the process at once.
 */

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => stopping.abort(new Error("Stopped.")));
}
const { stdout, stderr } = process;
process.exitCode = await runProgram(process.argv.slice(2), { stdout, stderr, signal: stopping.signal });
