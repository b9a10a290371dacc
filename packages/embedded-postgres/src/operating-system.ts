import { execFile, spawn } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { chmod, lstat, mkdir, open, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

/*
 * What the package needs of the operating system: accounts and programs that run as them, directories that no other account
 * can change, and files that survive a power cut.
 */

/** The embedded PostgreSQL could not be started, joined or stopped. The message says what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
}

/** Returns the code of a failed system call (`ENOENT`, `EACCES`, …), if the error is one. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** The operating system's account that PostgreSQL runs as. */
export type Account = { uid: number; gid: number };

/** Returns the uid of this process; undefined on Windows, which has none. */
export function ownUid(): number | undefined {
  return process.geteuid?.();
}

/** Tells whether this process runs as root, which may start PostgreSQL only under another account. */
export function isRoot(): boolean {
  return ownUid() === 0;
}

/**
 * Returns the first account of `names` that this machine has. The account must exist, because initdb refuses a uid without
 * an entry in the password database.
 */
export async function findAccount(names: readonly string[]): Promise<Account> {
  for (const name of names) {
    const uid = await idOf("-u", name);
    const gid = await idOf("-g", name);
    if (uid !== undefined && gid !== undefined && uid !== 0) return { uid, gid };
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL refuses to run as root, and none of these accounts exists: ${names.join(", ")}. ` +
      "Create one (useradd --system postgres), start as another user, or set DATABASE_URL.",
  );
}

async function idOf(flag: "-u" | "-g", name: string): Promise<number | undefined> {
  try {
    // `id` also finds accounts of a directory service, which are not in /etc/passwd.
    const { stdout } = await promisify(execFile)("id", [flag, name]);
    return Number(stdout.trim());
  } catch {
    return undefined;
  }
}

/** The outcome of a program that has ended. `error` is set when the program could not be started. */
export type Finished = { ok: boolean; output: string; error?: Error };

/** Runs a program to its end as `account`. Its environment is almost empty, so that no `PG…` variable reaches it. */
export function runAs(account: Account | undefined, program: string, args: readonly string[]): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...account,
      cwd: "/",
      env: { LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => resolve({ ok: false, output, error }));
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
}

/** Tells whether `account` may pass through `directory`. It runs `test` as `account`, so that access lists count too. */
export async function canEnter(account: Account, directory: string): Promise<boolean> {
  const { ok } = await runAs(account, "/bin/sh", ["-c", 'test -x "$1"', "sh", directory]);
  return ok;
}

/**
 * Makes a directory, and the missing ones above it. It does not use Node's recursive `mkdir`, which never returns below
 * /proc, where the system reports "no such file" although the parent directory exists.
 * @throws the system's error when the directory cannot be made
 */
export function makeDirectory(path: string, mode = 0o777): void {
  if (isDirectory(path)) return;
  const above = dirname(path);
  if (above !== path && statSync(above, { throwIfNoEntry: false }) === undefined) makeDirectory(above, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isDirectory(path)) throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Returns the first directory, from `path` upwards, through which another account could replace `path` or write in it;
 * undefined: none. Above `path` a sticky directory such as /tmp may be writable, because others cannot rename or remove our
 * files there.
 */
export async function findUntrusted(path: string): Promise<string | undefined> {
  const uid = ownUid();
  if (uid === undefined) return undefined;
  let current = await realpath(path);
  for (let isTarget = true; ; isTarget = false) {
    const { uid: owner, mode } = await lstat(current);
    const isWritable = (mode & WRITABLE_BY_OTHERS) !== 0 && (isTarget || (mode & STICKY) === 0);
    if ((owner !== uid && owner !== 0) || isWritable) return current;
    const parent = dirname(current);
    if (parent === current) return undefined;
    current = parent;
  }
}

/**
 * Makes `directory` (0755, so that PostgreSQL's account may pass through). Accepts an existing one if only this account or
 * root could have made it. Never changes the mode of an existing directory.
 */
export async function ensureTrustedDirectory(directory: string): Promise<void> {
  makeDirectory(dirname(directory));
  try {
    await mkdir(directory);
    await chmod(directory, 0o755);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
  await assertTrusted(directory);
}

/** Throws when `directory` is a link, or another account could have written it. */
export async function assertTrusted(directory: string): Promise<void> {
  const isPlain = (await lstat(directory)).isDirectory();
  const untrusted = isPlain ? await findUntrusted(directory) : directory;
  if (untrusted === undefined) return;
  throw new EmbeddedPostgresError(
    `${untrusted} belongs to another account, is writable by others, or is a link, so ${directory} cannot be trusted to hold the database. ` +
      "Remove it if you did not make it, correct its owner and mode, or set DATABASE_URL.",
  );
}

/**
 * Replaces a file atomically and durably: after a power cut it has either the old content or the new one. A file that root
 * writes gets the owner of its directory, so that one start as root does not lock the directory's owner out.
 */
export async function writeDurably(file: string, content: string, mode: number): Promise<void> {
  const temporary = `${file}.partial`;
  // A killed process may have left it. No other process is writing it, because callers hold the data directory's lock.
  await rm(temporary, { force: true });
  const handle = await open(temporary, "wx", mode);
  try {
    if (isRoot()) {
      const { uid, gid } = await stat(dirname(file));
      // The handle is used, because under the name the directory's owner could put another file.
      await handle.chown(uid, gid);
    }
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await renameDurably(temporary, file);
}

/**
 * Renames a file or directory, and returns once the new name survives a power cut. On Windows, the old name may come back.
 */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  // Windows cannot open a directory to sync it. NTFS journals names: a file has its old name or its new one.
  if (process.platform === "win32") return;
  const directory = await open(dirname(to), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
