import type { BatchResults, FactChanges, FactKind } from "@bikeshare/contract";
import {
  type City,
  type CityRide,
  createRandom,
  describeCity,
  EBIKE_RANGE_METERS,
  makeCity,
  makeHistory,
  type RideUnderWay,
  type StationChange,
} from "@bikeshare/simulator";
import { lengthOf } from "../../city/counts/service.ts";
import { describe, describedAll, describedSystem, describedTypesEver } from "../../city/descriptions/service.ts";
import { upsertBikes } from "../../city/fleet/bike-commands.ts";
import { batchOf, type PastRide, writePastRides } from "../../city/fleet/ride-import.ts";
import { startRides } from "../../city/fleet/start-rides.ts";
import { upsertStations } from "../../city/fleet/station-commands.ts";
import { deleteCreation, type PastState, recordPastStates } from "../../city/history/past-states.ts";
import { sumWholePast } from "../../city/history/sums.ts";
import type { ActorContext } from "../../command-context.ts";
import type { Database } from "../../storage/db/database.ts";

// What GBFS publishes of the made-up city: everything that planners read, so that they can be tested against it.

/** That of the land nearest to the made-up city, which lies in the North Sea. */
const DEMO_TIME_ZONE = "Europe/Amsterdam";

const system: FactChanges<"system"> = {
  published_id: "demo-city",
  name: "Demo city",
  timezone: DEMO_TIME_ZONE,
  language: "en",
  operator: "Demo Bikes",
  url: "https://demo-city.example",
  feed_contact_email: "feeds@demo-city.example",
  licence: "CC0-1.0",
  rental_apps: {
    ios: { store_uri: "https://apps.demo-city.example/ios", discovery_uri: "demo-city://open" },
    android: { store_uri: "https://apps.demo-city.example/android", discovery_uri: "demo-city://open" },
  },
  station_links: {
    web: "https://demo-city.example/stations/{station_id}",
    ios: "demo-city://stations/{station_id}",
    android: "demo-city://stations/{station_id}",
  },
  vehicle_links: {
    web: "https://demo-city.example/vehicles/{vehicle_id}",
    ios: "demo-city://vehicles/{vehicle_id}",
    android: "demo-city://vehicles/{vehicle_id}",
  },
};

const pricingPlans: Readonly<Record<string, FactChanges<"pricing_plan">>> = {
  ride: {
    ...{ name: "Single ride", currency: "EUR", price: 1, is_taxable: false },
    description: "1.00 € to unlock, the first 30 minutes are free, then 0.10 € a minute",
    per_min_pricing: [{ start: 30, rate: 0.1, interval: 1 }],
  },
  "e-ride": {
    ...{ name: "Single e-bike ride", currency: "EUR", price: 1, is_taxable: false },
    description: "1.00 € to unlock, then 0.20 € a minute",
    per_min_pricing: [{ start: 0, rate: 0.2, interval: 1 }],
  },
};

const vehicleTypes: Readonly<Record<string, FactChanges<"vehicle_type">>> = {
  bike: {
    ...{ name: "Bike", form_factor: "bicycle", propulsion_type: "human", wheel_count: 2 },
    ...{ return_constraint: "hybrid", default_pricing_plan_id: "ride", default_reserve_time: 15 },
  },
  ebike: {
    ...{ name: "E-bike", form_factor: "bicycle", propulsion_type: "electric_assist", wheel_count: 2 },
    ...{ max_range_meters: EBIKE_RANGE_METERS, return_constraint: "hybrid" },
    ...{ default_pricing_plan_id: "e-ride", default_reserve_time: 15 },
  },
};

/** Describes the made-up city, except for what its operator has described already. */
export async function describeDemo(context: ActorContext, systemId: string, city: City): Promise<void> {
  const own = (await describedSystem(context.db, systemId))?.own ?? {};
  const missing = Object.entries(system).filter(([name]) => !Object.hasOwn(own, name));
  if (missing.length > 0) await describe(context, systemId, "system", "", Object.fromEntries(missing));
  await describeDemoTypes(context, systemId);
  for (const id of new Set(city.stations.map(({ regionId }) => regionId))) {
    await describeNew(context, systemId, "region", { [id]: { name: id.charAt(0).toUpperCase() + id.slice(1) } });
  }
  await describeNew(context, systemId, "geofencing_zones", { "": zonesOf(city) });
}

