import { createReadStream } from "node:fs";
import { readRecords } from "@bikeshare/csv";
import { batchSender, type RecordedEvent } from "@bikeshare/load";

/*
 * Reads the rides of a trip file's busiest day, and plans their replay by the load test: when each ride starts and ends in
 * the run, and on which bike.
 */

/** A station as a trip file describes it. */
interface RecordedStation {
  readonly id: string;
  readonly name: string;
  readonly lat: number;
  readonly lon: number;
}

/** A ride of a trip file. Times are in milliseconds by the file's local clock, read as if it were UTC. */
export interface RecordedRide {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly from: RecordedStation | undefined;
  readonly to: RecordedStation | undefined;
}

/** The columns that are read, with their names in the two usual formats of trip files. */
const COLUMNS = {
  startedAt: ["started_at", "starttime"],
  endedAt: ["ended_at", "stoptime"],
  fromId: ["start_station_id", "start station id"],
  fromName: ["start_station_name", "start station name"],
  fromLat: ["start_lat", "start station latitude"],
  fromLon: ["start_lng", "start station longitude"],
  toId: ["end_station_id", "end station id"],
  toName: ["end_station_name", "end station name"],
  toLat: ["end_lat", "end station latitude"],
  toLon: ["end_lng", "end station longitude"],
} as const;
type Column = keyof typeof COLUMNS;

const DAY_MS = 86_400_000;

/**
 * Reads the rides of the busiest day of a trip file; rows without usable times are left out.
 * @throws if the file has no readable rides
 */
export async function readBusiestDay(path: string): Promise<RecordedRide[]> {
  const byDay = new Map<number, RecordedRide[]>();
  let header: readonly string[] | undefined;
  await readRecords(createReadStream(path), {
    record(fields) {
      if (header === undefined) {
        header = fields;
        return;
      }
      const ride = readRide(Object.fromEntries(header.map((name, index) => [name, fields[index] ?? ""])));
      if (ride === undefined) return;
      const day = Math.floor(ride.startedAt / DAY_MS);
      const rides = byDay.get(day) ?? [];
      rides.push(ride);
      byDay.set(day, rides);
    },
    // The rides are kept in memory, so there is nothing to wait for between two parts of the file.
    pause: () => Promise.resolve(),
  });
  const [busiest] = [...byDay.values()].toSorted((a, b) => b.length - a.length);
  if (busiest === undefined) {
    const names = Object.values(COLUMNS).map((alternatives) => alternatives.join(" or "));
    throw new Error(`${path} has no rides that can be read. Its columns must be ${names.join(", ")}.`);
  }
  return busiest.toSorted((a, b) => a.startedAt - b.startedAt);
}

/** Reads a row, by column names; undefined: it has no usable times. */
function readRide(row: Readonly<Record<string, string>>): RecordedRide | undefined {
  const read = (column: Column) => COLUMNS[column].map((name) => row[name]).find((value) => value !== undefined) ?? "";
  // Cuts a time after its milliseconds, and reads it as UTC. The time zone does not matter, because a replay needs only the
  // times between rides.
  const timeOf = (column: Column) => Date.parse(`${read(column).replace(" ", "T").slice(0, 23)}Z`);
  const [startedAt, endedAt] = [timeOf("startedAt"), timeOf("endedAt")];
  // Omits rides of a day or longer, whose bikes would not be available during the replay. NaN, an unreadable time,
  // fails both comparisons.
  const isUsable = endedAt >= startedAt && endedAt - startedAt < DAY_MS;
  if (!isUsable) return undefined;
  const station = (id: Column, name: Column, lat: Column, lon: Column): RecordedStation | undefined =>
    read(id) === ""
      ? undefined
      : { id: read(id), name: read(name) || read(id), lat: Number(read(lat)), lon: Number(read(lon)) };
  return {
    startedAt,
    endedAt,
    from: station("fromId", "fromName", "fromLat", "fromLon"),
    to: station("toId", "toName", "toLat", "toLon"),
  };
}

/** Milliseconds of the run before a bike is used again. By then the response to its last command has arrived. */
const BIKE_REST_MS = 2000;

/** A recorded day in the form that a run replays. */
export interface Replay {
  readonly events: readonly RecordedEvent[];
  readonly stations: readonly RecordedStation[];
  readonly bikeIds: readonly string[];
}

/**
 * Returns the starts and ends of the rides by time, sped up by a factor, with their stations and bikes. `readBusiestDay`
 * reads no bikes, so each ride gets a bike whose last ride has ended, or a new one.
 * @param rides by start
 * @param prefix begins the ids of bikes and rides
 */
export function planReplay(rides: readonly RecordedRide[], speed: number, prefix: string): Replay {
  const first = rides[0]?.startedAt ?? 0;
  const changes = rides
    .flatMap((ride, index) => [
      { kind: "start" as const, index, at: ride.startedAt, station: ride.from },
      { kind: "end" as const, index, at: ride.endedAt, station: ride.to },
    ])
    // Sorts the start of a ride of length 0 before its end.
    .toSorted((a, b) => a.at - b.at || a.index - b.index || (a.kind === "start" ? -1 : 1));
  /**
   * Bikes whose last ride has ended, and from when (recorded time) each may be used again. The earliest is first, because
   * rides end in the order of `changes`.
   */
  const free: { readonly bike: number; readonly from: number }[] = [];
  const bikeOf = new Map<number, number>();
  let bikes = 0;
  const takeBike = (at: number): number => {
    const [earliest] = free;
    if (earliest === undefined || earliest.from > at) return bikes++;
    free.shift();
    return earliest.bike;
  };
  const events = changes.map(({ kind, index, at, station }): RecordedEvent => {
    if (kind === "start") bikeOf.set(index, takeBike(at));
    // Always found, because a ride's start comes before its end.
    const bikeNumber = bikeOf.get(index) ?? 0;
    if (kind === "end") free.push({ bike: bikeNumber, from: at + BIKE_REST_MS * speed });
    return {
      kind,
      atMs: (at - first) / speed,
      rideId: `${prefix}ride-${index}`,
      bikeNumber,
      bikeId: `${prefix}bike-${bikeNumber}`,
      stationId: station?.id ?? null,
    };
  });
  const stations = new Map<string, RecordedStation>();
  for (const { from, to } of rides) {
    for (const station of [from, to]) if (station !== undefined) stations.set(station.id, station);
  }
  return {
    events,
    stations: [...stations.values()],
    bikeIds: Array.from({ length: bikes }, (_, n) => `${prefix}bike-${n}`),
  };
}

/**
 * Creates the bikes of a recorded day, and its stations if the service does not have them. All bikes begin at one station,
 * wherever their first ride starts.
 * @param known the ids of the stations that the service has
 */
export async function fillReplay(
  url: string,
  operatorKey: string,
  { stations, bikeIds }: Replay,
  known: ReadonlySet<string>,
): Promise<void> {
  const send = batchSender(url, operatorKey);
  await send(
    "stations",
    stations.filter(({ id }) => !known.has(id)),
  );
  const [first] = stations;
  await send(
    "bikes",
    bikeIds.map((id) => ({ id, vehicle_state: "available", station_id: first?.id ?? null })),
  );
}
