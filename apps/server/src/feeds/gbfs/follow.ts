import { setTimeout } from "node:timers/promises";
import type { Conditions, WorkCondition } from "../../health/conditions/conditions.ts";
import type { Ids } from "../../ids.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { runGuarded } from "../../storage/set-aside/units.ts";
import { isHttp, shownAddress } from "../outgoing.ts";
import { AddressSource, type FetchOptions } from "./address-source.ts";
import { type EventCounts, eventsOf, OtherSystemError, publishedIdOf } from "./apply.ts";
import { dataAge, type FeedHealth, isFailing, maxPollSilenceMs } from "./feed-health.rules.ts";
import { type FeedDataAge, updateFeedHealth, updateSourceHealth } from "./health-queries.ts";
import { applyReading, type ImportCounts, type ImportOutcome } from "./import.ts";
import { FeedFailure } from "./problems.ts";
import { ProblemJournal } from "./report.ts";
import { type GbfsSnapshot, readSnapshot } from "./snapshot.ts";

/*
 * Follows a live GBFS source: polls its feeds at an interval, applies what has changed, stores the health of the feeds, and
 * logs failures. A failure that lasts is logged as a condition.
 */

/** The options and dependencies of following a source. */
export interface FollowOptions {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /** The address of gbfs.json. */
  readonly url: string;
  /** Milliseconds from the start of one poll to the start of the next. A poll that takes longer delays the next. */
  readonly intervalMs: number;
  readonly systemId: string;
  /** The feed's name among the sources of the system. */
  readonly source: string;
  /** The age at which data are stale; undefined: it is computed from each feed's `ttl`. */
  readonly staleAfterMs?: number | undefined;
  /** The time without a report of a station after which it is stale; undefined: it never is. */
  readonly stationStaleAfterMs?: number | undefined;
  /** True: applies the first snapshot even if the source's `system_id` has changed. */
  readonly force?: boolean;
  /** The directory for the report of problems with feeds and their records. `ProblemJournal` reports each problem once. */
  readonly reportDirectory: string;
  /**
   * Called after each poll, but not after a poll that `close` interrupted.
   * @param error why nothing could be applied, if the reason is not the failure of a feed
   */
  readonly log: (result: PollResult, error?: unknown) => void;
  readonly fetchOptions?: Omit<FetchOptions, "signal">;
  /** Records whether the polls succeed, and how long they take. */
  readonly watch?: WorkWatch;
}

/** The result of one poll. */
export interface PollResult {
  /** When the poll began, RFC 3339. */
  readonly at: string;
  /**
   * `applied`: a feed had changed, and no feed fails. `unchanged`: no feed had changed, and no feed fails. `partial`: some
   * feeds fail and others do not. `failed`: nothing could be fetched, or nothing could be stored. What a failing feed said
   * last stays in use.
   */
  readonly outcome: "applied" | "unchanged" | "partial" | "failed";
  /** The changes of stations; null: nothing was applied. The same for `bikes`. */
  readonly stations: ImportCounts | null;
  readonly bikes: ImportCounts | null;
  readonly events: EventCounts;
  /** The feeds that fail, in this poll or since an earlier one, and a failure that is not a feed's (`NO_FEED`). */
  readonly failures: readonly FeedProblem[];
  /** Seconds since each feed was last fetched and read without a failure; null: never. */
  readonly ages: Readonly<Record<string, number | null>>;
  /** Seconds since the publisher last changed the data of each feed whose data can become stale. */
  readonly data_ages: Readonly<Record<string, number>>;
  /** The feeds whose data are too old, though they can be read. */
  readonly stale: readonly StaleFeed[];
  /** The feeds that are older than a document which was applied before. */
  readonly older: readonly string[];
  /** The path of the report, if this poll found new problems with records; null: it found none. */
  readonly report: string | null;
  /** Why the report could not be written. What was applied stays applied, and the next poll tries again. */
  readonly reportError?: unknown;
}

/** The name in a `FeedProblem` that is not the failure of a feed, such as that of the database. */
export const NO_FEED = "";

/** A feed that fails, and why. */
export interface FeedProblem {
  /** `NO_FEED`: the failure is not a feed's. Nothing could be applied then. */
  readonly feed: string;
  readonly message: string;
  /** When the failure began, RFC 3339; null: the failure is neither that of a feed nor a changed `system_id`. */
  readonly since: string | null;
  /** The earliest time of the next request, RFC 3339. */
  readonly retry_at: string;
}

