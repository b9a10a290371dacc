import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readVersion } from "../../../version.ts";
import { oldestProgramOf, parseSteps, type Step } from "./schema-change.rules.ts";

/** The version of a program, and the migrations that it has. */
export interface Program {
  readonly version: string;
  readonly migrations: readonly Migration[];
}

/** A file of migrations/, which changes the schema in one or more steps. */
export interface Migration {
  readonly number: number;
  /** The file's name. */
  readonly name: string;
  /** The oldest version that works on the changed schema; undefined: only versions that have the migration. */
  readonly oldestProgram: string | undefined;
  readonly steps: readonly Step[];
}

const MIGRATIONS = join(import.meta.dirname, "../../../../migrations");

/** Reads the version and the migrations of this program. @param directory of the migrations */
export async function readProgram(directory = MIGRATIONS, version = readVersion()): Promise<Program> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_.*\.sql$/.test(name)).sort();
  const migrations = names.map(async (name) => readMigration(name, await readFile(join(directory, name), "utf8")));
  return { version, migrations: await Promise.all(migrations) };
}

function readMigration(name: string, sql: string): Migration {
  try {
    return { number: Number(name.slice(0, 4)), name, oldestProgram: oldestProgramOf(sql), steps: parseSteps(sql) };
  } catch (error) {
    throw new Error(`The migration ${name} cannot be read.`, { cause: error });
  }
}
