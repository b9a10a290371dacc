import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import type { Database } from "../../storage/db/database.ts";
import { pauseEndpoint, resumeEndpoint } from "../endpoints/endpoint-settings.ts";
import { showEndpoint } from "../endpoints/endpoint-view.ts";
import { insertReplay } from "../queue/replay-queries.ts";
import { listDeliveries } from "./deliveries.ts";
import { createReplay, queueReplays, redeliver, type ReplayInput, stopReplay } from "./resend.ts";

let harness: EndpointsHarness;
let endpointId: string;
let start: Date;
const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const replay = (more: Partial<ReplayInput> = {}) => createReplay(harness, { ...scope(), since: start, ...more });
const feed = () => queueReplays(harness, harness.systemId);
const replays = async () => (await showEndpoint(harness, scope())).replays;
const inLine = () =>
  harness.rows<{ delivery_id: string; attempts: number; tries: number }>(
    "select delivery_id, attempts, tries from webhook_queue where system_id = $1 and replay order by delivery_id",
  );

beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  start = new Date(harness.clock());
});
afterEach(() => harness.close());

/** Inserts many deliveries that have arrived. */
async function arrived(n: number): Promise<void> {
  await harness.rows(
    `with bodies as (
       insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
       select $1, ($3::timestamptz)::date, 'event_' || i, 'ride.started', $3, '{}' from generate_series(1, $4::int) as i)
     insert into webhook_deliveries
       (system_id, created_on, id, endpoint_id, event_id, event, created_at, status, attempts, finished_at)
     select $1, ($3::timestamptz)::date, 'delivery_' || i, $2, 'event_' || i, 'ride.started', $3, 'succeeded', 1, $3
     from generate_series(1, $4::int) as i`,
    endpointId,
    new Date(harness.clock()),
    n,
  );
}

describe("asking for a replay", () => {
  it("counts what is at rest in the range, and no more: neither what is pending nor what lies outside", async () => {
    await harness.happen(2);
    await harness.send(endpointId);
    const since = new Date(harness.clock());
    await harness.happen(3);
    await harness.send(endpointId);
    const until = new Date(harness.clock());
    await harness.happen(4);
    await harness.send(endpointId);
    await harness.happen(1);
    expect(await replay({ since, until, dryRun: true })).toMatchObject({ id: null, total: 3 });
    expect(await replay({ since, dryRun: true })).toMatchObject({ total: 7 });
    expect(await replay({ dryRun: true })).toMatchObject({ total: 9 });
    expect(await replays()).toEqual([]);
    expect(await replay({ since, until })).toMatchObject({ total: 3, since, until, endpoint_status: "active" });
  });

  it("notes down any number of deliveries, so many in each statement that none takes long, and each once", async () => {
    await arrived(25);
    await harness.happen(3);
    await harness.send(endpointId);
    const range = {
      ...{ systemId: harness.systemId, endpointId, statuses: ["succeeded"] as const },
      ...{ since: start, until: new Date(harness.clock() + 1) },
    };
    let statements = 0;
    for (const [notedRows, asked] of [
      [28, 2],
      [7, 5],
      [5, 6],
      [1, 29],
    ] as const) {
      const id = `replay_${notedRows}`;
      const made = await harness.db.transaction((tx) => {
        const counting: typeof tx = { ...tx, query: (sent, values) => (statements++, tx.query(sent, values)) };
        return insertReplay(counting, range, id, new Date(harness.clock()), notedRows);
      });
      const noted = "select delivery_id from webhook_replay_items where system_id = $1 and replay_id = $2";
      expect([made.total, (await harness.rows(noted, id)).length]).toEqual([28, 28]);
      // Two more statements: one deletes replays that are past, and one inserts the new replay.
      expect(statements).toBe(asked + 2);
      statements = 0;
    }
  });

  it("chooses by status", async () => {
    await harness.happen(2);
    await harness.send(endpointId);
    await pauseEndpoint(harness, { ...scope(), reason: "partner" });
    await harness.happen(3);
    const count = async (statuses: ReplayInput["statuses"]) => (await replay({ statuses, dryRun: true })).total;
    expect([await count(["held"]), await count(["succeeded"]), await count(["failed"])]).toEqual([3, 2, 0]);
    expect(await count(["held", "succeeded", "failed"])).toBe(5);
  });

  it("of an empty range is refused; of a range with nothing in it is finished at once", async () => {
    const later = new Date(harness.clock() + 1_000);
    await expect(replay({ since: later })).rejects.toThrow("The range is empty");
    await expect(replay({ since: start, until: start })).rejects.toThrow("The range is empty");
    expect(await replay()).toMatchObject({ total: 0 });
    expect(await replays()).toMatchObject([{ total: 0, queued: 0, finished_at: new Date(harness.clock()) }]);
  });

  it("while deliveries come and go counts as many as it notes down", async () => {
    await harness.happen(20);
    await harness.send(endpointId, answered(204), 10);
    const [made] = await Promise.all([replay(), harness.send(endpointId), harness.happen(5), replay({ dryRun: true })]);
    const items = await harness.rows(
      "select delivery_id from webhook_replay_items where system_id = $1 and replay_id = $2",
      made.id,
    );
    expect(items).toHaveLength(made.total);
  });
});

