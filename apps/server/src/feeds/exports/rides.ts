import { randomBytes } from "node:crypto";
import type { ExportPrivacy, LeftOut } from "@bikeshare/contract";
import type { QueryRunner } from "../../storage/db/database.ts";
import type { Column, Value } from "./file-writer.ts";
import type { CityClock, Period } from "./months.rules.ts";
import { readRides, type RideRecord } from "./queries.ts";
import { PairCounter, type PairNaming } from "./ride-pairs.rules.ts";
import type { Places, ShownPlace } from "./stations.ts";

/** The columns of Citi Bike's trip files, in their order, which notebooks and importers of the field read. */
export const rideColumns: readonly Column[] = [
  { name: "ride_id", type: "text", text: "Made up for this file, unless it is `full`" },
  { name: "rideable_type", type: "text", text: "The operator's id of the vehicle type" },
  { name: "started_at", type: "instant", text: "CSV: local time of the city" },
  { name: "ended_at", type: "instant", text: "CSV: local time of the city" },
  { name: "start_station_name", type: "text", text: "`coarse`: the region's, where there is no station id" },
  { name: "start_station_id", type: "text", text: "Empty: outside a station, or named by region" },
  { name: "end_station_name", type: "text", text: "As at the start" },
  { name: "end_station_id", type: "text", text: "As at the start" },
  { name: "start_lat", type: "number", text: "Of the station, or the middle of the region" },
  { name: "start_lng", type: "number", text: "Of the station, or the middle of the region" },
  { name: "end_lat", type: "number", text: "As at the start" },
  { name: "end_lng", type: "number", text: "As at the start" },
  { name: "member_casual", type: "text", text: "`member` or `casual`; empty: unknown" },
];

export interface RideSelection {
  readonly systemId: string;
  readonly period: Period;
  readonly privacy: ExportPrivacy;
  readonly places: Places;
  readonly clock: CityClock;
}

/** What became of the rides of a month. */
export interface RideTally {
  readonly leftOut: LeftOut;
  /** Rides that name regions; null: the privacy level merges none. */
  readonly merged: number | null;
}

type EndedRide = RideRecord & { readonly endedAt: number };

/**
 * Reads a month's rides as rows of a file. All must be read in one transaction with one snapshot: `coarse` reads the rides
 * twice, first to count them by pair of stations.
 * @returns the rows, then what was left out
 */
export async function* rideRows(
  db: QueryRunner,
  { systemId, period, privacy, places, clock }: RideSelection,
): AsyncGenerator<Value[][], RideTally> {
  const leftOut = { not_completed: 0, short: 0, ended_by_operator: 0, rare: 0 };
  const kept = (rides: readonly RideRecord[]) =>
    rides.filter((ride): ride is EndedRide => {
      const reason = reasonToLeaveOut(ride);
      if (reason !== undefined) leftOut[reason]++;
      return reason === undefined;
    });
  if (privacy !== "coarse") {
    const show = showRide(privacy, places);
    for await (const rides of readRides(db, systemId, period)) yield kept(rides).map(show);
    return { leftOut, merged: null };
  }
  const namingOf = await countPairs(db, systemId, period, places);
  let merged = 0;
  let quarter: Value[][] = [];
  let quarterStart = Number.NEGATIVE_INFINITY;
  for await (const rides of readRides(db, systemId, period)) {
    const done: Value[][] = [];
    for (const ride of kept(rides)) {
      const naming = namingOf(ride.startStationId, ride.endStationId);
      if (naming === undefined) leftOut.rare++;
      else {
        if (naming !== "stations") merged++;
        const startedAt = clock.coarse(ride.startedAt);
        if (startedAt !== quarterStart) {
          done.push(...shuffled(quarter));
          quarter = [];
          quarterStart = startedAt;
        }
        quarter.push(showCoarsely(ride, startedAt, clock.coarse(ride.endedAt), naming, places));
      }
    }
    yield done;
  }
  yield shuffled(quarter);
  return { leftOut, merged };
}

/** Returns why a ride is in no file; undefined: it is in them. */
function reasonToLeaveOut(ride: RideRecord): keyof LeftOut | undefined {
  if (ride.status !== "completed" || ride.endedAt === null) return "not_completed";
  if (ride.endReason === "operator" || ride.endReason === "timeout") return "ended_by_operator";
  return ride.isCountable ? undefined : "short";
}

async function countPairs(
  db: QueryRunner,
  systemId: string,
  period: Period,
  places: Places,
): Promise<(start: string | null, end: string | null) => PairNaming> {
  const counter = new PairCounter();
  for await (const rides of readRides(db, systemId, period)) {
    for (const ride of rides)
      if (reasonToLeaveOut(ride) === undefined) counter.add(ride.startStationId, ride.endStationId);
  }
  return counter.namings((stationId) => places.regionOf(stationId));
}

/** Sorts a quarter's rows by their random ids: their order would tell which ride began first. */
function shuffled(rows: Value[][]): Value[][] {
  return rows.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

function showRide(privacy: "stations" | "full", places: Places): (ride: EndedRide) => Value[] {
  const isFull = privacy === "full";
  const timeOf = isFull ? (instant: number) => instant : (instant: number) => Math.floor(instant / 1000) * 1000;
  return (ride) =>
    rowOf(
      isFull ? ride.id : newRideId(),
      ride,
      { startedAt: timeOf(ride.startedAt), endedAt: timeOf(ride.endedAt) },
      places.station(ride.startStationId),
      places.station(ride.endStationId),
    );
}

function showCoarsely(
  ride: EndedRide,
  startedAt: number,
  endedAt: number,
  naming: Exclude<PairNaming, undefined>,
  places: Places,
): Value[] {
  const [start, end] =
    naming === "stations"
      ? [places.coarseStation(ride.startStationId), places.coarseStation(ride.endStationId)]
      : [places.region(naming.start), places.region(naming.end)];
  return rowOf(newRideId(), ride, { startedAt, endedAt }, start, end);
}

/** A row in the order of `rideColumns`. */
function rowOf(
  id: string,
  { vehicleTypeId, riderCategory }: RideRecord,
  { startedAt, endedAt }: { readonly startedAt: number; readonly endedAt: number },
  start: ShownPlace,
  end: ShownPlace,
): Value[] {
  return [
    ...[id, vehicleTypeId, startedAt, endedAt],
    ...[start.name, start.id, end.name, end.id],
    ...[start.lat, start.lon, end.lat, end.lon, riderCategory],
  ];
}

/** Bytes of a made-up id: of ten million no two are equal. */
const ID_BYTES = 10;
let pool = Buffer.alloc(0);
let used = 0;

/** Returns a random id, from no generator that could be guessed on. */
function newRideId(): string {
  if (used >= pool.length) {
    pool = randomBytes(ID_BYTES * 1000);
    used = 0;
  }
  return pool.toString("hex", used, (used += ID_BYTES)).toUpperCase();
}
