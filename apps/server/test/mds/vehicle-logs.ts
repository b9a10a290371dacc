import { isMdsTransition } from "@bikeshare/contract/mds";
import { expect } from "vitest";
import type { Queryable } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import type { Tables } from "../../src/storage/db/tables.generated.ts";

const insertProvider = statement(
  "test.insertProvider",
  `insert into mds_providers (system_id, provider_id, namespace, logged_since)
   values ($1, gen_random_uuid(), gen_random_uuid(), '2020-01-01')`,
);
const listEvents = statement(
  "test.vehicleEvents",
  "select * from vehicle_events where system_id = $1 and event_type <> 'position' order by at, id",
);
const listRides = statement(
  "test.reportedRides",
  "select id, bike_id, status from rides where system_id = $1 and import_id is null",
);
const listBikes = statement("test.lastEvents", "select id, last_event from bikes where system_id = $1");

type Row = Tables["vehicle_events"];

/** Starts the log of vehicle events of a system, as creating its first agency does. */
export async function logVehicleEvents(db: Queryable, systemId: string): Promise<void> {
  await db.query(insertProvider, [systemId]);
}

/** Returns all vehicle events of a system by bike, sorted by time. */
export async function vehicleLogs(db: Queryable, systemId: string): Promise<Map<string, Row[]>> {
  return Map.groupBy(await db.query<Row>(listEvents, [systemId]), (row) => row.bike_id);
}

/**
 * Expects that the log of each vehicle follows the state machine of MDS, that the bike's row names the last event, and that
 * every ride has the events of its start and its end, except imported rides.
 */
export async function expectSoundLogs(db: Queryable, systemId: string): Promise<void> {
  const logs = await vehicleLogs(db, systemId);
  for (const events of logs.values()) {
    let before: Row | undefined;
    for (const event of events) {
      const state = (before?.vehicle_state ?? "removed") as Parameters<typeof isMdsTransition>[0];
      const [type, next] = [event.event_type, event.vehicle_state] as [never, never];
      expect([state, type, next, isMdsTransition(state, type, next)]).toEqual([state, type, next, true]);
      expect(event.at > (before?.at ?? new Date(0))).toBe(true);
      before = event;
    }
  }
  for (const { id, last_event: json } of await db.query<{ id: string; last_event: string }>(listBikes, [systemId]))
    expect(JSON.parse(json)).toMatchObject({ id: logs.get(id)?.at(-1)?.id });
  const typesOf = Map.groupBy(
    [...logs.values()].flat().filter(({ ride_id: rideId }) => rideId !== null),
    (event) => `${event.bike_id} ${event.ride_id}`,
  );
  const rides = await db.query<{ id: string; bike_id: string; status: string }>(listRides, [systemId]);
  const ends: Readonly<Record<string, readonly string[]>> = {
    started: ["trip_start"],
    completed: ["trip_start", "trip_end"],
    cancelled: ["trip_start", "trip_cancel"],
  };
  for (const { id, bike_id: bikeId, status } of rides)
    expect(typesOf.get(`${bikeId} ${id}`)?.map(({ event_type: type }) => type)).toEqual(ends[status]);
  expect(typesOf.size).toBe(rides.length);
}