/** A feed that can be read, and why its data are too old. */
interface StaleFeed {
  readonly feed: string;
  readonly message: string;
}

/** A feed that is being followed. */
export interface Following {
  /** Ends the current poll, and begins no other. Aborts its requests, but lets its transaction finish. */
  close(): Promise<void>;
}

/**
 * Follows a live feed: polls it again and again, and applies changes. Polls never overlap. Failures are passed to `log`, and
 * the next poll tries again. Any number of processes may follow one source.
 * @throws FeedFailure when `url` is not an http or https address
 */
export function startFollowing(options: FollowOptions): Following {
  const { url, intervalMs, log, watch } = options;
  const location = URL.parse(url);
  if (location === null || !isHttp(location)) throw new FeedFailure("gbfs", "it is not an http or https address");
  const stop = new AbortController();
  const { signal } = stop;
  const follower = new Follower(options, location, signal);
  watch?.start(intervalMs, maxPollSilenceMs(intervalMs));
  const poll = async () => {
    const polled = await follower.poll();
    if (polled.result.outcome === "failed") watch?.failed();
    return polled;
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const began = performance.now();
      const { result, error } = await (watch === undefined ? poll() : watch.run(poll));
      if (signal.aborted && result.outcome === "failed") return;
      log(result, error);
      const restMs = Math.max(0, intervalMs - (performance.now() - began));
      await setTimeout(restMs, undefined, { signal }).catch((reason: unknown) => {
        if (!signal.aborted) throw reason;
      });
    }
  }

  const running = run();
  return {
    close: () => {
      watch?.stop();
      stop.abort();
      return running;
    },
  };
}

/** Polls one source. Keeps what a poll must know of earlier ones. */
class Follower {
  readonly #options: FollowOptions;
  readonly #source: AddressSource;
  readonly #signal: AbortSignal;
  readonly #journal: ProblemJournal;
  /** The age of the data of each feed, as stored after the latest poll that could be stored. */
  #dataAges: readonly FeedDataAge[] = [];
  /** Whether the next snapshot is applied even if the source's `system_id` has changed. */
  #isForced: boolean;
  /**
   * Set when the source's `system_id` has changed. Nothing is applied until the source publishes the old one
   * (`error.before`) again. Until then each poll throws the same `error`.
   */
  #rejection: { readonly error: OtherSystemError; readonly since: number } | undefined;

  constructor(options: FollowOptions, location: URL, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#source = new AddressSource(location, { ...options.fetchOptions, intervalMs: options.intervalMs, signal });
    this.#isForced = options.force ?? false;
    this.#journal = new ProblemJournal(options.reportDirectory, () => options.ids.next("sync"));
  }

