import type { EventName } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import { createTestClock, type TestClock } from "@bikeshare/test-kit";
import { createEventBlocks } from "../../src/events/event-blocks.ts";
import { type EventPosition, type EventViewer, viewerWith } from "../../src/events/event.rules.ts";
import { type NewEvent, recordEvents } from "../../src/events/outbox.ts";
import { createSequencer, type Sequencer } from "../../src/events/sequencer.ts";
import { type EventContext, type EventFilters, listEvents } from "../../src/events/service.ts";
import { createIds, type Ids } from "../../src/ids.ts";
import { openReadPool } from "../../src/storage/db/read-pool.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { filteredReadsOn } from "../filtered-reads.ts";

/** A database with functions that write and read events, and a sequencer that runs only when a test calls it. */
export interface EventsHarness extends TestDatabase {
  readonly clock: TestClock;
  readonly ids: Ids;
  readonly read: EventContext;
  readonly sequencer: Sequencer;
  /** Commits events, in one transaction. */
  write(events: readonly Partial<NewEvent>[]): Promise<void>;
  /** Commits and numbers events of one name. Their `data` is `{"n":…}`, counting from `first`. */
  fill(name: EventName, n: number, first?: number): Promise<void>;
}

/**
 * Opens the harness. Its ids advance by a millisecond at each call, so that events are sorted in the order in which they
 * were written.
 */
export async function openEventsHarness(): Promise<EventsHarness> {
  const database = await createTestDatabase();
  const { db, systemId } = database;
  const clock = createTestClock();
  let ticks = 0;
  const ids = createIds(() => clock() + ticks++);
  const readPool = openReadPool({ connectionString: db.connectionString });
  const sequencer = createSequencer({ db, clock, onError: rethrow, pollIntervalMs: 0 });
  const write = (events: readonly Partial<NewEvent>[]) =>
    db.transaction((tx) =>
      recordEvents(
        tx,
        { ids, systemId, now: new Date(clock()) },
        events.map((event) => ({ ...someEvent(clock()), ...event })),
      ),
    );
  return {
    ...database,
    clock,
    ids,
    read: { filtered: filteredReadsOn(db), readPool, eventBlocks: createEventBlocks() },
    sequencer,
    write,
    fill: async (name, n, first = 0) => {
      await write(Array.from({ length: n }, (_, i) => ({ name, data: `{"n":${first + i}}` })));
      await sequencer.runOnce(systemId);
    },
    close: async () => {
      await sequencer.close();
      await readPool.close();
      await database.close();
    },
  };
}

function someEvent(at: number): NewEvent {
  return { name: "ride.started", occurredAt: new Date(at), partnerId: null, data: "{}" };
}

/** An error handler for work that must not fail in a test. */
export function rethrow(error: unknown): never {
  throw error;
}

/** A viewer who may read all events except those of other partners. */
export const everything = viewerWith("partner-1", ["rides:read", "stations:read", "reservations:read"]);

/** A page of events, with the fields that these tests use. */
export interface Page {
  readonly data: readonly {
    readonly id: string;
    readonly event: string;
    readonly occurred_at: string;
    readonly data: { readonly n?: number };
  }[];
  readonly next: EventPosition | undefined;
  readonly total: number | undefined;
}

/** Reads a page of the events that a viewer may read. */
export async function pageOf(
  { read, systemId }: EventsHarness,
  request: PageRequest<EventPosition>,
  filters: EventFilters = {},
  viewer: EventViewer = everything,
): Promise<Page> {
  const { items, next, total } = await listEvents(read, systemId, viewer, filters, request);
  return { data: JSON.parse(`[${items}]`) as Page["data"], next, total };
}

/** Returns the `n` of each event on a page. */
export function numbersOn(page: Page): (number | undefined)[] {
  return page.data.map((event) => event.data.n);
}

const placed = statement(
  "test.placed",
  `select id, position, recorded_on, name, partner_id from events where system_id = $1 order by recorded_on, position`,
);

/** Reads the rows of all events that the sequencer has numbered. */
export function placedEvents({ db, systemId }: TestDatabase) {
  return db.query<{ id: string; position: number; recorded_on: string; name: string; partner_id: string | null }>(
    placed,
    [systemId],
  );
}
