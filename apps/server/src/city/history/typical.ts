import {
  FORECAST_MIN_DAYS,
  type ForecastQuery,
  type StationForecast,
  type StationTypical,
  TYPICAL_MIN_DAYS,
} from "@bikeshare/contract";
import type { StationWeek } from "@bikeshare/contract/console";
import { horizonMs, serviceError } from "@bikeshare/rules";
import type { QueryRunner } from "../../storage/db/database.ts";
import { timeZoneOfSystem } from "../descriptions/service.ts";
import { findFirstKnownHour, findLocalTime, findStationNow, listKnownHours, listWeekCells } from "./queries.ts";
import {
  areEnough,
  changesOver,
  countDays,
  forecastAsNow,
  forecastFrom,
  isBetter,
  kindOfDay,
  type KnownQuarter,
  outcomesOf,
  quartersOf,
  scoreForecasts,
  usualDays,
} from "./typical.rules.ts";

/*
 * Returns a station's usual day and week, and forecasts of its bikes and docks, from the hours that are summed
 * (`sums-queries.ts`). `typical.rules.ts` computes them. A forecast is "as now" unless past changes foretell better.
 */

const QUARTER_MS = 900_000;
const HOUR_MS = 4 * QUARTER_MS;
const DAY_MS = 24 * HOUR_MS;

/** Number of past days from which usual values are computed: eight weeks, in which seasons hardly change. */
const LOOKED_AT_DAYS = 56;

interface TypicalContext {
  readonly db: QueryRunner;
  readonly clock: () => number;
}

/** Returns a station's usual day, once enough days are known. @throws ServiceError `not_found` */
export async function typicalOfStation(
  context: TypicalContext,
  systemId: string,
  stationId: string,
): Promise<StationTypical> {
  const { timeZone, quarters, since } = await knownOf(context, systemId, stationId);
  const readiness = readinessOf(quarters, since, context.clock(), TYPICAL_MIN_DAYS);
  return {
    station_id: stationId,
    time_zone: timeZone,
    ...readiness,
    data: readiness.is_ready ? usualDays(quarters) : [],
  };
}

/** Returns the mean values of a station by weekday and hour. @throws ServiceError `not_found` */
export async function weekOfStation(
  { db, clock }: TypicalContext,
  systemId: string,
  stationId: string,
): Promise<StationWeek> {
  await requireStation(db, systemId, stationId);
  const timeZone = await timeZoneOfSystem(db, systemId);
  const range = lookedAt(clock());
  const first = await findFirstKnownHour(db, systemId, stationId);
  const data = await listWeekCells(db, systemId, { stationId, timeZone, ...range });
  const from = data.length === 0 ? null : new Date(Math.max(range.from.getTime(), first?.getTime() ?? 0)).toISOString();
  return { station_id: stationId, time_zone: timeZone, from, data };
}

/** Returns a forecast of a station's bikes and docks. @throws ServiceError `not_found` */
export async function forecastOfStation(
  context: TypicalContext,
  systemId: string,
  stationId: string,
  { horizon = "PT30M" }: ForecastQuery,
): Promise<StationForecast> {
  const { db, clock } = context;
  const now = new Date(clock());
  const { station, timeZone, quarters, since } = await knownOf(context, systemId, stationId);
  const readiness = readinessOf(quarters, since, now.getTime(), FORECAST_MIN_DAYS);
  const { num_bikes_available: bikes, num_docks_available: docks, capacity } = station;
  const horizonQuarters = horizonMs[horizon] / QUARTER_MS;
  const answer = {
    station_id: stationId,
    made_at: now.toISOString(),
    for: new Date(now.getTime() + horizonMs[horizon]).toISOString(),
    horizon,
    ...readiness,
  };
  const asNow = {
    method: "as_now" as const,
    bikes: forecastAsNow(bikes),
    docks: docks === null ? null : forecastAsNow(docks),
  };
  if (!readiness.is_ready) return { ...answer, ...asNow, score: null };
  // A station may hold more bikes than its known capacity. Without a known capacity there is no limit.
  const most = Math.max(capacity ?? Infinity, bikes, docks ?? 0);
  const changes = changesOver(quarters, "bikes", horizonQuarters);
  const score = scoreForecasts(quarters, changes, { horizonQuarters, most });
  const { day, minute } = await findLocalTime(
    db,
    timeZone,
    new Date(Math.floor(now.getTime() / QUARTER_MS) * QUARTER_MS),
  );
  const time = { kind: kindOfDay(day), minute };
  const outcomes = outcomesOf(changes, time, { now: bikes, most });
  if (score === null || !isBetter(score) || !areEnough(outcomes)) return { ...answer, ...asNow, score };
  return {
    ...answer,
    method: "change",
    bikes: forecastFrom(bikes, outcomes),
    docks: docks === null ? null : forecastDocks(quarters, { horizonQuarters, time, docks, most }),
    score,
  };
}

/** Returns the forecast of docks from past changes of docks; "as now" when these are too few. */
function forecastDocks(
  quarters: readonly KnownQuarter[],
  {
    horizonQuarters,
    time,
    docks,
    most,
  }: {
    readonly horizonQuarters: number;
    readonly time: Pick<KnownQuarter, "kind" | "minute">;
    readonly docks: number;
    readonly most: number;
  },
): StationForecast["docks"] {
  const outcomes = outcomesOf(changesOver(quarters, "docks", horizonQuarters), time, { now: docks, most });
  return areEnough(outcomes) ? forecastFrom(docks, outcomes) : forecastAsNow(docks);
}

/** Returns the period from which usual values are computed. */
function lookedAt(now: number): { readonly from: Date; readonly to: Date } {
  // Leaves out the current hour, because only some of its quarters are known.
  const to = Math.floor(now / HOUR_MS) * HOUR_MS;
  return { from: new Date(to - LOOKED_AT_DAYS * DAY_MS), to: new Date(to) };
}

/** Reads a station, the quarters of the looked-at period, and its first known hour. @throws ServiceError `not_found` */
async function knownOf({ db, clock }: TypicalContext, systemId: string, stationId: string) {
  const station = await requireStation(db, systemId, stationId);
  const timeZone = await timeZoneOfSystem(db, systemId);
  const hours = await listKnownHours(db, systemId, { stationId, timeZone, ...lookedAt(clock()) });
  const since = await findFirstKnownHour(db, systemId, stationId);
  return { station, timeZone, quarters: quartersOf(hours), since };
}

/** Returns a station's present numbers. @throws ServiceError `not_found` */
async function requireStation(db: QueryRunner, systemId: string, stationId: string) {
  const station = await findStationNow(db, systemId, stationId);
  if (station === undefined) throw serviceError("not_found", "station");
  return station;
}

/** Tells whether enough days are known, and when they will be if every further day is known. */
function readinessOf(quarters: readonly KnownQuarter[], since: Date | undefined, now: number, needed: number) {
  const days = countDays(quarters);
  const isReady = days >= needed;
  const readyAt = isReady || since === undefined ? null : new Date(now + (needed - days) * DAY_MS).toISOString();
  return { is_ready: isReady, days_known: days, since: since?.toISOString() ?? null, ready_at: readyAt };
}
