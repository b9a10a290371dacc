import { setTimeout } from "node:timers/promises";
import type { Queryable } from "../../db/database.ts";
import type { Ids } from "../../ids.ts";
import { eventsOf, type EventCounts } from "./apply.ts";
import { FeedFailure } from "./feed.ts";
import { followSource, type FollowedSource } from "./follow-source.ts";
import { isHttp, type FetchLimits } from "./http.ts";
import { importReading, type ImportCounts } from "./import.ts";
import { readSnapshot, type GbfsSnapshot } from "./read.ts";

export interface FollowOptions {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /** The address of gbfs.json. */
  readonly url: string;
  /** Milliseconds from the beginning of one round to that of the next; a round that takes longer delays the next. */
  readonly every: number;
  readonly systemId: string;
  /** The feed's name among the sources of the system. */
  readonly source: string;
  /** Hears of each round when it has ended, except one that `close` broke off. */
  readonly log: (round: FollowRound) => void;
  readonly limits?: Omit<FetchLimits, "signal">;
}

/** What one look at the feeds did. */
export interface FollowRound {
  /** When it began, RFC 3339. */
  readonly at: string;
  /** Applied: some feed had something new. Failed: feeds failed, and none had. The last good state stays then. */
  readonly outcome: "applied" | "unchanged" | "failed";
  readonly stations: ImportCounts | null;
  readonly bikes: ImportCounts | null;
  readonly events: EventCounts;
  /** What failed, beside what was applied: a feed's name, and why. */
  readonly failures: readonly { readonly feed: string; readonly message: string }[];
}

/** A feed that is being followed. */
export interface Following {
  /** Ends the round under way (its fetches are given up, its transaction is not) and begins no other. */
  close(): Promise<void>;
}

/**
 * Follows a live feed: looks at it again and again, and applies what changed. Rounds never overlap. Whatever fails is
 * told to `log` and tried again in the next round. Any number of processes may follow one source.
 * @throws FeedFailure when `url` is no http(s) address
 */
export function startFollowing(options: FollowOptions): Following {
  const { url, every, log } = options;
  const location = URL.canParse(url) ? new URL(url) : undefined;
  if (!location || !isHttp(location)) throw new FeedFailure("gbfs", "it is not an http or https address");
  const stop = new AbortController();
  const source = followSource(location, { ...options.limits, signal: stop.signal });

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const began = performance.now();
      const round = await lookOnce(options, source, stop.signal);
      if (stop.signal.aborted && round.outcome === "failed") return;
      log(round);
      await pause(Math.max(0, every - (performance.now() - began)), stop.signal);
    }
  }

  const running = run();
  return {
    close: () => {
      stop.abort();
      return running;
    },
  };
}

/** One round; whatever goes wrong is part of what it gives. */
async function lookOnce(
  { db, clock, ids, systemId, source: name }: FollowOptions,
  source: FollowedSource,
  signal: AbortSignal,
): Promise<FollowRound> {
  const now = clock();
  const nothing = { at: new Date(now).toISOString(), stations: null, bikes: null, events: {} };
  try {
    const listFailure = await source.begin(now);
    const reading = await readSnapshot(source, now);
    signal.throwIfAborted();
    const failures = [...(listFailure ? [listFailure] : []), ...reading.failures];
    const failed = new Set(failures.map(({ feed }) => feed));
    const told = failures.map(({ feed, message }) => ({ feed, message }));
    if (isEmpty(reading.snapshot)) {
      source.commit(failed);
      return { ...nothing, outcome: failures.length ? "failed" : "unchanged", failures: told };
    }
    const { applied, stations, bikes } = await importReading(db, { systemId, source: name, now, ids }, reading);
    // Only now: what could not be stored must be got again.
    source.commit(failed);
    return { ...nothing, outcome: "applied", stations, bikes, events: eventsOf(applied), failures: told };
  } catch (error) {
    const feed = error instanceof FeedFailure ? error.feed : "";
    return {
      ...nothing,
      outcome: "failed",
      failures: [{ feed, message: error instanceof Error ? error.message : String(error) }],
    };
  }
}

function isEmpty({ information, readings, vehicles, descriptions = [] }: GbfsSnapshot): boolean {
  return !information && !readings && !vehicles && descriptions.length === 0;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
