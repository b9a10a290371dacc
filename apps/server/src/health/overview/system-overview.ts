import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract";
import type { SystemOverview } from "@bikeshare/contract/console";
import { FORGOTTEN_MS } from "../../feeds/gbfs/feed-health.rules.ts";
import { type SourceState, sourceStates } from "../../feeds/gbfs/source-state.ts";
import { usageByMinute } from "../../partners/request-log/service.ts";
import type { EndpointOverview } from "../../webhooks/endpoints/endpoint-view.ts";
import { acknowledgementOf } from "../checks/acknowledgement.rules.ts";
import { acknowledgements } from "../checks/acknowledgements.ts";
import { checkScopes, isCheckName } from "../checks/check.ts";
import { feedState } from "../checks/feed-sources.rules.ts";
import { runChecks, systemChecks } from "../checks/list.ts";
import { listedEndpoints, partnerFacts, partnerResults, refusedKeys } from "../checks/partner-checks.ts";
import { activeChecks } from "../checks/stored-checks.ts";
import type { SystemCheckContext } from "../checks/system-checks.ts";
import type { OverviewContext } from "./partner-overview.ts";
import { type OverviewResult, shownResults } from "./shown-checks.ts";
import { addCounts, byMinute, lastHour } from "./usage.rules.ts";

const DAY_MS = 86_400_000;

/** API usage, webhooks and feeds of a system, and its checks. */
export async function systemOverview(
  context: OverviewContext & SystemCheckContext,
  systemId: string,
): Promise<SystemOverview> {
  const now = context.clock();
  const { starts, since } = lastHour(now);
  const range = { partnerId: null, keyId: null, since, until: new Date(now + DAY_MS) };
  const [facts, minutes, sources, ofOperator] = await Promise.all([
    partnerFacts(context, systemId),
    usageByMinute(context, systemId, range),
    sourceStates(context.db, systemId),
    operatorResults(context, systemId),
  ]);
  const { webhooks } = facts;
  return {
    checks: shownResults([...ofOperator, ...partnerResults(facts, now)]),
    minutes: starts.map((start) => start.toISOString()),
    requests: byMinute(minutes, starts, ({ requests }) => requests),
    rate_limited: byMinute(minutes, starts, ({ rate_limited }) => rate_limited),
    hour: addCounts(minutes),
    workers: webhooks.workers,
    endpoints: endpointCounts(webhooks),
    backlog: backlogOf(webhooks),
    refused: refusedKeys(facts),
    feeds: sources.flatMap((source) => followedFeeds(source, now)),
  };
}

/** The system's checks as they are now, and what any process has found of itself, its machine and the database. */
async function operatorResults(context: SystemCheckContext, systemId: string): Promise<OverviewResult[]> {
  const now = context.clock();
  const [run, active, known] = await Promise.all([
    runChecks(systemChecks(context, systemId)),
    activeChecks(context.db),
    acknowledgements(context.db),
  ]);
  const here = run.flatMap(({ check: { of }, results }) => results.map((result) => ({ ...result, of })));
  const stored = active
    .filter(({ name }) => isCheckName(name) && checkScopes[name] !== "system")
    .flatMap(({ of, beganAt, results }) =>
      results.map((result) => ({
        ...result,
        of,
        at: new Date(beganAt),
        detail: of === "" ? result.detail : `On ${of}: ${result.detail}`,
      })),
    );
  return [...here, ...stored].map((result) => ({
    ...result,
    acknowledgement: acknowledgementOf(known, result.of, result, now),
    // The operator's own; of one partner where the check says so, for the link to its page.
    partner_id: result.check === "held webhooks" ? (result.subject ?? null) : null,
    partner_name: null,
  }));
}

function followedFeeds(source: SourceState, now: number): SystemOverview["feeds"] {
  const since = (at: Date | null) => (at === null ? null : Math.max(0, now - at.getTime()) / 1_000);
  return source.feeds
    .filter(({ checked_at: at }) => now - at.getTime() < FORGOTTEN_MS)
    .map((feed) => ({
      ...{ source: source.source, feed: feed.feed, state: feedState(feed, source, now) },
      age_seconds: since(feed.succeeded_at),
      failing_seconds: since(feed.failing_since) ?? 0,
    }));
}

function endpointCounts(webhooks: EndpointOverview): SystemOverview["endpoints"] {
  const all = listedEndpoints(webhooks);
  const paused = all.filter(({ status }) => status === "paused").length;
  const failing = all.filter((each) => each.status !== "paused" && each.failing_since !== null).length;
  return { active: all.length - paused - failing, failing, paused };
}

function backlogOf({ endpoints }: EndpointOverview): SystemOverview["backlog"] {
  const due = endpoints.flatMap(({ oldest_due: at }) => (at === null ? [] : [at.getTime()]));
  return {
    pending: endpoints.reduce((sum, each) => sum + each.pending, 0),
    held: endpoints.reduce((sum, each) => sum + each.held, 0),
    is_complete: endpoints.every((each) => Math.max(each.pending, each.held) < MAX_COUNTED_DELIVERIES),
    oldest_due_at: due.length === 0 ? null : new Date(Math.min(...due)).toISOString(),
  };
}
