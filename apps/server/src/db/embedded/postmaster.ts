import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { type Account, runAs } from "./account.ts";
import { systemCode } from "./errors.ts";
import { program } from "./platform-package.ts";

/** PostgreSQL's first process, as its own postmaster.pid describes it. `status` is `starting`, `ready`, `stopping`. */
export type Postmaster = { pid: number; port: number; status: string };

export const pidFileOf = (data: string) => join(data, "postmaster.pid");

/** What postmaster.pid says, whether true or left over from a dead server. */
export async function readPidFile(data: string): Promise<Postmaster | undefined> {
  try {
    const lines = (await readFile(pidFileOf(data), "utf8")).split("\n");
    const pid = Number(lines[0]);
    // A file that is just being written has no pid or no status yet.
    if (!Number.isInteger(pid) || pid <= 1) return undefined;
    return { pid, port: Number(lines[3] ?? 0), status: lines[7]?.trim() ?? "starting" };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The running PostgreSQL of this data directory, if there is one. */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const found = await readPidFile(data);
  return found && (await isPostmasterOf(found.pid, data)) ? found : undefined;
}

/**
 * Whether `pid` is a PostgreSQL started on `data`, and not an unrelated process that got the number
 * of a dead one (nor a dead one that nobody has reaped).
 */
export async function isPostmasterOf(pid: number, data: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === "win32") return true;
  if (process.platform === "linux") {
    // World-readable, unlike /proc/<pid>/cwd, which a container's root may not read of another account. Empty for a zombie.
    const [name, ...args] = (await readOrEmpty(`/proc/${pid}/cmdline`)).split("\0");
    return basename(name ?? "") === "postgres" && args.includes(data);
  }
  const command = await commandLine(pid);
  return command.includes("/bin/postgres ") && command.includes(`-D ${data} `);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}

async function readOrEmpty(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch {
    // It ended between two looks.
    return "";
  }
}

async function commandLine(pid: number): Promise<string> {
  try {
    return (await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)])).stdout;
  } catch {
    return "";
  }
}

/** INT: no new work, roll back, checkpoint, exit. QUIT: exit at once, recover at the next start. */
export async function signalPostmaster(
  pid: number,
  signal: "INT" | "QUIT",
  binaries: string,
  account: Account | undefined,
): Promise<void> {
  if (process.platform === "win32") {
    // Windows has no signals; pg_ctl speaks to PostgreSQL's stand-in for them.
    await runAs(account, program(binaries, "pg_ctl"), ["kill", signal, String(pid)]);
    return;
  }
  try {
    process.kill(pid, `SIG${signal}`);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}
