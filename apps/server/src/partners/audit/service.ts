import type { Queryable } from "../../storage/db/database.ts";
import type { TimePosition } from "../../storage/lists/page.ts";
import { type ActFilters, type ActRow, listMatchingActs } from "./queries.ts";

export type { ActRow } from "./queries.ts";

/** A search of the audit log. Omitted filters match everything. */
export interface ActSearch {
  readonly partnerId?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly after?: TimePosition | undefined;
  readonly limit: number;
  /** Maximum number of acts that the page may read. */
  readonly scanLimit?: number;
}

/** Part of the log, the newest act first. */
export interface ActPage {
  readonly acts: readonly ActRow[];
  /** The position of the next page; null: there is nothing older. */
  readonly next: TimePosition | null;
  /** The time of the oldest act that was read, if the page ends at the scan limit: older acts may match. Otherwise null. */
  readonly searchedTo: Date | null;
}

/** Maximum number of acts that one page reads. Too low: a rare act takes more pages. Too high: a page takes over 50 ms. */
const SCAN_LIMIT = 20_000;
const DAY_MS = 86_400_000;
/** Sorts after every id, so a search without `after` includes every act before `until`. */
const LAST_ID = "~";

/** Returns the acts of a system that match. A page ends early at the scan limit. */
export async function searchActs(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  systemId: string,
  search: ActSearch,
): Promise<ActPage> {
  // A day from now is later than every act, even if the clock of the process that recorded it is ahead of this one.
  const { limit, after, scanLimit = SCAN_LIMIT, until = new Date(clock() + DAY_MS) } = search;
  const filters: ActFilters = {
    partnerId: search.partnerId ?? null,
    actor: search.actor ?? null,
    action: search.action ?? null,
    subject: search.subject ?? null,
    since: search.since ?? new Date(0),
    until,
  };
  const start = after ?? { at: until.toISOString(), id: LAST_ID };
  // One more than the page shows: it tells whether another page follows.
  const bounds = { scanLimit, limit: limit + 1 };
  const { matches, scanned, last } = await listMatchingActs(db, systemId, filters, start, bounds);
  const acts = matches.slice(0, limit);
  const lastShown = acts.at(-1);
  if (matches.length > limit && lastShown !== undefined)
    return { acts, next: { at: lastShown.at.toISOString(), id: lastShown.id }, searchedTo: null };
  if (last === null || scanned < scanLimit) return { acts, next: null, searchedTo: null };
  return { acts, next: last, searchedTo: new Date(last.at) };
}
