import { afterEach, beforeEach, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import type { Database } from "../../storage/db/database.ts";
import { pauseEndpoint } from "../endpoints/endpoint-settings.ts";
import { claimDeliveries } from "../queue/lane-queries.ts";
import { listDeliveries } from "./deliveries.ts";
import { retryEndpointNow } from "./resend.ts";

let harness: EndpointsHarness;
let endpointId: string;
const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const retryNow = () => retryEndpointNow(harness, scope());

/** Queues so many deliveries that have failed once. */
const waitForNextAttempt = (n: number) =>
  harness.rows(
    `insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at, attempts, tries)
     select $1, 'delivery_' || i, $2, '2026-06-01', 'event_' || i, $3, 1, 1 from generate_series(1, $4::int) as i`,
    endpointId,
    new Date(harness.clock() + 3_600_000),
    n,
  );

beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
});
afterEach(() => harness.close());

it("what waits for its next attempt is due now, in its own schedule; another partner's is not", async () => {
  const other = await harness.endpoint(await harness.partner("Partner 2"));
  await harness.happen(3);
  await harness.send(endpointId, answered(500));
  await harness.send(other.endpoint.id, answered(500));
  expect(await harness.send(endpointId)).toEqual([]);
  expect(await retryNow()).toBe(3);
  expect((await harness.send(endpointId)).map(({ tries }) => tries)).toEqual([1, 1, 1]);
  expect(await harness.send(other.endpoint.id)).toEqual([]);
});

it("what is due or being sent stays as it is", async () => {
  await harness.happen(2);
  const request = { endpointId, token: 0, limit: 1, dueFrom: new Date(0) };
  await claimDeliveries(harness.db, harness.systemId, [request], false, new Date(harness.clock()));
  expect(await retryNow()).toBe(0);
  const acts = await harness.rows("select from audit_log where system_id = $1 and action = 'webhook.retried_now'");
  expect(acts).toEqual([]);
});

it("thousands are retried, each once, and it is written into the audit log", async () => {
  await waitForNextAttempt(2_500);
  expect(await retryNow()).toBe(2_500);
  expect(await retryNow()).toBe(0);
  const acts = await harness.rows(
    "select detail from audit_log where system_id = $1 and action = 'webhook.retried_now'",
  );
  expect(acts).toEqual([{ detail: { deliveries: 2_500 } }]);
});

it("a delivery that fails while the rest of thousands are made due keeps its next attempt", async () => {
  await waitForNextAttempt(2_500);
  const fail = "update webhook_queue set due_at = $2, attempts = attempts + 1, tries = tries + 1";
  const query: Database["query"] = async (text, values) => {
    const rows = await harness.db.query<never>(text, values);
    // All that is due is tried and fails before the next batch.
    const [next, now] = [60_000, 0].map((ms) => new Date(harness.clock() + ms));
    await harness.rows(`${fail} where system_id = $1 and due_at <= $3 and tries < 4`, next, now);
    return rows;
  };
  expect(await retryEndpointNow({ ...harness, db: { ...harness.db, query } }, scope())).toBe(2_500);
  expect(await harness.rows("select distinct tries from webhook_queue where system_id = $1")).toEqual([{ tries: 2 }]);
});

it("at a paused endpoint it is refused, with what to do instead", async () => {
  await harness.happen(1);
  await pauseEndpoint(harness, { ...scope(), reason: "operator" });
  await expect(retryNow()).rejects.toThrow(/`webhooks resume` asks what becomes of it/);
  expect((await listDeliveries(harness, scope())).deliveries).toHaveLength(1);
});
