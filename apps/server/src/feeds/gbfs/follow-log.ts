import type { Conditions, WorkCondition } from "../../health/conditions/conditions.ts";
import type { FeedProblem, PollResult } from "./follow.ts";

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
