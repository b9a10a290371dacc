import { setTimeout } from "node:timers/promises";
import type { Queryable } from "../../db/database.ts";
import type { Ids } from "../../ids.ts";
import { isHttp } from "../address.ts";
import { eventsOf, OtherSystemError, publishedIdOf, type EventCounts } from "./apply.ts";
import type { FetchOptions } from "./feed-client.ts";
import { isFailing, type FeedHealth } from "./feed-health.rules.ts";
import { FeedFailure } from "./feed.ts";
import { followSource, type FollowedSource } from "./follow-source.ts";
import { applySourceSnapshot, type ImportCounts, type ImportOutcome } from "./import.ts";
import { updateFeedHealth } from "./queries.ts";
import { createProblemJournal, type ProblemJournal } from "./report.ts";
import { readSnapshot, type GbfsSnapshot } from "./source.ts";

export interface FollowOptions {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /** The address of gbfs.json. */
  readonly url: string;
  /** Milliseconds from the beginning of one round to that of the next; a round that takes longer delays the next. */
  readonly intervalMs: number;
  readonly systemId: string;
  /** The feed's name among the sources of the system. */
  readonly source: string;
  /** Takes the first snapshot even where the source calls its system otherwise than before. */
  readonly force?: boolean;
  /** Where what is wrong with records is written, each once. */
  readonly reportDirectory: string;
  /**
   * Hears of each round when it has ended, except one that `close` broke off.
   * @param error why nothing could be applied, where that is not a feed's failure
   */
  readonly log: (round: PollResult, error?: unknown) => void;
  readonly fetchOptions?: Omit<FetchOptions, "signal">;
}

/** What one look at the feeds did. */
export interface PollResult {
  /** When it began, RFC 3339. */
  readonly at: string;
  /**
   * Applied: some feed had something new, and none fails. Unchanged: none had, and none fails. Partial: some feeds fail
   * and others do not. Failed: nothing could be got, or nothing stored. What failed keeps its last good state.
   */
  readonly outcome: "applied" | "unchanged" | "partial" | "failed";
  readonly stations: ImportCounts | null;
  readonly bikes: ImportCounts | null;
  readonly events: EventCounts;
  /** The feeds that fail, in this round or since an earlier one; an empty name is no feed, such as the database. */
  readonly failures: readonly FeedProblem[];
  /** Seconds since each feed was last got and read whole; null: never yet. */
  readonly ages: Readonly<Record<string, number | null>>;
  /** Where new problems with records were written in this round; null: there are none. */
  readonly report: string | null;
}

export interface FeedProblem {
  readonly feed: string;
  readonly message: string;
  /** When it failed first, and before when it is not asked again, RFC 3339; null where it is no feed. */
  readonly since: string | null;
  readonly retry_at: string | null;
}

/** A feed that is being followed. */
export interface Following {
  /** Ends the round under way (its fetches are given up, its transaction is not) and begins no other. */
  close(): Promise<void>;
}

/** Milliseconds between two looks at a source that has become another system. */
const OTHER_SYSTEM_PAUSE_MS = 5 * 60_000;

/**
 * Follows a live feed: looks at it again and again, and applies what changed. Rounds never overlap. Whatever fails is
 * told to `log` and tried again. Any number of processes may follow one source.
 * @throws FeedFailure when `url` is no http(s) address
 */
