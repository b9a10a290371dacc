import type { PageRequest } from "@bikeshare/rules";
import { askTogether, within } from "../background/within.ts";
import type { QueryRunner } from "../db/database.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { type PageRows, startOf } from "./page.ts";
import {
  listChanged,
  listFollowing,
  listRemembered,
  type FirstParameters,
  type RememberableList,
} from "./remembered-queries.ts";
import { type RowKey, type Sieve, SortedRows } from "./sorted-rows.ts";

/*
 * Keeps the filtered columns of lists in memory, so that pages of filtered lists are counted without reading rows. Each
 * change of a row has a position in the order of changes; before a page, the changes behind the last known position are
 * read.
 */

/** Tells how far a list's changes are known: `ChangeWatch` of city/changes. Positions are microseconds since 1970. */
interface Follow {
  standing(table: RememberableList["table"], whose: RowsOfOwner): Promise<Standing>;
}

/** How far the changes of a list are complete. */
interface Standing {
  /** Every change before this position is committed and visible, or never will be. */
  readonly position: number;
  /** The database's clock, as a position. */
  readonly now: number;
  /** Whether open transactions may still commit changes at unknown positions. */
  readonly isUncertain: boolean;
  /** Names the history of writes. It changes after a restore, a failover, and a deletion of rows that left no record. */
  readonly history: string;
}

/** The owner of the rows: a system, or a partner in it. */
interface RowsOfOwner {
  readonly systemId: string;
  readonly partnerId: string;
  /** The values of the list's first parameters. */
  readonly parameters: FirstParameters;
}

