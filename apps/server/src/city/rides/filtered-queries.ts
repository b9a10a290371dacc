import type { PageRequest } from "@bikeshare/rules";
import type { QueryRunner } from "../../storage/db/database.ts";
import type { ReadPool } from "../../storage/db/read-pool.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import {
  type Bind,
  countRows,
  type Filter,
  listFiltered,
  nearRowsOf,
  rowsOf,
} from "../../storage/lists/filtered-queries.ts";
import { fetchSize, type PageRows, startOf, type TimePosition } from "../../storage/lists/page.ts";
import {
  alternativesOf,
  type AskedRides,
  askedRidesOf,
  countBetween,
  isStretchOfTime,
  lateChanges,
  list,
  ownerOf,
  pastChanges,
  type RideFilters,
  withoutTimes,
} from "./asked-rides.ts";
import type { KnownDays, PastCount, PastCounts, PastPart } from "./memory.ts";
import {
  behind,
  byHour,
  byHourBehind,
  changedIn,
  type CountedStretch,
  DAY_MS,
  type PageSpan,
  partsOf,
  type PastDays,
  ridesBetween,
  spanOf,
  type Stretch,
  stretchesOf,
} from "./ride-day.rules.ts";

/*
 * Pages of lists of rides with filters. A list is cut into stretches of time (`ride-day.rules.ts`). The process remembers
 * how many rides most stretches have (`memory.ts`), and only the others are counted. `asked` has a request's filters, as SQL
 * and as conditions on the remembered days. Statements also check that the remembered numbers are valid (`holds`). If they
 * are not, the page is undefined, and `service.ts` tries again.
 */

export type { RideFilters } from "./asked-rides.ts";

/**
 * Returns a page of the rides that pass filters, if it costs little more than a page of the whole list: an index leads to
 * its rows, and its total comes from stored numbers or is not requested. Returns undefined otherwise, and when a remembered
 * number is outdated.
 */
export async function listQuickRideRows(
  readPool: ReadPool,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
  pastCounts: PastCounts,
): Promise<PageRows | undefined> {
  const start = startOf(request);
  const asked = askedRidesOf(systemId, filters);
  // Without a name, no single index has these rides in the list's order (`statementName`).
  if (asked.filter.name === undefined || ("skip" in start && start.skip > 0)) return undefined;
  // The read pool, with the method by which lists are read.
  const db = { query: <Row>(...[prepared, values = []]: QueryArguments) => readPool.read<Row>(prepared, values) };
  if (request.kind === "cursor") return listFiltered(db, list, asked.filter, request);
  if (isStretchOfTime(asked.names)) return listFiltered(db, list, withTotal(asked, countBetween(filters)), request);
  const known = pastCounts.get(systemId, asked.key);
  // Without recent numbers, too many rides would have to be counted.
  if (known?.isRecent !== true) return undefined;
  const total = countPrepared(asked, stretchesOfPast(asked, known, undefined), knownPast(known));
  if (total === undefined) return undefined;
  const rows = await listFiltered(db, list, withTotal(asked, total.sql, total.values), request);
  if (rows.total !== null) return rows;
  pastCounts.forget(systemId, asked.key);
  return undefined;
}

/**
 * Returns a page of the rides that pass filters. Finds and counts them with the remembered numbers of past rides: by day,
 * and for a bike or a station by `PART_DAYS` days. Reads single rides only in the parts of the list where these numbers do
 * not suffice.
 * @param days undefined: nothing is known yet, or the request does not need them (`needsDays`). Then rides are counted one
 *   by one, unless a bike or a station is requested
 * @returns undefined when past rides have changed since what is remembered
 */
export async function listFilteredRideRows(
  db: QueryRunner,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
  pastCounts: PastCounts,
  days: KnownDays | undefined,
): Promise<PageRows | undefined> {
  const asked = askedRidesOf(systemId, filters);
  // A page after a cursor has no total: it needs only the stretch with its rows.
  if (request.kind === "cursor") {
    return days === undefined
      ? listFiltered(db, list, asked.filter, request)
      : listBehind(db, asked, stretchesOfDays(asked, days), knownDays(days), request);
  }
  if (ownerOf(filters) === undefined) {
    if (days === undefined) return listFiltered(db, list, asked.filter, request);
    return listStretches(db, asked, stretchesOfDays(asked, days), knownDays(days), request);
  }
  // The days count the rides of all bikes and stations. Those of the requested one have counts of their own.
  const remembered = pastCounts.get(systemId, asked.key);
  const known = remembered ?? (await countPast(db, systemId, filters));
  if (remembered === undefined) pastCounts.keep(systemId, asked.key, known);
  const rows = await listStretches(db, asked, stretchesOfPast(asked, known, days), knownPast(known), request);
  if (rows === undefined) pastCounts.forget(systemId, asked.key);
  return rows;
}

