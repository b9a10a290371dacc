import { afterEach, beforeEach, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { createReservation } from "../../city/fleet/create-reservation.ts";
import { recordEvents } from "../../events/outbox.ts";
import { createSequencer, type Sequencer } from "../../events/sequencer.ts";
import { createSandbox } from "../../sandbox/service.ts";
import { statement } from "../../storage/db/statement.ts";
import { type ForgetContext, forgetRider } from "./service.ts";

let harness: EndpointsHarness;
let endpointId: string;
let sequencer: Sequencer;
beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  await harness.rows("update webhook_endpoints set events = '{reservation.created}' where system_id = $1");
  sequencer = createSequencer({
    db: harness.db,
    clock: harness.clock,
    pollIntervalMs: 3_600_000,
    onError: (error) => {
      throw error;
    },
  });
});
afterEach(async () => {
  await sequencer.close();
  await harness.close();
});

const forget = (riderRef: string, sleep: ForgetContext["sleep"] = () => Promise.resolve()) =>
  forgetRider({ ...harness, sleep }, harness.systemId, { riderRef });

const dataOf = (riderRef: string) => `{"id":"reservation of a rider","rider_ref":${JSON.stringify(riderRef)},"n":1}`;

function happen(riderRef: string, partnerId = harness.partnerId): Promise<void> {
  const { db, ids, systemId, clock } = harness;
  const now = new Date(clock());
  const event = { name: "reservation.created", occurredAt: now, partnerId, data: dataOf(riderRef) } as const;
  return db.transaction((tx) => recordEvents(tx, { ids, systemId, now }, [event]));
}

/** A reservation of a rider, its events in every stage, its webhook with the receiver's answer, and a kept answer. */
async function leaveTraces(riderRef: string, partnerId = harness.partnerId, endpoint = endpointId): Promise<void> {
  const { ids, systemId, clock } = harness;
  const now = new Date(clock());
  await harness.rows(
    `insert into reservations (system_id, id, partner_id, status, bike_id, rider_ref, created_at, expires_at, updated_at)
     values ($1, $2, $3, 'expired', 'bike-1', $4, $5, $5::timestamptz + interval '15 min', $5)`,
    ...[ids.next("rsv"), partnerId, riderRef, now],
  );
  await happen(riderRef, partnerId);
  await sequencer.runOnce(systemId);
  const answer = {
    ...answered(500, `Nobody is called ${riderRef} here.`),
    answerHeaders: [["Rider", riderRef]] as const,
  };
  await harness.send(endpoint, answer);
  await harness.rows(
    "update webhook_attempts set request_body = $2 where system_id = $1 and request_body like '%delivery_id%'",
    `{"data":${dataOf(riderRef)}}`,
  );
  await harness.rows(
    `insert into request_log (system_id, logged_on, id, at, key_id, partner_id, method, route, status, error, ms, address,
       message, target, body, body_bytes)
     values ($1, ($3::timestamptz)::date, $2, $3, 'key', $4, 'POST', '/v1/reservations', 400, 'invalid_parameter', 1, '::1',
       $5, $6, $7, 10)`,
    ...[ids.next("req"), now, partnerId, `Not ${JSON.stringify(riderRef)}.`, `/v1/reservations?a=${riderRef}`],
    dataOf(riderRef),
  );
  await harness.rows(
    "insert into idempotency_keys (system_id, caller, path, key, body_hash, status, body, created_at) values ($1, $2, '/v1/reservations', $3, '', 201, $4, $5)",
    ...[partnerId, ids.next("idempotency"), dataOf(riderRef), now],
  );
}

