import { consoleContract } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { resourceHistory } from "../events/resource-history.ts";
import { firstIdAt } from "../ids.ts";
import { statement } from "../storage/db/statement.ts";

let app: TestApp;
let viewer: SignedIn;
let start: number;

const { fleet } = consoleContract;
const MINUTE_MS = 60_000;
const iso = (at: number) => new Date(at).toISOString();
const eventId = (at: number, name: string) => `${firstIdAt("event", at)}${name}`;

// Sets up a ride of 20 min that fulfilled a reservation, and events of other rides. The ride's end was delivered to one
// partner.
beforeAll(async () => {
  app = await startTestApp();
  viewer = await signIn(app, { partnerId: null, role: "viewer" });
  start = app.clock() - 3_600_000;
  const end = start + 20 * MINUTE_MS;
  const day = iso(start).slice(0, 10);
  const { systemId, partnerId } = app;
  await app.db.transaction(async (tx) => {
    await tx.run(
      `create table if not exists events_test partition of events for values from ('${day}') to (date '${day}' + 1)`,
    );
    const events = [
      [eventId(start + 5, "AAAAAAAAAAAAAA"), "ride.started", start, "ride-1"],
      [eventId(end + 5, "AAAAAAAAAAAAAA"), "ride.completed", end, "ride-1"],
      [eventId(end + 6, "AAAAAAAAAAAAAA"), "ride.completed", end, "ride-10"],
      [eventId(start - 1_000, "BBBBBBBBBBBBBB"), "reservation.created", start - 1_000, "reservation_1"],
    ].map(([id, name, at, resource], index) => {
      const data = `{"id":"${resource}","status":"x"}`;
      return `('${systemId}', '${day}', ${index + 1}, '${id}', '${name}', '${iso(Number(at))}', '${data}')`;
    });
    await tx.run(
      `insert into events (system_id, recorded_on, position, id, name, occurred_at, data) values ${events.join()}`,
    );
    await tx.run(`insert into events (system_id, recorded_on, position, id, name, occurred_at, data)
      select '${systemId}', '${day}', 100 + i, '${firstIdAt("event", start + 60_000)}' || lpad(i::text, 14, '0'), 'ride.started',
        '${iso(start)}', '{"id":"other-' || i || '"}' from generate_series(1, 500) as i`);
    await tx.run(`insert into rides (system_id, id, bike_id, status, started_at, ended_at, duration_seconds, is_countable,
        updated_at, source) values ('${systemId}', 'ride-1', 'bike-1', 'completed', '${iso(start)}', '${iso(end)}', 1200,
        true, '${iso(end)}', 'test')`);
    await tx.run(`insert into reservations (system_id, id, partner_id, status, bike_id, rider_ref, created_at, expires_at,
        ride_id, updated_at)
      values ('${systemId}', 'reservation_1', '${partnerId}', 'fulfilled', 'bike-1', 'rider-7', '${iso(start - 1_000)}',
        '${iso(start + 900_000)}', 'ride-1', '${iso(start)}')`);
    await tx.run(`insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, status, created_at, updated_at)
      values ('${systemId}', 'endpoint_1', '${partnerId}', 'tag001', 'https://a.example/', '{ride.completed}', 'active',
        now(), now())`);
    await tx.run(`insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, resource_id,
        created_at, status)
      values ('${systemId}', '${day}', 'delivery_1', 'endpoint_1', '${eventId(end + 5, "AAAAAAAAAAAAAA")}', 'ride.completed',
        'ride-1', '${iso(end)}', 'succeeded'),
      ('${systemId}', '${day}', 'delivery_2', 'endpoint_1', 'event_notice', 'bike.state_changed', 'bike-1', '${iso(end)}',
        'failed')`);
  });
});
afterAll(() => app.close());

async function read(path: string): Promise<unknown> {
  const response = await viewer.call("GET", `/console/v1/systems/${app.systemId}${path}`);
  expect(response.status, path).toBe(200);
  return response.json();
}

const historyOf = async (of: string, id: string) =>
  fleet.history.responses[200].parse(await read(`/history?of=${of}&id=${id}`));

