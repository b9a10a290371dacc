import type {
  Flow,
  FlowList,
  FlowQuery,
  FleetByState,
  ForecastQuery,
  Ride,
  StationForecast,
  StationTypical,
  SummaryStep,
  SystemSummary,
} from "../json-types.generated.ts";
import { shownBike } from "./bikes.ts";
import { type City, instant } from "./city.ts";
import { decodeCursor, encodeCursor } from "./lists.ts";
import type { Values } from "./parameters.ts";
import {
  addDays,
  compareIds,
  cursorScope,
  horizonMs,
  MAX_PAGE_SIZE,
  MIN_FLOW_RIDES,
  readDayRange,
  readPageRequest,
  readSummaryRange,
  serviceError,
} from "./rules.ts";

/*
 * The fake's answers about a time span instead of a moment: the summary of the system, flows between stations, a station's
 * usual day and its forecast. Rides are summed at each request. Everything else is given for the present only.
 */

/** The time zone of the fake's city. */
const TIME_ZONE = "UTC";
const HOUR_MS = 3_600_000;
const QUARTER_MS = HOUR_MS / 4;
const DAY_MS = 24 * HOUR_MS;

/**
 * Returns a summary. Rides are summed by step. The fleet and stations are only in the present step: their past is unknown.
 */
export function summaryOf(city: City, query: Values): SystemSummary {
  const now = city.now();
  const { step, from, to } = readSummaryRange(query, now);
  const stepMs = { PT15M: QUARTER_MS, PT1H: HOUR_MS, P1D: DAY_MS }[step];
  const first = Math.floor(from / stepMs) * stepMs;
  /** The start of the first hour whose rides are known. */
  const knownFrom = hourOf(Math.min(now, firstOf(city)));
  const data: SummaryStep[] = [];
  for (let at = first; at < to; at += stepMs) {
    const isIn = (time: string | null) => time !== null && Date.parse(time) >= at && Date.parse(time) < at + stepMs;
    const rides = [...city.rides.values()].filter(({ status }) => status !== "cancelled");
    const isNow = at <= now && now < at + stepMs;
    // In the future, and before rides are known, the sums are null, not 0.
    const isSummed = at < now && at + stepMs > knownFrom;
    data.push({
      from: instant(at),
      to: instant(at + stepMs),
      rides_started: isSummed ? rides.filter((ride) => isIn(ride.started_at)).length : null,
      rides_ended: isSummed ? rides.filter((ride) => isIn(ride.ended_at)).length : null,
      fleet: isNow ? fleetOf(city) : null,
      stations: isNow ? stationsOf(city) : null,
    });
  }
  return { step, time_zone: TIME_ZONE, summed_to: instant(now), data };
}

/** Returns the start of the hour of an instant. */
function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

/** Returns the start of the first ride, or the time of the first station if that is earlier: before it nothing is known. */
function firstOf({ rides, stations }: City): number {
  const starts = [...rides.values()].map(({ started_at }) => Date.parse(started_at));
  return starts.reduce((first, at) => Math.min(first, at), stations.begins());
}

function fleetOf(city: City): FleetByState {
  const states = [...city.bikes.values()].map((bike) => shownBike(bike).vehicle_state);
  const count = (...wanted: readonly string[]) => states.filter((state) => wanted.includes(state)).length;
  return {
    available: count("available"),
    reserved: count("reserved"),
    on_trip: count("on_trip"),
    disabled: count("non_operational", "non_contactable"),
    missing: count("missing"),
  };
}

function stationsOf(city: City): NonNullable<SummaryStep["stations"]> {
  const stations = [...city.stations.values()].map(({ shown }) => shown);
  const online = stations.filter(({ status }) => status === "online");
  return {
    online: online.length,
    empty: online.filter((station) => station.num_bikes_available === 0).length,
    full: online.filter((station) => station.num_docks_available === 0).length,
    offline: stations.filter(({ status }) => status === "offline").length,
  };
}

