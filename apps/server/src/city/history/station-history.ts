import { HISTORY_RETENTION_DAYS, type StationHistory, type StationHistoryQuery } from "@bikeshare/contract";
import {
  foldHistory,
  type PageRequest,
  readHistoryRange,
  readInstantOfHistory,
  serviceError,
  type RecordedState,
} from "@bikeshare/rules";
import type { QueryRunner } from "../../storage/db/database.ts";
import { fetchSize, jsonField, type Page, startOf, toPage } from "../../storage/lists/page.ts";
import type { ListReader, ReadContext } from "../../storage/lists/read-context.ts";
import { timeZoneOfSystem } from "../descriptions/service.ts";
import { readFlags } from "./changes-state.rules.ts";
import {
  findBeginOfHistory,
  findHistoryBegin,
  findStationAt,
  type HistoryRow,
  listHistoryRows,
  listStationsAt,
  type StationsAtFilters,
} from "./station-history-queries.ts";

/** The dependencies of reading how stations were. */
export interface HistoryContext extends Pick<ReadContext, "filtered"> {
  readonly clock: () => number;
}

const DAY_MS = 86_400_000;
/** Changes that one statement reads. Too low: takes more statements. Too high: folding them holds up other requests. */
const ROWS_AT_ONCE = 5_000;

/**
 * Returns a page of a system's stations as they were at an instant, by id.
 * @throws ServiceError `outside_history`
 */
export function stationsAt(
  { filtered, clock }: HistoryContext,
  whose: ListReader,
  { at, ...filters }: StationsAtFilters & { readonly at: string },
  request: PageRequest<string>,
): Promise<Page<string>> {
  const instant = new Date(readInstantOfHistory(at, clock()));
  return filtered.read(whose, async (db) => {
    const asked = { at, instant, now: clock() };
    // Outside the retention time this always throws. The call below throws only if the history begins after the
    // instant.
    if (!isWithinRetention(asked)) await refuseOutside(db, whose.systemId, asked);
    const rows = await listStationsAt(db, whose.systemId, instant, filters, startOf(request), fetchSize(request.limit));
    // Null: no station was found.
    if (rows.rows === null) await refuseOutside(db, whose.systemId, asked);
    return toPage(request, rows, (json) => jsonField(json, "id"));
  });
}

/**
 * Returns a station as it was at an instant, as JSON; undefined when it was not known then.
 * @throws ServiceError `outside_history`
 */
export function stationAt(
  { filtered, clock }: HistoryContext,
  whose: ListReader,
  id: string,
  at: string,
): Promise<string | undefined> {
  const instant = new Date(readInstantOfHistory(at, clock()));
  return filtered.read(whose, async (db) => {
    const asked = { at, instant, now: clock() };
    if (!isWithinRetention(asked)) await refuseOutside(db, whose.systemId, asked);
    const station = await findStationAt(db, whose.systemId, instant, id);
    if (station === undefined) await refuseOutside(db, whose.systemId, asked);
    return station;
  });
}

/** The instant of a request for how stations were. */
interface AskedInstant {
  /** The instant as the request gives it. */
  readonly at: string;
  readonly instant: Date;
  readonly now: number;
}

/** Tells whether an instant is within the retention time. The history of a system may begin later. */
function isWithinRetention({ instant, now }: AskedInstant): boolean {
  return instant.getTime() >= now - HISTORY_RETENTION_DAYS * DAY_MS;
}

/**
 * Refuses an instant before the beginning of the kept history, with an error that says why nothing is found. Does
 * nothing for a later instant.
 * @throws ServiceError `outside_history`
 */
async function refuseOutside(db: QueryRunner, systemId: string, { at, instant, now }: AskedInstant): Promise<void> {
  const begins = await findBeginOfHistory(db, systemId);
  const kept = Math.max(begins?.getTime() ?? -Infinity, now - HISTORY_RETENTION_DAYS * DAY_MS);
  if (instant.getTime() >= kept) return;
  throw serviceError("outside_history", "before", { at, begins: new Date(kept).toISOString() });
}

/**
 * Returns how a station was over time.
 * @returns undefined when there is no such station
 * @throws ServiceError `invalid_parameter`
 */
export async function stationHistory(
  { filtered, clock }: HistoryContext,
  whose: ListReader,
  id: string,
  query: StationHistoryQuery,
): Promise<StationHistory | undefined> {
  const { systemId } = whose;
  const now = clock();
  const timeZone = await filtered.read(whose, (db) => timeZoneOfSystem(db, systemId));
  const { step, bounds } = readHistoryRange(query, timeZone, now);
  const oldest = now - HISTORY_RETENTION_DAYS * DAY_MS;
  const from = new Date(Math.max(bounds[0] ?? now, oldest));
  const before = new Date(Math.min(now, bounds.at(-1) ?? now));
  const fold = foldHistory(bounds);
  const begin = await filtered.read(whose, (db) => findHistoryBegin(db, systemId, from, id));
  if (begin === undefined) return undefined;
  let after = new Date(Math.max(from.getTime(), begin.known_since.getTime()));
  fold.add([stateOf({ ...begin, at: after.getTime() })]);
  // Each batch is a separate read, so that other requests get their turn. None is missed: changes are added only at the end.
  for (let isMore = after < before; isMore;) {
    const range = { after, before, limit: ROWS_AT_ONCE };
    const rows = await filtered.read(whose, (db) => listHistoryRows(db, systemId, id, range));
    fold.add(rows.map(stateOf));
    isMore = rows.length === ROWS_AT_ONCE;
    after = new Date(rows.at(-1)?.at ?? 0);
  }
  return { station_id: id, step, time_zone: timeZone, data: fold.finish(before.getTime()) };
}

/** Returns a change in the form that `foldHistory` takes. */
function stateOf({ at, bikes, docks, flags }: HistoryRow): RecordedState {
  return { at, bikes, docks, isOnline: readFlags(flags).status === "online" };
}

/**
 * Returns a station's JSON as it was at an instant, without `as_of`, which the JSON of a present station lacks;
 * undefined when the station was not known then.
 */
export async function stationTextAt(
  db: QueryRunner,
  systemId: string,
  id: string,
  instant: Date,
): Promise<string | undefined> {
  const json = await findStationAt(db, systemId, instant, id);
  return json?.replace(/,"as_of":"[^"]*"\}$/, "}");
}