export function startFollowing(options: FollowOptions): Following {
  const { url, intervalMs, log } = options;
  const location = URL.canParse(url) ? new URL(url) : undefined;
  if (!location || !isHttp(location)) throw new FeedFailure("gbfs", "it is not an http or https address");
  const stop = new AbortController();
  const { signal } = stop;
  const source = followSource(location, { ...options.fetchOptions, intervalMs, signal });
  const follower = new Follower(options, source, signal);

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const began = performance.now();
      const { round, error } = await follower.pollOnce();
      if (signal.aborted && round.outcome === "failed") return;
      log(round, error);
      await pause(Math.max(0, intervalMs - (performance.now() - began)), signal);
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

/** One round and, where nothing could be applied for another reason than a feed's failure, that reason. */
interface PollOutcome {
  readonly round: PollResult;
  readonly error?: unknown;
}

class Follower {
  readonly #options: FollowOptions;
  readonly #source: FollowedSource;
  readonly #signal: AbortSignal;
  readonly #journal: ProblemJournal;
  /** Whether the next snapshot is taken even from another system. */
  #isForced: boolean;
  /** The source has become another system: nothing is applied before it says that it is the old one. */
  #rejection: { readonly error: OtherSystemError; readonly retryAt: number } | undefined;

  constructor(options: FollowOptions, source: FollowedSource, signal: AbortSignal) {
    this.#options = options;
    this.#source = source;
    this.#signal = signal;
    this.#isForced = options.force ?? false;
    this.#journal = createProblemJournal(options.reportDirectory, () => options.ids.next("sync"));
  }

  /** One round; whatever goes wrong is part of what it gives. */
  async pollOnce(): Promise<PollOutcome> {
    const { clock } = this.#options;
    const now = clock();
    try {
      return { round: await this.#poll(now) };
    } catch (error) {
      if (error instanceof OtherSystemError && this.#rejection?.error !== error) {
        this.#source.reset();
        this.#rejection = { error, retryAt: now + OTHER_SYSTEM_PAUSE_MS };
      }
      const message = error instanceof Error ? error.message : String(error);
      const failure = { feed: "", message, since: null, retry_at: null };
      const round = this.#round(now, "failed", undefined, null);
      return { round: { ...round, failures: [failure, ...round.failures] }, error };
    } finally {
      await this.#source.release();
    }
  }

  async #poll(now: number): Promise<PollResult> {
    if (this.#rejection !== undefined && now < this.#rejection.retryAt) throw this.#rejection.error;
    await this.#source.begin(now);
    const reading = await readSnapshot(this.#source, now);
    this.#signal.throwIfAborted();
    if (this.#rejection !== undefined && publishedIdOf(reading.snapshot) === undefined) throw this.#rejection.error;
    const outcome = isEmpty(reading.snapshot) ? undefined : await this.#apply(now, reading);
    // Only now: what could not be stored must be got again.
    this.#source.commit();
    const report = outcome === undefined ? null : await this.#journal.add(outcome.problems, now);
    await this.#saveHealth(now);
    const health = [...this.#source.health().values()];
    if (!health.some(isFailing)) return this.#round(now, outcome ? "applied" : "unchanged", outcome, report);
    return this.#round(now, this.#isAnyWell() ? "partial" : "failed", outcome, report);
  }

  async #apply(now: number, reading: Parameters<typeof applySourceSnapshot>[2]): Promise<ImportOutcome> {
    const { db, ids, systemId, source } = this.#options;
    const outcome = await applySourceSnapshot(db, { systemId, source, now, ids, force: this.#isForced }, reading);
    this.#isForced = false;
    this.#rejection = undefined;
    return outcome;
  }

  #saveHealth(now: number): Promise<void> {
    const { db, systemId, source } = this.#options;
    return updateFeedHealth(db, { systemId, source, now }, this.#source.health());
  }

  /** The list alone is no data. */
  #isAnyWell(): boolean {
    return [...this.#source.health()].some(([feed, each]) => feed !== "gbfs" && !isFailing(each));
  }

  #round(
    now: number,
    outcome: PollResult["outcome"],
    imported: ImportOutcome | undefined,
    report: string | null,
  ): PollResult {
    const health = [...this.#source.health()];
    return {
      at: new Date(now).toISOString(),
      outcome,
      stations: imported?.stations ?? null,
      bikes: imported?.bikes ?? null,
      events: imported ? eventsOf(imported.applied) : {},
      failures: health.filter(([, each]) => isFailing(each)).map(([feed, each]) => feedProblem(feed, each)),
      ages: Object.fromEntries(
        health.map(([feed, { goodAt }]) => [feed, goodAt === undefined ? null : Math.round((now - goodAt) / 1000)]),
      ),
      report,
    };
  }
}

function feedProblem(feed: string, { message, failingSince, retryAt }: FeedHealth): FeedProblem {
  return {
    feed,
    message: message ?? "",
    since: failingSince === undefined ? null : new Date(failingSince).toISOString(),
    retry_at: new Date(retryAt).toISOString(),
  };
}

function isEmpty({ information, status, vehicles, descriptions = [] }: GbfsSnapshot): boolean {
  return !information && !status && !vehicles && descriptions.length === 0;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