describe("a replay", () => {
  it("sends exactly what was counted, each once, with fresh schedules, behind what happens now", async () => {
    await harness.happen(5);
    await harness.send(endpointId);
    const ids = (await listDeliveries(harness, scope())).deliveries.map(({ id }) => id).toSorted();
    const { total } = await replay();
    expect(await feed()).toBe(5);
    expect(await inLine()).toEqual(ids.map((id) => ({ delivery_id: id, attempts: 1, tries: 0 })));
    expect(await replays()).toMatchObject([{ total, queued: total, finished_at: new Date(harness.clock()) }]);
    await harness.happen(1);
    const sent = await harness.send(endpointId);
    expect(sent.map((row) => row.replay)).toEqual([false, true, true, true, true, true]);
    expect(await feed()).toBe(0);
    expect(await inLine()).toEqual([]);
  });

  it("hands over no more than 1,000 at a time, and goes on where it was, whoever goes on", async () => {
    await arrived(2_500);
    expect((await replay()).total).toBe(2_500);
    const batches: number[] = [];
    for (;;) {
      batches.push(await feed(), await feed());
      expect((await inLine()).length).toBeLessThanOrEqual(1_000);
      const [state] = await replays();
      expect(state?.queued).toBe(batches.reduce((sum, n) => sum + n, 0));
      if (state?.finished_at !== null) break;
      await harness.send(endpointId, answered(204), 700);
    }
    expect(batches.filter((n) => n > 0)).toEqual([1_000, 700, 700, 100]);
    while ((await harness.send(endpointId)).length > 0);
    const attempts = await harness.rows("select 1 from webhook_attempts where system_id = $1");
    expect(attempts).toHaveLength(2_500);
  });

  it("fed by many workers at once hands each delivery over once, and counts exactly", async () => {
    await arrived(1_500);
    await replay();
    while ((await replays())[0]?.finished_at === null) {
      await Promise.all([feed(), feed(), feed(), feed(), harness.send(endpointId, answered(204), 400)]);
    }
    while ((await harness.send(endpointId)).length > 0);
    const [sums] = await harness.rows(
      "select count(*) as all, count(distinct delivery_id) as different from webhook_attempts where system_id = $1",
    );
    expect(sums).toEqual({ all: 1_500, different: 1_500 });
    expect(await replays()).toMatchObject([{ total: 1_500, queued: 1_500 }]);
  });

  it("whose process dies in the middle of a batch has handed over nothing of it", async () => {
    await arrived(10);
    await replay();
    const dying: Database = {
      ...harness.db,
      transaction: (work) =>
        harness.db.transaction(async (tx) => {
          await work(tx);
          throw new Error("killed");
        }),
    };
    await expect(queueReplays({ ...harness, db: dying }, harness.systemId)).rejects.toThrow("killed");
    expect(await inLine()).toEqual([]);
    expect(await replays()).toMatchObject([{ queued: 0, finished_at: null }]);
    expect(await feed()).toBe(10);
  });

  it("waits while its endpoint is paused or probed, and goes on when it is active", async () => {
    await arrived(3);
    await pauseEndpoint(harness, { ...scope(), reason: "partner" });
    expect(await replay()).toMatchObject({ total: 3, endpoint_status: "paused" });
    expect(await feed()).toBe(0);
    await resumeEndpoint(harness, scope());
    expect(await feed()).toBe(0);
    await harness.rows("update webhook_endpoints set status = 'active' where system_id = $1");
    expect(await feed()).toBe(3);
  });

  it("counts what is queued already as queued, and sends it once", async () => {
    await harness.happen(2);
    await harness.send(endpointId);
    const { deliveries } = await listDeliveries(harness, scope());
    await replay();
    await replay();
    await redeliver(harness, scope(), deliveries[0]?.id ?? "");
    expect(await feed()).toBe(2);
    expect(await feed()).toBe(2);
    expect(await replays()).toMatchObject([
      { total: 2, queued: 2 },
      { total: 2, queued: 2 },
    ]);
    expect(await harness.send(endpointId)).toHaveLength(2);
  });

  it("leaves out what is no longer kept, ends all the same, and says how many were handed over", async () => {
    await harness.happen(4);
    await harness.send(endpointId);
    await replay();
    const [one, other] = (await listDeliveries(harness, scope())).deliveries;
    await harness.rows("delete from webhook_deliveries where system_id = $1 and id = $2", one?.id);
    await harness.rows("delete from webhook_bodies where system_id = $1 and event_id = $2", other?.event_id);
    expect(await feed()).toBe(2);
    expect(await replays()).toMatchObject([{ total: 4, queued: 2, finished_at: new Date(harness.clock()) }]);
    expect(await harness.send(endpointId)).toHaveLength(2);
  });

  it("leaves a delivery that is being written just now for the next batch", async () => {
    await harness.happen(2);
    await harness.send(endpointId);
    const [one] = (await listDeliveries(harness, scope())).deliveries;
    await replay();
    await harness.db.transaction(async (tx) => {
      await tx.query(
        { name: "", text: "select 1 from webhook_deliveries where system_id = $1 and id = $2 for update" },
        [harness.systemId, one?.id],
      );
      expect(await feed()).toBe(1);
    });
    expect(await replays()).toMatchObject([{ total: 2, queued: 1, finished_at: null }]);
    expect(await feed()).toBe(1);
    expect(await replays()).toMatchObject([{ total: 2, queued: 2, finished_at: new Date(harness.clock()) }]);
  });

  it("of failed deliveries gives each another whole schedule", async () => {
    await harness.happen(1);
    for (let n = 0; n < 14; n++) {
      harness.clock.advance(18 * 3_600_000);
      await harness.send(endpointId, answered(500));
    }
    expect(await replay({ statuses: ["failed"] })).toMatchObject({ total: 1 });
    await feed();
    expect(await inLine()).toMatchObject([{ attempts: 14, tries: 0 }]);
  });
});