it("a ride's events are found by when it changed and by their deliveries, and lead to these", async () => {
  const { data, is_complete } = await historyOf("ride", "ride-1");
  expect(is_complete).toBe(true);
  expect(data.map(({ event, at }) => [event, at])).toEqual([
    ["ride.completed", iso(start + 20 * MINUTE_MS)],
    ["ride.started", iso(start)],
  ]);
  const delivery = {
    id: "delivery_1",
    partner_id: app.partnerId,
    partner_name: "Journey Planner",
    status: "succeeded",
  };
  expect(data.map(({ deliveries }) => deliveries)).toEqual([[delivery], []]);
  // An event that happened long before the service recorded it is found by its delivery.
  const late = await resourceHistory(app, app.systemId, "ride-1", []);
  expect(late.events.map(({ event }) => event)).toEqual(["ride.completed"]);
});

it("a bike leads to its reservations and what was delivered of it, a reservation to its ride, partner and events", async () => {
  expect((await historyOf("bike", "bike-1")).data).toMatchObject([
    { event: "bike.state_changed", deliveries: [{ id: "delivery_2", status: "failed" }] },
  ]);
  for (const filter of ["bike_id=bike-1", "ride_id=ride-1"]) {
    const { data } = fleet.reservations.responses[200].parse(await read(`/reservations?${filter}`));
    expect(data).toMatchObject([{ id: "reservation_1", ride_id: "ride-1", partner_name: "Journey Planner" }]);
  }
  const all = fleet.reservations.responses[200].parse(await read("/reservations?limit=1"));
  expect(all.data).toMatchObject([{ id: "reservation_1" }]);
  expect(fleet.reservations.responses[200].parse(await read("/reservations?status=active")).data).toEqual([]);
  const { reservation: shown } = fleet.reservation.responses[200].parse(await read("/reservations/reservation_1"));
  expect(shown).toMatchObject({ status: "fulfilled", bike_id: "bike-1", partner_id: app.partnerId });
  expect(JSON.stringify(shown)).not.toContain("rider-7");
  expect((await historyOf("reservation", "reservation_1")).data).toMatchObject([{ event: "reservation.created" }]);
  for (const path of ["/reservations?status=expired", "/reservations?bike_id=a&ride_id=b"])
    expect((await viewer.call("GET", `/console/v1/systems/${app.systemId}${path}`)).status).toBe(400);
  expect((await viewer.call("GET", `/console/v1/systems/${app.systemId}/history?of=ride&id=none`)).status).toBe(404);
});

it("says whether all was found: of the events at the same time, and of the deliveries", async () => {
  const { db, systemId } = app;
  // 502 events were recorded around the start.
  for (const [limit, isComplete] of [
    [502, true],
    [501, false],
  ] as const)
    expect(await resourceHistory(app, systemId, "ride-1", [start], limit)).toMatchObject({ isComplete });
  const deliver = (from: number, to: number) =>
    db.query(
      statement(
        "",
        `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, resource_id, created_at, status)
         select $1, $2::timestamptz::date, 'delivery_bike_' || n, 'endpoint_1', 'event_bike_' || n, 'bike.state_changed', 'bike-2',
           $2::timestamptz + n * interval '1 second', 'succeeded' from generate_series($3::int, $4::int) as n`,
      ),
      [systemId, iso(start), from, to],
    );
  await deliver(1, 20);
  const whole = await resourceHistory(app, systemId, "bike-2", []);
  expect([whole.events.length, whole.isComplete]).toEqual([20, true]);
  await deliver(21, 21);
  const newest = await resourceHistory(app, systemId, "bike-2", []);
  expect([newest.events.length, newest.isComplete]).toEqual([20, false]);
  expect(newest.events.at(-1)?.id).toBe("event_bike_2");
});

it("however much happens, a bounded number of events is looked at, by the index of ids; deliveries by that of resources", async () => {
  expect(await resourceHistory(app, app.systemId, "ride-1", [start], 100)).toMatchObject({ isComplete: false });
  const plans: string[] = [];
  await app.db.transaction(async (tx) => {
    await tx.run("set local enable_seqscan = off");
    const explaining = {
      transaction: tx.transaction,
      query: async <Row>({ text }: { readonly text: string }, values: readonly unknown[] = []) => {
        const rows = await tx.query<{ "QUERY PLAN": string }>(statement("", `explain ${text}`), values);
        plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
        return (text.includes("scanned") ? [{ scanned: 0, events: [] }] : []) as Row[];
      },
    };
    await resourceHistory({ db: explaining }, app.systemId, "ride-1", [start]);
  });
  expect(plans).toHaveLength(3);
  expect(plans[0]).toMatch(/Index Scan using events_test_system_id_id_idx.*\n.*Index Cond: .*id >= .*id < /);
  expect(plans[1]).toMatch(/system_id_endpoint_id_resource_i.*\n.*Index Cond: .*resource_id = /);
  for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on (events|webhook_deliveries)/);
});
