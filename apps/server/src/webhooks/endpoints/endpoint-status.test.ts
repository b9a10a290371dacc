import { afterEach, beforeEach, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { listDeliveries } from "../log/deliveries.ts";
import { updateQueuedToHeld } from "../queue/lane-queries.ts";
import { rotateSecret } from "./endpoint-secrets.ts";
import { pauseEndpoint, resumeEndpoint } from "./endpoint-settings.ts";
import { showEndpoint } from "./endpoint-view.ts";

let harness: EndpointsHarness;
let endpointId: string;
const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const pause = (reason: "partner" | "operator" = "partner") => pauseEndpoint(harness, { ...scope(), reason });
const resume = () => resumeEndpoint(harness, scope());
const show = () => showEndpoint(harness, scope());
const statuses = async () =>
  (await listDeliveries(harness, scope())).deliveries.map(({ status }) => status).toReversed();

beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
});
afterEach(() => harness.close());

it("a paused endpoint's events are held, those queued too; nothing is lost", async () => {
  await harness.happen(2);
  expect(await pause()).toMatchObject({ changed: true, endpoint: { status: "paused", pause_reason: "partner" } });
  await harness.happen(3);
  await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 100);
  expect(await statuses()).toEqual(["held", "held", "held", "held", "held"]);
  expect(await show()).toMatchObject({ held: 5, pending: 0, oldest_due: null });
});

it("pausing again keeps the reason of the first pause", async () => {
  await pause("partner");
  expect(await pause("operator")).toMatchObject({ changed: false, endpoint: { pause_reason: "partner" } });
});

it("resuming takes the oldest held delivery as the probe, says how many stay held, and forgets the failures", async () => {
  await pause();
  const since = harness.clock();
  await harness.happen(3);
  await harness.rows(
    "update webhook_lanes set failures = 9, warned = 100, gone_answers = 2, gone_since = now() where system_id = $1",
  );
  const { deliveries } = await listDeliveries(harness, scope());
  const resumed = await resume();
  expect(resumed).toMatchObject({
    changed: true,
    probe: deliveries.at(-1)?.id,
    held: 2,
    held_since: new Date(since + 1),
    endpoint: { status: "probing", pause_reason: null, paused_at: null },
  });
  expect(await statuses()).toEqual(["pending", "held", "held"]);
  expect(
    await harness.rows("select failures, warned, gone_answers, gone_since from webhook_lanes where system_id = $1"),
  ).toEqual([{ failures: 0, warned: 0, gone_answers: 0, gone_since: null }]);
  const sent = await harness.send(endpointId);
  expect(sent.map((row) => [row.delivery_id, row.tries, row.attempts])).toEqual([[deliveries.at(-1)?.id, 0, 0]]);
});

it("resuming with nothing held lets the next event be the probe", async () => {
  await pause();
  expect(await resume()).toMatchObject({ changed: true, probe: null, held: 0, endpoint: { status: "probing" } });
  await harness.happen(1);
  expect(await statuses()).toEqual(["pending"]);
});

it("a probe that was tried before goes on counting its attempts, with a fresh schedule", async () => {
  await harness.happen(1);
  await harness.send(endpointId, answered(500));
  await pause();
  await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 100);
  await resume();
  expect((await harness.send(endpointId)).map((row) => [row.attempts, row.tries])).toEqual([[1, 0]]);
  const rows = await harness.rows<{ number: number }>(
    "select number from webhook_attempts where system_id = $1 order by number",
  );
  expect(rows.map(({ number }) => number)).toEqual([1, 2]);
});

it("resuming what is not paused changes nothing", async () => {
  expect(await resume()).toMatchObject({ changed: false, probe: null, endpoint: { status: "active" } });
});

it("of many that resume at once one does, with one probe", async () => {
  await pause();
  await harness.happen(5);
  const all = await Promise.all([1, 2, 3, 4].map(() => resume()));
  expect(all.filter(({ changed }) => changed)).toHaveLength(1);
  expect(all.flatMap(({ probe }) => probe ?? [])).toHaveLength(1);
  expect((await statuses()).filter((status) => status === "pending")).toHaveLength(1);
});

it("pauses and resumes at once end in one state, with no delivery between two", async () => {
  await harness.happen(3);
  for (let round = 0; round < 10; round++) {
    const hold = () => updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 100);
    await Promise.all([pause(), resume(), hold(), harness.happen(1), resume(), pause(), hold()]);
    const rows = await harness.rows<{ n: number; due: number; pending: number }>(
      `select count(*) as n, (select count(*) from webhook_queue where system_id = $1) as due,
         count(*) filter (where status = 'pending') as pending
       from webhook_deliveries where system_id = $1`,
    );
    expect(rows[0]).toMatchObject({ n: 4 + round, due: rows[0]?.pending });
  }
});

it("is shown with how it does, and never with a secret", async () => {
  const { secret } = await rotateSecret(harness, { ...scope(), overlap: 3_600_000 });
  const since = harness.clock();
  await harness.happen(2);
  const view = await show();
  expect(view).toMatchObject({
    id: endpointId,
    status: "active",
    status_text: "active",
    pending: 2,
    oldest_due: new Date(since),
    held: 0,
    held_since: null,
    failing_since: null,
    failures: 0,
    replays: [],
  });
  expect(view.secrets.map(({ expires_at: end }) => end)).toEqual([null, new Date(since + 3_600_000)]);
  expect(JSON.stringify(view)).not.toContain("whsec_");
  expect(JSON.stringify(view)).not.toContain(secret.slice(6));
});

it("says why and since when it is paused", async () => {
  await pause("operator");
  expect((await show()).status_text).toBe(`paused by the operator, ${new Date(harness.clock()).toISOString()}`);
});

it("of a partner that has none is refused, with what makes one", async () => {
  const partnerId = await harness.partner("Partner 2");
  const theirs = { ...scope(), partnerId };
  for (const verb of [showEndpoint, resumeEndpoint]) {
    await expect(verb(harness, theirs)).rejects.toThrow(/has no webhook endpoint. `webhooks set` creates one/);
  }
});
