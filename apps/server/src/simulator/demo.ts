import { scopeNames } from "@bikeshare/contract";
import { lengthOf } from "../counts/service.ts";
import type { Database } from "../db/database.ts";
import { importSnapshot } from "../feeds/gbfs/import.ts";
import type { Ids } from "../ids.ts";
import type { KeyKind } from "../keys/key.ts";
import { issueKey } from "../keys/service.ts";
import { createPartner } from "../partners/service.ts";
import { type PastRide, pastRideLine, writePastRides } from "../rides/import.ts";
import { makeCity } from "./city.ts";
import { cityFeeds } from "./gbfs.ts";
import { type CityRide, makeHistory } from "./history.ts";
import { createRandom } from "./random.ts";

export interface DemoOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly keyKind: KeyKind;
}

/** Name under which the made-up city's data stands. */
const SOURCE = "demo";
/** The city is always the same one. */
const SEED = 20_260_101;
const CITY = { stations: 200, bikes: 2000 };
const HISTORY = { rides: 50_000, days: 60 };
/** Rides written in one transaction. More hold more memory; fewer commit more often. */
const BATCH = 10_000;

/** Whether a system has neither stations nor rides. */
export async function isEmpty(db: Database, systemId: string): Promise<boolean> {
  return (await lengthOf(db, systemId, "stations")) === 0 && (await lengthOf(db, systemId, "rides")) === 0;
}

/** Fills a system with a made-up city: 200 stations, 2,000 bikes and 50,000 past rides. */
export async function fillWithDemoCity({ db, systemId, clock, ids }: DemoOptions): Promise<void> {
  const random = createRandom(SEED);
  const now = clock();
  const city = makeCity(random, CITY);
  const history = makeHistory(city, random, { ...HISTORY, now });
  const feeds = cityFeeds(city, history, now);
  await importSnapshot(
    db,
    { systemId, source: SOURCE, now, ids },
    { document: async (feed) => feeds[feed] },
  );
  const order = { systemId, source: SOURCE, updatedAt: new Date(now).toISOString(), slot: 0 };
  for (let start = 0; start < history.rides.length; start += BATCH) {
    const batch = history.rides.slice(start, start + BATCH).map(pastRide);
    await writePastRides(db, order, Buffer.from(batch.map(pastRideLine).join("")), batch.length);
  }
}

/** Makes the partner of the demo and a key that may do everything; it is shown once. */
export async function makeDemoKey({ db, systemId, clock, ids, keyKind }: DemoOptions): Promise<string> {
  const context = { db, clock, ids, actor: "cli" };
  const partner = await createPartner(context, systemId, "Demo partner");
  const issued = await issueKey(context, {
    systemId,
    kind: keyKind,
    partnerId: partner.id,
    scopes: scopeNames,
    name: "made by start",
  });
  return issued.key;
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
