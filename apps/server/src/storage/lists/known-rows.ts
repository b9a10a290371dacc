import type { QueryRunner } from "../db/database.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { listChanged, listFollowing, type OwnerValues, type RememberableList } from "./remembered-queries.ts";
import { type RowKey, SortedRows } from "./sorted-rows.ts";

/** The position up to which the changes of a list are known: that of `ChangeWatch`. Positions are microseconds since 1970. */
interface Follow {
  standing(table: RememberableList["table"], whose: Omit<RowsOfOwner, "owner">): Promise<Standing>;
}

interface Standing {
  /** Every change before this position is committed and visible, or never will be. */
  readonly position: number;
  readonly now: number;
  readonly isUncertain: boolean;
  readonly history: string;
}

/** The owner of known rows. */
export interface RowsOfOwner {
  readonly systemId: string;
  readonly partnerId: string;
  /** The values of the list's first parameters. */
  readonly owner: OwnerValues;
}

/** The source of the rows. */
export interface RowSource {
  /** Both on the primary: a replica may lag behind an earlier read. */
  readonly db: QueryRunner;
  readonly readPool: ReadPool;
  readonly follow: Follow;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/** A list that is known. */
export interface KnownRows {
  readonly rows: SortedRows;
  readonly history: string;
  readonly resets: number;
  /** All changes before it are known, … */
  since: number;
  /** … and of those behind it these, by the row. */
  recent: ReadonlyMap<string, number>;
  /** When `since` was last asked for. */
  standingAt: number;
}

/** Milliseconds between two queries for the changes still to come. In between, each page reads the changes since. */
const STANDING_MS = 1_000;
/** The interval while these changes are many. */
const MANY_STANDING_MS = 100;
const MANY = 500;
/** The records of older changes may be deleted: those of removed bikes are stored for some days. */
const MAX_UNFOLLOWED_US = 24 * 3_600_000_000;
/** Before every row. */
const FIRST: RowKey = { time: Date.UTC(0), id: "" };

/**
 * Reads a whole list in chunks, and then its changes since.
 * @returns undefined when it takes more than `maxBytes`, false when its changes cannot be followed at present
 */
export async function learnRows(
  source: RowSource,
  list: RememberableList,
  whose: RowsOfOwner,
  maxBytes: number,
): Promise<KnownRows | undefined | false> {
  const { position, history, isUncertain } = await source.follow.standing(list.table, whose);
  if (isUncertain) return false;
  const { resets } = await listChanged(source.readPool, list, whose.owner, position);
  const kinds = Object.entries(list.columns).map(([name, { kind }]) => [name, kind] as const);
  const rows = new SortedRows(Object.fromEntries(kinds));
  for (let after = FIRST, isMore = true; isMore;) {
    const read = await listFollowing(source.db, list, whose.owner, after);
    rows.write(read.rows);
    if (rows.bytes > maxBytes) return undefined;
    after = { time: read.rows.times.at(-1) ?? 0, id: read.rows.ids.at(-1) ?? "" };
    ({ isMore } = read);
  }
  const known: KnownRows = { rows, history, resets, since: position, recent: new Map(), standingAt: -Infinity };
  return (await catchUp(source, list, whose, known)) && known;
}

/** Reads the changes of a list. @returns false when changes may be missing: then the list must be read anew */
export async function catchUp(
  { follow, readPool, monotonic }: RowSource,
  list: RememberableList,
  whose: RowsOfOwner,
  known: KnownRows,
): Promise<boolean> {
  const intervalMs = known.recent.size > MANY ? MANY_STANDING_MS : STANDING_MS;
  const isDue = Math.abs(monotonic() - known.standingAt) > intervalMs;
  // Read before the changes: later changes are behind it.
  const standing = isDue ? await follow.standing(list.table, whose) : undefined;
  if (standing !== undefined && !isFollowed(known, standing)) return false;
  const { rows, positions, removed, resets } = await listChanged(readPool, list, whose.owner, known.since);
  if (known.resets !== resets) return false;
  known.rows.remove(removed);
  known.rows.write(rows);
  known.recent = new Map(rows.ids.map((id, index) => [id, positions[index] ?? 0]));
  if (standing === undefined) return true;
  known.standingAt = monotonic();
  if (!standing.isUncertain) known.since = Math.max(known.since, standing.position);
  return true;
}

/** Tells whether the history is the same, the clock has not been set back, and all that was removed since is still kept. */
function isFollowed({ history, since }: KnownRows, standing: Standing): boolean {
  return history === standing.history && since <= standing.now && since > standing.now - MAX_UNFOLLOWED_US;
}
