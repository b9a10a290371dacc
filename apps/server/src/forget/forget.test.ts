import { afterEach, beforeEach, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../test/webhooks/endpoints.harness.ts";
import { columnTypes } from "../db/tables.generated.ts";
import { recordEvents } from "../events/outbox.ts";
import { createSequencer, type Sequencer } from "../events/sequencer.ts";
import { forgetRider } from "./service.ts";

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

const dataOf = (riderRef: string) => `{"id":"reservation of a rider","rider_ref":${JSON.stringify(riderRef)},"n":1}`;

function happen(riderRef: string): Promise<void> {
  const { db, ids, systemId, partnerId, clock } = harness;
  const now = new Date(clock());
  const event = { name: "reservation.created", occurredAt: now, partnerId, data: dataOf(riderRef) } as const;
  return db.transaction((tx) => recordEvents(tx, { ids, systemId, now }, [event]));
}

/** A reservation of a rider, its events in every stage, its webhook with the receiver's answer, and a kept answer. */
async function leaveTraces(riderRef: string): Promise<void> {
  const { ids, systemId, partnerId, clock } = harness;
  const now = new Date(clock());
  await harness.rows(
    `insert into reservations (system_id, id, partner_id, status, bike_id, rider_ref, created_at, expires_at, updated_at)
     values ($1, $2, $3, 'expired', 'bike-1', $4, $5, $5::timestamptz + interval '15 min', $5)`,
    ...[ids.next("rsv"), partnerId, riderRef, now],
  );
  await happen(riderRef);
  await sequencer.runOnce(systemId);
  await harness.send(endpointId, answered(500, `{"unknown":"${riderRef}"}`));
  await harness.rows(
    "update webhook_attempts set request_body = $2 where system_id = $1 and request_body like '%delivery_id%'",
    `{"data":${dataOf(riderRef)}}`,
  );
  await harness.rows(
    "insert into idempotency_keys (system_id, caller, path, key, body_hash, status, body, created_at) values ($1, $2, '/v1/reservations', $3, '', 201, $4, $5)",
    ...[partnerId, riderRef, dataOf(riderRef), now],
  );
}

/** The tables that have text of some form. */
async function tablesWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const table of Object.keys(columnTypes)) {
    const asText =
      table === "webhook_attempts" ? "t::text || encode(coalesce(response_body, ''), 'escape')" : "t::text";
    const rows = await harness.rows(
      `select 1 from ${table} t where $1 <> '' and ${asText} like $2 limit 1`,
      `%${text}%`,
    );
    if (rows.length > 0) found.push(table);
  }
  return found;
}

it("a rider's reference is gone from every table, and nobody else's is", async () => {
  for (const riderRef of ["rider-1", "rider-12"]) await leaveTraces(riderRef);
  // Not numbered yet.
  for (const riderRef of ["rider-1", "rider-12"]) await happen(riderRef);
  const others = await tablesWith("rider-12");
  expect(others).toEqual([
    "event_outbox",
    "events",
    "idempotency_keys",
    "reservations",
    "webhook_attempts",
    "webhook_bodies",
  ]);
  expect(await forgetRider(harness, harness.systemId, "rider-1")).toEqual({
    ...{ reservations: 1, event_outbox: 1, events: 1, webhook_bodies: 2, webhook_attempts: 2, idempotency_keys: 1 },
  });
  expect(await tablesWith("rider-1[^2]")).toEqual([]);
  expect(await tablesWith("rider-12")).toEqual(others);
  expect(await harness.rows("select rider_ref from reservations where system_id = $1 order by rider_ref")).toEqual([
    { rider_ref: "rider-12" },
    { rider_ref: null },
  ]);
  const [event] = await harness.rows<{ data: string }>(
    "select data from events where system_id = $1 order by position limit 1",
  );
  expect(JSON.parse(event?.data ?? "")).toEqual({ id: "reservation of a rider", rider_ref: null, n: 1 });
});
