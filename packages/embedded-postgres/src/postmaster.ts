import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { program } from "./binaries.ts";
import { type Account, runAs, systemCode } from "./operating-system.ts";

/** PostgreSQL's main process, as postmaster.pid describes it. `status`: `starting`, `ready` or `stopping`. */
export type Postmaster = { pid: number; port: number; status: string };

export const pidFileOf = (data: string) => join(data, "postmaster.pid");

/** Returns the content of postmaster.pid, whether current or left over from a dead server. */
export async function readPidFile(data: string): Promise<Postmaster | undefined> {
  try {
    // Line 1 has the pid, line 4 the port, line 8 the status.
    const lines = (await readFile(pidFileOf(data), "utf8")).split("\n");
    const pid = Number(lines[0]);
    // A file that is being written may not have a pid yet.
    if (!Number.isInteger(pid) || pid <= 1) return undefined;
    return { pid, port: Number(lines[3] ?? 0), status: lines[7]?.trim() ?? "starting" };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Returns the running PostgreSQL of this data directory, if there is one. */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const found = await readPidFile(data);
  return found && (await isPostmasterOf(found.pid, data)) ? found : undefined;
}

/**
 * Tells whether `pid` is a PostgreSQL that runs on `data`. It is false for a zombie, and for an unrelated process that got
 * the pid of a dead one. On Windows every living process counts.
 */
export async function isPostmasterOf(pid: number, data: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === "win32") return true;
  try {
    if (process.platform === "linux") {
      // Every account can read this file (a container's root cannot read /proc/<pid>/cwd). It is empty for a zombie. The
      // kernel answers it from memory: handing the read to other threads takes twelve times as long.
      const [name = "", ...args] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return basename(name) === "postgres" && args.includes(data);
    }
    const { stdout } = await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
    return stdout.includes("/bin/postgres ") && stdout.includes(`-D ${data} `);
  } catch {
    // The process ended meanwhile.
    return false;
  }
}

/** Tells whether a process has this pid. A process of another account (EPERM) counts too. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}

/** Asks PostgreSQL to stop. INT: roll back, write a checkpoint, exit. QUIT: exit at once, recover at the next start. */
export async function signalPostmaster(
  pid: number,
  signal: "INT" | "QUIT",
  binaries: string,
  account: Account | undefined,
): Promise<void> {
  if (process.platform === "win32") {
    // Windows has no signals; pg_ctl uses PostgreSQL's replacement for them.
    await runAs(account, program(binaries, "pg_ctl"), ["kill", signal, String(pid)]);
    return;
  }
  try {
    process.kill(pid, `SIG${signal}`);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

/**
 * Bytes of the log in an error message. Too low: omits lines of the last start. Too high: makes the message too long.
 */
const TAIL_BYTES = 4096;

/** Returns the lines that the PostgreSQL process `pid` itself wrote at the end of the cluster's newest log. */
export async function readLog(data: string, pid: number | undefined): Promise<string> {
  if (pid === undefined) return "";
  return (await readLogEnd(data, TAIL_BYTES)).filter((line) => line.includes(`[${pid}]`)).join("\n");
}

/** Bytes of the log that are searched for a full disk. Too low: lines of the recovery push the reason out of the range. */
const CRASH_BYTES = 64 * 1024;

/**
 * Returns the newest line of the log that reports a crash of PostgreSQL because the disk was full. Clients do not get this
 * message. Returns undefined when there is no such line, or when the log cannot be read: a start must not fail for that.
 */
export async function findFullDisk(data: string): Promise<string | undefined> {
  const lines = await readLogEnd(data, CRASH_BYTES).catch((): string[] => []);
  return lines.findLast((line) => / PANIC: {2}.*No space left on device/.test(line));
}

async function readLogEnd(data: string, bytes: number): Promise<string[]> {
  const file = await newestLog(join(data, "log"));
  if (file === undefined) return [];
  const handle = await open(file, "r");
  try {
    const start = Math.max(0, (await handle.stat()).size - bytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, start);
    return buffer.toString("utf8", 0, bytesRead).split("\n");
  } finally {
    await handle.close();
  }
}

async function newestLog(directory: string): Promise<string | undefined> {
  // The directory does not exist before the first start.
  const files = (await readdir(directory).catch(() => [])).map((name) => join(directory, name));
  const dated = await Promise.all(files.map(async (file) => ({ file, changed: (await stat(file)).mtimeMs })));
  return dated.sort((a, b) => b.changed - a.changed)[0]?.file;
}
