import type { BatchResults } from "@bikeshare/contract";
import {
  type City,
  type CityRide,
  createRandom,
  describeCity,
  makeCity,
  makeHistory,
  type RideUnderWay,
  type StationChange,
} from "@bikeshare/simulator";
import { lengthOf } from "../../city/counts/service.ts";
import { DEMO_TIME_ZONE, describeDemo } from "../../city/descriptions/made-up-city.ts";
import { upsertBikes } from "../../city/fleet/bike-commands.ts";
import { batchOf, type PastRide, writePastRides } from "../../city/fleet/ride-import.ts";
import { startRides } from "../../city/fleet/start-rides.ts";
import { upsertStations } from "../../city/fleet/station-commands.ts";
import { deleteStatesSinceButNewest, type PastState, recordPastStates } from "../../city/history/past-states.ts";
import { sumWholePast } from "../../city/history/sums.ts";
import type { ActorContext } from "../../command-context.ts";
import type { Database } from "../../storage/db/database.ts";

/* Fills a system with the made-up city of `start`: stations, bikes and the rides of four weeks. */

type DemoContext = ActorContext & { readonly db: Database };

/** A fixed seed, so that the city is always the same. */
export const DEMO_SEED = 20_260_101;
const CITY = { stations: 200, bikes: 2000 };
/** Four whole weeks and today, so that every weekday can be compared. As many rides a day as the simulator starts. */
const HISTORY = { rides: 140_000, days: 29 };
const DAY_MS = 24 * 3_600_000;
/** The days of the past that are written before the service starts: today and yesterday. */
const FIRST_DAYS = 2;
/** Rides that are written in one transaction. Too high: takes more memory. Too low: commits more often. */
const RIDES_PER_TRANSACTION = 12_500;

/** Tells whether a system has neither stations nor rides. */
export async function isEmpty(db: Database, systemId: string): Promise<boolean> {
  return (await lengthOf(db, systemId, "stations")) === 0 && (await lengthOf(db, systemId, "rides")) === 0;
}

/** Returns the made-up city of the demo. */
export function demoCity(): City {
  return makeCity(createRandom(DEMO_SEED), CITY);
}

/** A demo city that has just been created. */
export interface MadeCity {
  /** The rides under way, which the caller must end. */
  readonly underWay: readonly RideUnderWay[];
  /** The remaining past, to be written while the service runs. */
  readonly past: RestOfPast;
}

/** The part of the made-up past that is not stored before the service starts. */
interface RestOfPast {
  /** Writes the remaining past day by day, the newest day first, and then sums it, until the signal aborts. */
  write(db: Database, stopping: AbortSignal): Promise<void>;
}

/**
 * Fills a system with the demo's city, with the operator as the source: 200 stations, 2,000 bikes and the rides of today and
 * yesterday. Each bike is where its last ride left it.
 * @param isSimulated whether rides go on afterwards; if not, a bike of a ride under way is where the ride would have ended
 */
export async function fillWithDemoCity(
  context: DemoContext,
  systemId: string,
  isSimulated: boolean,
): Promise<MadeCity> {
  const { db, clock } = context;
  const city = demoCity();
  const now = clock();
  const changes: StationChange[] = [];
  const history = makeHistory(city, createRandom(DEMO_SEED + 1), {
    ...HISTORY,
    now,
    offsetMs: offsetOf(now),
    onChange: (change) => void changes.push(change),
  });
  const placed = history.underWay.map(({ bike, from, to }) => [bike, isSimulated ? from : to] as const);
  const { stations, bikes } = describeCity(city, new Map([...history.standing, ...placed]));
  const underWay = isSimulated ? history.underWay : [];
  await describeDemo(context, systemId, city);
  // Uses one transaction each. Over HTTP at most 1,000 items would be taken at a time.
  assertAllDone(await upsertStations(context, systemId, stations));
  assertAllDone(await upsertBikes(context, systemId, bikes));
  assertAllDone(await startRides(context, systemId, underWay.map(startOf)));
  const days = daysOf(history.rides, changes, now);
  // Takes the newest days out of `days`. The rest is written while the service runs.
  const firsts = days.splice(0, FIRST_DAYS);
  // The invented past replaces the first states of the stations, which were recorded at their creation just now.
  await db.transaction((tx) => deleteStatesSinceButNewest(tx, systemId, new Date(now)));
  // Writes both days at the same time, because PostgreSQL uses a separate processor for each. Each has a separate slot of
  // the counts, so that they do not wait for each other.
  await Promise.all(firsts.map((day, slot) => writeDay(db, systemId, day, slot, now)));
  const write: RestOfPast["write"] = async (backgroundDb, stopping) => {
    for (const day of days) {
      if (stopping.aborted) return;
      await writeDay(backgroundDb, systemId, day, 0, now);
    }
    // Sums at once and without pauses, instead of one step each minute, because somebody is about to look at the pages.
    await sumWholePast({ db: backgroundDb, clock, monotonic: () => performance.now() }, systemId, stopping);
  };
  return { underWay, past: { write } };
}

