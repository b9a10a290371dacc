import { type Backend, type BackendOptions, createBackend, createOutages } from "./backend.ts";
import type { City, CityStation } from "./city.ts";
import type { RideUnderWay } from "./history.ts";
import type { OnAnswer } from "./operator-client.ts";
import { type CityEvent, type CityEventOf, planMinute } from "./plan.ts";
import { createRides, type Rides } from "./rides.ts";

/*
 * The life of a simulated city. plan.ts says what happens in each minute; this file does it with the bikes that are there,
 * and sends what the operator's backend would send. A `time` is simulated: milliseconds since midnight of the first day.
 */

/** Applies the planned events of a city to the bikes where they are at that moment. */
export interface CityLife {
  /** Schedules the events of one minute. */
  plan(minute: number): void;
  /** Adds an available bike at a station. */
  putBike(bikeId: string, station: CityStation): void;
  /** Schedules that a bike, which may be anywhere, is brought to a station a while after `time`. */
  returnBike(bikeId: string, time: number): void;
  /** Adds a ride that is under way and ends at a simulated time. */
  goOn(ride: RideUnderWay, end: number): void;
  /** Schedules that an offline station comes back a while after `time`. */
  restoreStation(station: CityStation, time: number): void;
  readonly onAnswer: OnAnswer;
  /** Ends all rides and outages. */
  finish(time: number): void;
  /** Returns how many rides are under way. */
  riding(): number;
  /** Returns the station of each available bike. */
  standing(): ReadonlyMap<string, CityStation>;
}

export interface CityLifeOptions extends BackendOptions {
  readonly seed: number;
  /** Distinguishes the rides of this run from those of others. */
  readonly run: string;
}

const MINUTE_MS = 60_000;
/** Simulated time until a bike or station that an earlier run left unusable is available again. */
const REPAIR_DELAY_MS = 30 * MINUTE_MS;

export function createCityLife(options: CityLifeOptions): CityLife {
  const { city, schedule, seed, run } = options;
  const backend = createBackend(options);
  const { fleet } = backend;
  const outages = createOutages(backend);
  const rides = createRides(backend, run);
  const apply = (event: CityEvent, time: number): void => {
    switch (event.kind) {
      case "ride":
        if (!outages.has(event.from)) rides.start(event, time);
        return;
      case "station_fails":
        return outages.begin(event.station, time + event.seconds * 1000);
      case "bike_breaks":
        return breakBike(backend, event, time);
      case "van":
        return driveVan(backend, event, time);
      case "telemetry":
        return sendTelemetry(backend, rides, event, time);
    }
  };
  return {
    plan(minute) {
      for (const event of planMinute(city, seed, minute)) {
        const time = minute * MINUTE_MS + event.offsetMs;
        schedule.at(time, () => apply(event, time));
      }
    },
    putBike: (bikeId, station) => fleet.put(bikeId, station),
    returnBike(bikeId, time) {
      const returned = time + REPAIR_DELAY_MS;
      schedule.at(returned, () => putAvailable(backend, bikeId, returned, stationFor(city, bikeId)));
    },
    goOn: (ride, end) => rides.goOn(ride, end),
    restoreStation: (station, time) => outages.add(station, time + REPAIR_DELAY_MS),
    onAnswer: rides.onAnswer,
    finish(time) {
      rides.finishAll(time);
      outages.endAll();
    },
    riding: () => rides.activeCount(),
    standing: () =>
      new Map(city.stations.flatMap((station) => fleet.at(station).map((bikeId) => [bikeId, station] as const))),
  };
}

/** Returns the station to which a bike is returned. It is always the same for a bike. */
function stationFor({ stations }: City, bikeId: string): CityStation {
  let sum = 0;
  for (let at = 0; at < bikeId.length; at++) sum += bikeId.charCodeAt(at);
  return stations[sum % stations.length] ?? stations[0];
}

/** Reports that a bike is available at a station. */
function putAvailable(backend: Backend, bikeId: string, time: number, station: CityStation): void {
  sendReport(backend, bikeId, time, station, "available");
  backend.fleet.put(bikeId, station);
}

/** Breaks a bike of a station, and repairs it there later. */
function breakBike(backend: Backend, { station, seconds }: CityEventOf<"bike_breaks">, time: number): void {
  const bikeId = backend.fleet.take(station);
  if (bikeId === undefined) return;
  sendReport(backend, bikeId, time, station, "non_operational");
  const repaired = time + seconds * 1000;
  backend.schedule.at(repaired, () => putAvailable(backend, bikeId, repaired, station));
}

/** Moves bikes by van from the fullest station to the emptiest. */
function driveVan(backend: Backend, { bikes, seconds }: CityEventOf<"van">, time: number): void {
  const { schedule, fleet } = backend;
  const [from, to, unloaded] = [fleet.fullest(), fleet.emptiest(), time + seconds * 1000];
  for (let n = 0; n < bikes; n++) {
    const bikeId = fleet.take(from);
    if (bikeId === undefined) return;
    sendReport(backend, bikeId, time, null, "non_operational");
    schedule.at(unloaded, () => putAvailable(backend, bikeId, unloaded, to));
  }
}

/** Reports the station's free docks, and the range of its bikes or, for delayed telemetry, where they were earlier. */
function sendTelemetry(backend: Backend, rides: Rides, event: CityEventOf<"telemetry">, time: number): void {
  const { fleet, timestamp, send } = backend;
  const { station, rangeMeters, isDelayed } = event;
  for (const id of fleet.at(station)) {
    if (isDelayed) sendLateReport(backend, rides, id);
    else {
      const item = { id, at: timestamp(id, time), station_id: station.id, current_range_meters: rangeMeters };
      send({ path: "bikes/reports", subjectId: id, item });
    }
  }
  const docks = Math.max(0, station.capacity - fleet.at(station).length);
  send({ path: "stations", subjectId: station.id, item: { id: station.id, num_docks_available: docks } });
}

/**
 * Sends a report with the time and place of the start of the bike's last ride. The service must not move the bike back to
 * where it was then.
 */
function sendLateReport({ send }: Backend, rides: Rides, id: string): void {
  const last = rides.lastRideOf(id);
  if (last === undefined) return;
  send({ path: "bikes/reports", subjectId: id, item: { id, at: last.startedAt, station_id: last.from.id } });
}

/** Reports where a bike is, and whether it can be taken. @param station null: on the way */
function sendReport(
  { send, timestamp }: Backend,
  id: string,
  time: number,
  station: CityStation | null,
  state: "available" | "non_operational",
): void {
  // MDS names a reason for both states. The simulator always uses maintenance.
  const why = { vehicle_state: state, reason: "maintenance" } as const;
  const item = { id, at: timestamp(id, time), ...why, station_id: station?.id ?? null };
  send({ path: "bikes/reports", subjectId: id, item });
}
