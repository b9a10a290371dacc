import { afterEach, beforeEach, expect, it } from "vitest";
import { type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { createSequencer } from "../../events/sequencer.ts";
import { previewEndpoint } from "../endpoints/endpoint-preview.ts";
import { countPastEvents } from "../endpoints/endpoint-queries.ts";
import { pauseEndpoint, resumeEndpoint, setEndpoint } from "../endpoints/endpoint-settings.ts";
import { showEndpoint } from "../endpoints/endpoint-view.ts";
import { sendHeld } from "../endpoints/held.ts";
import { redeliver, sendTestDelivery } from "../log/resend.ts";
import { applyHourlyLimit } from "./hourly-limit-queries.ts";
import { claimDeliveries } from "./lane-queries.ts";

let harness: EndpointsHarness;
let endpointId: string;
beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  await limit(3);
});
afterEach(() => harness.close());

const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const limit = (max_per_hour: number | null) => setEndpoint(harness, { ...scope(), max_per_hour });
const request = (maxPerHour = 3, token = 0) => ({ endpointId, token, maxPerHour });
const count = (requests = [request()]) =>
  applyHourlyLimit(harness.db, harness.systemId, requests, new Date(harness.clock()));
/** Ends the current hour of all lanes in the database. */
const nextHour = () => harness.rows("update webhook_lanes set hour_ends_at = now() where system_id = $1");
const claim = async (n = 100) => {
  const wanted = { endpointId, token: 0, limit: n, dueFrom: new Date(0), hasHourlyLimit: true };
  const rows = await claimDeliveries(harness.db, harness.systemId, [wanted], false, new Date(harness.clock()));
  return rows.map(({ delivery_id: id }) => id);
};
/** Returns each delivery's latest failure, or its status without one, in the order of creation. */
const outcomes = async () =>
  (
    await harness.rows<{ word: string }>(
      `select coalesce(latest_failure, status) as word from webhook_deliveries where system_id = $1
       and right(id, 5) <> '_test' order by created_at, id`,
    )
  ).map(({ word }) => word);

it("the first of each hour are let through in their order, and the rest are skipped, whoever counts at once", async () => {
  await harness.happen(2);
  expect(await claim()).toEqual([]);
  await Promise.all(Array.from({ length: 5 }, () => count()));
  await harness.happen(4);
  await Promise.all(Array.from({ length: 5 }, () => count()));
  expect(await outcomes()).toEqual(["pending", "pending", "pending", "skipped", "skipped", "skipped"]);
  expect((await showEndpoint(harness, scope())).this_hour).toMatchObject({ sent: 3, skipped: 3 });
  expect(await claim()).toHaveLength(3);
  await nextHour();
  expect((await showEndpoint(harness, scope())).this_hour).toBeNull();
  await harness.happen(5);
  await count();
  expect((await outcomes()).slice(6)).toEqual(["pending", "pending", "pending", "skipped", "skipped"]);
});

it("what was sent without a limit is not counted when there is one again", async () => {
  await harness.happen(2);
  await limit(null);
  const wanted = { endpointId, token: 0, limit: 9, dueFrom: new Date(0), hasHourlyLimit: false };
  await claimDeliveries(harness.db, harness.systemId, [wanted], false, new Date(harness.clock()));
  // Makes the queue look as if the first attempts had failed.
  await harness.rows("update webhook_queue set claim = null, claimed_at = null, attempts = 1 where system_id = $1");
  await limit(1);
  await count([request(1)]);
  expect(await outcomes()).toEqual(["pending", "pending"]);
});

it("an endpoint of which nothing new is due is not locked", async () => {
  await count();
  const lane = "select xmax::text, hour_ends_at from webhook_lanes where system_id = $1";
  const before = await harness.rows(lane);
  await count();
  expect(await harness.rows(lane)).toEqual(before);
});

