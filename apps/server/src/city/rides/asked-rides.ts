import { listFilters } from "@bikeshare/rules";
import { millisecondsOf } from "../../iso-instant.ts";
import { conditionsOf } from "../../storage/lists/conditions.ts";
import type { Bind, Filter, FilterableList } from "../../storage/lists/filtered-queries.ts";
import type { TimePosition } from "../../storage/lists/page.ts";
import type { DayFilters } from "./ride-day.rules.ts";

/*
 * Converts the filters of a request for rides to SQL, and to conditions on the days of past rides that a process remembers
 * (`ride-day.rules.ts`). Also the SQL that counts rides by their start, and their changes.
 */

/** The filters of a request for rides, as the contract describes them. An absent one matches every ride. */
export interface RideFilters {
  readonly status?: string | undefined;
  readonly bike_id?: string | undefined;
  readonly station_id?: string | undefined;
  readonly started_after?: string | undefined;
  readonly started_before?: string | undefined;
  readonly updated_since?: string | undefined;
}

/** Rides as a list that can be filtered. */
export const list: FilterableList<TimePosition> = {
  table: "rides",
  order: ["started_at", "id"],
  direction: "desc",
  json: "json",
  placeholders: ({ at, id }, bind) => [`${bind(at)}::timestamptz`, bind(id)],
};

/** The filters of a request for rides: as SQL, and as conditions on the days that are kept in memory. */
export interface AskedRides {
  readonly systemId: string;
  /** The filters that were given. */
  readonly names: readonly (keyof RideFilters)[];
  readonly filter: Filter;
  readonly byDay: DayFilters;
  /** The key under which the number of past rides is cached: the filters other than times. */
  readonly key: string;
}

/** Returns a request's filters as SQL and as conditions on the days in memory. */
export function askedRidesOf(systemId: string, filters: RideFilters): AskedRides {
  const values: unknown[] = [systemId];
  const { branches, overlapping } = alternativesOf(filters, (value) => `$${values.push(value)}`);
  const names = namesOf(filters);
  const name = statementName(names);
  const { started_after: after, started_before: before, updated_since: since, status } = filters;
  return {
    systemId,
    names,
    // `indexed`: alternatives that are each read in the list's order from one index, and merged without repetitions. The
    // statements with a name are those for which every alternative has such an index.
    filter: { branches, values, name, indexed: name === undefined ? undefined : overlapping },
    byDay: {
      from: after === undefined ? -Infinity : millisecondsOf(after),
      to: before === undefined ? Infinity : millisecondsOf(before),
      since: since === undefined ? undefined : millisecondsOf(since),
      status,
    },
    key: JSON.stringify(Object.entries(withoutTimes(filters))),
  };
}

/** Returns the filters other than times: neither by start nor by last change. */
export function withoutTimes({ bike_id, station_id, status }: RideFilters): RideFilters {
  return { bike_id, station_id, status };
}

/** Returns the id of the bike or station whose rides are requested; undefined: of all. */
export function ownerOf({ bike_id: bikeId, station_id: stationId }: RideFilters): string | undefined {
  return bikeId ?? stationId;
}

/** Returns the names of the filters that are given, sorted. */
function namesOf(filters: RideFilters): (keyof RideFilters)[] {
  // `listFilters` and `RideFilters` have the same names: those of the contract.
  const names = Object.keys(listFilters.rides) as (keyof RideFilters)[];
  return names.filter((name) => filters[name] !== undefined).sort();
}

const TIMES: readonly string[] = ["started_after", "started_before"];

/** Tells whether rides are filtered by nothing but their start. */
export function isStretchOfTime(names: readonly string[]): boolean {
  return names.every((name) => TIMES.includes(name));
}

/**
 * Returns a name for the statement if it is to be prepared; undefined otherwise. If the only filters are the start time and
 * one bike or station, one index has the rides in the list's order, so that one plan fits all values. With other filters the
 * best plan depends on the values.
 */