  /** Polls once. Never rejects: an error is part of the result. */
  async poll(): Promise<{ readonly result: PollResult; readonly error?: unknown }> {
    const now = this.#options.clock();
    try {
      return { result: await this.#applyChanges(now) };
    } catch (error) {
      if (error instanceof OtherSystemError && this.#rejection?.error !== error) {
        // Forgets the responses, because they describe the other system.
        this.#source.reset();
        this.#rejection = { error, since: this.#rejection?.since ?? now };
      }
      const message = this.#messageOf(error);
      // Writing the health fails too if the database is the cause of the error.
      if (!this.#signal.aborted) await this.#writeHealth(now, message).catch(() => undefined);
      const rejection = this.#rejection;
      const since = rejection !== undefined && error === rejection.error ? utc(rejection.since) : null;
      const failure = { feed: NO_FEED, message, since, retry_at: utc(now + this.#options.intervalMs) };
      const result = this.#resultOf(now, "failed");
      return { result: { ...result, failures: [failure, ...result.failures] }, error };
    } finally {
      await this.#source.release();
    }
  }

  async #applyChanges(now: number): Promise<PollResult> {
    const { db, ids, systemId, source, staleAfterMs, stationStaleAfterMs } = this.#options;
    const rejection = this.#rejection;
    // If the list cannot be fetched, the source's health says so, and the feeds of the last list are read.
    await this.#source.begin(now);
    if (rejection !== undefined) await this.#checkSystem(rejection.error);
    const reading = await readSnapshot(this.#source, now);
    // Frees the memory of reading before applying needs its own.
    await this.#source.release();
    this.#signal.throwIfAborted();
    // Checks again, because the source may have changed since `#checkSystem` read its `system_id`.
    if (rejection !== undefined && publishedIdOf(reading.snapshot) !== rejection.error.before) throw rejection.error;
    let imported: ImportOutcome | undefined;
    if (!isEmpty(reading.snapshot)) {
      const context = { systemId, source, now, ids, force: this.#isForced, stationStaleAfterMs };
      // If applying a source ends the process again and again, `runGuarded` sets the source aside, and throws from then on.
      imported = await runGuarded({ db, work: "follow-feed", systemId, unit: source, onError: () => undefined }, () =>
        applyReading(db, context, reading),
      );
      this.#isForced = false;
      this.#rejection = undefined;
    }
    // Commits only after the snapshot is stored. A snapshot that could not be stored must be fetched again.
    this.#source.commit();
    const { health, ages } = this.#source;
    this.#dataAges = await updateFeedHealth(db, { systemId, source, now, staleAfterMs }, health, ages);
    await this.#writeHealth(now, null);
    const reported = imported === undefined ? { report: null } : await this.#report(imported, now);
    if (![...health.values()].some(isFailing))
      return this.#resultOf(now, imported ? "applied" : "unchanged", imported, reported);
    // The list of feeds does not count as a feed that works, because it contains no data.
    const isAnyWell = [...health].some(([feed, each]) => feed !== "gbfs" && !isFailing(each));
    return this.#resultOf(now, isAnyWell ? "partial" : "failed", imported, reported);
  }

  /** Writes the report. Never rejects: a full disk must not look as if nothing had been applied. */
  async #report({ problems }: ImportOutcome, now: number): Promise<Pick<PollResult, "report" | "reportError">> {
    try {
      return { report: await this.#journal.add(problems, now) };
    } catch (reportError) {
      return { report: null, reportError };
    }
  }

  /**
   * Checks whether a source whose `system_id` had changed publishes the old one again. Fetches `system_information`, which
   * is small.
   * @throws OtherSystemError if it does not
   */
  async #checkSystem(rejection: OtherSystemError): Promise<void> {
    const system = await this.#source.read("system_information").catch((error: unknown) => {
      if (error instanceof FeedFailure) return undefined;
      throw error;
    });
    this.#signal.throwIfAborted();
    // Makes the next poll check again, whatever the document's `ttl`.
    this.#source.reset();
    if (system?.publishedId !== rejection.before) throw rejection;
  }

  /** Returns an error's message. That of another system also says how its source is applied again. */
  #messageOf(error: unknown): string {
    const message = error instanceof Error ? error.message : String(error);
    const { intervalMs } = this.#options;
    return error instanceof OtherSystemError
      ? `${message} It is asked again every ${intervalMs / 1_000} s, and applied once it says "${error.before}".`
      : message;
  }

  /** Writes the source's health to the database, where every process reads it. @param message why nothing can be applied */
  #writeHealth(now: number, message: string | null): Promise<void> {
    const { db, systemId, source, url, intervalMs } = this.#options;
    return updateSourceHealth(db, { systemId, source, now, location: shownAddress(url), intervalMs, message });
  }

  /** Makes the result of a poll. @param imported undefined: nothing was applied */
  #resultOf(
    now: number,
    outcome: PollResult["outcome"],
    imported?: ImportOutcome,
    reported: Pick<PollResult, "report" | "reportError"> = { report: null },
  ): PollResult {
    const health = [...this.#source.health];
    const ages = this.#dataAges.map((each) => ({ feed: each.feed, age: dataAge(each, now) }));
    const ageOf = ({ goodAt }: FeedHealth) => (goodAt === undefined ? null : Math.round((now - goodAt) / 1000));
    return {
      at: utc(now),
      outcome,
      stations: imported?.stations ?? null,
      bikes: imported?.bikes ?? null,
      events: imported ? eventsOf(imported.applied) : {},
      failures: health.filter(([, each]) => isFailing(each)).map(([feed, each]) => feedProblem(feed, each)),
      ages: Object.fromEntries(health.map(([feed, each]) => [feed, ageOf(each)])),
      data_ages: Object.fromEntries(
        ages.flatMap(({ feed, age }) => (age === undefined ? [] : [[feed, Math.round(age.ageMs / 1_000)]])),
      ),
      stale: ages.flatMap(({ feed, age }) => (age?.reason === undefined ? [] : [{ feed, message: age.reason }])),
      older: imported?.applied.late ?? [],
      ...reported,
    };
  }
}