/** Describes the types of the made-up city's bikes and what they cost, unless an operator has. */
export async function describeDemoTypes(context: ActorContext, systemId: string): Promise<void> {
  const types = await describedTypesEver(context.db, systemId);
  const isDescribed = (id: string) =>
    types.some((type) => type.id === id && type.published.propulsion_type !== undefined);
  if (Object.keys(vehicleTypes).every(isDescribed)) return;
  await describeNew(context, systemId, "pricing_plan", pricingPlans);
  await describeNew(context, systemId, "vehicle_type", vehicleTypes);
}

async function describeNew<Kind extends FactKind>(
  context: ActorContext,
  systemId: string,
  kind: Kind,
  things: Readonly<Record<string, FactChanges<Kind>>>,
): Promise<void> {
  const described = await describedAll(context.db, systemId, kind);
  for (const [id, changes] of Object.entries(things)) {
    const held = described.find((each) => each.id === id);
    if (held === undefined || Object.keys(held.own).length === 0) await describe(context, systemId, kind, id, changes);
  }
}

/** One zone: the stations of the centre, around which bikes are returned at stations alone. */
function zonesOf({ stations }: City): FactChanges<"geofencing_zones"> {
  const central = stations.filter(({ regionId }) => regionId === "centre");
  const lons = central.map(({ lon }) => lon);
  const lats = central.map(({ lat }) => lat);
  const [west, east] = [Math.min(...lons), Math.max(...lons)];
  const [south, north] = [Math.min(...lats), Math.max(...lats)];
  const ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
  const rule = { ride_start_allowed: true, ride_end_allowed: false, ride_through_allowed: true };
  const rules = [{ ...rule, maximum_speed_kph: 15, station_parking: true }];
  return {
    features: [
      {
        type: "Feature",
        geometry: { type: "MultiPolygon", coordinates: [[ring]] },
        properties: { name: [{ text: "Centre: return at stations", language: "en" }], rules },
      },
    ],
    global_rules: [{ ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true }],
  };
}

type DemoContext = ActorContext & { readonly db: Database };

/** The city is always the same one. */
export const DEMO_SEED = 20_260_101;
const CITY = { stations: 200, bikes: 2000 };
/** Four whole weeks and today, so that every weekday can be compared. As many rides a day as are simulated. */
const HISTORY = { rides: 140_000, days: 29 };
const DAY_MS = 24 * 3_600_000;
/** How much of the past is written before the service starts: today and yesterday. */
const FIRST_DAYS = 2;
/** Too high: takes more memory. Too low: commits more often. */
const RIDES_PER_TRANSACTION = 12_500;

/** Tells whether a system has neither stations nor rides. */
export async function isEmpty(db: Database, systemId: string): Promise<boolean> {
  return (await lengthOf(db, systemId, "stations")) === 0 && (await lengthOf(db, systemId, "rides")) === 0;
}

/** Returns the made-up city of the demo. */
export function demoCity(): City {
  return makeCity(createRandom(DEMO_SEED), CITY);
}

/** A city that has just been made. */
export interface MadeCity {
  /** The rides under way, which somebody must end. */
  readonly underWay: readonly RideUnderWay[];
  /** What is left of the past, to be written while the service runs. */
  readonly past: RestOfPast;
}

interface RestOfPast {
  /** Writes it day by day, the newest first, until the signal says otherwise. */
  write(db: Database, stopping: AbortSignal): Promise<void>;
}

/**
 * Fills a system with the demo's city, as its operator's: 200 stations, 2,000 bikes and the rides of today and yesterday,
 * after which the bikes stand where those rides left them.
 * @param isAlive whether rides go on: otherwise the bikes of those under way stand where they would have ended
 */