/** Returns the columns that contain a text in any form, of all tables that PostgreSQL lists. */
async function columnsWith(text: string): Promise<string[]> {
  const columns = await harness.rows<{ table: string; column: string; type: string }>(
    `select c.relname::text as table, a.attname::text as column, t.typname::text as type
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       join pg_type t on t.oid = a.atttypid
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'm') and not c.relispartition
       and $1 <> ''
     order by 1, 2`,
  );
  expect(columns.length).toBeGreaterThan(300);
  const found: string[] = [];
  for (const [table, its] of Map.groupBy(columns, (column) => column.table)) {
    const asked = its.map(({ column, type }) => {
      const asText = type === "bytea" ? `encode("${column}", 'escape')` : `"${column}"::text`;
      return `bool_or(${asText} ~ $2) as "${column}"`;
    });
    const [row] = await harness.rows<object>(`select ${asked.join(", ")} from "${table}" where $1 <> ''`, text);
    for (const [column, has] of Object.entries(row ?? {})) if (has === true) found.push(`${table}.${column}`);
  }
  return found;
}

it("words of a trip file that somebody is importing are nobody's reference", async () => {
  await leaveTraces("casual");
  await harness.rows(
    "insert into trip_upload_parts (system_id, upload_id, start, content) values ($1, 'upload', 0, $2)",
    Buffer.from('"A1","classic_bike","casual"'),
  );
  expect(await forget("casual")).toMatchObject({ reservations: 1 });
});

it("a rider's reference is gone from every column of every table, and nobody else's is", async () => {
  for (const riderRef of ["rider-1", "rider-12"]) await leaveTraces(riderRef);
  // These events are not numbered yet.
  for (const riderRef of ["rider-1", "rider-12"]) await happen(riderRef);
  const others = await columnsWith("rider-12");
  expect(others).toEqual([
    "event_outbox.data",
    "events.data",
    "idempotency_keys.body",
    "request_log.body",
    "request_log.message",
    "request_log.target",
    "reservations.rider_ref",
    "webhook_attempts.request_body",
    "webhook_attempts.response_body",
    "webhook_attempts.response_headers",
    "webhook_bodies.data",
  ]);
  expect(await columnsWith("rider-1(?!2)")).toEqual(others);
  expect(await forget("rider-1")).toEqual({
    ...{ reservations: 1, event_outbox: 1, events: 1, webhook_bodies: 2, webhook_attempts: 1, idempotency_keys: 1 },
    request_log: 1,
  });
  expect(await columnsWith("rider-1(?!2)")).toEqual([]);
  expect(await columnsWith("rider-12")).toEqual(others);
  expect(await harness.rows("select rider_ref from reservations where system_id = $1 order by rider_ref")).toEqual([
    { rider_ref: "rider-12" },
    { rider_ref: null },
  ]);
  const [event] = await harness.rows<{ data: string }>(
    "select data from events where system_id = $1 order by position limit 1",
  );
  expect(JSON.parse(event?.data ?? "")).toEqual({ id: "reservation of a rider", rider_ref: null, n: 1 });
});

it("a webhook that names the rider and is being sent meanwhile is waited for, because it is logged afterwards", async () => {
  await happen("rider-1");
  await sequencer.runOnce(harness.systemId);
  await harness.rows("update webhook_queue set claim = 1, claimed_at = now() where system_id = $1");
  let waits = 0;
  const sleep = async () => {
    if (++waits !== 3) return;
    await harness.rows("update webhook_queue set claim = null, claimed_at = null where system_id = $1");
    await harness.send(endpointId, answered(200, "rider-1"));
    await harness.rows(
      "update webhook_attempts set request_body = $2 where system_id = $1",
      `{"data":${dataOf("rider-1")}}`,
    );
  };
  expect(await forget("rider-1", sleep)).toMatchObject({ webhook_attempts: 1 });
  expect(await columnsWith("rider-1")).toEqual([]);
  // A delivery that never ends, as without a worker: the rest is removed, and the command fails.
  await happen("rider-1");
  await harness.rows("update webhook_queue set claim = 1, claimed_at = now() where system_id = $1");
  await expect(forget("rider-1")).rejects.toThrow("still being sent");
  expect(await columnsWith("rider-1")).toEqual([]);
});