function feedProblem(feed: string, { message = "", failingSince, retryAt }: FeedHealth): FeedProblem {
  return { feed, message, since: failingSince === undefined ? null : utc(failingSince), retry_at: utc(retryAt) };
}

/** Writes an instant in RFC 3339. */
function utc(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** Tells whether no feed of a snapshot has changed. */
function isEmpty({ information, status, vehicles, descriptions = [] }: GbfsSnapshot): boolean {
  return !information && !status && !vehicles && descriptions.length === 0;
}

/** A part of pino's logger. */
interface PollLogger {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
}

/** A feed cannot be fetched or read. The message contains the reason. */
class FeedFailing extends Error {
  readonly condition = "gbfs_feed_failing";
}

/** A feed can be read, but its data are too old. The message says since when. */
class FeedStale extends Error {
  readonly condition = "gbfs_feed_stale";
}

/**
 * Returns a function that logs the polls of a followed source: applied changes, and the failure of each feed as a condition.
 * A lasting failure is logged when it begins, then once a minute, and once when the feed has recovered.
 * @param name the system and the source, which every line names
 */
export function logPolls(
  logger: PollLogger,
  conditions: Conditions,
  name: { readonly system: string; readonly source: string },
): (result: PollResult, error?: unknown) => void {
  // Infinity: a failure ends with a success alone, and never because nothing has failed for a while.
  const options = { quietMs: Number.POSITIVE_INFINITY, level: "warn", detail: name } as const;
  const works = new Map<string, WorkCondition>();
  /**
   * For each failing feed, a key of its last try. A poll that does not try a failing feed again returns the same failure,
   * which must not count twice. The time of the next try distinguishes one try from another.
   */
  const lastFailures = new Map<string, string>();
  // Returns the condition of a feed, or of the failure that is not a feed's.
  const workOf = (feed: string) => {
    const title =
      feed === NO_FEED ? `applying the GBFS source "${name.source}"` : `the feed ${feed} of "${name.source}"`;
    const work = works.get(feed) ?? conditions.of(title, options);
    works.set(feed, work);
    return work;
  };
  const staleFeeds = new Map<string, WorkCondition>();
  const stalenessOf = (feed: string) => {
    const work = staleFeeds.get(feed) ?? conditions.of(`the data of the feed ${feed} of "${name.source}"`, options);
    staleFeeds.set(feed, work);
    return work;
  };
  const reporting = conditions.of(`writing the report about the GBFS source "${name.source}"`, options);
  const fail = ({ feed, message, since, retry_at }: FeedProblem) => {
    const failureKey = `${since} ${retry_at} ${message}`;
    if (lastFailures.get(feed) === failureKey) return;
    lastFailures.set(feed, failureKey);
    workOf(feed).failed(new FeedFailing(message), { feed, since, retry_at });
  };
  return ({ outcome, failures, stale, stations, bikes, events, report, reportError }, error) => {
    const failing = new Set(failures.map(({ feed }) => feed));
    for (const failure of failures) if (failure.feed !== NO_FEED) fail(failure);
    // The failure that is not a feed's is the `error` itself.
    if (error !== undefined) workOf(NO_FEED).failed(error);
    for (const [feed, work] of works) {
      if (failing.has(feed) || (feed === NO_FEED && error !== undefined)) continue;
      lastFailures.delete(feed);
      work.succeeded();
    }
    for (const { feed, message } of stale) stalenessOf(feed).failed(new FeedStale(message), { feed });
    for (const [feed, work] of staleFeeds) if (!stale.some((each) => each.feed === feed)) work.succeeded();
    if (reportError !== undefined) reporting.failed(reportError);
    else if (report !== null) reporting.succeeded();
    if (stations !== null || bikes !== null)
      logger.info({ ...name, outcome, stations, bikes, events, report }, "GBFS feed applied");
    else if (outcome === "unchanged") logger.debug({ ...name, outcome }, "GBFS feed unchanged");
  };
}
