import type { FeedSource, FollowedFeed } from "@bikeshare/contract/console";
import {
  type SourceContents,
  sourceContents,
  type SourceState,
  sourceStates,
  type StoredFeedHealth,
} from "../feeds/gbfs/source-state.ts";
import { feedAdvice, feedState, sourceCondition } from "../health/checks/feed-sources.rules.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import type { LongReads } from "./long-reads.ts";

/** Routes with which the operator sees the sources of a system's stations and bikes. */
export function feedRoutes({ db, clock }: ConsoleContext, long: LongReads): ConsoleRoutes["feeds"] {
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
): Served<FeedSource> {
  const counts = { planned: 0, online: 0, offline: 0, removed: 0 };
  for (const { status, n } of contents?.stations ?? []) counts[status] = n;
  return {
    source,
    ...followed(state, now),
    stations: counts,
    bikes: contents?.bikes ?? 0,
    missing: (contents?.missing ?? []).map((station) => ({ ...station, last_listed_at: station.status_as_of })),
  };
}

type Followed = Omit<Served<FeedSource>, "source" | "stations" | "bikes" | "missing">;

const noFeed: Followed = {
  ...{ state: "no_feed", text: "Trip files or the operator's interface; there is no feed.", action: null, since: null },
  ...{ location: null, interval_seconds: null, polled_at: null, published_id: null },
  ...{ information_at: null, status_at: null, vehicles_at: null, feeds: [] },
};

function followed(state: SourceState | undefined, now: number): Followed {
  if (state === undefined) return noFeed;
  return {
    ...state,
    ...sourceCondition(state, now),
    interval_seconds: state.interval_ms === null ? null : state.interval_ms / 1_000,
    feeds: state.feeds.map((feed) => shownFeed(feed, state, now)),
  };
}

function shownFeed(health: StoredFeedHealth, source: SourceState, now: number): Served<FollowedFeed> {
  const message = health.failing_since === null ? null : health.message;
  const advice = message === null ? null : feedAdvice(message);
  return { ...health, state: feedState(health, source, now), message, advice };
}