function statementName(names: readonly string[]): string | undefined {
  const [owner, ...others] = names.filter((name) => !TIMES.includes(name));
  const isInOneIndex = others.length === 0 && (owner === undefined || owner === "bike_id" || owner === "station_id");
  return isInOneIndex ? `rides.by.${names.join("+")}` : undefined;
}

/**
 * Returns the conditions as alternatives. A station's rides are those that started there and those that ended there. Each
 * alternative has an index in the list's order, but the two joined by `or` have none. In `branches`, a ride that started and
 * ended there occurs once, as one that started there. In `overlapping` it occurs twice, so that no index has to skip rows.
 */
export function alternativesOf(
  { station_id: stationId, ...filters }: RideFilters,
  bind: Bind,
): { readonly branches: string[]; readonly overlapping: string[] } {
  const conditions = conditionsOf(listFilters.rides, filters).map((condition) => condition(bind));
  const common = ["system_id = $1", ...conditions].join(" and ");
  if (stationId === undefined) return { branches: [common], overlapping: [common] };
  const station = bind(stationId);
  const started = `${common} and start_station_id = ${station}`;
  const ended = `${common} and end_station_id = ${station}`;
  return {
    branches: [started, `${ended} and start_station_id is distinct from ${station}`],
    overlapping: [started, ended],
  };
}

/**
 * Tells whether a page needs the numbers of rides by day that a process remembers. A page of the rides of one bike or station
 * needs them only with `updated_since`, to find the days that have changed.
 */
export function needsDays(filters: RideFilters): boolean {
  return ownerOf(filters) === undefined || filters.updated_since !== undefined;
}

/**
 * SQL: the number of rides that started in a stretch of time.
 * @param filters only times of the start (`isStretchOfTime`)
 */
export function countBetween(filters: RideFilters): string {
  // Uses the placeholders of the conditions: $1 is the system, and the given filters follow in the contract's order.
  const given = Object.keys(listFilters.rides).filter((name) => Reflect.get(filters, name) !== undefined);
  const countUpto = (name: string) => countBefore(`$${given.indexOf(name) + 2}::timestamptz`);
  const all = "(select coalesce(sum(n), 0) from list_counts where system_id = $1 and list = 'rides')";
  const upto = filters.started_before === undefined ? all : countUpto("started_before");
  return filters.started_after === undefined
    ? `(${upto})::bigint`
    : `greatest(0, ${upto} - ${countUpto("started_after")})::bigint`;
}

/**
 * SQL: the number of rides that started before an instant. Adds up the stored numbers of the months before the
 * instant's month, of the days before its day and of the hours before its hour, and counts the rides of its hour.
 */
function countBefore(at: string): string {
  const kept = (period: string, from: string | undefined) => `
    (select coalesce(sum(n), 0) from ride_counts where system_id = $1 and period = '${period}'
       and starts_at < date_trunc('${period}', ${at})${from === undefined ? "" : ` and starts_at >= date_trunc('${from}', ${at})`})`;
  const inHour = `
    (select count(*) from rides where system_id = $1 and started_at >= date_trunc('hour', ${at}) and started_at < ${at})`;
  return `(${[kept("month", undefined), kept("day", "month"), kept("hour", "day"), inHour].join(" + ")})`;
}

/*
 * The numbers of changes by which a process knows whether the numbers that it remembers are still valid: it stores a number
 * of changes with what it has read, and compares the two later.
 */

/** SQL: how many transactions have changed rides of an hour that had begun more than two days before. */
export const pastChanges =
  "(select coalesce(sum(past_changes), 0)::bigint from list_counts where system_id = $1 and list = 'rides')";

/** SQL: how many transactions have changed rides of an hour that had begun more than an hour before. */
export const lateChanges =
  "(select coalesce(sum(late_changes), 0)::bigint from list_counts where system_id = $1 and list = 'rides')";
