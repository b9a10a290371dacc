import type { PageRequest } from "@bikeshare/rules";
import type { QueryRunner } from "../../storage/db/database.ts";
import type { ReadPool } from "../../storage/db/read-pool.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { type Filter, listFiltered } from "../../storage/lists/filtered-queries.ts";
import { type PageRows, startOf, type TimePosition } from "../../storage/lists/page.ts";
import {
  alternativesOf,
  type AskedRides,
  countBetween,
  describe,
  isStretchOfTime,
  lateChanges,
  list,
  ownerOf,
  pastChanges,
  type RideFilters,
  withoutTimes,
} from "./asked-rides.ts";
import type { KnownDays } from "./day-index.ts";
import type { PastCount, PastCounts, PastPart } from "./past-counts.ts";
import { DAY_MS, type Stretch } from "./ride-day.rules.ts";
import { countPrepared, listBehind, listStretches } from "./stretch-queries.ts";
import { changedIn, partsOf, stretchesOf } from "./stretches.rules.ts";

export type { RideFilters } from "./asked-rides.ts";

/**
 * A page of the rides that pass filters, where it costs little more than one of the whole list: an index leads to its rows, and
 * their number is made of kept ones or not asked for. Undefined where that is not so, or the number remembered is outdated.
 */
export async function listQuickRideRows(
  readPool: ReadPool,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
  pastCounts: PastCounts,
): Promise<PageRows | undefined> {
  const start = startOf(request);
  const asked = describe(systemId, filters);
  if (asked.filter.name === undefined || ("skip" in start && start.skip > 0)) return undefined;
  const db = { query: <Row>(...[prepared, values = []]: QueryArguments) => readPool.read<Row>(prepared, values) };
  if (request.kind === "cursor") return listFiltered(db, list, asked.filter, request);
  if (isStretchOfTime(asked.names)) return listFiltered(db, list, withTotal(asked, countBetween(filters)), request);
  const known = pastCounts.get(systemId, asked.key);
  if (known?.isRecent !== true) return undefined;
  const total = countPrepared(asked, stretchesOfPast(asked, known, undefined), knownPast(known));
  if (total === undefined) return undefined;
  const rows = await listFiltered(db, list, withTotal(asked, total.sql, total.values), request);
  if (rows.total !== null) return rows;
  pastCounts.forget(systemId, asked.key);
  return undefined;
}

/**
 * A page of the rides that pass filters, found and counted with what is remembered of past rides: by day, and for a bike or a
 * station by month. Only rides are counted and stepped over of the parts of the list where that does not decide.
 * @param days undefined: nothing is known; then rides are counted and stepped over one by one, where no bike or station is asked for
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
  const asked = describe(systemId, filters);
  if (request.kind === "cursor") {
    return days === undefined
      ? listFiltered(db, list, asked.filter, request)
      : listBehind(db, asked, stretchesOfDays(asked, days), knownDays(days), request);
  }
  if (ownerOf(filters) === undefined) {
    if (days === undefined) return listFiltered(db, list, asked.filter, request);
    return listStretches(db, asked, stretchesOfDays(asked, days), knownDays(days), request);
  }
  const remembered = pastCounts.get(systemId, asked.key);
  const known = remembered ?? (await countPast(db, systemId, filters));
  if (remembered === undefined) pastCounts.keep(systemId, asked.key, known);
  const rows = await listStretches(db, asked, stretchesOfPast(asked, known, days), knownPast(known), request);
  if (rows === undefined) pastCounts.forget(systemId, asked.key);
  return rows;
}

/** The same where nothing that is remembered holds for long enough: all are counted. */
export function listCountedRideRows(
  db: QueryRunner,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
): Promise<PageRows> {
  return listFiltered(db, list, { ...describe(systemId, filters).filter, name: undefined }, request);
}

type QueryArguments = Parameters<QueryRunner["query"]>;

function withTotal({ filter }: AskedRides, sql: string, values = filter.values): Filter {
  return { ...filter, total: { sql, values } };
}

function stretchesOfDays({ byDay }: AskedRides, days: KnownDays): Stretch[] {
  return stretchesOf(partsOf(days, byDay), days.upto, byDay);
}

const knownDays = (days: KnownDays) => ({ sql: lateChanges, value: days.lateChanges, days });
const knownPast = (past: PastCount) => ({ sql: pastChanges, value: past.pastChanges });

/** Of a bike or a station. */
function stretchesOfPast({ byDay }: AskedRides, past: PastCount, days: KnownDays | undefined): Stretch[] {
  const { upto } = past;
  const known = days?.pastChanges === past.pastChanges ? days : { days: [], upto: -Infinity, since: -Infinity };
  const parts = past.parts.map(({ from, n }) => {
    const part = { from, to: Math.min(from + PART_DAYS * DAY_MS, upto) };
    return { ...part, n: { all: n, none: 0, some: undefined }[changedIn(part, known, byDay)] };
  });
  return stretchesOf(parts, upto, byDay);
}

/** Days of a part of the past whose rides are counted together, of one bike or station. */
const PART_DAYS = 30;

/**
 * Counts the past rides that pass filters: those before the third day before now, and before every ride that has not ended.
 * Whatever comes, goes or is corrected among them counts as a change of past rides, with a day to spare for transactions
 * that are open.
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
