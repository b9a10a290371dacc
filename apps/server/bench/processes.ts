import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

/** A server in a process of its own. */
export interface ServerProcess {
  readonly pid: number;
  /** Its first line on stdout. */
  readonly firstLine: string;
  stop(): Promise<void>;
}

/** Starts a program and waits for its first line. */
export async function startServer(
  script: string,
  args: readonly string[],
  env: Record<string, string>,
  stderr: "inherit" | "ignore" = "inherit",
): Promise<ServerProcess> {
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", script, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", stderr],
  });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  const firstLine = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code}`)));
  });
  if (child.pid === undefined) throw new Error(`${script} did not start`);
  return {
    pid: child.pid,
    firstLine,
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** Microseconds of processor time that a process, or its children that have ended, have used so far (Linux; elsewhere NaN). */
export async function cpuMicroseconds(pid: number, whose: "own" | "ended children" = "own"): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // Fields 14 and 15 of proc(5), or 16 and 17, in ticks of 10 ms.
  const first = whose === "own" ? 11 : 13;
  return (Number(fields[first]) + Number(fields[first + 1])) * 10_000;
}
