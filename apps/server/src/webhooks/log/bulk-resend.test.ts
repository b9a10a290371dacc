import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import type { Database } from "../../storage/db/database.ts";
import { pauseEndpoint } from "../endpoints/endpoint-settings.ts";
import { listDeliveries } from "./deliveries.ts";
import { cancelResend, countResend, queueReplays, type ResendChoice, showResend, startResend } from "./resend.ts";

let harness: EndpointsHarness;
let endpointId: string;
beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
});
afterEach(() => harness.close());

const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const failed: ResendChoice = { filter: { status: "failed" } };
const failing: ResendChoice = { filter: { status: "failing" } };
const work = (db: Database = harness.db) => queueReplays({ db, clock: harness.clock }, harness.systemId);
const ids = async () => (await listDeliveries(harness, { ...scope(), limit: 200 })).deliveries.map(({ id }) => id);
const inQueue = () =>
  harness.rows<{ delivery_id: string; due_at: Date }>(
    "select delivery_id, due_at from webhook_queue where system_id = $1 order by delivery_id",
  );

/** Inserts many deliveries that were given up. */
async function givenUp(n: number): Promise<void> {
  await harness.rows(
    `with bodies as (
       insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
       select $1, ($3::timestamptz)::date, 'event_' || i, 'ride.started', $3, '{}' from generate_series(1, $4::int) as i)
     insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status, attempts,
       latest_code, latest_failure, finished_at)
     select $1, ($3::timestamptz)::date, 'delivery_' || i, $2, 'event_' || i, 'ride.started', $3, 'failed', 14, 500,
       'http_5xx', $3
     from generate_series(1, $4::int) as i`,
    endpointId,
    new Date(harness.clock()),
    n,
  );
  harness.clock.advance(1_000);
}

describe("a choice of deliveries", () => {
  it("is counted first and chosen by filter or by id, of the partner's own alone", async () => {
    await givenUp(3);
    const other = await harness.partner("Other");
    await harness.endpoint(other);
    const named: ResendChoice = { ids: ["delivery_1", "delivery_3", "delivery_none"] };
    expect(await countResend(harness, scope(), failed)).toBe(3);
    expect(await countResend(harness, scope(), named)).toBe(2);
    expect(await countResend(harness, { ...scope(), partnerId: other }, named)).toBe(0);
    expect(await countResend(harness, { ...scope(), partnerId: other }, failed)).toBe(0);
    expect(await inQueue()).toEqual([]);
    const resend = await startResend(harness, scope(), named);
    expect(resend).toMatchObject({ total: 2, queued: 0, skipped: 0, status: "running" });
    await expect(showResend(harness, { ...scope(), partnerId: other }, resend.id)).rejects.toThrow(
      /There is no replay/,
    );
    await work();
    expect(await showResend(harness, scope(), resend.id)).toMatchObject({ queued: 2, status: "finished" });
    expect((await inQueue()).map(({ delivery_id: id }) => id)).toEqual(["delivery_1", "delivery_3"]);
  });

  it("leaves out what waits for its first attempt, which comes by itself", async () => {
    await harness.happen(2);
    expect(await countResend(harness, scope(), { filter: {} })).toBe(0);
    expect(await countResend(harness, scope(), { ids: await ids() })).toBe(0);
  });

  it("that has become empty is finished at once", async () => {
    expect(await startResend(harness, scope(), failed)).toMatchObject({ total: 0, status: "finished" });
  });
});

describe("a bulk resend", () => {
  it("tries now what waits for its next attempt, in its own schedule", async () => {
    await harness.happen(2);
    await harness.send(endpointId, answered(500));
    harness.clock.advance(1_000);
    expect(await harness.send(endpointId)).toEqual([]);
    await startResend(harness, scope(), failing);
    await work();
    expect((await harness.send(endpointId)).map(({ tries, attempts }) => [tries, attempts])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it("skips what has succeeded since it was chosen, and says how many", async () => {
    await harness.happen(3);
    await harness.send(endpointId, answered(500));
    harness.clock.advance(1_000);
    const resend = await startResend(harness, scope(), failing);
    harness.clock.advance(60_000);
    await harness.send(endpointId, answered(204), 1);
    await work();
    expect(await showResend(harness, scope(), resend.id)).toMatchObject({
      total: 3,
      queued: 2,
      skipped: 1,
      status: "finished",
    });
    expect(await harness.send(endpointId)).toHaveLength(2);
  });

  it("sends again what had succeeded when it was chosen", async () => {
    await harness.happen(1);
    await harness.send(endpointId);
    harness.clock.advance(1_000);
    await startResend(harness, scope(), { ids: await ids() });
    await work();
    expect(await harness.send(endpointId)).toHaveLength(1);
  });

  it("asked for twice at once, by workers that race, sends each delivery once", async () => {
    await givenUp(1_500);
    await Promise.all([startResend(harness, scope(), failed), startResend(harness, scope(), failed)]);
    const sent: string[] = [];
    for (let batch = -1; batch !== 0;) {
      await Promise.all([work(), work(), work()]);
      const claimed = await harness.send(endpointId);
      sent.push(...claimed.map(({ delivery_id: id }) => id));
      batch = claimed.length;
      harness.clock.advance(1_000);
    }
    expect(sent).toHaveLength(1_500);
    expect(new Set(sent).size).toBe(1_500);
    // The second resend skips the deliveries that the first one has already sent.
    await work();
    const made = await harness.rows<{ total: number; queued: number; skipped: number }>(
      "select total, queued, skipped from webhook_replays where system_id = $1",
    );
    expect(made.map(({ total, queued, skipped }) => [total, queued + skipped])).toEqual([
      [1_500, 1_500],
      [1_500, 1_500],
    ]);
  });

  it("cancelled while it runs sends what it has queued, and leaves the rest as it was", async () => {
    await givenUp(1_200);
    const { id } = await startResend(harness, scope(), failed);
    await work();
    expect(await showResend(harness, scope(), id)).toMatchObject({ queued: 1_000, status: "running" });
    expect(await cancelResend(harness, scope(), id)).toMatchObject({
      queued: 1_000,
      total: 1_200,
      status: "cancelled",
    });
    await work();
    expect(await inQueue()).toHaveLength(1_000);
    expect(await countResend(harness, scope(), failed)).toBe(200);
    expect((await cancelResend(harness, scope(), id)).status).toBe("cancelled");
  });

  it("of a worker that is killed in the middle of a batch is gone on with, nothing twice and nothing lost", async () => {
    await givenUp(5);
    const { id } = await startResend(harness, scope(), failed);
    const killed: Database = {
      ...harness.db,
      transaction: (run) =>
        harness.db.transaction(async (tx) => {
          await run(tx);
          throw new Error("killed before the commit");
        }),
    };
    await expect(work(killed)).rejects.toThrow("killed");
    expect(await showResend(harness, scope(), id)).toMatchObject({ queued: 0, status: "running" });
    await work();
    await work();
    expect(await showResend(harness, scope(), id)).toMatchObject({ queued: 5, status: "finished" });
    expect(await inQueue()).toHaveLength(5);
  });

  it("waits while the endpoint is paused, and behind an earlier one", async () => {
    await givenUp(1_100);
    const first = await startResend(harness, scope(), failed);
    const second = await startResend(harness, scope(), failed);
    expect([first.status, second.status]).toEqual(["running", "waiting"]);
    await work();
    expect((await showResend(harness, scope(), second.id)).status).toBe("waiting");
    await pauseEndpoint(harness, { ...scope(), reason: "partner" });
    expect((await showResend(harness, scope(), first.id)).status).toBe("waiting");
  });
});