/** Where rows and their changes are read from. */
interface RowSource {
  /** `db` and `readPool` both read from the primary: a replica may lag behind an earlier read. */
  readonly db: QueryRunner;
  readonly readPool: ReadPool;
  readonly follow: Follow;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/** One owner's rows of a list in memory, and how far their changes are known. */
interface KnownRows {
  readonly rows: SortedRows;
  readonly history: string;
  /** `Changes.resets` when the list was read. */
  readonly resets: number;
  /** All changes before this position are in `rows`. */
  since: number;
  /** The changes from `since` on that are in `rows` too: the position of each changed row, by its id. */
  recent: ReadonlyMap<string, number>;
  /** When the position for `since` was last queried. */
  standingAt: number;
}

/** Milliseconds between two queries for a newer `since`. In between, each page reads all changes from `since` on. */
const STANDING_MS = 1_000;
/** The same interval while a page reads more than `MANY` changes. */
const MANY_STANDING_MS = 100;
/** A page that reads more changes than this is slower than it should be. */
const MANY = 500;
/** Maximum age of `since`. Records of older changes may be deleted: removed bikes are recorded for some days only. */
const MAX_UNFOLLOWED_US = 24 * 3_600_000_000;
/** A key before every row: no row has a time before the year 1900. */
const FIRST: RowKey = { time: Date.UTC(0), id: "" };

/** The result of reading a list into memory. Its changes cannot be followed while open transactions make them uncertain. */
type Learnt = KnownRows | "too large" | "not followed";

/**
 * Reads a whole list in chunks, and then the changes that were made meanwhile.
 * @returns "too large" when the list takes more than `maxBytes`
 */
async function learnRows(
  source: RowSource,
  list: RememberableList,
  whose: RowsOfOwner,
  maxBytes: number,
): Promise<Learnt> {
  const { position, history, isUncertain } = await source.follow.standing(list.table, whose);
  if (isUncertain) return "not followed";
  // Only the number of resets is needed here.
  const { resets } = await listChanged(source.readPool, list, whose.parameters, position);
  const kinds = Object.entries(list.columns).map(([name, { kind }]) => [name, kind] as const);
  const rows = new SortedRows(Object.fromEntries(kinds));
  let after = FIRST;
  let isMore: boolean;
  do {
    const read = await listFollowing(source.db, list, whose.parameters, after);
    rows.write(read.rows);
    if (rows.bytes > maxBytes) return "too large";
    after = { time: read.rows.times.at(-1) ?? 0, id: read.rows.ids.at(-1) ?? "" };
    ({ isMore } = read);
  } while (isMore);
  const known: KnownRows = { rows, history, resets, since: position, recent: new Map(), standingAt: -Infinity };
  const isCaughtUp = await catchUp(source, list, whose, known);
  return isCaughtUp ? known : "not followed";
}

/** Reads the changes of a list. @returns false when changes may be missing: then the list must be read anew */
async function catchUp(
  { follow, readPool, monotonic }: RowSource,
  list: RememberableList,
  whose: RowsOfOwner,
  known: KnownRows,
): Promise<boolean> {
  const intervalMs = known.recent.size > MANY ? MANY_STANDING_MS : STANDING_MS;
  const isDue = monotonic() - known.standingAt > intervalMs;
  // Queried before the changes are read, so that changes made after the read are behind this position.
  const standing = isDue ? await follow.standing(list.table, whose) : undefined;
  if (standing !== undefined && !isFollowed(known, standing)) return false;
  const { rows, positions, removed, resets } = await listChanged(readPool, list, whose.parameters, known.since);
  if (known.resets !== resets) return false;
  // Removes before it writes, because a removed bike may have been added again.
  known.rows.remove(removed);
  known.rows.write(rows);
  known.recent = new Map(rows.ids.map((id, index) => [id, positions[index] ?? 0]));
  if (standing === undefined) return true;
  known.standingAt = monotonic();
  if (!standing.isUncertain) known.since = Math.max(known.since, standing.position);
  return true;
}

/**
 * Tells whether all changes from `since` on can still be read: the database has the same history, its clock has not been set
 * back, and rows that were removed since then are still recorded.
 */
function isFollowed({ history, since }: KnownRows, standing: Standing): boolean {
  return history === standing.history && since <= standing.now && since > standing.now - MAX_UNFOLLOWED_US;
}

/** A request for a page of a list in memory. */
interface RememberedPage<Position> extends RowsOfOwner {
  readonly sieves: (rows: SortedRows) => readonly Sieve[];
  readonly request: PageRequest<Position>;
  readonly keyOf: (position: Position) => RowKey;
}

/**
 * Caches the filtered columns of lists' rows, so that pages are counted and found without reading rows; the database then
 * returns only the rows of the page. Each page reads the changes since the last one first, so a page is never older than
 * its request.
 */
export interface RowMemory {
  /** Returns a page; undefined: the list is not in memory yet, has too many rows, or changes faster than a page is read. */
  page<Position>(list: RememberableList, asked: RememberedPage<Position>): Promise<PageRows | undefined>;
}

export interface RowMemoryOptions extends Omit<RowSource, "monotonic"> {
  readonly monotonic?: RowSource["monotonic"];
  /** Milliseconds for which a request waits for rows that are being read. */
  readonly maxWaitMs?: number;
  readonly maxBytes?: number;
}

/**
 * Maximum wait for a list to be read. Reading the 100,000 bikes of the largest system takes less. After it, the
 * database counts instead.
 */
const MAX_WAIT_MS = 1_000;
/** Maximum of all lists together; a row takes some 60 bytes. A list that would exceed it is counted in the database. */
const MAX_BYTES = 72_000_000;
/** Maximum share of one list: enough for a million reservations. */
const SHARE_OF_LIST = 0.86;
/** Maximum share of a system's lists of one table, such as reservations. The rest has room for a system's 100,000 bikes. */
const SHARE_OF_KIND = 0.9;
/**
 * Milliseconds after which a list is read anew, because a process of version 0.1.0 records no changes. A list that was too
 * long is tried again after the same time.
 */
const MAX_AGE_MS = 10 * 60_000;
/** Milliseconds after which a list that could not be read is tried again. */
const RETRY_MS = 5_000;
/** Milliseconds after which an unused list is removed once another is read. */
const IDLE_MS = 10 * 60_000;
/** How often a page is tried. It is tried again when one of its rows has changed meanwhile. */
const MAX_ATTEMPTS = 4;

/** The entry of one owner's list, whether its rows are in memory or not. */
interface Remembered {
  /** The system and the table. */
  readonly kind: string;
  /** Undefined: the rows are not in memory. */
  known: KnownRows | undefined;
  /** When the list is to be read, or read anew. */
  dueAt: number;
  usedAt: number;
  /** Settles when the rows have been read into memory; undefined: they are not being read. */
  learning: Promise<void> | undefined;
  /** Reads the latest changes into `known`; undefined: it is not in memory, or must be read anew. */
  readonly refresh: () => Promise<KnownRows | undefined>;
}

/** Creates the memory of a process. A list is read into it when a page by filters is first requested. */
export function createRowMemory({ maxWaitMs = MAX_WAIT_MS, maxBytes, ...given }: RowMemoryOptions): RowMemory {
  const source = { monotonic: () => performance.now(), ...given };
  const lists = createLists(source, maxBytes);

  /** Returns an owner's rows with the latest changes; undefined: they are not in memory, and were not read in time. */
  async function currentOf(list: RememberableList, whose: RowsOfOwner): Promise<KnownRows | undefined> {
    const remembered = lists.of(list, whose);
    remembered.usedAt = source.monotonic();
    const known = remembered.known && (await remembered.refresh());
    const isDue = source.monotonic() > remembered.dueAt;
    // Rows in memory still serve while they are read anew. Only a request that finds none waits.
    const learning = isDue ? lists.learn(list, whose, remembered) : remembered.learning;
    if (known !== undefined || learning === undefined) return known;
    await within(maxWaitMs, learning);
    return remembered.known && remembered.refresh();
  }
  return {
    async page(list, asked) {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const known = await currentOf(list, asked);
        if (known === undefined) return undefined;
        // Uses `known` before the next `await`: during that, another request may change it.
        const { rows, since, recent } = known;
        const selection = { ...selectionOf(asked), direction: list.direction, sieves: asked.sieves(rows) };
        const { ids, total = null } = rows.select(selection);
        if (ids.length === 0) return { rows: null, total };
        const read = await listRemembered(source.readPool, list, asked.parameters, since, ids);
        // All these rows still exist and have not changed since they were read into memory. Otherwise the page may be wrong,
        // and is made again.
        const isAsKnown = read.n === ids.length && read.recent.every(([id, at]) => recent.get(id) === at);
        if (isAsKnown) return { rows: read.rows, total };
      }
      return undefined;
    },
  };
}

