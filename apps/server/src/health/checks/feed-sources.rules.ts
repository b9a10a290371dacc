/** Judges the state of a source of feeds: what is wrong, and what to do about it. */
import { dataAge, FORGOTTEN_MS, maxPollSilenceMs, type StoredAge } from "../../feeds/gbfs/feed-health.rules.ts";
import { type CheckResult, failure, warning } from "./check.ts";

/** The facts of a feed that the rules need. */
interface FeedFacts extends StoredAge {
  readonly feed: string;
  /** When it was last fetched and read whole; null: never. */
  readonly succeeded_at: Date | null;
  readonly failing_since: Date | null;
  readonly message: string | null;
}

/** The facts of a source that the rules need. */
export interface SourceFacts {
  readonly source: string;
  /** The address of its gbfs.json; null: no process has ever followed it. */
  readonly location: string | null;
  /** Milliseconds between two polls of its feeds; null: as for `location`. */
  readonly interval_ms: number | null;
  /** When its latest poll began; null: as for `location`. */
  readonly polled_at: Date | null;
  /** Since when its fetched documents cannot be applied, and why; both null: they can. */
  readonly failing_since: Date | null;
  readonly message: string | null;
  /** `last_updated` of its newest document of each kind. */
  readonly information_at: Date | null;
  readonly status_at: Date | null;
  readonly vehicles_at: Date | null;
  readonly feeds: readonly FeedFacts[];
}

/** The state of a source. */
export interface SourceCondition {
  /**
   * not_followed: no process polls it. silent: a process polled it, and has stopped. rejected: its documents can be read but
   * not applied. failing: some of its feeds cannot be read. stale: they can be read, but their data are too old.
   */
  readonly state: "well" | "not_followed" | "silent" | "rejected" | "failing" | "stale";
  readonly text: string;
  /** What to do; null: nothing. */
  readonly action: string | null;
  /** When the state began, or the time of the latest poll or, if it is well, of its newest document; null: not known. */
  readonly since: Date | null;
}

/** Returns the state of a source; of several problems, the worst. @param now milliseconds since 1970 */
export function sourceCondition(facts: SourceFacts, now: number): SourceCondition {
  const { polled_at: polledAt, interval_ms: intervalMs } = facts;
  if (polledAt === null || intervalMs === null || now - polledAt.getTime() > FORGOTTEN_MS)
    return {
      state: "not_followed",
      text: polledAt === null ? "It was imported; no process follows it." : "No process follows it any more.",
      action: null,
      since: polledAt,
    };
  if (now - polledAt.getTime() > maxPollSilenceMs(intervalMs))
    return {
      state: "silent",
      text: `No process has asked it for ${agoText(polledAt, now)}.`,
      action: `Start \`serve\` with GBFS_SYNC_URL, or \`sync gbfs\`. If one runs, its log says what stops it.`,
      since: polledAt,
    };
  return rejected(facts) ?? failing(facts, now) ?? stale(facts, now) ?? well(facts);
}

function rejected({ failing_since: since, message }: SourceFacts): SourceCondition | undefined {
  if (since === null || message === null) return undefined;
  const action =
    "Correct this cause; the log of the process that follows the source has the details. Nothing of the source is applied meanwhile.";
  return { state: "rejected", text: message, action, since };
}

function failing({ feeds }: SourceFacts, now: number): SourceCondition | undefined {
  const failed = feeds.flatMap(({ feed, failing_since: since, message }) =>
    since === null ? [] : [{ feed, since, message: message ?? "no reason is known" }],
  );
  const longest = failed.toSorted((a, b) => a.since.getTime() - b.since.getTime())[0];
  if (longest === undefined) return undefined;
  const { feed, since, message } = longest;
  const others = failed.length > 1 ? `, and ${failed.length - 1} more` : "";
  return {
    state: "failing",
    text: `${feed}${others} cannot be read for ${agoText(since, now)}: ${message}`,
    action: feedAdvice(message),
    since,
  };
}

function stale({ feeds }: SourceFacts, now: number): SourceCondition | undefined {
  const found = feeds.flatMap((feed) => {
    const age = dataAge(feed, now);
    return age?.reason === undefined ? [] : [{ feed: feed.feed, ageMs: age.ageMs, reason: age.reason }];
  });
  const oldest = found.toSorted((a, b) => b.ageMs - a.ageMs)[0];
  if (oldest === undefined) return undefined;
  const others = found.length > 1 ? `, and ${found.length - 1} more,` : "";
  return {
    state: "stale",
    text: `${oldest.feed}${others} can be read and is stale: ${oldest.reason}.`,
    action: "Ask the publisher whether the feed is still made. Until then stations and bikes stay as they were.",
    since: new Date(now - oldest.ageMs),
  };
}

