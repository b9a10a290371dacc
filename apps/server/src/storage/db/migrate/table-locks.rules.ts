/** PostgreSQL's locks on tables, the weakest first. */
const lockModes = [
  "access share",
  "row share",
  "row exclusive",
  "share update exclusive",
  "share",
  "share row exclusive",
  "exclusive",
  "access exclusive",
] as const;

export type LockMode = (typeof lockModes)[number];

/** What requests wait while somebody holds a lock. */
export type Blocked = "nothing" | "writes" | "reads and writes";

export function strongerOf(one: LockMode, other: LockMode): LockMode {
  return lockModes.indexOf(one) > lockModes.indexOf(other) ? one : other;
}

/** What of requests a lock makes wait. Those up to `share update exclusive` stop only other changes of the schema. */
export function blockedBy(mode: LockMode): Blocked {
  if (mode === "access exclusive") return "reads and writes";
  return lockModes.indexOf(mode) >= lockModes.indexOf("share") ? "writes" : "nothing";
}

/** What a statement does to the rows that are there while it holds its locks: nothing, or something that takes longer for more. */
export type Work = "none" | "scan" | "index build" | "rows" | "rewrite";

export interface TableLock {
  readonly table: string;
  readonly mode: LockMode;
}

/** What a statement of a migration does to tables that are there already. */
export interface SchemaChange {
  /** The first is that of the table which the work is on. */
  readonly locks: readonly TableLock[];
  readonly work: Work;
  /** The table that it creates. */
  readonly creates?: string | undefined;
  /** The index whose table it locks. The text does not name that table. */
  readonly index?: { readonly name: string; readonly mode: LockMode };
  /** What a program that was written before may still use. */
  readonly removes?: string | undefined;
  /** What it refuses from then on, which a program that was written before may still write. */
  readonly narrows?: string | undefined;
  /** Why it fails, or harms, whatever the size of the table. */
  readonly issue?: string | undefined;
  /** What to write instead where it stops requests for long. */
  readonly advice?: string | undefined;
}
