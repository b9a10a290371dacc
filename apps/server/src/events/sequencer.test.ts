import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type EventsHarness,
  openEventsHarness,
  pageOf,
  placedEvents,
  rethrow,
} from "../../test/events/events.harness.ts";
import { until } from "../../test/until.ts";
import { createSystem, systemsOf } from "../city/systems/service.ts";
import { openListener } from "../storage/db/listener.ts";
import { statement } from "../storage/db/statement.ts";
import { recordEvents } from "./outbox.ts";
import { createSequencer } from "./sequencer.ts";

let harness: EventsHarness;
beforeAll(async () => {
  harness = await openEventsHarness();
});
afterAll(() => harness.close());

class RolledBack extends Error {}

const counts = statement(
  "test.counts",
  `select recorded_on, name, partner_id, n from event_counts where system_id = $1 order by 1, 2, 3`,
);
const countsFromEvents = statement(
  "test.countsFromEvents",
  `select recorded_on, name, coalesce(partner_id, '') as partner_id, count(*) as n
   from events where system_id = $1 group by 1, 2, 3 order by 1, 2, 3`,
);

/** Plans of transactions: how many events each records, how many pauses follow each event, and whether it commits. */
const transactions = fc.array(
  fc.record({ events: fc.integer({ min: 1, max: 4 }), pauses: fc.integer({ min: 0, max: 3 }), commits: fc.boolean() }),
  { minLength: 10, maxLength: 40 },
);

/** Runs a transaction by a plan. Returns the data of its events if it committed. */
async function write(plan: { events: number; pauses: number; commits: boolean }, name: string): Promise<string[]> {
  const written: string[] = [];
  try {
    await harness.db.transaction(async (tx) => {
      for (let i = 0; i < plan.events; i++) {
        const data = JSON.stringify({ name: `${name}.${i}` });
        recordEvents(tx, { ids: harness.ids, systemId: harness.systemId, now: new Date(harness.clock()) }, [
          {
            name: "ride.started",
            occurredAt: new Date(harness.clock()),
            partnerId: i === 3 ? "partner-1" : null,
            data,
          },
        ]);
        written.push(data);
        for (let pause = 0; pause < plan.pauses; pause++) await tx.run("select pg_sleep(0.001)");
      }
      if (!plan.commits) throw new RolledBack();
    });
    return written;
  } catch (error) {
    if (error instanceof RolledBack) return [];
    throw error;
  }
}

describe("the sequencer", () => {
  it("lets a reader who walks by cursor see each committed event exactly once, in position order, whatever commits meanwhile", async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(transactions, fc.integer({ min: 1, max: 60 }), async (plans, limit) => {
        const run = ++runs;
        const other = createSequencer({ db: harness.db, clock: harness.clock, onError: rethrow, pollIntervalMs: 0 });
        const before = await placedEvents(harness);
        let after = lastPosition(before);
        const seen: string[] = [];
        const walk = async () => {
          const page = await pageOf(harness, { kind: "cursor", after, limit });
          for (const event of page.data) seen.push(event.id);
          const [last] = await lastSeen(page.data.at(-1)?.id);
          after = last ?? after;
          return page.data.length;
        };
        let writing = true;
        const writers = Promise.all(plans.map((plan, i) => write(plan, `${run}.${i}`))).finally(
          () => (writing = false),
        );
        const sequencers = [harness.sequencer, other].map(async (sequencer) => {
          while (writing) await sequencer.runOnce(harness.systemId);
        });
        const reader = (async () => {
          while (writing) await walk();
        })();
        const committed = (await writers).flat();
        await Promise.all([...sequencers, reader]);
        await other.close();
        await harness.sequencer.runOnce(harness.systemId);
        while ((await walk()) > 0);

        const placed = await placedEvents(harness);
        const added = placed.slice(before.length);
        expect(seen).toEqual(added.map(({ id }) => id));
        expect(added).toHaveLength(committed.length);
        expect(placed.map(({ position }) => position)).toEqual(placed.map((_, i) => i + 1));
        expect(await harness.db.query(counts, [harness.systemId])).toEqual(
          await harness.db.query(countsFromEvents, [harness.systemId]),
        );
      }),
      { numRuns: randomRuns(6) },
    );
  });

  it("places events that wait together in the order in which they happened", async () => {
    const start = (await placedEvents(harness)).length;
    const at = (ms: number) => new Date(harness.clock() + ms);
    await harness.write([
      { name: "ride.completed", occurredAt: at(2) },
      { name: "ride.cancelled", occurredAt: at(1) },
      { name: "ride.started", occurredAt: at(0) },
    ]);
    expect(await harness.sequencer.runOnce(harness.systemId)).toBe(3);
    const names = (await placedEvents(harness)).slice(start).map(({ name }) => name);
    expect(names).toEqual(["ride.started", "ride.cancelled", "ride.completed"]);
  });

  it("takes a backlog of many batches, and leaves nothing", async () => {
    const start = (await placedEvents(harness)).length;
    await harness.write(Array.from({ length: 2500 }, () => ({})));
    expect(await harness.sequencer.runOnce(harness.systemId)).toBe(2500);
    expect(await harness.sequencer.runOnce(harness.systemId)).toBe(0);
    const placed = await placedEvents(harness);
    expect(placed).toHaveLength(start + 2500);
    expect(placed.at(-1)?.position).toBe(placed.length);
  });

  it("numbers each system by itself", async () => {
    await createSystem(harness.db, "other", "Other city", 0);
    await harness.db.transaction((tx) =>
      recordEvents(tx, { ids: harness.ids, systemId: "other", now: new Date(harness.clock()) }, [
        { name: "ride.started", occurredAt: new Date(0), partnerId: null, data: "{}" },
      ]),
    );
    await harness.write([{}]);
    expect(await harness.sequencer.runOnce("other")).toBe(1);
    const [only] = await placedEvents({ ...harness, systemId: "other" });
    expect(only?.position).toBe(1);
    expect(await harness.sequencer.runOnce(harness.systemId)).toBe(1);
  });

  it("never records on an earlier day than before, even where another process's clock runs ahead", async () => {
    const ahead = createSequencer({
      db: harness.db,
      clock: () => harness.clock() + 24 * 3_600_000,
      onError: rethrow,
      pollIntervalMs: 0,
    });
    await harness.write([{}]);
    await ahead.runOnce(harness.systemId);
    await ahead.close();
    await harness.write([{}]);
    await harness.sequencer.runOnce(harness.systemId);
    const days = (await placedEvents(harness)).slice(-2).map((event) => event.recorded_on);
    expect(days).toEqual(["2026-06-02", "2026-06-02"]);
  });
});