/**
 * Returns a page of the rides that pass filters, without numbers from memory: counts all rides. Its statement has no name,
 * so that PostgreSQL plans it for its values.
 */
export function listCountedRideRows(
  db: QueryRunner,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
): Promise<PageRows> {
  return listFiltered(db, list, { ...askedRidesOf(systemId, filters).filter, name: undefined }, request);
}

type QueryArguments = Parameters<QueryRunner["query"]>;

/** Returns a request's filter with SQL that counts its rides. @param values those of the filter, then those of `sql` */
function withTotal({ filter }: AskedRides, sql: string, values = filter.values): Filter {
  return { ...filter, total: { sql, values } };
}

/** Returns the stretches of the list by the remembered days, whose numbers count the rides of all bikes and stations. */
function stretchesOfDays({ byDay }: AskedRides, days: KnownDays): Stretch[] {
  return stretchesOf(partsOf(days, byDay), days.upto, byDay);
}

/** The validity of remembered numbers: they are valid while `sql` returns `value`. */
interface Known {
  readonly sql: string;
  readonly value: number;
  /** The remembered days; undefined when the numbers are not of days. */
  readonly days?: PastDays;
}

/** Returns the validity of numbers by day. */
const knownDays = (days: KnownDays) => ({ sql: lateChanges, value: days.lateChanges, days });
/** Returns the validity of the counts of a bike's or station's rides. */
const knownPast = (past: PastCount) => ({ sql: pastChanges, value: past.pastChanges });

/** Days of one part of the past. The rides of a bike or station are counted for each part. */
const PART_DAYS = 30;

/** Returns the stretches of the list of a bike or a station, by the counts of its own past rides. */
function stretchesOfPast({ byDay }: AskedRides, past: PastCount, days: KnownDays | undefined): Stretch[] {
  const { upto } = past;
  // Days of another state do not fit the counts. Without days, `changedIn` does not know what has changed.
  const known = days?.pastChanges === past.pastChanges ? days : { days: [], upto: -Infinity, knownFrom: -Infinity };
  const parts = past.parts.map(({ from, n }): Stretch => {
    const part = { from, to: Math.min(from + PART_DAYS * DAY_MS, upto) };
    const changed = changedIn(part, known, byDay);
    if (changed === "some") return { ...part, n: undefined };
    return { ...part, n: changed === "all" ? n : 0 };
  });
  return stretchesOf(parts, upto, byDay);
}

/**
 * Counts the past rides that pass the filters other than times: those that started at least three days ago and before every
 * ride under way. When one of them is added, deleted or corrected later, `pastChanges` grows. `pastChanges` counts rides
 * from two days on; the day between leaves time for open transactions.
 */
async function countPast(db: QueryRunner, systemId: string, filters: RideFilters): Promise<PastCount> {
  const values: unknown[] = [systemId];
  const { branches } = alternativesOf(withoutTimes(filters), (value) => `$${values.push(value)}`);
  const past = branches.map(
    (branch) => `select started_at from rides where ${branch} and started_at < (select upto from past)`,
  );
  const text = `
    with past as materialized (
      select least((date_trunc('day', now() at time zone 'UTC') - interval '3 days') at time zone 'UTC',
        (select started_at from rides where system_id = $1 and status = 'started' order by started_at limit 1)) as upto)
    select (select extract(epoch from upto)::float8 * 1000 from past) as upto,
      (select upto from past) > now() - interval '7 days' as "isRecent", ${pastChanges} as "pastChanges",
      (select coalesce(json_agg(json_build_object('from', extract(epoch from part)::float8 * 1000, 'n', n) order by part desc), '[]')
       from (select date_bin('${PART_DAYS} days', started_at, '1970-01-01Z') as part, count(*) as n
             from (${past.join(" union all ")}) as found group by part) as parts) as parts`;
  return oneRow(await db.query<PastCount & { readonly parts: readonly PastPart[] }>(statement("", text), values));
}

/**
 * Maximum number of stretches that are counted by a separate sub-select each, which takes 0.1 ms to plan. More stretches
 * are counted together by one sub-select.
 */
const MAX_PLANNED = 6;

/** Maximum number of rides whose rows are all read to find a page. Among more rides, the index finds the page's rows. */
const MAX_ROWS = 600;

