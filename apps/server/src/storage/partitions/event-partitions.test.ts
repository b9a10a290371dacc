import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  type EventsHarness,
  numbersOn,
  openEventsHarness,
  pageOf,
  placedEvents,
  rethrow,
} from "../../../test/events/events.harness.ts";
import { openDatabase } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { listPartitions } from "./partition-queries.ts";
import { dayOf, eventsTable } from "./partition.rules.ts";
import { createPartitions, dropPastDays } from "./service.ts";

const HOUR = 3_600_000;

let harness: EventsHarness;
beforeAll(async () => {
  harness = await openEventsHarness();
});
afterAll(() => harness.close());

const drop = (of = harness) => dropPastDays({ ...of, warn: (_, message) => rethrow(new Error(message)) }, eventsTable);

const countedDays = statement(
  "test.countedDays",
  "select distinct recorded_on as day from event_counts where system_id = $1 order by 1",
);

async function daysCounted(): Promise<string[]> {
  return (await harness.db.query<{ day: string }>(countedDays, [harness.systemId])).map(({ day }) => day);
}

// The tests run in this order, because the days pass.
describe("partitions of events", { shuffle: false }, () => {
  it("are made for today and tomorrow, once, by however many at the same time", async () => {
    await Promise.all(Array.from({ length: 8 }, () => createPartitions(harness.db, eventsTable, "2026-06-01")));
    expect(await listPartitions(harness.db, eventsTable)).toEqual(["events_20260601", "events_20260602"]);
  });

  it("are made while others read and write events, without waiting for them to end", async () => {
    const other = openDatabase({
      connectionString: harness.db.connectionString,
      maxConnections: 1,
      // Ends a statement that waits for the transaction below, which in turn waits for the statement.
      statementTimeoutMs: 30_000,
    });
    await harness.write([{}]);
    await harness.db.transaction(async (tx) => {
      await tx.run("select count(*) from events");
      await tx.run("insert into events values ('x', '2026-06-01', 1, 'x', 'ride.started', now(), null, '{}')");
      await createPartitions(other, eventsTable, "2026-06-03");
      await tx.run("delete from events where system_id = 'x'");
    });
    await other.close();
    expect(await listPartitions(harness.db, eventsTable)).toContain("events_20260604");
  });

  it("take what is recorded after midnight, without anybody having made one", async () => {
    await harness.sequencer.runOnce(harness.systemId);
    harness.clock.advance(12 * HOUR - 1);
    await harness.write([{}]);
    await harness.sequencer.runOnce(harness.systemId);
    harness.clock.advance(1);
    await harness.write([{}]);
    await harness.sequencer.runOnce(harness.systemId);
    harness.clock.advance(96 * HOUR);
    await harness.write([{}]);
    await harness.sequencer.runOnce(harness.systemId);
    expect((await placedEvents(harness)).map((event) => event.recorded_on)).toEqual([
      "2026-06-01",
      "2026-06-01",
      "2026-06-02",
      "2026-06-06",
    ]);
    expect(await listPartitions(harness.db, eventsTable)).toContain("events_20260607");
  });

  it("are dropped with their counts when their last event is older than 30 days, not a day before", async () => {
    harness.clock.advance(Date.parse("2026-07-01T23:59:59.999Z") - harness.clock());
    await createPartitions(harness.db, eventsTable, dayOf(harness.clock()));
    await drop();
    expect(await daysCounted()).toEqual(["2026-06-01", "2026-06-02", "2026-06-06"]);
    expect((await pageOf(harness, { kind: "first", limit: 50 })).total).toBe(4);
    harness.clock.advance(1);
    await createPartitions(harness.db, eventsTable, dayOf(harness.clock()));
    await drop();
    expect(await daysCounted()).toEqual(["2026-06-02", "2026-06-06"]);
    const page = await pageOf(harness, { kind: "first", limit: 50 });
    expect(page.total).toBe(2);
    expect(page.data).toHaveLength(2);
    expect(await listPartitions(harness.db, eventsTable)).toEqual([
      "events_20260602",
      "events_20260603",
      "events_20260604",
      "events_20260606",
      "events_20260607",
      "events_20260701",
      "events_20260702",
      "events_20260703",
    ]);
  });

  it("do not break a walk by cursor when they go: it goes on with the next event there is", async () => {
    const first = await pageOf(harness, { kind: "first", limit: 1 });
    expect(first.next).toBeDefined();
    harness.clock.advance(2 * 24 * HOUR);
    await drop();
    expect(await daysCounted()).toEqual(["2026-06-06"]);
    const next = await pageOf(harness, { kind: "cursor", after: first.next ?? { day: "", position: 0 }, limit: 1 });
    expect(next.data).toHaveLength(1);
  });

  it("that are in use are left for the next time, with their counts", async () => {
    harness.clock.advance(30 * 24 * HOUR);
    await harness.db.transaction(async (tx) => {
      await tx.run("select count(*) from events");
      await drop();
    });
    expect(await daysCounted()).toEqual(["2026-06-06"]);
    await drop();
    expect(await daysCounted()).toEqual([]);
    expect((await pageOf(harness, { kind: "first", limit: 50 })).total).toBe(0);
  });

  it("go on being numbered where they left off, after all that was kept is gone", async () => {
    await harness.write([{}]);
    await harness.sequencer.runOnce(harness.systemId);
    expect((await placedEvents(harness)).map((event) => event.position)).toEqual([5]);
  });
});

it("a page by number whose day is dropped while it is read begins with the next day, and the list goes on", async () => {
  const own = await openEventsHarness();
  onTestFinished(() => own.close());
  await own.fill("ride.started", 3);
  own.clock.advance(24 * HOUR);
  await own.fill("ride.started", 2, 3);
  own.clock.advance(30 * 24 * HOUR);
  await createPartitions(own.db, eventsTable, dayOf(own.clock()));
  // Drops the day after the service has found the page's day by the stored counts, and before it reads the events.
  const { filtered } = own.read;
  const read: typeof filtered.read = async (whose, work) => {
    await drop(own);
    return filtered.read(whose, work);
  };
  const dropping = { ...own, read: { ...own.read, filtered: { ...filtered, read } } };
  const page = await pageOf(dropping, { kind: "page", page: 3, limit: 1 });
  expect(numbersOn(page)).toEqual([3]);
  const next = await pageOf(own, { kind: "cursor", after: page.next ?? { day: "", position: 0 }, limit: 1 });
  expect(numbersOn(next)).toEqual([4]);
});
