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

/** A part of pino's logger. */
interface PollLogger {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
}

/** A failing feed; the message contains the reason. */
class FeedFailing extends Error {
  readonly condition = "gbfs_feed_failing";
}

/** A readable feed with data that are too old; the message contains their age. */
class FeedStale extends Error {
  readonly condition = "gbfs_feed_stale";
}

/**
 * Logs the polls of a followed source: applied changes, and the failure of each feed as a condition, so that a lasting
 * failure is one line, then one a minute, then one when the feed has recovered.
 * @param name the source, named in every line
 */
export function logPolls(
  logger: PollLogger,
  conditions: Conditions,
  name: { readonly system: string; readonly source: string },
): (result: PollResult, error?: unknown) => void {
  const works = new Map<string, WorkCondition>();
  /** The key of each failing feed's last failure. It contains the time of the next try, so a failed retry is a new one. */
  const lastFailures = new Map<string, string>();
  const workOf = (feed: string) => {
    const title = feed === "" ? `applying the GBFS source "${name.source}"` : `the feed ${feed} of "${name.source}"`;
    const work =
      works.get(feed) ?? conditions.of(title, { quietMs: Number.POSITIVE_INFINITY, level: "warn", detail: name });
    works.set(feed, work);
    return work;
  };
  const staleFeeds = new Map<string, WorkCondition>();
  const staleness = (feed: string) => {
    const options = { quietMs: Number.POSITIVE_INFINITY, level: "warn", detail: name } as const;
    const work = staleFeeds.get(feed) ?? conditions.of(`the data of the feed ${feed} of "${name.source}"`, options);
    staleFeeds.set(feed, work);
    return work;
  };
  const fail = ({ feed, message, since, retry_at }: FeedProblem) => {
    const failureKey = `${since} ${retry_at} ${message}`;
    if (lastFailures.get(feed) === failureKey) return;
    lastFailures.set(feed, failureKey);
    workOf(feed).failed(new FeedFailing(message), { feed, since, retry_at });
  };
  return ({ outcome, failures, stale, stations, bikes, events, report }, error) => {
    const failing = new Set(failures.map(({ feed }) => feed));
    for (const failure of failures) if (failure.feed !== "") fail(failure);
    if (error !== undefined) workOf("").failed(error);
    for (const [feed, work] of works) {
      if (failing.has(feed) || (feed === "" && error !== undefined)) continue;
      lastFailures.delete(feed);
      work.succeeded();
    }
    for (const { feed, message } of stale) staleness(feed).failed(new FeedStale(message), { feed });
    for (const [feed, work] of staleFeeds) if (!stale.some((each) => each.feed === feed)) work.succeeded();
    if (stations !== null || bikes !== null)
      logger.info({ ...name, outcome, stations, bikes, events, report }, "GBFS feed applied");
    else if (outcome === "unchanged") logger.debug({ ...name, outcome }, "GBFS feed unchanged");
  };
}

export interface FollowOptions {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /** The address of gbfs.json. */
  readonly url: string;
  /** Milliseconds from the beginning of one poll to that of the next; a poll that takes longer delays the next. */
  readonly intervalMs: number;
  readonly systemId: string;
  /** The feed's name among the sources of the system. */
  readonly source: string;
  /** The age at which data are stale; undefined: it follows from each feed's `ttl`. */
  readonly staleAfterMs?: number | undefined;
  /** Applies the first snapshot even where the source calls its system otherwise than before. */
  readonly force?: boolean;
  /** The directory for problems with records, each reported once. */
  readonly reportDirectory: string;
  /**
   * Called after each poll, except one that `close` broke off.
   * @param error why nothing could be applied, where that is not a feed's failure
   */
  readonly log: (result: PollResult, error?: unknown) => void;
  readonly fetchOptions?: Omit<FetchOptions, "signal">;
  /** Learns how the polls go. */
  readonly watch?: WorkWatch;
}

/** The result of one poll. */
export interface PollResult {
  /** When it began, RFC 3339. */
  readonly at: string;
  /**
   * Applied: some feed was new, and none fails. Unchanged: no feed was new, and none fails. Partial: some feeds fail and
   * others do not. Failed: nothing could be fetched, or nothing stored. A failing feed keeps its last good state.
   */
  readonly outcome: "applied" | "unchanged" | "partial" | "failed";
  readonly stations: ImportCounts | null;
  readonly bikes: ImportCounts | null;
  readonly events: EventCounts;
  /** The feeds that fail, in this poll or since an earlier one; an empty name is no feed, such as the database. */
  readonly failures: readonly FeedProblem[];
  /** Seconds since each feed was last fetched and read whole; null: never yet. */
  readonly ages: Readonly<Record<string, number | null>>;
  /** Seconds since the publisher of each feed last had something to say, where that is judged. */
  readonly data_ages: Readonly<Record<string, number>>;
  /** The feeds whose data are too old, though they can be read. */
  readonly stale: readonly StaleFeed[];
  /** The feeds that gave an older document than the one that was applied before. */
  readonly older: readonly string[];
  /** The path of the new problems with records in this poll; null: there are none. */
  readonly report: string | null;
}

export interface FeedProblem {
  readonly feed: string;
  readonly message: string;
  /** When it failed first, RFC 3339; null where it is no feed and the source is no other system. */
  readonly since: string | null;
  /** The earliest time of the next request, RFC 3339. */
  readonly retry_at: string;
}

interface StaleFeed {
  readonly feed: string;
  readonly message: string;
}

/** A feed that is being followed. */
export interface Following {
  /** Ends the poll under way (its fetches are given up, its transaction is not) and begins no other. */
  close(): Promise<void>;
}

