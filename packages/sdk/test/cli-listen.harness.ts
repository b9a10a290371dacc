import { afterEach, beforeEach } from "vitest";
import {
  KEY,
  type TestServer,
  type Received,
  reply,
  type Reply,
  run,
  type Run,
  type RunOptions,
  startServer,
  until,
} from "./cli.harness.ts";

interface Event {
  readonly id: string;
  readonly event: string;
  readonly occurred_at: string;
  readonly data: unknown;
}

/** The time at which the tests' clock begins. */
const NOON = Date.parse("2026-06-01T12:00:00.000Z");

/** A service that lists events, and a receiver for them, new for each test. */
export interface ListenHarness {
  readonly service: TestServer;
  readonly receiver: TestServer;
  /** The receiver's answer to a request. */
  answer: (request: Received) => Reply | Promise<Reply>;
  /** The service's answer instead of its list; undefined: the list. */
  outage: Reply | undefined;
  /** Adds `count` events, `minutes` after the test's beginning, about the resource with the id `about`. */
  happen(count: number, what?: { event?: string; minutes?: number; about?: string }): void;
  listen(args: readonly string[], options?: RunOptions, env?: Readonly<Record<string, string>>): Run;
  /** Returns the bodies that the receiver got. */
  bodies(): Readonly<Record<string, unknown>>[];
  /** Returns the numbers of the events that the receiver got. */
  numbers(): number[];
}

/** Sets the harness up before each test, and ends all runs after it. */
export function useListenHarness(): () => ListenHarness {
  let harness: ListenHarness;
  const runs = new Set<Run>();
  beforeEach(async () => {
    harness = await openHarness(runs);
  });
  afterEach(async () => {
    for (const each of runs) {
      each.stop();
      await each.ended;
    }
    runs.clear();
    await harness.service.close().catch(() => undefined);
    await harness.receiver.close().catch(() => undefined);
  });
  return () => harness;
}

async function openHarness(runs: Set<Run>): Promise<ListenHarness> {
  const events: Event[] = [];
  const service = await startServer(({ url }) => harness.outage ?? list(events, url));
  const receiver = await startServer((request) => harness.answer(request));
  const bodies = () => receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  const harness: ListenHarness = {
    service,
    receiver,
    answer: () => ({}),
    outage: undefined,
    happen: (count, { event = "ride.completed", minutes = 0, about } = {}) => {
      for (let n = 0; n < count; n++) {
        const occurred_at = new Date(NOON + minutes * 60_000).toISOString();
        const data = about === undefined ? { n } : { id: about };
        events.push({ id: `event_${String(events.length).padStart(5, "0")}`, event, occurred_at, data });
      }
    },
    listen: (args, options, more) => {
      const env = { BIKESHARE_BASE_URL: service.url, BIKESHARE_API_KEY: KEY, ...more };
      const begun = run(["listen", ...args], env, options);
      runs.add(begun);
      return begun;
    },
    bodies,
    numbers: () => bodies().map(({ delivery_id }) => Number(/_(\d+)listen$/.exec(String(delivery_id))?.[1])),
  };
  return harness;
}

/** Returns a page of the list of events, as the service does. */
function list(events: readonly Event[], { searchParams }: URL): Reply {
  const [after, name, cursor] = ["after", "event", "cursor"].map((parameter) => searchParams.get(parameter));
  const limit = Number(searchParams.get("limit") ?? 50);
  const known = events.findIndex(({ id }) => id === after);
  if (after && known === -1) return reply({ error: "checkpoint_lost", message: "It is no longer kept." }, 410);
  const seen = events.slice(known + 1).filter((each) => !name || each.event === name);
  const start = cursor ? Number(cursor) : (Number(searchParams.get("page") ?? 1) - 1) * limit;
  const next = start + limit < seen.length ? { next_cursor: String(start + limit) } : {};
  const numbers = { page: start / limit + 1, total_pages: Math.max(1, Math.ceil(seen.length / limit)) };
  return reply({ data: seen.slice(start, start + limit), ...(cursor ? next : { ...numbers, ...next }) });
}

/** Waits for the first line that a run prints, which means that it is ready. @returns the line's object */
export async function ready(begun: Run): Promise<Readonly<Record<string, unknown>>> {
  await until(() => begun.lines().length > 0);
  return begun.lines()[0] ?? {};
}
