import { afterEach, beforeEach, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import type { Database } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { listDeliveries } from "../log/deliveries.ts";
import { queueReplays, redeliver, stopReplay } from "../log/resend.ts";
import { updateQueuedToHeld } from "../queue/lane-queries.ts";
import { removeEndpoint } from "./endpoint-removal.ts";
import { pauseEndpoint, resumeEndpoint } from "./endpoint-settings.ts";
import { showEndpoint } from "./endpoint-view.ts";
import { sendHeld, showHeld } from "./held.ts";

let harness: EndpointsHarness;
let endpointId: string;
beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
});
afterEach(() => harness.close());

const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const pause = (partnerId = harness.partnerId) => pauseEndpoint(harness, { ...scope(), partnerId, reason: "partner" });
const queue = (batch: number, db: Database = harness.db) =>
  queueReplays({ db, clock: harness.clock }, harness.systemId, batch);
const deliver = () => harness.send(endpointId, answered(204), 1_000);
const held = async (partnerId = harness.partnerId) => (await showEndpoint(harness, { ...scope(), partnerId })).held;
const latestReplay = async () => (await showEndpoint(harness, scope())).replays[0];
const ids = async (status?: "held") =>
  (await listDeliveries(harness, { ...scope(), limit: 200, ...(status && { status }) })).deliveries
    .map(({ id }) => id)
    .toReversed();

/** Makes an endpoint active, as the dispatcher does after the probe. */
const activate = () =>
  harness.rows(
    `update webhook_endpoints set status = 'active', pause_reason = null, paused_at = null
     where system_id = $1 and id = $2`,
    endpointId,
  );

/** Returns a database whose process is killed in the middle of a transaction. */
const killed = (): Database => ({
  ...harness.db,
  transaction: (work) =>
    harness.db.transaction(async (tx) => {
      await work(tx);
      throw new Error("killed");
    }),
});

it.each([
  { batch: 1, workers: 1, n: 5 },
  { batch: 2, workers: 3, n: 20 },
  { batch: 3, workers: 2, n: 9 },
  { batch: 7, workers: 4, n: 50 },
  { batch: 1_000, workers: 2, n: 30 },
])(
  "$n held deliveries, queued $batch at a time by $workers workers that are killed now and then, are each sent once, the oldest first",
  async ({ batch, workers, n }) => {
    const other = await harness.partner("Other");
    await harness.endpoint(other);
    await pause();
    await pause(other);
    await harness.happen(n);
    const all = await ids("held");
    expect(await sendHeld(harness, scope())).toBe(n);
    await activate();
    const sent: string[] = [];
    while ((await latestReplay())?.finished_at === null) {
      await Promise.allSettled([queue(batch, killed()), ...Array.from({ length: workers }, () => queue(batch))]);
      const claimed = await deliver();
      expect(claimed.length).toBeLessThanOrEqual(batch);
      sent.push(...claimed.map(({ delivery_id: id }) => id));
      harness.clock.advance(1);
    }
    expect(sent).toEqual(all);
    expect(await latestReplay()).toMatchObject({ total: n, queued: n });
    expect([await held(), await held(other)]).toEqual([0, n]);
  },
);

it("a pause stops sending what is held, and holds what is queued of it; after it the rest is sent, once", async () => {
  await pause();
  await harness.happen(10);
  expect(await sendHeld(harness, scope())).toBe(10);
  await activate();
  expect(await queue(4)).toBe(4);
  await pause();
  harness.clock.advance(1);
  await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 1_000);
  await harness.happen(1);
  expect(await queue(4)).toBe(0);
  expect(await held()).toBe(11);
  // Nobody has decided about five of them: the four that the pause took out of the queue, and the one that happened since.
  expect(await showHeld(harness, scope())).toMatchObject({ total: 5 });
  await activate();
  expect([await queue(100), (await deliver()).length]).toEqual([6, 6]);
  expect(await held()).toBe(5);
  expect(await sendHeld(harness, scope())).toBe(5);
  expect([await queue(100), (await deliver()).length, await held()]).toEqual([5, 5, 0]);
});

it("what is held while held deliveries are being sent is counted and sent by the next decision alone", async () => {
  await pause();
  await harness.happen(6);
  expect(await sendHeld(harness, scope())).toBe(6);
  harness.clock.advance(1);
  await harness.happen(3);
  expect(await sendHeld(harness, scope())).toBe(3);
  await activate();
  const { replays } = await showEndpoint(harness, scope());
  await stopReplay(harness, harness.systemId, replays[1]?.id ?? "");
  expect([await queue(2), await queue(4), await queue(100)]).toEqual([2, 1, 0]);
  expect(await held()).toBe(6);
});

it("a removal ends it: what is not queued stays held, also when the endpoint is made anew", async () => {
  await pause();
  await harness.happen(10);
  await sendHeld(harness, scope());
  await activate();
  await queue(4);
  await removeEndpoint(harness, scope());
  await harness.endpoint();
  expect(await queue(4)).toBe(0);
  expect(await held()).toBe(6);
  expect(await showHeld(harness, scope())).toMatchObject({ total: 6 });
});

it("what is sent by hand before its turn is not sent again", async () => {
  await pause();
  await harness.happen(4);
  await sendHeld(harness, scope());
  await activate();
  await redeliver(harness, scope(), (await ids("held"))[2] ?? "");
  expect(await deliver()).toHaveLength(1);
  expect([await queue(100), (await deliver()).length]).toEqual([3, 3]);
  expect(await latestReplay()).toMatchObject({ total: 4, queued: 3, finished_at: new Date(harness.clock()) });
});

it("a delivery that another transaction is writing just now is not passed over", async () => {
  await pause();
  await harness.happen(4);
  await sendHeld(harness, scope());
  await activate();
  const lock = statement("", "select from webhook_deliveries where system_id = $1 and id = $2 for update");
  await harness.db.transaction(async (tx) => {
    await tx.query(lock, [harness.systemId, (await ids("held"))[1]]);
    expect([await queue(2), await queue(2), await queue(3), await queue(10)]).toEqual([1, 0, 1, 1]);
    expect(await latestReplay()).toMatchObject({ queued: 3, finished_at: null });
  });
  expect(await queue(10)).toBe(1);
  expect(await held()).toBe(0);
});

it("a worker of the release before, which takes it for finished, ends nothing; whoever stops it there does", async () => {
  await pause();
  await harness.happen(6);
  await sendHeld(harness, scope());
  await activate();
  const finish = "update webhook_replays set finished_at = now() where system_id = $1";
  await harness.rows(finish);
  expect(await showHeld(harness, scope())).toMatchObject({ total: 0 });
  expect(await queue(2)).toBe(2);
  expect(await latestReplay()).toMatchObject({ finished_at: null });
  await harness.rows(`update webhook_replays set finished_at = now(), is_stopped = true where system_id = $1`);
  expect(await queue(10)).toBe(0);
  expect(await showHeld(harness, scope())).toMatchObject({ total: 4 });
});

it("deliveries whose bodies are no longer kept stay held, and end nothing", async () => {
  await pause();
  await harness.happen(5);
  await sendHeld(harness, scope());
  await resumeEndpoint(harness, scope());
  await activate();
  const [, second] = await ids("held");
  await harness.rows(
    `delete from webhook_bodies where system_id = $1
       and event_id = (select event_id from webhook_deliveries where system_id = $1 and id = $2)`,
    second,
  );
  expect([await queue(2), await queue(100), await held()]).toEqual([2, 1, 1]);
  expect((await latestReplay())?.finished_at).not.toBeNull();
});
