import { expect } from "vitest";
import { upsertAlerts } from "../src/city/alerts/service.ts";
import { describe } from "../src/city/descriptions/service.ts";
import { upsertBikes } from "../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../src/city/fleet/station-commands.ts";
import { createSystem } from "../src/city/systems/service.ts";
import { createSequencer } from "../src/events/sequencer.ts";
import { statement } from "../src/storage/db/statement.ts";
import type { TestApp } from "./app.ts";
import { endpoints, sampleId } from "./endpoints.ts";
import { putReadyExport } from "./exports/ready-exports.ts";
import { addPartners } from "./partners.ts";
import { bikeRow, rideRow, rowWriter, stationRow } from "./rows.ts";

/** The system on which tests call the operator's commands, so that they do not change the data that partners read. */
export const operatedSystem = "operated";

/** A time that no test's clock reaches. */
const FAR = "2099-01-01T00:00:00.000Z";
/** When the reservations that end at `FAR` were made: so late that they may still be extended. */
const NOT_SO_FAR = "2098-12-31T23:50:00.000Z";

const insertReservations = statement(
  "test.insertReservations",
  `insert into reservations (system_id, id, partner_id, status, bike_id, created_at, expires_at, updated_at)
   select $1, id, $2, 'active', 'held by ' || id, '${NOT_SO_FAR}', '${FAR}', $3 from unnest($4::text[]) as id`,
);
const insertEvents = statement(
  "test.insertEvents",
  `insert into event_outbox (system_id, id, name, occurred_at, data)
   select system_id, id, 'ride.completed', ended_at, json from rides where system_id = $1 and status = 'completed'`,
);
const retirePublicId = statement(
  "test.retirePublicId",
  `insert into retired_public_ids (system_id, public_id, bike_id, retired_at) values ($1, $2, $2, '${FAR}')`,
);
const insertFlows = statement(
  "test.insertFlows",
  `insert into flow_days (system_id, start_station_id, end_station_id, day, rides)
   select $1, $2, $3, ($4::timestamptz at time zone 'UTC')::date - day, 7 from generate_series(0, 7) as day`,
);
const insertHours = statement(
  "test.insertHours",
  `insert into station_hours (system_id, station_id, hour, rides_started, rides_ended, seconds_online, seconds_empty,
     seconds_full, seconds_offline, bike_seconds, bikes, docks)
   select $1, $2, hour, 1, 1, 3600, 0, 0, 0, 7200, '{2,2,2,2}', '{8,8,8,8}'
   from generate_series(date_trunc('hour', $3::timestamptz) - interval '30 days', $3::timestamptz - interval '1 hour', interval '1 hour') as hour`,
);
const insertDeliveries = statement(
  "test.insertDeliveries",
  `with endpoint as (
     insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, status, created_at, updated_at)
     values ($1, $2, $3, 'sample', 'https://partner.example/hooks', '{ride.corrected}', 'active', $4, $4)),
   lane as (insert into webhook_lanes (system_id, endpoint_id) values ($1, $2)),
   body as (
     insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
     select $1, ($4::timestamptz)::date, id, 'ride.corrected', $4, '{}' from unnest($5::text[]) as id)
   insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status, attempts,
     latest_code, latest_failure, finished_at)
   select $1, ($4::timestamptz)::date, id, $2, id, 'ride.corrected', $4, 'failed', 14, 500, 'http_5xx', $4
   from unnest($5::text[]) as id`,
);
const forgetReservations = statement(
  "test.forgetReservations",
  "delete from reservations where system_id = $1 and id not like 'sample-%'",
);
const renewSamples = statement(
  "test.renewSamples",
  `update reservations set status = 'active', expires_at = '${FAR}', cancelled_at = null, cancel_reason = null
   where system_id = $1 and id like 'sample-%'`,
);
const holdBikes = statement(
  "test.holdBikes",
  `update bikes b set reservation_id = r.id, vehicle_state = 'reserved' from reservations r
   where b.system_id = $1 and r.system_id = $1 and r.id like 'sample-%' and b.id = r.bike_id`,
);
const freeBikes = statement(
  "test.freeBikes",
  `update bikes set reservation_id = null, vehicle_state = 'available'
   where system_id = $1 and reservation_id not like 'sample-%'`,
);

