import type { BatchResults, FactChanges } from "@bikeshare/contract";
import {
  type City,
  type CityRide,
  createRandom,
  describeCity,
  EBIKE_RANGE_METERS,
  makeCity,
  makeHistory,
} from "@bikeshare/simulator";
import { lengthOf } from "../../city/counts/service.ts";
import { describe, describedSystem, describedTypesEver, missingFacts } from "../../city/descriptions/service.ts";
import { upsertBikes } from "../../city/fleet/bike-commands.ts";
import { batchOf, type PastRide, writePastRides } from "../../city/fleet/ride-import.ts";
import { upsertStations } from "../../city/fleet/station-commands.ts";
import type { ActorContext } from "../../command-context.ts";
import type { Database } from "../../storage/db/database.ts";

/** The types of a made-up city's bikes. */
const vehicleTypes: Readonly<Record<string, FactChanges<"vehicle_type">>> = {
  bike: { name: "Bike", form_factor: "bicycle", propulsion_type: "human" },
  ebike: {
    name: "E-bike",
    form_factor: "bicycle",
    propulsion_type: "electric_assist",
    max_range_meters: EBIKE_RANGE_METERS,
  },
};

/** Describes the types of a made-up city's bikes, unless an operator has. */
export async function describeDemoVehicleTypes(context: ActorContext, systemId: string): Promise<void> {
  const types = await describedTypesEver(context.db, systemId);
  const described = types.filter(({ published }) => published.propulsion_type !== undefined);
  for (const [id, changes] of Object.entries(vehicleTypes)) {
    if (!described.some((type) => type.id === id)) await describe(context, systemId, "vehicle_type", id, changes);
  }
}

type DemoContext = ActorContext & { readonly db: Database };

/** The city is always the same one. */
export const DEMO_SEED = 20_260_101;
const CITY = { stations: 200, bikes: 2000 };
const HISTORY = { rides: 50_000, days: 60 };
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

/**
 * Fills a system with the demo's city, as its operator's: 200 stations, 2,000 bikes and 50,000 past rides, after
 * which the bikes stand where those rides left them.
 */
export async function fillWithDemoCity(context: DemoContext, systemId: string): Promise<void> {
  const { db, clock } = context;
  const city = demoCity();
  const now = clock();
  const history = makeHistory(city, createRandom(DEMO_SEED + 1), { ...HISTORY, now });
  const { stations, bikes } = describeCity(city, history.standing);
  await describeDemoSystem(context, systemId, city);
  // One transaction each, where the interface takes 1,000 items at a time.
  assertAllDone(await upsertStations(context, systemId, stations));
  assertAllDone(await upsertBikes(context, systemId, bikes));
  const origin = { systemId, importId: null, source: "operator", updatedAt: new Date(now).toISOString() };
  // Two at a time, since PostgreSQL uses a separate processor for each; each with a separate slot of the counts.
  const write = async (slot: number) => {
    for (let start = slot * RIDES_PER_TRANSACTION; start < history.rides.length; start += 2 * RIDES_PER_TRANSACTION) {
      const batch = history.rides.slice(start, start + RIDES_PER_TRANSACTION).map(pastRide);
      await writePastRides(db, origin, batchOf(origin, batch), slot, true);
    }
  };
  await Promise.all([write(0), write(1)]);
}

/** Describes the system as the demo's, except for facts that its operator has set. */
async function describeDemoSystem(context: ActorContext, systemId: string, city: City): Promise<void> {
  const system = await describedSystem(context.db, systemId);
  const isMissing = new Set(system === undefined ? [] : missingFacts(system));
  const changes: FactChanges<"system"> = {
    ...(isMissing.has("name") ? { name: "Demo city" } : {}),
    // The time zone of the land nearest to the fictional city, which lies in the North Sea.
    ...(isMissing.has("timezone") ? { timezone: "Europe/Amsterdam" } : {}),
    ...(isMissing.has("language") ? { language: "en" } : {}),
    ...(isMissing.has("feed_contact_email") ? { feed_contact_email: "feeds@demo-city.example" } : {}),
  };
  if (Object.keys(changes).length > 0) await describe(context, systemId, "system", "", changes);
  await describeDemoVehicleTypes(context, systemId);
  for (const id of new Set(city.stations.map(({ regionId }) => regionId))) {
    await describe(context, systemId, "region", id, { name: id.charAt(0).toUpperCase() + id.slice(1) });
  }
}

function assertAllDone({ failed, results }: BatchResults): void {
  if (failed === 0) return;
  throw new Error(
    `The city could not be created: ${results.find(({ error }) => error !== null)?.error?.message ?? ""}`,
  );
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