/** Returns a page of the rides of some stretches; undefined when past rides have changed since these were known. */
async function listStretches(
  db: QueryRunner,
  asked: AskedRides,
  stretches: readonly Stretch[],
  known: Known,
  request: PageRequest<TimePosition>,
): Promise<PageRows | undefined> {
  const counted = await countStretches(db, asked, stretches, known);
  if (counted === undefined) return undefined;
  const start = startOf(request);
  const skip = "skip" in start ? start.skip : 0;
  const total = counted.reduce((sum, { n }) => sum + n, 0);
  const limit = fetchSize(request.limit);
  const { days } = known;
  const parts = days === undefined ? counted : [...byHour(counted, days, asked.byDay, { skip, limit })];
  const span = spanOf(parts, skip, limit);
  if (span === undefined) return { rows: null, total };
  return { rows: await listSpan(db, asked.filter, span, isShort(asked, known, span)), total };
}

/** Tells whether so few rides lie between two starts that reading all their rows costs less than finding those of a page. */
function isShort({ byDay }: AskedRides, { days }: Known, span: Pick<Stretch, "from" | "to">): boolean {
  // Rides that are not completed have an index of their own.
  const status = byDay.status === "completed" ? undefined : byDay.status;
  return days !== undefined && ridesBetween(days, span, status) <= MAX_ROWS;
}

/** Counts the stretches without a number. @returns undefined when past rides have changed since the numbers were known */
async function countStretches(
  db: QueryRunner,
  asked: AskedRides,
  stretches: readonly Stretch[],
  known: Known,
): Promise<CountedStretch[] | undefined> {
  const { filter } = asked;
  const values = [...filter.values];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const uncounted = stretches.filter(({ n }) => n === undefined);
  const counts =
    uncounted.length > MAX_PLANNED
      ? countEach(asked, uncounted, bind)
      : `array[${uncounted.map((each) => countWithin(asked, each, bind)).join(", ")}]`;
  // As float8, because pg gives an array of bigint as texts.
  const text = `select case when ${holds(known, bind)} then ${counts}::float8[] end as counts`;
  const { counts: numbers } = oneRow(
    await db.query<{ counts: number[] | null }>(statement("", withTypes(text, filter)), values),
  );
  if (numbers === null) return undefined;
  // The numbers are those of `uncounted`, in its order, which is that of the stretches.
  let next = 0;
  return stretches.map((each) => ({ ...each, n: each.n ?? numbers[next++] ?? 0 }));
}

/** SQL: whether the remembered numbers are still valid, by the database's count of changes. */
function holds({ sql, value }: Known, bind: Bind): string {
  return `${sql} = ${bind(value)}::bigint`;
}

/** SQL: how many rides of each stretch pass the filters, as an array in their order. */
function countEach({ filter }: AskedRides, stretches: readonly Stretch[], bind: Bind): string {
  const [from, to] = [stretches.map((each) => instant(each.from)), stretches.map((each) => instant(each.to))];
  const branches = filter.branches.map((branch) => `${branch} and started_at >= begin and started_at < until`);
  return `(select array_agg(${countRows(list, branches)} order by place)
    from unnest(${bind(from)}::timestamptz[], ${bind(to)}::timestamptz[]) with ordinality as parts(begin, until, place))`;
}

/**
 * Adds a condition that is always true and names the values that the statement does not use: PostgreSQL must be told
 * their types.
 */
function withTypes(text: string, { values }: Filter): string {
  const unused = values.flatMap((_, index) => (text.includes(`$${index + 1}`) ? [] : [`$${index + 1}::text is null`]));
  return unused.length === 0 ? text : `${text} where ${unused.join(" or ")} or true`;
}

/** Reads the rows of a page. @param isNear whether to read the rows of all rides that precede the page in its span */
async function listSpan(db: QueryRunner, filter: Filter, span: PageSpan, isNear: boolean): Promise<string | null> {
  const values = [...filter.values];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const inside = within(span, bind);
  const branches = filter.branches.map((branch) => `${branch} and ${inside}`);
  const text = (isNear ? nearRowsOf : rowsOf)(list, { ...span, branches });
  return oneRow(await db.query<Pick<PageRows, "rows">>(statement("", text), values)).rows;
}

/**
 * Returns a page by cursor that looks only where rides can pass the filters; undefined when past rides have changed since.
 */
