import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Program, readProgram } from "../src/storage/db/migrate/program.ts";

const MIGRATIONS = join(import.meta.dirname, "../migrations");

/**
 * Returns a program of a later version, with the present migrations and additional ones. @param added the texts of the
 * additional migrations
 */
export async function laterProgram(version: string, ...added: readonly string[]): Promise<Program> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-migrations-"));
  try {
    await cp(MIGRATIONS, directory, { recursive: true });
    const last = Number.parseInt((await readProgram()).migrations.at(-1)?.name ?? "0", 10);
    const number = (index: number) => String(last + index + 1).padStart(4, "0");
    for (const [index, sql] of added.entries()) await writeFile(join(directory, `${number(index)}_added.sql`), sql);
    return await readProgram(directory, version);
  } finally {
    await rm(directory, { recursive: true });
  }
}