it("more than one statement counts are let through and skipped as exactly", async () => {
  await limit(1_500);
  await harness.rows(
    `insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at, is_uncounted)
     select $1, 'd' || lpad(n::text, 5, '0'), $2, now()::date, 'e', $3, true from generate_series(1, 2500) as n`,
    endpointId,
    new Date(harness.clock()),
  );
  const rounds: boolean[] = [];
  for (let isMore = true; isMore;) rounds.push((isMore = await count([request(1_500)])));
  expect(rounds).toEqual([true, true, false]);
  const left =
    "select min(delivery_id) as first, max(delivery_id) as last, count(*) as n from webhook_queue where system_id = $1";
  expect(await harness.rows(left)).toEqual([{ first: "d00001", last: "d01500", n: 1_500 }]);
});

it("a claim that is released, an attempt that fails and a worker that lost the lane count nothing again", async () => {
  await harness.happen(3);
  await count();
  expect(await claim()).toHaveLength(3);
  await harness.rows("update webhook_queue set claim = null, claimed_at = null, attempts = 1 where system_id = $1");
  await harness.happen(1);
  await count([request(3, 7)]);
  expect(await outcomes()).toEqual(["pending", "pending", "pending", "pending"]);
  await count();
  expect(await outcomes()).toEqual(["pending", "pending", "pending", "skipped"]);
  expect(await claim()).toHaveLength(3);
});

it("tests, what somebody resends and what was held go beside the limit, and a limit that is taken back holds nothing", async () => {
  await harness.happen(5);
  await count();
  const [skipped] = await harness.rows<{ id: string }>(
    "select id from webhook_deliveries where system_id = $1 and latest_failure = 'skipped' order by id",
  );
  await harness.rows(
    "insert into webhook_workers (system_id, worker, alive_until) values ($1, 'w', now() + interval '1 hour')",
  );
  await sendTestDelivery(harness, scope());
  await redeliver(harness, scope(), skipped?.id ?? "");
  expect(await outcomes()).toEqual(["pending", "pending", "pending", "pending", "skipped"]);
  await count();
  expect(await claim()).toHaveLength(5);
  await pauseEndpoint(harness, { ...scope(), reason: "partner" });
  await harness.happen(2);
  await resumeEndpoint(harness, scope());
  await sendHeld(harness, scope());
  await count();
  expect((await outcomes()).slice(5)).not.toContain("skipped");
  await harness.happen(1);
  await limit(null);
  const wanted = { endpointId, token: 0, limit: 100, dueFrom: new Date(0) };
  const rows = await claimDeliveries(harness.db, harness.systemId, [wanted], false, new Date(harness.clock()));
  expect(rows.length).toBeGreaterThanOrEqual(1);
});

it("the preview counts what is above the limit in each hour of the clock", async () => {
  const sequencer = createSequencer({
    ...harness,
    onError: (error) => expect.unreachable(String(error)),
    pollIntervalMs: 0,
  });
  harness.clock.advance(3_600_000 - (harness.clock() % 3_600_000));
  await harness.happen(5);
  harness.clock.advance(3_600_000);
  await harness.happen(2);
  await sequencer.runOnce(harness.systemId);
  await sequencer.close();
  const preview = (max_per_hour: number | null) =>
    previewEndpoint(harness, scope(), { events: ["ride.*"], places: null, max_per_hour });
  expect(await preview(3)).toMatchObject({
    deliveries: 5,
    skipped: 2,
    by_event: [{ event: "ride.started", deliveries: 7 }],
  });
  expect(await preview(null)).toMatchObject({ deliveries: 7, skipped: 0 });
  // Also where no event is for the endpoint, it is known how many were read, and so whether these were all.
  const places = { station_ids: null, region_ids: null, bbox: null };
  const past = (events: string[], most: number) =>
    countPastEvents(harness.db, scope(), { events, ...places }, { since: new Date(0), limit: most });
  expect(await past(["station.offline"], 3)).toEqual({ looked: 3, counts: [] });
  expect(await past(["station.offline"], 100)).toEqual({ looked: 7, counts: [] });
});

it("a limit is a whole number from 1 to 100,000", async () => {
  for (const wrong of [0, 1.5, 100_001]) await expect(limit(wrong)).rejects.toThrow(/from 1 to 100000 messages/);
  expect(await limit(3)).toMatchObject({ outcome: "unchanged" });
  expect(await limit(4)).toMatchObject({ outcome: "changed", endpoint: { max_per_hour: 4 } });
});