async function listBehind(
  db: QueryRunner,
  asked: AskedRides,
  stretches: readonly Stretch[],
  known: Known,
  request: Extract<PageRequest<TimePosition>, { kind: "cursor" }>,
): Promise<PageRows | undefined> {
  const { filter } = asked;
  const size = fetchSize(request.limit);
  const isOfOwner = asked.names.some((name) => name === "bike_id" || name === "station_id");
  const at = Date.parse(request.after.at);
  const parts = known.days === undefined ? stretches : byHourBehind(stretches, known.days, asked.byDay, at);
  // The remembered numbers are of all bikes and stations. For one bike or station they do not show how many of its rides a
  // stretch has, so the span takes all stretches behind the cursor.
  const span = behind(parts, at, isOfOwner ? Infinity : size);
  const values = [...filter.values];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const inside = within(span, bind);
  const position = list.placeholders(request.after, bind).join(", ");
  const branches = filter.branches.map((branch) => `${branch} and ${inside} and (started_at, id) < (${position})`);
  const page = (isShort(asked, known, span) ? nearRowsOf : rowsOf)(list, { branches, skip: 0, limit: size });
  const text = `select (${page}) as rows, ${holds(known, bind)} as holds`;
  const read = oneRow(await db.query<{ rows: string | null; holds: boolean }>(statement("", text), values));
  return read.holds ? { rows: read.rows, total: null } : undefined;
}

/** Number of stretches that a prepared statement counts. It is fixed, because the statement's text is. */
const PREPARED_COUNTED = 2;

/**
 * SQL: the number of rides in stretches; null when past rides have changed since the numbers were remembered.
 * @returns undefined when too many stretches have to be counted
 */
function countPrepared(
  asked: AskedRides,
  stretches: readonly Stretch[],
  known: Known,
): { readonly sql: string; readonly values: readonly unknown[] } | undefined {
  const { filter } = asked;
  const values = [...filter.values];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const uncounted = stretches.filter(({ n }) => n === undefined);
  if (uncounted.length > PREPARED_COUNTED) return undefined;
  // Fills up with stretches without any ride.
  while (uncounted.length < PREPARED_COUNTED) uncounted.push({ from: Infinity, to: Infinity, n: undefined });
  const sum = stretches.reduce((n, each) => n + (each.n ?? 0), 0);
  const counts = uncounted.map((each) => countWithin(asked, each, bind));
  const sql = `case when ${holds(known, bind)} then ${bind(sum)}::bigint + ${counts.join(" + ")} end`;
  return { sql, values };
}

/** SQL: how many rides of a stretch pass the filters; from the stored numbers of rides where these suffice. */
function countWithin(asked: AskedRides, stretch: Pick<Stretch, "from" | "to">, bind: Bind): string {
  const inside = within(stretch, bind);
  const { filter, names, byDay } = asked;
  const hasStoredNumbers = names.every((name) => NUMBERED.includes(name)) && isWholeDays(stretch);
  if (hasStoredNumbers && (byDay.status === undefined || byDay.status === "completed")) {
    // The numbers of rides by whole day are stored, in a table that calls the start `starts_at`. Rides that are not
    // completed have an index of their own. Both conditions on the status are needed: one picks the rides, the other is
    // the index's own condition.
    const all = `(select coalesce(sum(n), 0) from ride_counts where system_id = $1 and period = 'day' and ${inside.replaceAll("started_at", "starts_at")})`;
    const others = `(select count(*) from rides where system_id = $1 and status in ('started', 'cancelled') and status <> 'completed' and ${inside})`;
    return byDay.status === undefined ? all : `(${all} - ${others})`;
  }
  return countRows(
    list,
    filter.branches.map((branch) => `${branch} and ${inside}`),
  );
}

/** Filters with which whole days are counted from the stored numbers of rides. */
const NUMBERED: readonly string[] = ["status", "started_after", "started_before"];

/** Tells whether a stretch begins and ends at midnight (UTC), or has no bound. */
function isWholeDays({ from, to }: Pick<Stretch, "from" | "to">): boolean {
  return [from, to].every((ms) => !Number.isFinite(ms) || ms % DAY_MS === 0);
}

/** SQL: the ride started in a stretch. */
function within({ from, to }: Pick<Stretch, "from" | "to">, bind: Bind): string {
  return `started_at >= ${bind(instant(from))}::timestamptz and started_at < ${bind(instant(to))}::timestamptz`;
}

/** Returns an instant as PostgreSQL reads it. */
function instant(ms: number): string {
  if (Number.isFinite(ms)) return new Date(ms).toISOString();
  return ms < 0 ? "-infinity" : "infinity";
}
