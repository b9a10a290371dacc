import type { consoleContract, FeedSource, FollowedFeed } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import {
  type SourceContents,
  sourceContents,
  type SourceState,
  sourceStates,
  type StoredFeedHealth,
} from "../feeds/gbfs/source-state.ts";
import { feedAdvice, feedState, sourceCondition } from "../health/overview/feed-problems.rules.ts";
import { consoleCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { instantOf } from "./dates.ts";
import type { LongReads } from "./long-reads.ts";

/** Where a system's stations and bikes come from, for the operator. */
export function feedRoutes(
  { db, clock }: ConsoleContext,
  long: LongReads,
): RouterImplementation<typeof consoleContract>["feeds"] {
  return {
    list: async ({ request }) => {
      const { systemId } = consoleCaller(request);
      const [states, contents] = await long.hold(request, () =>
        Promise.all([sourceStates(db, systemId), sourceContents(db, systemId)]),
      );
      const names = [...new Set([...states, ...contents].map(({ source }) => source))];
      const now = clock();
      const data = names.map((name) =>
        shown(
          name,
          states.find(({ source }) => source === name),
          contents.find(({ source }) => source === name),
          now,
        ),
      );
      return { status: 200, body: { data } };
    },
  };
}

function shown(
  source: string,
  state: SourceState | undefined,
  contents: SourceContents | undefined,
  now: number,
): FeedSource {
  const counts = { planned: 0, online: 0, offline: 0, removed: 0 };
  for (const { status, n } of contents?.stations ?? []) counts[status] = n;
  return {
    source,
    ...followed(state, now),
    stations: counts,
    bikes: contents?.bikes ?? 0,
    missing: (contents?.missing ?? []).map(({ id, name, status, absent_snapshots, status_as_of }) => ({
      ...{ id, name, status, absent_snapshots },
      last_listed_at: instantOf(status_as_of),
    })),
  };
}

type Followed = Omit<FeedSource, "source" | "stations" | "bikes" | "missing">;

const noFeed: Followed = {
  ...{ state: "no_feed", text: "Trip files or the operator's interface; there is no feed.", action: null, since: null },
  ...{ location: null, interval_seconds: null, polled_at: null, published_id: null },
  ...{ information_at: null, status_at: null, vehicles_at: null, feeds: [] },
};

function followed(state: SourceState | undefined, now: number): Followed {
  if (state === undefined) return noFeed;
  const { since, ...condition } = sourceCondition(state, now);
  const { interval_ms: intervalMs } = state;
  return {
    ...condition,
    since: instantOf(since),
    location: state.location,
    interval_seconds: intervalMs === null ? null : intervalMs / 1_000,
    polled_at: instantOf(state.polled_at),
    published_id: state.published_id,
    information_at: instantOf(state.information_at),
    status_at: instantOf(state.status_at),
    vehicles_at: instantOf(state.vehicles_at),
    feeds: state.feeds.map((feed) => shownFeed(feed, state, now)),
  };
}

function shownFeed(health: StoredFeedHealth, source: SourceState, now: number): FollowedFeed {
  const { feed, checked_at, succeeded_at, failing_since, failures, message, data_at } = health;
  const reason = failing_since === null ? null : message;
  return {
    ...{ feed, state: feedState(health, source, now), failures, message: reason },
    data_at: instantOf(data_at),
    checked_at: checked_at.toISOString(),
    succeeded_at: instantOf(succeeded_at),
    failing_since: instantOf(failing_since),
    advice: reason === null ? null : feedAdvice(reason),
  };
}
