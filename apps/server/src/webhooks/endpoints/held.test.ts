import { afterEach, beforeEach, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { webhookInvariants } from "../../health/check/queries.ts";
import { checkInvariants } from "../../health/check/service.ts";
import { systemCheckFinders } from "../../health/checks/system-checks.ts";
import { listDeliveries, summarizeDeliveries } from "../log/deliveries.ts";
import { queueReplays, redeliver, startResend } from "../log/resend.ts";
import { updateQueuedToHeld } from "../queue/lane-queries.ts";
import { addEndpoint, pauseEndpoint, resumeEndpoint } from "./endpoint-settings.ts";
import { showEndpoint } from "./endpoint-view.ts";
import { dropHeld, sendHeld, showHeld } from "./held.ts";

let harness: EndpointsHarness;
let endpointId: string;
const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const pause = () => pauseEndpoint(harness, { ...scope(), reason: "partner" });
const resume = (sendsHeld = false) => resumeEndpoint(harness, { ...scope(), sendsHeld });
const held = () => showHeld(harness, scope());
const queue = () => queueReplays(harness, harness.systemId);
const count = async (status: "held" | "failed" | "pending" | "succeeded") =>
  (await listDeliveries(harness, { ...scope(), status, limit: 200 })).deliveries.length;
const findings = async () =>
  (await systemCheckFinders["held webhooks"]({ ...harness, longRideAfterMs: 0 }, harness.systemId)).map(
    ({ status }) => status,
  );
const acts = (action: string) =>
  harness.rows<{ detail: Record<string, unknown> }>(
    "select detail from audit_log where system_id = $1 and action = $2 order by id",
    action,
  );

/** Makes a probing endpoint active, as the dispatcher does after the probe, then sends until nothing is due. */
async function arrive(): Promise<number> {
  let sent = 0;
  await harness.rows("update webhook_endpoints set status = 'active' where system_id = $1 and status = 'probing'");
  for (let last = 1; last > 0; sent += last) {
    await queue();
    last = (await harness.send(endpointId, answered(204), 1_000)).length;
  }
  return sent;
}

const names = new Set(webhookInvariants.map(([name]) => name));
const broken = async () =>
  (await checkInvariants(harness.db, harness.systemId)).filter((check) => names.has(check.name) && check.broken > 0);

beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
});
afterEach(() => harness.close());

it("whoever resumes and sends what is held sends every delivery once, after the probe", async () => {
  await pause();
  await harness.happen(20);
  expect(await resume(true)).toMatchObject({ changed: true, sent: 19, held: 0 });
  expect(await queue()).toBe(0);
  expect(await arrive()).toBe(20);
  expect([await count("succeeded"), await count("held")]).toEqual([20, 0]);
  expect(await acts("webhook.held_sent")).toMatchObject([{ detail: { total: 19 } }]);
});

it("whoever only resumes leaves the rest held, which needs attention until it is sent", async () => {
  await pause();
  await harness.happen(5);
  expect(await findings()).toEqual(["ok"]);
  expect(await resume()).toMatchObject({ sent: 0, held: 4 });
  expect(await findings()).toEqual(["warning"]);
  expect(await held()).toMatchObject({ total: 4 });
  expect(await sendHeld(harness, scope())).toBe(4);
  expect(await findings()).toEqual(["ok"]);
  expect([await held(), await sendHeld(harness, scope())]).toMatchObject([{ total: 0 }, 0]);
  expect(await showEndpoint(harness, scope())).toMatchObject({ held: 4, is_replaying: true });
  expect(await arrive()).toBe(5);
  expect(await showEndpoint(harness, scope())).toMatchObject({ held: 0, is_replaying: false });
});

it("what is held at several endpoints of a partner is named by each of them, with a command for each", async () => {
  const url = "https://other.example/hooks";
  const second = (await addEndpoint(harness, { ...scope(), name: "Second", url, events: ["ride.started"] })).endpoint
    .id;
  const each = [endpointId, second].map((id) => ({ ...scope(), endpointRef: id }));
  for (const of of each) await pauseEndpoint(harness, { ...of, reason: "partner" });
  await harness.happen(3);
  for (const of of each) await resumeEndpoint(harness, { ...of, sendsHeld: false });
  const [finding] = await systemCheckFinders["held webhooks"]({ ...harness, longRideAfterMs: 0 }, harness.systemId);
  expect(finding).toMatchObject({ count: 4, link: { page: "webhook", query: {} } });
  expect(finding?.detail).toMatch(/whose endpoints “.+” and “Second” are not paused$/);
  for (const id of [endpointId, second]) expect(finding?.fix).toContain(`--endpoint ${id}`);
});

