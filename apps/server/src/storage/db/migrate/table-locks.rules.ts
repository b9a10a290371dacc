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

/** The requests that wait while a lock is held. */
export type Blocked = "nothing" | "writes" | "reads and writes";

export function strongerOf(one: LockMode, other: LockMode): LockMode {
  return lockModes.indexOf(one) > lockModes.indexOf(other) ? one : other;
}

/**
 * Returns the requests that a lock makes wait. Locks up to `share update exclusive` block only other changes of the schema.
 */
export function blockedBy(mode: LockMode): Blocked {
  if (mode === "access exclusive") return "reads and writes";
  return lockModes.indexOf(mode) >= lockModes.indexOf("share") ? "writes" : "nothing";
}

/** The work that a statement does on existing rows while it holds its locks. All but "none" take longer for more rows. */
export type Work = "none" | "scan" | "index build" | "rows" | "rewrite";

export interface TableLock {
  readonly table: string;
  readonly mode: LockMode;
}

/** The effect of a migration's statement on existing tables. */
export interface SchemaChange {
  /** The first is that of the table which the work is on. */
  readonly locks: readonly TableLock[];
  readonly work: Work;
  /** The table that it creates. */
  readonly creates?: string | undefined;
  /** The index whose table it locks. The text does not name that table. */
  readonly index?: { readonly name: string; readonly mode: LockMode };
  /** The column or table that the statement removes, although an older program may still use it. */
  readonly removes?: string | undefined;
  /** The values that the statement forbids, although an older program may still write them. */
  readonly narrows?: string | undefined;
  /** The reason why the statement fails or harms, whatever the size of the table. */
  readonly issue?: string | undefined;
  /** A replacement for a statement that blocks requests for long. */
  readonly advice?: string | undefined;
}