describe("a sequencer that runs", () => {
  it("numbers an event within moments of its commit, told by the channel", async () => {
    const sequencer = createSequencer({ db: harness.db, clock: harness.clock, onError: rethrow, pollIntervalMs: 0 });
    const listener = openListener({
      connectionString: harness.db.connectionString,
      notifier: harness.db,
      on: { event_outbox: (systemId) => sequencer.wake(systemId) },
      // On a busy machine the connection may count as dead for a moment. Notifications may be lost then.
      onGap: () => sequencer.wake(harness.systemId),
    });
    await until(() => listener.listening());
    let after = lastPosition(await placedEvents(harness));
    const waits: number[] = [];
    for (let i = 0; i < 40; i++) {
      await harness.write([{}]);
      const from = after;
      waits.push(
        await until(async () => (await pageOf(harness, { kind: "cursor", after: from, limit: 1 })).data.length > 0),
      );
      after = lastPosition(await placedEvents(harness));
    }
    await listener.close();
    await sequencer.close();
    waits.sort((a, b) => a - b);
    // Checks the median only, because a busy machine delays some events. On an idle machine it is some milliseconds.
    expect(waits[20]).toBeLessThan(1_000);
  });

  it("numbers events of which no message came, in every system", async () => {
    for (const { system_id: systemId } of await systemsOf(harness.db)) {
      await harness.db.transaction((tx) =>
        recordEvents(tx, { ids: harness.ids, systemId, now: new Date(harness.clock()) }, [
          { name: "ride.started", occurredAt: new Date(0), partnerId: null, data: "{}" },
        ]),
      );
    }
    const left = statement("test.left", "select count(*) as n from event_outbox");
    const sequencer = createSequencer({ db: harness.db, clock: harness.clock, onError: rethrow, pollIntervalMs: 20 });
    await until(async () => (await harness.db.query<{ n: number }>(left))[0]?.n === 0);
    await sequencer.close();
  });
});

function lastPosition(placed: readonly { recorded_on: string; position: number }[]) {
  const last = placed.at(-1);
  return last === undefined ? { day: "0001-01-01", position: 0 } : { day: last.recorded_on, position: last.position };
}

const positionById = statement(
  "test.positionById",
  "select recorded_on as day, position from events where system_id = $1 and id = $2",
);

function lastSeen(id: string | undefined) {
  return harness.db.query<{ day: string; position: number }>(positionById, [harness.systemId, id ?? null]);
}