describe("stopping a replay", () => {
  const stop = (id: string | null) => stopReplay(harness, harness.systemId, id ?? "");

  it("queues no more of it; what is queued is sent, the rest stays as it is", async () => {
    await arrived(1_005);
    const { id } = await replay();
    await feed();
    expect(await stop(id)).toMatchObject({ id, changed: true, total: 1_005, queued: 1_000 });
    expect(await feed()).toBe(0);
    expect(await inLine()).toHaveLength(1_000);
    expect(await harness.send(endpointId, answered(204), 10)).toHaveLength(10);
    expect(await feed()).toBe(0);
    expect(await harness.rows("select replay_id from webhook_replay_items where system_id = $1")).toEqual([]);
    const left = await listDeliveries(harness, { ...scope(), status: "succeeded" });
    expect(left.deliveries).toHaveLength(5 + 10);
    const acts = await harness.rows(
      "select subject, detail from audit_log where action = 'webhook.replay_stopped' and system_id = $1",
    );
    expect(acts).toEqual([{ subject: id, detail: { total: 1_005, queued: 1_000 } }]);
  });

  it("while a batch is handed over counts that batch, and loses none", async () => {
    await arrived(500);
    const { id } = await replay();
    const [fed, stopped] = await Promise.all([feed(), stop(id)]);
    expect(stopped.queued).toBe(fed);
    expect(await inLine()).toHaveLength(fed);
    expect(await feed()).toBe(0);
  });

  it("that is finished changes nothing; one that there is not is refused; the next one goes on", async () => {
    await arrived(2);
    const first = await replay();
    const second = await replay();
    expect(await stop(first.id)).toMatchObject({ changed: true, queued: 0 });
    expect(await stop(first.id)).toMatchObject({ changed: false, queued: 0 });
    expect(await feed()).toBe(2);
    expect(await stop(second.id)).toMatchObject({ changed: false, queued: 2 });
    await expect(stop("replay_none")).rejects.toThrow(/There is no replay replay_none/);
  });
});