it("what is dropped is given up by request: counted, in the audit log, told from failures, and sent again on request", async () => {
  await pause();
  await harness.happen(3);
  const seen = await held();
  expect(await dropHeld(harness, scope(), seen)).toEqual({ dropped: 3, remaining: 0 });
  expect(await acts("webhook.held_dropped")).toMatchObject([
    { detail: { dropped: 3, held_until: seen.until.toISOString() } },
  ]);
  const { deliveries } = await listDeliveries(harness, { ...scope(), status: "failed" });
  expect(deliveries.map(({ latest_failure: failure }) => failure)).toEqual(["dropped", "dropped", "dropped"]);
  expect(deliveries[0]?.explanation).toMatch(/^dropped .* on request, while it was held, after no attempt; /);
  const since = new Date(harness.clock() - 86_400_000);
  const summary = await summarizeDeliveries(harness, harness.systemId, endpointId, since);
  expect(summary).toMatchObject({ given_up: 0, given_up_from: null, failing: 0 });
  await resume();
  await redeliver(harness, scope(), deliveries[0]?.id ?? "");
  await startResend(harness, scope(), { filter: { failure: "dropped" } });
  expect(await arrive()).toBe(3);
  expect(await count("succeeded")).toBe(3);
  expect(await broken()).toEqual([]);
});

it("nothing is dropped that whoever drops was not shown", async () => {
  await pause();
  await harness.happen(2);
  const seen = await held();
  harness.clock.advance(10);
  await harness.happen(3);
  expect(await dropHeld(harness, scope(), seen)).toEqual({ dropped: 2, remaining: 0 });
  expect(await count("held")).toBe(3);
  // Held since an earlier instant than the caller's, but not yet when the caller looked.
  const again = { ...(await held()), total: 1 };
  await expect(dropHeld(harness, scope(), again)).rejects.toThrow("3 deliveries are held now, more than the 1");
  expect(await count("held")).toBe(3);
});

it("what was queued before a pause and is held after the reader looked is not dropped", async () => {
  await harness.happen(2);
  await pause();
  await harness.happen(1);
  const seen = await held();
  harness.clock.advance(5);
  await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 10);
  expect(await dropHeld(harness, scope(), seen)).toEqual({ dropped: 1, remaining: 0 });
  expect(await count("held")).toBe(2);
});

it("a delivery that had arrived, and was held as it was sent again, has arrived still when it is dropped", async () => {
  await harness.happen(2);
  await harness.send(endpointId, answered(204), 1);
  await harness.send(endpointId, answered(500), 1);
  const arrived = (await listDeliveries(harness, { ...scope(), status: "succeeded" })).deliveries;
  await redeliver(harness, scope(), arrived[0]?.id ?? "");
  await pause();
  await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 10);
  expect(await dropHeld(harness, scope(), await held())).toEqual({ dropped: 2, remaining: 0 });
  expect([await count("succeeded"), await count("failed")]).toEqual([1, 1]);
  expect(await broken()).toEqual([]);
});

/** Inserts held deliveries that are created now, with ids from `first` to `last`. */
const hold = (first: number, last: number) =>
  harness.rows(
    `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status)
     select $1, ($3::timestamptz)::date, 'delivery_' || i, $2, 'event_' || i, 'ride.started', $3, 'held'
     from generate_series($4::int, $5::int) as i`,
    endpointId,
    new Date(harness.clock()),
    first,
    last,
  );

it("a drop that goes on counts nothing again, and drops no more than it was to", async () => {
  await pause();
  await hold(1, 5_010);
  const seen = await held();
  expect(await dropHeld(harness, scope(), seen)).toEqual({ dropped: 5_000, remaining: 10 });
  await hold(9_001, 9_003);
  const goesOn = { ...seen, total: 10, isContinued: true };
  expect(await dropHeld(harness, scope(), goesOn)).toEqual({ dropped: 10, remaining: 0 });
  expect(await count("held")).toBe(3);
  expect(await dropHeld(harness, scope(), goesOn)).toEqual({ dropped: 3, remaining: 0 });
  expect(await dropHeld(harness, scope(), goesOn)).toEqual({ dropped: 0, remaining: 0 });
});

it("a drop is bounded: it ends after a batch, and the same call again goes on", async () => {
  await pause();
  await hold(1, 5_010);
  const seen = await held();
  expect(await dropHeld(harness, scope(), seen)).toEqual({ dropped: 5_000, remaining: 10 });
  expect(await dropHeld(harness, scope(), { ...seen, total: 10 })).toEqual({ dropped: 10, remaining: 0 });
  expect(await dropHeld(harness, scope(), { ...seen, total: 0 })).toEqual({ dropped: 0, remaining: 0 });
  expect(await acts("webhook.held_dropped")).toHaveLength(2);
});

it("whoever drops, sends, resends, resumes and pauses at once leaves each delivery sent, dropped or held, and none twice", async () => {
  for (let round = 0; round < 4; round++) {
    await pause();
    await harness.happen(30);
    const seen = await held();
    await Promise.allSettled([
      dropHeld(harness, scope(), seen),
      resume(true),
      sendHeld(harness, scope()),
      startResend(harness, scope(), { filter: { status: "held" } }),
      pause(),
      resume(),
      dropHeld(harness, scope(), seen),
    ]);
    await pause();
    await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 1_000);
    await resume(true);
    await arrive();
    expect([await count("held"), await count("pending")]).toEqual([0, 0]);
  }
  const dropped = await count("failed");
  const sent = await count("succeeded");
  expect(dropped + sent).toBe(120);
  const twice = await harness.rows(
    `select delivery_id from webhook_attempts where system_id = $1 group by delivery_id having count(*) > 1`,
  );
  expect(twice).toEqual([]);
  const noted = (await acts("webhook.held_dropped")).reduce((sum, { detail }) => sum + Number(detail["dropped"]), 0);
  expect(noted).toBeGreaterThanOrEqual(dropped);
});