/**
 * Follows a live feed: polls it again and again, and applies changes. Polls never overlap. Failures are passed to `log` and
 * tried again. Any number of processes may follow one source.
 * @throws FeedFailure when `url` is no http(s) address
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

class Follower {
  readonly #options: FollowOptions;
  readonly #source: AddressSource;
  readonly #signal: AbortSignal;
  readonly #journal: ProblemJournal;
  #dataAges: readonly FeedDataAge[] = [];
  /** Whether the next snapshot is applied even from another system. */
  #isForced: boolean;
  /** The source has become another system: nothing is applied until its `system_id` is the old one again. */
  #rejection: { readonly error: OtherSystemError; readonly since: number } | undefined;

  constructor(options: FollowOptions, location: URL, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#source = new AddressSource(location, { ...options.fetchOptions, intervalMs: options.intervalMs, signal });
    this.#isForced = options.force ?? false;
    this.#journal = new ProblemJournal(options.reportDirectory, () => options.ids.next("sync"));
  }

  /** Polls once. Whatever goes wrong is part of the result. */
  async poll(): Promise<{ readonly result: PollResult; readonly error?: unknown }> {
    const now = this.#options.clock();
    try {
      return { result: await this.#applyChanges(now) };
    } catch (error) {
      if (error instanceof OtherSystemError && this.#rejection?.error !== error) {
        // The rest of the snapshot belongs to the other system.
        this.#source.reset();
        this.#rejection = { error, since: this.#rejection?.since ?? now };
      }
      const message = this.#messageOf(error);
      // Fails too when the database itself is the cause.
      if (!this.#signal.aborted) await this.#writeHealth(now, message).catch(() => undefined);
      const rejection = this.#rejection;
      const since = rejection !== undefined && error === rejection.error ? utc(rejection.since) : null;
      const failure = { feed: "", message, since, retry_at: utc(now + this.#options.intervalMs) };
      const result = this.#resultOf(now, "failed");
      return { result: { ...result, failures: [failure, ...result.failures] }, error };
    } finally {
      await this.#source.release();
    }
  }

  async #applyChanges(now: number): Promise<PollResult> {
    const { db, ids, systemId, source, staleAfterMs } = this.#options;
    const rejection = this.#rejection;
    // A list that cannot be fetched is among the feeds' health; the feeds of the list before are still read.
    await this.#source.begin(now);
    if (rejection !== undefined) await this.#checkSystem(rejection.error);
    const reading = await readSnapshot(this.#source, now);
    // Frees the memory of reading before applying needs its own.
    await this.#source.release();
    this.#signal.throwIfAborted();
    if (rejection !== undefined && publishedIdOf(reading.snapshot) !== rejection.error.before) throw rejection.error;
    let imported: ImportOutcome | undefined;
    if (!isEmpty(reading.snapshot)) {
      const context = { systemId, source, now, ids, force: this.#isForced };
      // A feed that ends the process each time must not end it at every poll.
      imported = await runGuarded({ db, work: "follow-feed", systemId, unit: source, onError: () => undefined }, () =>
        applyReading(db, context, reading),
      );
      this.#isForced = false;
      this.#rejection = undefined;
    }
    // Only after storing: otherwise a snapshot that was not stored would not be fetched again.
    this.#source.commit();
    const report = imported === undefined ? null : await this.#journal.add(imported.problems, now);
    const { health } = this.#source;
    const { ages } = this.#source;
    this.#dataAges = await updateFeedHealth(db, { systemId, source, now, staleAfterMs }, health, ages);
    await this.#writeHealth(now, null);
    if (![...health.values()].some(isFailing))
      return this.#resultOf(now, imported ? "applied" : "unchanged", imported, report);
    // The list alone is no data.
    const isAnyWell = [...health].some(([feed, each]) => feed !== "gbfs" && !isFailing(each));
    return this.#resultOf(now, isAnyWell ? "partial" : "failed", imported, report);
  }

  /**
   * Checks, for a source that became another system, which system it is now: fetches the one small document in full.
   * @throws OtherSystemError
   */
  async #checkSystem(rejection: OtherSystemError): Promise<void> {
    const said = await this.#source.read("system_information").catch((error: unknown) => {
      if (error instanceof FeedFailure) return undefined;
      throw error;
    });
    this.#signal.throwIfAborted();
    // Makes the next poll check again, whatever the document's `ttl`.
    this.#source.reset();
    if (said?.publishedId !== rejection.before) throw rejection;
  }

  #messageOf(error: unknown): string {
    const message = error instanceof Error ? error.message : String(error);
    const { intervalMs } = this.#options;
    return error instanceof OtherSystemError
      ? `${message} It is asked again every ${intervalMs / 1_000} s, and applied once it says "${error.before}".`
      : message;
  }

  /** Writes how the source is doing, for every process. @param message why nothing can be applied */
  #writeHealth(now: number, message: string | null): Promise<void> {
    const { db, systemId, source, url, intervalMs } = this.#options;
    return updateSourceHealth(db, { systemId, source, now, location: shownAddress(url), intervalMs, message });
  }

  #resultOf(
    now: number,
    outcome: PollResult["outcome"],
    imported?: ImportOutcome,
    report: string | null = null,
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
      report,
    };
  }
}

function feedProblem(feed: string, { message = "", failingSince, retryAt }: FeedHealth): FeedProblem {
  return { feed, message, since: failingSince === undefined ? null : utc(failingSince), retry_at: utc(retryAt) };
}

function utc(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function isEmpty({ information, status, vehicles, descriptions = [] }: GbfsSnapshot): boolean {
  return !information && !status && !vehicles && descriptions.length === 0;
}