export async function fillWithDemoCity(context: DemoContext, systemId: string, isAlive: boolean): Promise<MadeCity> {
  const { db, clock } = context;
  const city = demoCity();
  const now = clock();
  const changes: StationChange[] = [];
  const history = makeHistory(city, createRandom(DEMO_SEED + 1), {
    ...{ ...HISTORY, now, offsetMs: offsetOf(now) },
    onChange: (change) => void changes.push(change),
  });
  const placed = history.underWay.map(({ bike, from, to }) => [bike, isAlive ? from : to] as const);
  const { stations, bikes } = describeCity(city, new Map([...history.standing, ...placed]));
  const underWay = isAlive ? history.underWay : [];
  await describeDemo(context, systemId, city);
  // One transaction each, where the interface takes 1,000 items at a time.
  assertAllDone(await upsertStations(context, systemId, stations));
  assertAllDone(await upsertBikes(context, systemId, bikes));
  assertAllDone(await startRides(context, systemId, underWay.map(startOf)));
  const days = daysOf(history.rides, changes, now);
  const firsts = days.splice(0, FIRST_DAYS);
  await db.transaction((tx) => deleteCreation(tx, systemId, new Date(now)));
  // Two at a time, since PostgreSQL uses a separate processor for each; each with a separate slot of the counts.
  await Promise.all(firsts.map((day, slot) => writeDay(db, systemId, day, slot, now)));
  const write: RestOfPast["write"] = async (patient, stopping) => {
    for (const day of days) {
      if (stopping.aborted) return;
      await writeDay(patient, systemId, day, 0, now);
    }
    // At once and without pauses, rather than a turn each minute: somebody is about to look.
    await sumWholePast({ db: patient, clock, monotonic: () => performance.now() }, systemId, stopping);
  };
  return { underWay, past: { write } };
}

function startOf({ id, bike, from, startedAt, riderCategory }: RideUnderWay) {
  const trip = { start_station_id: from.id, rider_category: riderCategory };
  return { item: { id, bike_id: bike.id, started_at: new Date(startedAt).toISOString(), ...trip } };
}

/** How far the city's clocks are ahead of UTC at an instant. */
function offsetOf(now: number): number {
  const local = new Date(now).toLocaleString("sv-SE", { timeZone: DEMO_TIME_ZONE });
  return Date.parse(`${local.replace(" ", "T")}Z`) - Math.floor(now / 1000) * 1000;
}

/** Hours between which enough people ride to show something. */
const BUSY = { from: 6, until: 21 };

/** The time of day by the city's clocks, in milliseconds; undefined at night, when hardly anybody rides. */
export function busyTimeOfDay(now: number): number | undefined {
  const timeOfDay = (now + offsetOf(now)) % DAY_MS;
  const hour = timeOfDay / 3_600_000;
  return hour >= BUSY.from && hour < BUSY.until ? timeOfDay : undefined;
}

/** A day of the city's past, by its clocks. */
interface DayOfPast {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly rides: CityRide[];
  /** The state of every station at the day's beginning, then each change. */
  readonly states: PastState[];
}

/** Cuts the past into days, the newest first. */
function daysOf(rides: readonly CityRide[], changes: readonly StationChange[], now: number): DayOfPast[] {
  const today = Math.floor((now + offsetOf(now)) / DAY_MS) * DAY_MS - offsetOf(now);
  const first = today - (HISTORY.days - 1) * DAY_MS;
  const days = Array.from({ length: HISTORY.days }, (_, index): DayOfPast => ({
    since: first + index * DAY_MS,
    rides: [],
    states: [],
  }));
  const indexOf = (at: number) => Math.floor((at - first) / DAY_MS);
  for (const ride of rides) days[indexOf(ride.startedAt)]?.rides.push(ride);
  const latest = new Map<string, PastState>();
  let begun = 0;
  for (const change of changes) {
    for (; begun < indexOf(change.at);) {
      const day = days[++begun];
      for (const state of latest.values()) day?.states.push({ ...state, at: day.since });
    }
    const state = pastState(change);
    latest.set(state.stationId, state);
    days[begun]?.states.push(state);
  }
  return days.slice(0, begun + 1).reverse();
}

async function writeDay(db: Database, systemId: string, day: DayOfPast, slot: number, now: number): Promise<void> {
  const origin = { systemId, importId: null, source: "operator", updatedAt: new Date(now).toISOString() };
  for (let start = 0; start < day.rides.length; start += RIDES_PER_TRANSACTION) {
    const batch = day.rides.slice(start, start + RIDES_PER_TRANSACTION).map(pastRide);
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

function typesOf(bikes: number, ebikes: number): (string | number)[] {
  return [...(bikes > 0 ? ["bike", bikes] : []), ...(ebikes > 0 ? ["ebike", ebikes] : [])];
}

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