/** Returns one page of flows, summed from the fake's completed rides. */
export function flowsOf(city: City, query: Values): FlowList {
  const { limit: wanted, cursor: given, ...selection } = query as FlowQuery;
  const today = instant(city.now()).slice(0, 10);
  const { from, to } = readDayRange(selection, { to: addDays(today, -1), days: 7 });
  const scope = cursorScope("", "flows", { ...selection });
  const paging = { limit: wanted === undefined ? undefined : Math.min(wanted, MAX_PAGE_SIZE), cursor: given };
  const asked = readPageRequest(paging, (text) => decodeCursor<readonly [string, string]>(scope, text));
  const after = asked.kind === "cursor" ? asked.after : undefined;
  const data: Flow[] = [];
  const left_out = { pairs: 0, rides: 0 };
  for (const flow of pairsOf([...city.rides.values()], { from, to }, selection.station_id)) {
    if (after !== undefined && comparePairs(flow, { start_station_id: after[0], end_station_id: after[1] }) <= 0)
      continue;
    const last = data.at(-1);
    if (data.length === asked.limit && last !== undefined) {
      const next_cursor = encodeCursor(scope, [last.start_station_id, last.end_station_id] as const);
      return { from, to, time_zone: TIME_ZONE, summed_to: instant(city.now()), data, left_out, next_cursor };
    }
    // Few rides between two stations could reveal a person, so they are only counted.
    if (flow.rides >= MIN_FLOW_RIDES) data.push(flow);
    else {
      left_out.pairs++;
      left_out.rides += flow.rides;
    }
  }
  return { from, to, time_zone: TIME_ZONE, summed_to: instant(city.now()), data, left_out };
}

/** Counts completed rides by pair of stations, in the order of the pairs. @param stationId undefined: of any station */
function pairsOf(rides: readonly Ride[], days: { from: string; to: string }, stationId: string | undefined): Flow[] {
  const pairs = new Map<string, Flow>();
  for (const { status, started_at, start_station_id, end_station_id } of rides) {
    const day = started_at.slice(0, 10);
    if (status !== "completed" || start_station_id === null || end_station_id === null) continue;
    if (day < days.from || day > days.to) continue;
    if (stationId !== undefined && start_station_id !== stationId && end_station_id !== stationId) continue;
    const key = JSON.stringify([start_station_id, end_station_id]);
    const { rides: n } = pairs.get(key) ?? { rides: 0 };
    pairs.set(key, { start_station_id, end_station_id, rides: n + 1 });
  }
  return [...pairs.values()].sort(comparePairs);
}

type Pair = Pick<Flow, "start_station_id" | "end_station_id">;

function comparePairs(one: Pair, other: Pair): number {
  return (
    compareIds(one.start_station_id, other.start_station_id) || compareIds(one.end_station_id, other.end_station_id)
  );
}

/** The fields of a usual day or a forecast without any history. */
const unknown = { is_ready: false, days_known: 0, since: null, ready_at: null };

/** Returns a usual day without data, because a fake does not compute usual days. @throws ServiceError `not_found` */
export function typicalOf(city: City, id: string): StationTypical {
  stationOf(city, id);
  return { station_id: id, time_zone: TIME_ZONE, ...unknown, data: [] };
}

/** Returns a forecast that a station stays as it is, because a fake knows no usual days. @throws ServiceError `not_found` */
export function forecastOf(city: City, id: string, query: Values): StationForecast {
  const { num_bikes_available: bikes, num_docks_available: docks } = stationOf(city, id);
  const { horizon = "PT30M" } = query as ForecastQuery;
  const same = (now: number) => ({ now, low: now, median: now, high: now, at_least_one: now > 0 ? 1 : 0 });
  return {
    station_id: id,
    made_at: instant(city.now()),
    for: instant(city.now() + horizonMs[horizon]),
    horizon,
    ...unknown,
    method: "as_now",
    bikes: same(bikes),
    docks: docks === null ? null : same(docks),
    score: null,
  };
}

function stationOf({ stations }: City, id: string) {
  const station = stations.get(id);
  if (station === undefined) throw serviceError("not_found", "station");
  return station.shown;
}