/** The state of one feed of a source. */
export type FeedState = "well" | "failing" | "not_applied" | "stale";

/** Returns the state of a feed. @param source its source, whose documents may not be applicable @param now milliseconds */
export function feedState(feed: FeedFacts, source: Pick<SourceFacts, "message">, now: number): FeedState {
  if (feed.failing_since !== null) return "failing";
  if (source.message !== null) return "not_applied";
  return dataAge(feed, now)?.reason === undefined ? "well" : "stale";
}

function well(facts: SourceFacts): SourceCondition {
  return {
    state: "well",
    text: "It is followed, and all its feeds can be read.",
    action: null,
    since: newestDocument(facts),
  };
}

function newestDocument({ information_at, status_at, vehicles_at }: SourceFacts): Date | null {
  const known = [information_at, status_at, vehicles_at].flatMap((at) => (at === null ? [] : [at.getTime()]));
  return known.length === 0 ? null : new Date(Math.max(...known));
}

/** What to do about a feed that cannot be read, by the message of the failure. The first match is used. */
const advices: readonly (readonly [message: RegExp, advice: string])[] = [
  [/^HTTP 40[13]\b/, "The publisher refuses us: check with them which key the address needs."],
  [/^HTTP (404|410)\b/, "The feed is not there any more: ask the publisher for its address, and follow that one."],
  [/^HTTP 429\b/, "We ask too often: raise GBFS_SYNC_EVERY."],
  [/^HTTP 5\d\d\b/, "The publisher's server fails. It is asked again by itself; tell the publisher if it lasts."],
  [
    /no whole response in time/,
    "The publisher's server is too slow. It is asked again by itself; tell the publisher if it lasts.",
  ],
  [/\bDNS\b|has no address/, "Check the host in the address, and that this machine can resolve names."],
  [
    /certificate|TLS|SSL/i,
    "The publisher's certificate cannot be trusted: tell them. An expired one is the usual cause.",
  ],
  [
    /refused|unreachable|ECONN|EHOST|closed/i,
    "Nobody answers at the address: check that this machine may call it, then ask the publisher.",
  ],
  [
    /public address/i,
    "The feed names an address within our own network, which is not called. Ask the publisher for a public one.",
  ],
];

/** Returns what to do about a feed that cannot be read. */
export function feedAdvice(message: string): string {
  const known = advices.find(([pattern]) => pattern.test(message));
  return known?.[1] ?? "Tell the publisher what cannot be read. The feed is asked again by itself.";
}

/** Checks a source: whether its documents were applied lately, and whether their data are current. */
export function checkSource(facts: SourceFacts, now: number): CheckResult[] {
  const { state, text, action, since } = sourceCondition(facts, now);
  if (state === "well" || state === "not_followed" || action === null) return [];
  // Shorter failures mostly come from the network and end before anybody looks. The page of feeds shows them.
  if ((state === "failing" || state === "rejected") && !isTooOld(facts, now)) return [];
  const judge = state === "stale" ? warning : failure;
  return [
    judge("feeds", `the source ${facts.source}: ${text}`, action, {
      subject: facts.source,
      at: since,
      link: { page: "feeds", query: {} },
    }),
  ];
}

/**
 * Tells whether a source, or one of its feeds, has not been applied for so long that the shown data are too old. A feed that
 * was never read counts from its first failure.
 */
function isTooOld({ feeds, failing_since: failingSince, interval_ms: intervalMs }: SourceFacts, now: number): boolean {
  // The interval is known, because `checkSource` has returned for a source that nobody follows.
  const before = now - maxPollSilenceMs(intervalMs ?? 0);
  const isBefore = (at: Date | null) => at !== null && at.getTime() < before;
  return isBefore(failingSince) || feeds.some((feed) => isBefore(feed.succeeded_at ?? feed.failing_since));
}

/** `40 minutes`, `3 hours`, `2 days`. */
function agoText(at: Date, now: number): string {
  const minutes = Math.max(1, Math.round((now - at.getTime()) / 60_000));
  if (minutes < 120) return minutes === 1 ? "a minute" : `${minutes} minutes`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} hours` : `${Math.round(minutes / 1440)} days`;
}
