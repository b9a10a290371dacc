import type { Migration, Program } from "./program.ts";

/** A migration as the database records it. */
export interface RecordedMigration {
  readonly number: number;
  /** The oldest version of the program that works on the changed schema; null: only versions that have the migration. */
  readonly oldest_program: string | null;
  /** The number of applied steps. */
  readonly steps_done: number;
  /** When the last step was applied; null: the migration is under way. */
  readonly applied_at: Date | null;
  /** The key of the last row that a running backfill has reached; null: no backfill is running, or it has just begun. */
  readonly position: readonly string[] | null;
}

/** Returns the migrations that a program must still apply or finish. */
export function pendingMigrations(
  { migrations }: Pick<Program, "migrations">,
  recorded: readonly RecordedMigration[],
): Migration[] {
  const applied = new Set(recorded.filter((record) => record.applied_at !== null).map(({ number }) => number));
  return migrations.filter(({ number }) => !applied.has(number));
}

/**
 * Returns the migration, if any, because of which a program cannot work on the schema. Such a migration was applied or begun
 * by a newer version, and names no oldest program or one that is newer than this version.
 */
export function findIncompatible(
  { version, migrations }: Program,
  recorded: readonly RecordedMigration[],
): RecordedMigration | undefined {
  const known = new Set(migrations.map(({ number }) => number));
  return recorded.find(
    ({ number, oldest_program: oldest }) => !known.has(number) && (oldest === null || isOlder(version, oldest)),
  );
}

/** Checks that a program can work on the schema. @throws Error that names the needed version and this one */
export function assertCompatible(program: Program, recorded: readonly RecordedMigration[]): void {
  const newer = findIncompatible(program, recorded);
  if (newer === undefined) return;
  const oldest = newer.oldest_program === null ? "a newer version" : `version ${newer.oldest_program} or newer`;
  throw new Error(
    `The database is at migration ${newer.number}, which needs ${oldest} of the program; this is ${program.version}. Start a newer one, or restore a backup that was made before the upgrade.`,
  );
}

/** Tells whether one version comes before another. Ignores text after the third number, such as `-rc.1`. */
export function isOlder(version: string, other: string): boolean {
  const numbers = (text: string) => text.split(/[.-]/, 3).map(Number);
  const [a, b] = [numbers(version), numbers(other)];
  const at = a.findIndex((number, index) => number !== b[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}
