import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { EmbeddedPostgresError } from "./errors.ts";

/** The operating system's account that PostgreSQL runs as. */
export type Account = { uid: number; gid: number };

/** Uid of the process, or undefined where there are none (Windows). */
export function ownUid(): number | undefined {
  return process.geteuid?.();
}

export function isRoot(): boolean {
  return ownUid() === 0;
}

/**
 * The first of `names` that this machine has. initdb refuses an account that the password database
 * does not know, so a made-up number is no way out.
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
    // `id` and not /etc/passwd: accounts may come from a directory service.
    const { stdout } = await promisify(execFile)("id", [flag, name]);
    return Number(stdout.trim());
  } catch {
    return undefined;
  }
}

/** What became of a program that was run to its end. `error` is set when it could not be started at all. */
export type Finished = { ok: boolean; output: string; error?: Error };

/** Runs a program to its end as `account`, with a bare environment so that no PG… variable of ours reaches it. */
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

/** Whether `account` may pass through `directory`. Asked of the kernel itself, so that access lists and mounts count. */
export async function canEnter(account: Account, directory: string): Promise<boolean> {
  const { ok } = await runAs(account, "/bin/sh", ["-c", 'test -x "$1"', "sh", directory]);
  return ok;
}
