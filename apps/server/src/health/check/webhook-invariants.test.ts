import { afterEach, beforeEach, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { webhookInvariants } from "./queries.ts";
import { checkInvariants } from "./service.ts";

const ours = new Set([...webhookInvariants.map(([name]) => name), "placed_system"]);

let harness: EndpointsHarness;
let endpointId: string;
beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  // Creates three deliveries: one succeeded, one waits for its second attempt, and one waits for its first.
  await harness.happen(1);
  await harness.send(endpointId);
  await harness.happen(1);
  await harness.send(endpointId, answered(500));
  await harness.happen(1);
});
afterEach(() => harness.close());

async function broken(): Promise<string[]> {
  const checks = await checkInvariants(harness.db, harness.systemId);
  return checks.flatMap((check) => (ours.has(check.name) && check.broken > 0 ? [`${check.name} ${check.broken}`] : []));
}

it("webhooks that were sent as they should be break no invariant", async () => {
  expect(await broken()).toEqual([]);
});

it.each([
  ["a delivery that fell out of the line", "delete from webhook_queue where system_id = $1 and attempts = 0"],
  [
    "a queued delivery that is not pending",
    "update webhook_deliveries set status = 'succeeded' where system_id = $1 and attempts = 0",
  ],
  ["an attempt that was not counted", "update webhook_queue set attempts = 0 where system_id = $1 and attempts = 1", 2],
])("%s is found", async (_what, damage, rows = 1) => {
  await harness.rows(damage);
  expect(await broken()).toEqual([`deliveries_queued ${rows}`]);
});

it("a queued delivery without its event is found", async () => {
  await harness.rows("delete from webhook_bodies where system_id = $1");
  expect(await broken()).toEqual(["delivery_bodies 2"]);
});

it("a delivery that is said to have succeeded, against its log, is found; also the other way round", async () => {
  await harness.rows("update webhook_attempts set outcome = 'failed' where system_id = $1 and outcome = 'succeeded'");
  expect(await broken()).toEqual(["delivery_attempts 1"]);
  await harness.rows("update webhook_deliveries set status = 'failed' where system_id = $1 and status = 'succeeded'");
  await harness.rows("update webhook_attempts set outcome = 'succeeded' where system_id = $1 and status = 204");
  expect(await broken()).toEqual(["delivery_attempts 1"]);
});

it("a system without the row beside which its events are written is found", async () => {
  await harness.rows("delete from placed_systems where system_id = $1");
  expect(await broken()).toEqual(["placed_system 1"]);
});

it.each([
  ["secret", "update webhook_secrets set endpoint_id = 'gone' where system_id = $1", "webhook_secrets_endpoint 1"],
  ["lane", "insert into webhook_lanes (system_id, endpoint_id) values ($1, 'gone')", "webhook_lanes_endpoint 1"],
  [
    "size of the log",
    "insert into webhook_log_sizes values ($1, 'gone', '2026-01-01', 1, 1), ($1, 'gone', '2026-01-02', 1, 1)",
    "webhook_log_sizes_endpoint 1",
  ],
])("a %s of an endpoint that does not exist is found", async (_what, damage, expected) => {
  await harness.rows(damage);
  expect(await broken()).toEqual([expected]);
});
