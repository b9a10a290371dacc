import { Readable } from "node:stream";
import { type BatchResults, scopeNames } from "@bikeshare/contract";
import type { KeyKind } from "@bikeshare/rules";
import {
  type City,
  type CityRide,
  createRandom,
  describeCity,
  EBIKE_RANGE_METERS,
  makeCity,
  makeHistory,
} from "@bikeshare/simulator";
import type { ActorContext } from "../command-context.ts";
import { lengthOf } from "../counts/service.ts";
import type { Database } from "../db/database.ts";
import { upsertBikes } from "../fleet/bike-commands.ts";
import { type PastRide, pastRideLine, writePastRides } from "../fleet/ride-import.ts";
import { upsertStations } from "../fleet/station-commands.ts";
import type { Ids } from "../ids.ts";
import { issueKey, keyFor } from "../keys/service.ts";
import { createPartner, partnersOf } from "../partners/service.ts";
import { nameRegion } from "../systems/regions.ts";
import { describeSystem, detailsOf } from "../systems/service.ts";
import { allVehicleTypesOf, describeVehicleType, type VehicleTypeChanges } from "../systems/vehicle-types.ts";

/** The types of a made-up city's bikes. */
const vehicleTypes: Readonly<Record<string, VehicleTypeChanges>> = {
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
  const described = (await allVehicleTypesOf(context.db, systemId)).filter((type) => type.propulsion_type !== null);
  for (const [id, changes] of Object.entries(vehicleTypes)) {
    if (!described.some((type) => type.id === id)) await describeVehicleType(context, systemId, id, changes);
  }
}

export interface DemoOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Who asks for it, for the audit log. */
  readonly actor: string;
  readonly keyKind: KeyKind;
}

/** The city is always the same one. */
export const DEMO_SEED = 20_260_101;
const CITY = { stations: 200, bikes: 2000 };
const HISTORY = { rides: 50_000, days: 60 };
/** More hold more memory; fewer commit more often. */
const RIDES_PER_TRANSACTION = 10_000;
const KEY_NAME = "made by start";

/** Whether a system has neither stations nor rides. */
export async function isEmpty(db: Database, systemId: string): Promise<boolean> {
  return (await lengthOf(db, systemId, "stations")) === 0 && (await lengthOf(db, systemId, "rides")) === 0;
}

/** The made-up city of the demo. */
export function demoCity(): City {
  return makeCity(createRandom(DEMO_SEED), CITY);
}

/**
 * Fills a system with the demo's city, as its operator's: 200 stations, 2,000 bikes and 50,000 past rides, after
 * which the bikes stand where those rides left them.
 */
export async function fillWithDemoCity(options: DemoOptions): Promise<void> {
  const { db, systemId, clock, ids } = options;
  const city = demoCity();
  const now = clock();
  const history = makeHistory(city, createRandom(DEMO_SEED + 1), { ...HISTORY, now });
  const { stations, bikes } = describeCity(city, history.standing);
  await describeDemoSystem(options, city);
  const context = { db, clock, ids };
  // One transaction each, where the interface takes 1,000 items at a time.
  assertAllDone(await upsertStations(context, systemId, stations));
  assertAllDone(await upsertBikes(context, systemId, bikes));
  const order = { systemId, importId: null, source: "operator", updatedAt: new Date(now).toISOString(), slot: 0 };
  for (let start = 0; start < history.rides.length; start += RIDES_PER_TRANSACTION) {
    const batch = history.rides.slice(start, start + RIDES_PER_TRANSACTION).map(pastRide);
    const lines = Buffer.from(batch.map(pastRideLine).join(""));
    await writePastRides(db, order, () => Readable.from([lines]), batch.length);
  }
}

/** Describes the system as the demo's, except what its operator has described. */
async function describeDemoSystem(options: DemoOptions, city: City): Promise<void> {
  const { systemId } = options;
  const details = await detailsOf(options.db, systemId);
  const isMissing = new Set(details?.missing);
  await describeSystem(options, systemId, {
    ...(isMissing.has("name") ? { name: "Demo city" } : {}),
    // Of the land nearest to the made-up city, which lies in the North Sea.
    ...(isMissing.has("timezone") ? { timezone: "Europe/Amsterdam" } : {}),
    ...(isMissing.has("language") ? { language: "en" } : {}),
    ...(isMissing.has("feed_contact_email") ? { feed_contact_email: "feeds@demo-city.example" } : {}),
  });
  await describeDemoVehicleTypes(options, systemId);
  for (const id of new Set(city.stations.map(({ regionId }) => regionId))) {
    await nameRegion(options, systemId, { id, name: id.charAt(0).toUpperCase() + id.slice(1) });
  }
}

function assertAllDone({ failed, results }: BatchResults): void {
  if (failed === 0) return;
  throw new Error(
    `The city could not be created: ${results.find(({ error }) => error !== null)?.error?.message ?? ""}`,
  );
}

const PARTNER_NAME = "Demo partner";

/** Creates the demo's partner, unless it exists, and a key with every scope; the key is shown once. */
export async function issueDemoKey({
  db,
  systemId,
  clock,
  ids,
  actor,
  keyKind,
}: DemoOptions): Promise<{ readonly key: string; readonly partnerId: string }> {
  const context = { db, clock, ids, actor };
  const partners = await partnersOf(context, systemId);
  const known = partners.find(({ name, removed_at: removed }) => name === PARTNER_NAME && removed === null);
  const partner = known ?? (await createPartner(context, systemId, PARTNER_NAME));
  const issued = await issueKey(context, {
    systemId,
    kind: keyKind,
    partnerId: partner.id,
    scopes: scopeNames,
    name: KEY_NAME,
  });
  return { key: issued.key, partnerId: partner.id };
}

/** The partner of a key that `issueDemoKey` issued for this system: then its data are the demo's. Otherwise undefined. */
export async function demoPartner(
  { db, systemId }: Pick<DemoOptions, "db" | "systemId">,
  key: string,
): Promise<string | undefined> {
  const row = await keyFor({ db }, key);
  return row !== undefined && row.system_id === systemId && row.name === KEY_NAME
    ? (row.partner_id ?? undefined)
    : undefined;
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
