import type { Database } from "../db/database.ts";
import { claimDue, holdDue, type OrphanRow } from "./due-queries.ts";
import type { LiveEndpoint } from "./endpoints.ts";
import { createLaneKeeper, type LeaseTimes } from "./lane-keeper.ts";
import { claimFor, type Lane, noteClaim, takeUp } from "./lane.ts";
import { unknownAttempt } from "./result.ts";
import { createSending, type Sending, type SendingOptions } from "./sending.ts";
import { writeResults } from "./settle-queries.ts";
import { createSettler, type Ending } from "./settler.ts";
import { createInterval, createTurns } from "./turns.ts";

/** Sends one system's deliveries, as far as its lanes are this worker's. */
export interface SystemDispatcher {
  /** Something may be due. */
  wake(): void;
  /** An endpoint's settings have changed. */
  reload(): void;
  /** Begins nothing more, lets what is in flight end, writes it down, gives the rest back. */
  close(): Promise<void>;
}

export interface SystemDispatcherOptions extends Omit<SendingOptions, "onEnded"> {
  readonly db: Database;
  readonly systemId: string;
  /** This process among the workers. */
  readonly worker: string;
  readonly times: LeaseTimes;
  /** Every endpoint of the system, with its live secrets. */
  readonly loadEndpoints: () => Promise<readonly LiveEndpoint[]>;
  /** Hands over what replays still have to send. @returns how many deliveries */
  readonly feedReplays: () => Promise<number>;
}

/** Milliseconds between two looks at everything: the delay of what nobody told us of, and of retries. */
const LOOK = 1_000;
/** Milliseconds between two readings of the endpoints' settings, in case a message was missed. */
const RELOAD = 15_000;
/** Milliseconds between two claims that find little. Lower, and every single ride has a claim of its own. */
const REST = 4;
/** A claim of so many is followed by the next at once. */
const FULL = 32;
/** Deliveries taken out of a paused endpoint's line in one statement, and statements in one look. */
const HOLD = 1_000;
const HOLDS = 20;
/** Milliseconds that results have to be written in, when closing. */
const LAST_WRITES = 5_000;

export function createSystemDispatcher(options: SystemDispatcherOptions): SystemDispatcher {
  const { db, systemId, worker, monotonic, times, clock, observe, onError } = options;
  const endpoints = new Map<string, LiveEndpoint>();
  const loading = createInterval(RELOAD, load, monotonic);
  const looking = createInterval(LOOK, look, monotonic);

  const settler = createSettler({ db, systemId, clock, onSettled, onError });
  const sending: Sending = createSending({
    ...options,
    onEnded: (ending) => {
      settler.add(ending);
      turns.ask();
    },
  });
  const keeper = createLaneKeeper({ db, systemId, worker, monotonic, times, onOrphans: writeOff });

  const turns = createTurns(async () => {
    const hasLooked = await looking.pass();
    const claimed = (await claim("live", hasLooked)) + (await claim("replay", hasLooked));
    sending.pump(keeper.lanes);
    return claimed >= FULL ? 0 : REST;
  }, onError);

  async function look(): Promise<void> {
    await loading.pass();
    await keeper.keep(endpoints);
    for (const lane of keeper.lanes.values()) if (lane.endpoint.status === "paused") await hold(lane.endpointId);
    // Replays must not hold up what happens now.
    await options.feedReplays().catch(onError);
    for (const lane of keeper.lanes.values()) lane.live.more = lane.replay.more = true;
  }

  async function load(): Promise<void> {
    const written = [...keeper.lanes.values()].map(({ changes }) => ({ changes, count: changes.written }));
    const loaded = await options.loadEndpoints();
    endpoints.clear();
    for (const endpoint of loaded) endpoints.set(endpoint.id, endpoint);
    for (const { changes, count } of written) changes.read = count;
  }

  async function hold(endpointId: string): Promise<void> {
    for (let round = 0; round < HOLDS; round++) {
      if ((await holdDue(db, systemId, endpointId, new Date(clock()), HOLD)) < HOLD) return;
    }
  }

  async function claim(which: "live" | "replay", anyRoom: boolean): Promise<number> {
    const from = monotonic();
    const asking = [...keeper.lanes.values()].flatMap((lane) => {
      const request = claimFor(lane, lane[which], from, anyRoom);
      return request === undefined ? [] : [{ lane, line: lane[which], request }];
    });
    if (asking.length === 0) return 0;
    const now = clock();
    // Put down first: whoever wakes us while the claim is under way may tell of what it does not see.
    for (const { line } of asking) line.more = false;
    try {
      const requests = asking.map(({ request }) => request);
      const rows = await claimDue(db, systemId, requests, which === "replay", new Date(now));
      const span = { from, to: monotonic() };
      const byEndpoint = Map.groupBy(rows, (row) => row.endpoint_id);
      for (const { lane, line, request } of asking) {
        const mine = byEndpoint.get(lane.endpointId) ?? [];
        noteClaim(line, request, mine, now, span);
        takeUp(lane, mine);
      }
      if (rows.length > 0) observe.claimed(rows.length);
      if (asking.some(({ line }) => line.more)) turns.ask();
      return rows.length;
    } catch (error) {
      // Whether it was committed is not known.
      for (const { lane, line } of asking) lane.suspect = line.more = true;
      throw error;
    }
  }

  function onSettled(endings: readonly Ending[], stale: number): void {
    observe.settled(endings, stale);
    if (endings.some(({ change }) => change !== null)) reload();
  }

  function reload(): void {
    loading.hurry();
    looking.hurry();
    turns.ask();
  }

  async function writeOff(lane: Lane, orphans: readonly OrphanRow[]): Promise<void> {
    const now = clock();
    const rows = orphans.map((orphan) => unknownAttempt(orphan, lane.endpoint.url, now));
    await db.transaction((tx) => writeResults(tx, systemId, new Date(now), rows));
    observe.tookOver(orphans.length);
  }

  const timer = setInterval(() => turns.ask(), LOOK);
  turns.ask();
  return {
    wake() {
      for (const lane of keeper.lanes.values()) lane.live.more = true;
      turns.ask();
    },
    reload,
    async close() {
      clearInterval(timer);
      await turns.close();
      await sending.close();
      await settler.close(LAST_WRITES);
      await keeper.close();
    },
  };
}
