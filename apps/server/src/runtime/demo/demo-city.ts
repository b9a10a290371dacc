import type { BatchResults } from "@bikeshare/contract";
import { type City, type CityRide, createRandom, describeCity, makeCity, makeHistory } from "@bikeshare/simulator";
import { lengthOf } from "../../city/counts/service.ts";
import { upsertBikes } from "../../city/fleet/bike-commands.ts";
import { batchOf, type PastRide, writePastRides } from "../../city/fleet/ride-import.ts";
import { upsertStations } from "../../city/fleet/station-commands.ts";
import type { ActorContext } from "../../command-context.ts";
import type { Database } from "../../storage/db/database.ts";
import { describeDemo } from "./demo-facts.ts";

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
  await describeDemo(context, systemId, city);
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