/** Fills the app's system, and creates the one on which the operator's commands are called. */
export async function fillWorld(app: TestApp): Promise<void> {
  await createSystem(app.db, operatedSystem, "Another city", app.clock());
  await addPartners(app.db, operatedSystem, [sampleId]);
  await app.db.query(retirePublicId, [operatedSystem, sampleId]);
  await upsertStations(app, operatedSystem, [{ item: { id: sampleId, name: "Harbour", lat: 59.9, lon: 10.7 } }]);
  await upsertBikes(app, operatedSystem, [{ item: { id: sampleId, station_id: sampleId } }]);
  await describeSamples(app, operatedSystem);
  await fillSystem(app);
}

/** Sets the facts that the operator's endpoints read, and the pricing plan that the example of a vehicle type names. */
async function describeSamples(app: TestApp, systemId: string): Promise<void> {
  const acting = { ...app, actor: "test" };
  const plan = { name: "Ride", currency: "EUR", price: 1, is_taxable: false, description: "1 EUR" };
  for (const id of ["e-ride", sampleId]) await describe(acting, systemId, "pricing_plan", id, plan);
  await describe(acting, systemId, "vehicle_type", sampleId, { name: "Bike" });
  await describe(acting, systemId, "region", sampleId, { name: "North" });
}

/** Fills a system so that every endpoint has data: two of each resource, and everything that the examples name. */
export async function fillSystem(app: TestApp): Promise<void> {
  const write = rowWriter(app);
  const samples = [sampleId, "sample-2"];
  const namedStations = namedBy("station_id");
  const free = namedBy("bike_id");
  await write.stations([...samples, ...namedStations].map((id) => stationRow({ id, region_id: "centre" })));
  await write.bikes([
    ...[...samples, ...free].map((id) => bikeRow({ id })),
    ...namedStations.map((id) => bikeRow({ id: `at ${id}`, station_id: id })),
    ...samples.map((id) => bikeRow({ id: `held by ${id}`, vehicle_state: "reserved" })),
  ]);
  await write.rides(samples.map((id, n) => rideRow({ id, started_at: `2026-05-01T07:0${n}:00.000Z` })));
  await describeSamples(app, app.systemId);
  await app.db.query(retirePublicId, [app.systemId, sampleId]);
  await upsertAlerts(app, app.systemId, [{ item: { id: sampleId, type: "other", summary: "Roadworks" } }]);
  const now = new Date(app.clock());
  await app.db.query(insertFlows, [app.systemId, sampleId, "sample-2", now]);
  await app.db.query(insertHours, [app.systemId, sampleId, now]);
  await app.db.query(insertReservations, [app.systemId, app.partnerId, now, samples]);
  for (const id of samples) await write.update("bikes", `held by ${id}`, { reservation_id: id });
  for (const id of samples) await putReadyExport(app, id);
  await app.db.query(insertDeliveries, [app.systemId, sampleId, app.partnerId, now, samples]);
  await app.db.query(insertEvents, [app.systemId]);
  const sequencer = createSequencer({
    ...app,
    pollIntervalMs: 0,
    onError: (error) => expect.unreachable(String(error)),
  });
  await sequencer.runOnce(app.systemId);
  await sequencer.close();
}

/** Undoes what reserving, extending and cancelling have changed, so that the same requests can be sent again. */
export async function restoreWorld({ db, systemId }: TestApp): Promise<void> {
  await db.query(freeBikes, [systemId]);
  await db.query(forgetReservations, [systemId]);
  await db.query(renewSamples, [systemId]);
  await db.query(holdBikes, [systemId]);
}

/** Returns the ids in a field of the example requests of partners. */
function namedBy(field: string): string[] {
  const bodies = endpoints.filter(({ scope }) => scope !== "operator").map(({ body }) => body?.[field]);
  return bodies.filter((id) => typeof id === "string");
}

const tables = [
  "stations",
  "bikes",
  "rides",
  "reservations",
  "event_outbox",
  "events",
  "idempotency_keys",
  "list_counts",
];
const pictures = tables.map((table) =>
  statement(
    `test.picture.${table}`,
    `select * from ${table} where $1::text is null or system_id = $1 order by 1, 2, 3, 4`,
  ),
);

/** Returns the rows of `tables`, of one system or of all, to compare with a later call. */
export function pictureOf({ db }: Pick<TestApp, "db">, systemId: string | null = null): Promise<unknown[][]> {
  return Promise.all(pictures.map((picture) => db.query(picture, [systemId])));
}