/** Manages the lists in memory. */
function createLists(source: RowSource, maxBytes = MAX_BYTES) {
  const { monotonic } = source;
  const lists = new Map<string, Remembered>();
  /** Settles when no list is being read into memory. */
  let lastLearning: Promise<unknown> = Promise.resolve();

  const roomFor = (one: Remembered) => roomBeside(lists.values(), one, maxBytes);
  const dropIdle = () => {
    for (const [key, { usedAt }] of lists) if (monotonic() - usedAt > IDLE_MS) lists.delete(key);
  };
  return {
    /** Returns the entry of a list, or adds one without rows. */
    of(list: RememberableList, whose: RowsOfOwner): Remembered {
      const { table } = list;
      // The parameters may include the current time (a `Date`), which is no part of the key.
      const key = JSON.stringify([table, ...whose.parameters.filter((value) => typeof value === "string")]);
      const present = lists.get(key);
      if (present !== undefined) return present;
      // Runs only after `made`, the new entry, is complete.
      const refresh = askTogether(async () => {
        const { known } = made;
        if (known === undefined) return undefined;
        const isCaughtUp = await catchUp(source, list, whose, known);
        // Added rows may have made the list too long.
        const hasRoom = known.rows.bytes <= roomFor(made);
        if (isCaughtUp && hasRoom) return known;
        made.known = undefined;
        made.dueAt = hasRoom ? -Infinity : monotonic() + MAX_AGE_MS;
        return undefined;
      });
      const kind = JSON.stringify([table, whose.systemId]);
      const made: Remembered = { kind, known: undefined, dueAt: -Infinity, usedAt: 0, learning: undefined, refresh };
      lists.set(key, made);
      return made;
    },
    /**
     * Reads a list into memory: one list at a time, so that together they stay within `maxBytes`. A failure is not reported,
     * because the database then makes the page, and the request meets the same error if it lasts.
     */
    learn(list: RememberableList, whose: RowsOfOwner, remembered: Remembered): Promise<void> {
      remembered.learning ??= lastLearning
        .then(() => {
          dropIdle();
          return learnRows(source, list, whose, roomFor(remembered));
        })
        .catch(() => "failed" as const)
        .then((result) => {
          remembered.known = typeof result === "string" ? undefined : result;
          const isTriedSoon = result === "failed" || result === "not followed";
          remembered.dueAt = monotonic() + (isTriedSoon ? RETRY_MS : MAX_AGE_MS);
        })
        .finally(() => (remembered.learning = undefined));
      lastLearning = remembered.learning;
      return remembered.learning;
    },
  };
}

/** Returns how many bytes a list may take beside the other lists. */
function roomBeside(lists: Iterable<Remembered>, one: Remembered, maxBytes: number): number {
  let room = maxBytes;
  let roomOfKind = maxBytes * SHARE_OF_KIND;
  for (const other of lists) {
    const bytes = other === one ? 0 : (other.known?.rows.bytes ?? 0);
    room -= bytes;
    if (other.kind === one.kind) roomOfKind -= bytes;
  }
  return Math.min(room, roomOfKind, maxBytes * SHARE_OF_LIST);
}

/** Selects one row more than the page shows, so that it is known whether more follow. */
function selectionOf<Position>({ request, keyOf }: RememberedPage<Position>) {
  const start = startOf(request);
  const limit = request.limit + 1;
  return "after" in start ? { after: keyOf(start.after), skip: 0, limit } : { skip: start.skip, limit };
}
