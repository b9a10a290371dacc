import type { Database } from "../../db/database.ts";
import type { LiveEndpoint } from "../endpoints/endpoints.ts";
import { claimDue, holdDue, type OrphanRow } from "../queue/due-queries.ts";
import { writeResults } from "../queue/settle-queries.ts";
import { LaneKeeper, type LeaseTimes } from "./lane-keeper.ts";
import { claimFor, type Lane, noteClaim, takeUp } from "./lane.ts";
import { unknownAttempt } from "./result.ts";
import { Sending, type SendingOptions } from "./sending.ts";
import { createSettler, type Ending, type NoteFailures, type Settler } from "./settler.ts";
import { createInterval, createTurns, type Interval, type Turns } from "./turns.ts";

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
  readonly noteFailures: NoteFailures;
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

/** Sends one system's deliveries, as far as its lanes are this worker's. */
export class SystemDispatcher {
  readonly #options: SystemDispatcherOptions;
  readonly #endpoints = new Map<string, LiveEndpoint>();
  readonly #keeper: LaneKeeper;
  readonly #sending: Sending;
  readonly #settler: Settler;
  /** Claims and the keeping of lanes, one at a time: neither may see the other half done. */
  readonly #turns: Turns;
  readonly #loading: Interval;
  readonly #looking: Interval;
  readonly #timer: NodeJS.Timeout;

  constructor(options: SystemDispatcherOptions) {
    const { monotonic, onError } = options;
    this.#options = options;
    this.#loading = createInterval(RELOAD, () => this.#load(), monotonic);
    this.#looking = createInterval(LOOK, () => this.#look(), monotonic);
    this.#settler = createSettler({ ...options, onSettled: (endings, stale) => this.#onSettled(endings, stale) });
    this.#sending = new Sending({
      ...options,
      onEnded: (ending) => {
        this.#settler.add(ending);
        this.#turns.ask();
      },
    });
    this.#keeper = new LaneKeeper({ ...options, onOrphans: (lane, orphans) => this.#writeOff(lane, orphans) });
    this.#turns = createTurns(() => this.#turn(), onError);
    this.#timer = setInterval(() => this.#turns.ask(), LOOK);
    this.#turns.ask();
  }

  /** Something may be due. */
  wake(): void {
    for (const lane of this.#keeper.lanes.values()) lane.live.more = true;
    this.#turns.ask();
  }

  /** An endpoint's settings have changed. */
  reload(): void {
    this.#loading.hurry();
    this.#looking.hurry();
    this.#turns.ask();
  }

  /** Begins nothing more, lets what is in flight end, writes it down, gives the rest back. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turns.close();
    await this.#sending.close();
    await this.#settler.close(LAST_WRITES);
    await this.#keeper.close();
  }

  /** @returns the milliseconds to rest afterwards */
  async #turn(): Promise<number> {
    const hasLooked = await this.#looking.pass();
    const claimed = (await this.#claim("live", hasLooked)) + (await this.#claim("replay", hasLooked));
    this.#sending.pump(this.#keeper.lanes);
    return claimed >= FULL ? 0 : REST;
  }

  async #look(): Promise<void> {
    const { feedReplays, onError } = this.#options;
    const { lanes } = this.#keeper;
    await this.#loading.pass();
    await this.#keeper.keep(this.#endpoints);
    // Neither may hold up what happens now.
    for (const lane of lanes.values()) {
      if (lane.endpoint.status === "paused") await this.#hold(lane.endpointId).catch(onError);
    }
    await feedReplays().catch(onError);
    for (const lane of lanes.values()) lane.live.more = lane.replay.more = true;
  }

  async #load(): Promise<void> {
    const written = [...this.#keeper.lanes.values()].map(({ changes }) => ({ changes, count: changes.written }));
    const loaded = await this.#options.loadEndpoints();
    this.#endpoints.clear();
    for (const endpoint of loaded) this.#endpoints.set(endpoint.id, endpoint);
    for (const { changes, count } of written) changes.read = count;
  }

  async #hold(endpointId: string): Promise<void> {
    const { db, systemId, clock } = this.#options;
    for (let round = 0; round < HOLDS; round++) {
      if ((await holdDue(db, systemId, endpointId, new Date(clock()), HOLD)) < HOLD) return;
    }
  }

  async #claim(which: "live" | "replay", anyRoom: boolean): Promise<number> {
    const { db, systemId, monotonic, clock, observe } = this.#options;
    const from = monotonic();
    const asking = [...this.#keeper.lanes.values()].flatMap((lane) => {
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
      if (asking.some(({ line }) => line.more)) this.#turns.ask();
      return rows.length;
    } catch (error) {
      // Whether it was committed is not known.
      for (const { lane, line } of asking) lane.suspect = line.more = true;
      throw error;
    }
  }

  #onSettled(endings: readonly Ending[], stale: number): void {
    this.#options.observe.settled(endings, stale);
    // Lanes may have waited for it.
    this.#sending.pump(this.#keeper.lanes);
    if (endings.some(({ change }) => change !== null)) this.reload();
  }

  async #writeOff(lane: Lane, orphans: readonly OrphanRow[]): Promise<void> {
    const { db, systemId, clock, observe } = this.#options;
    const now = clock();
    const rows = orphans.map((orphan) => unknownAttempt(orphan, lane.endpoint.url, now));
    await db.transaction((tx) => writeResults(tx, systemId, new Date(now), rows));
    observe.tookOver(orphans.length);
  }
}