it("where two partners use one reference, the one whose rider is forgotten is named, and the other's stays everywhere", async () => {
  const other = await harness.partner("Partner 2");
  const { endpoint } = await harness.endpoint(other);
  await harness.rows("update webhook_endpoints set events = '{reservation.created}' where system_id = $1");
  await leaveTraces("rider-1", other, endpoint.id);
  const others = await columnsWith("rider-1");
  await leaveTraces("rider-1");
  const both = await forget("rider-1").catch(String);
  expect(both).toMatch(new RegExp(`${harness.partnerId} \\("Partner 1"\\), ${other} \\("Partner 2"\\)|${other}`));
  const waiting = { ...harness, sleep: () => Promise.resolve() };
  const scope = { riderRef: "rider-1", partnerId: harness.partnerId };
  const mine = await forgetRider(waiting, harness.systemId, scope);
  expect(Object.values(mine).every((n) => n <= 1)).toBe(true);
  expect(await columnsWith("rider-1")).toEqual(others);
  const left = await forgetRider(waiting, harness.systemId, { riderRef: "rider-1" });
  expect(left).toEqual(mine);
  expect(await columnsWith("rider-1")).toEqual([]);
});

it("a reference in the sandbox of a partner is gone too; in another partner's sandbox it is another rider's", async () => {
  const other = await harness.partner("Partner 2");
  const live = { systemId: harness.systemId };
  const sandboxes = [harness.partnerId, other].map((partnerId) => createSandbox(harness, { ...live, partnerId }));
  const [mine, theirs] = (await Promise.all(sandboxes)).map(({ sandbox }) => sandbox.system_id);
  const reserve = (systemId = "", partnerId = "") =>
    createReservation(harness, { systemId, partnerId, request: { station_id: "station-001", rider_ref: "rider-1" } });
  await reserve(mine, harness.partnerId);
  await reserve(theirs, other);
  await expect(forget("rider-1")).rejects.toThrow(other);
  const scope = { riderRef: "rider-1", partnerId: harness.partnerId };
  await forgetRider({ ...harness, sleep: () => Promise.resolve() }, harness.systemId, scope);
  const left = await harness.db.query<{ system_id: string }>(
    statement(
      "",
      "select system_id from reservations where rider_ref = $1 union all select system_id from event_outbox where data like '%' || $1 || '%'",
    ),
    ["rider-1"],
  );
  expect(new Set(left.map(({ system_id }) => system_id))).toEqual(new Set([theirs]));
  await forget("rider-1");
  expect(await columnsWith("rider-1")).toEqual([]);
});

it("a reference in the path of a refused request is gone too, and no other that begins like it", async () => {
  const { db, systemId, ids, partnerId, clock } = harness;
  const targets = ["/v1/reservations/a%2Fb?limit=1", "/v1/reservations/a%2Fb/extend", "/v1/reservations/a%2Fb2"];
  for (const target of targets)
    await harness.rows(
      `insert into request_log (system_id, logged_on, id, at, key_id, partner_id, method, route, status, error, ms, address, target)
       values ($1, ($3::timestamptz)::date, $2, $3, 'key', $4, 'GET', '/v1/reservations/:id', 404, 'not_found', 1, '::1', $5)`,
      ...[ids.next("req"), new Date(clock()), partnerId, target],
    );
  expect(await forget("a/b")).toMatchObject({ request_log: 2 });
  const left = statement("", "select target from request_log where system_id = $1 and target is not null");
  expect(await db.query(left, [systemId])).toEqual([{ target: "/v1/reservations/a%2Fb2" }]);
});

it.each([
  ["text", `'{"rider_ref":"rider-1"}'`],
  ["jsonb", `'{"rider_ref":"rider-1"}'`],
  ["bytea", `'"rider-1"'`],
])(
  "a column of %s in which nobody thought of riders is searched too: it is named, and nothing is said to be forgotten",
  async (type, value) => {
    const { db } = harness;
    await db.query(statement("", `alter table regions add column noted ${type}`));
    await harness.rows(`insert into regions (system_id, id, name, noted) values ($1, 'region-1', 'North', ${value})`);
    await expect(forget("rider-1")).rejects.toThrow("The reference is still in regions");
    await expect(forget("rider-2")).resolves.toEqual(expect.anything());
  },
);