function startOf({ id, bike, from, startedAt, riderCategory }: RideUnderWay) {
  const trip = { start_station_id: from.id, rider_category: riderCategory };
  return { item: { id, bike_id: bike.id, started_at: new Date(startedAt).toISOString(), ...trip } };
}

/** Returns by how many milliseconds the city's local time is ahead of UTC at an instant. */
function offsetOf(now: number): number {
  // Swedish writes a time as ISO 8601 does, but with a space: `2026-01-31 08:00:00`.
  const local = new Date(now).toLocaleString("sv-SE", { timeZone: DEMO_TIME_ZONE });
  return Date.parse(`${local.replace(" ", "T")}Z`) - Math.floor(now / 1000) * 1000;
}

/** Returns the instant at which a local day begins. @param day the number of days since 1970 */
function midnightOf(day: number): number {
  // The offset of an instant that is at most some hours away, and then that of the midnight: the clock may change between.
  const about = day * DAY_MS - offsetOf(day * DAY_MS);
  return day * DAY_MS - offsetOf(about);
}

/** The hours of the day between which enough people ride to show something. */
const BUSY = { from: 6, until: 21 };

/** Returns the local time of day in milliseconds; undefined at night, when hardly anybody rides. */
export function busyTimeOfDay(now: number): number | undefined {
  const timeOfDay = (now + offsetOf(now)) % DAY_MS;
  const hour = timeOfDay / 3_600_000;
  return hour >= BUSY.from && hour < BUSY.until ? timeOfDay : undefined;
}

/** A day of the city's past, in local time. */
interface DayOfPast {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly rides: CityRide[];
  /** The state of every station at the beginning of the day, then each change. */
  readonly states: PastState[];
}

/** Divides the past into days, the newest first. */
function daysOf(rides: readonly CityRide[], changes: readonly StationChange[], now: number): DayOfPast[] {
  const first = Math.floor((now + offsetOf(now)) / DAY_MS) - (HISTORY.days - 1);
  const days = Array.from({ length: HISTORY.days }, (_, index): DayOfPast => ({
    since: midnightOf(first + index),
    rides: [],
    states: [],
  }));
  const indexOf = (at: number) => days.findLastIndex(({ since }) => since <= at);
  for (const ride of rides) days[indexOf(ride.startedAt)]?.rides.push(ride);
  const latest = new Map<string, PastState>();
  /** The index of the day to which the changes have come. */
  let begun = 0;
  for (const change of changes) {
    // Begins each day up to that of the change with the states in which the day before ended.
    while (begun < indexOf(change.at)) {
      const day = days[++begun];
      for (const state of latest.values()) day?.states.push({ ...state, at: day.since });
    }
    const state = pastState(change);
    latest.set(state.stationId, state);
    days[begun]?.states.push(state);
  }
  return days.slice(0, begun + 1).reverse();
}

/**
 * Writes the rides and the states of stations of a day.
 * @param slot the slot of the stored counts to add to. Each count is stored in several rows (slots), so that concurrent
 * transactions with different slots do not wait for each other
 */
async function writeDay(db: Database, systemId: string, day: DayOfPast, slot: number, now: number): Promise<void> {
  const origin = { systemId, importId: null, source: "operator", updatedAt: new Date(now).toISOString() };
  for (let start = 0; start < day.rides.length; start += RIDES_PER_TRANSACTION) {
    const batch = day.rides.slice(start, start + RIDES_PER_TRANSACTION).map(pastRide);
    // `true`: no stored ride has one of these ids, so they are copied straight into the table.
    await writePastRides(db, origin, batchOf(origin, batch), slot, true);
  }
  await db.transaction((tx) =>
    recordPastStates(tx, systemId, day.states, {
      since: new Date(day.since),
      until: new Date(Math.min(day.since + DAY_MS, now)),
    }),
  );
}

function assertAllDone({ failed, results }: BatchResults): void {
  if (failed === 0) return;
  throw new Error(
    `The city could not be created: ${results.find(({ error }) => error !== null)?.error?.message ?? ""}`,
  );
}

function pastState({ at, station, bikes, ebikes, isOffline }: StationChange): PastState {
  const docks = Math.max(0, station.capacity - bikes);
  return { stationId: station.id, at, bikes, docks, byType: typesOf(bikes - ebikes, ebikes), isOffline };
}

/** Returns the types of the bikes at a station, each followed by its number: `["bike", 3, "ebike", 1]`. */
function typesOf(bikes: number, ebikes: number): (string | number)[] {
  return [...(bikes > 0 ? ["bike", bikes] : []), ...(ebikes > 0 ? ["ebike", ebikes] : [])];
}

/** Returns a ride as imports store it. @param index its place among the rides that are written together */
function pastRide(ride: CityRide, index: number): PastRide {
  return {
    row: index + 1,
    id: ride.id,
    bikeId: ride.bike.id,
    startStationId: ride.from.id,
    endStationId: ride.to?.id ?? null,
    startedAt: ride.startedAt,
    endedAt: ride.endedAt,
    durationSeconds: Math.round((ride.endedAt - ride.startedAt) / 1000),
    vehicleTypeId: ride.bike.vehicleTypeId,
    riderCategory: ride.riderCategory,
    endReason: ride.to === undefined ? "free_floating" : "returned",
  };
}
