import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract";
import type { Problem, SystemOverview } from "@bikeshare/contract/console";
import { type LongRides, longRidesOf } from "../../city/fleet/long-rides.ts";
import { FORGOTTEN_MS } from "../../feeds/gbfs/feed-watch.ts";
import { type SourceState, sourceStates } from "../../feeds/gbfs/source-state.ts";
import { keysOf } from "../../partners/keys/service.ts";
import { keyTotals, type KeyTotal, usageByMinute } from "../../partners/request-log/service.ts";
import { type EndpointOverview, listShownEndpoints } from "../../webhooks/endpoints/endpoint-view.ts";
import type { AlertState } from "../alerts/alert.rules.ts";
import { activeAlerts } from "../alerts/service.ts";
import { feedState, sourceProblems } from "./feed-problems.rules.ts";
import { factsOf } from "./key-facts.ts";
import { counted, type KeyFacts, keyLabel, keyProblems } from "./key-problems.rules.ts";
import { bySeverity, type SystemOverviewContext } from "./partner-overview.ts";
import { addCounts, byMinute, lastHour } from "./usage.rules.ts";
import { endpointProblems } from "./webhook-problems.rules.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** How a system does: its partners' problems, what waits, how old its feeds are, and which keys are refused. */
export async function systemOverview(context: SystemOverviewContext, systemId: string): Promise<SystemOverview> {
  const now = context.clock();
  const { starts, since } = lastHour(now);
  const range = { partnerId: null, keyId: null, since, until: new Date(now + DAY_MS) };
  const longBefore = new Date(now - context.longRideAfterMs);
  const [keys, totals, minutes, webhooks, sources, alerts, longRides] = await Promise.all([
    keysOf(context, systemId),
    keyTotals(context, systemId, since),
    usageByMinute(context, systemId, range),
    listShownEndpoints(context, systemId),
    sourceStates(context.db, systemId),
    activeAlerts(context.db),
    longRidesOf(context.db, systemId, longBefore),
  ]);
  const facts = keys.map((key) => factsOf(key, context.rateLimit, now));
  const refused = refusedKeys(facts, totals);
  return {
    problems: [
      ...alerts.flatMap(alertProblem),
      ...unsent(webhooks),
      ...longRideProblem(longRides, longBefore, context.longRideAfterMs),
      ...sources.flatMap((source) => sourceProblems(source, now)),
      ...present(webhooks).flatMap((endpoint) =>
        endpointProblems(endpoint, {
          reader: "operator",
          partner_id: endpoint.partner_id,
          partner_name: endpoint.partner_name,
        }),
      ),
      ...keyProblems(facts, new Map(totals.map((total) => [total.key_id, total])), { now, reader: "operator" }),
      ...refused.map((each) => refusedProblem(each, now)),
    ].toSorted(bySeverity),
    minutes: starts.map((start) => start.toISOString()),
    requests: byMinute(minutes, starts, ({ requests }) => requests),
    rate_limited: byMinute(minutes, starts, ({ rate_limited }) => rate_limited),
    hour: addCounts(minutes),
    workers: webhooks.workers,
    endpoints: endpointCounts(webhooks),
    backlog: backlogOf(webhooks),
    refused,
    feeds: sources.flatMap((source) => followedFeeds(source, now)),
  };
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

type Refused = SystemOverview["refused"][number];

/** Keys that were used after they had ended. */
function refusedKeys(facts: readonly KeyFacts[], totals: readonly KeyTotal[]): Refused[] {
  const keys = new Map(facts.map((key) => [key.id, key]));
  return totals.flatMap(({ key_id, client_errors: requests, last_minute: last }) => {
    const key = keys.get(key_id);
    if (key === undefined || key.status === "active" || requests === 0) return [];
    const ended = { expired: key.expires_at, revoked: key.revoked_at, suspended: null }[key.status];
    // A key that ended in this hour may have been used before only.
    if (ended !== null && last.getTime() + MINUTE_MS <= ended.getTime()) return [];
    const { name, last4, partner_id, partner_name, status: reason } = key;
    return [{ key_id, name, last4, partner_id, partner_name, reason, requests }];
  });
}

const MINUTE_MS = 60_000;

function refusedProblem({ partner_id, partner_name, ...key }: Refused, now: number): Problem {
  const why = { expired: "has expired", revoked: "was revoked", suspended: "is of a suspended partner" }[key.reason];
  return {
    code: "key_refused",
    severity: "warning",
    text: `${keyLabel(key)} ${why}, and is still used: ${counted(key.requests, "request", "requests")} in the last hour.`,
    action: "Ask the partner to bring its new key out. A key that leaked is used like this too.",
    at: null,
    partner_id,
    partner_name,
    link: { page: "requests", query: { key_id: key.key_id, since: new Date(now - HOUR_MS).toISOString() } },
  };
}

/** The operator's own. */
const ours = { partner_id: null, partner_name: null };

/** Alerts that this page says by itself, system by system. */
const SAID_HERE: ReadonlySet<string> = new Set(["workers", "feeds", "long rides"]);

function alertProblem({ name, scope, severity, detail, fix, beganAt }: AlertState): Problem[] {
  if (SAID_HERE.has(name)) return [];
  return [
    {
      code: "alert",
      severity: severity === "failure" ? "danger" : "warning",
      text: scope === "" ? `${detail}.` : `On ${scope}: ${detail}.`,
      action: fix,
      at: new Date(beganAt).toISOString(),
      ...ours,
      link: { page: "overview", query: {} },
    },
  ];
}

function longRideProblem({ n, oldest }: LongRides, startedBefore: Date, longRideAfterMs: number): Problem[] {
  if (oldest === undefined) return [];
  return [
    {
      code: "long_rides",
      severity: "warning",
      text: `${counted(n, "ride is", "rides are")} under way for longer than ${Math.round(longRideAfterMs / HOUR_MS)} hours: nobody can rent these bikes.`,
      action: "End the rides whose end was never reported.",
      at: oldest.started_at.toISOString(),
      ...ours,
      link: { page: "rides", query: { status: "started", started_before: startedBefore.toISOString() } },
    },
  ];
}

function unsent(webhooks: EndpointOverview): Problem[] {
  const { pending } = backlogOf(webhooks);
  if (webhooks.workers > 0 || pending === 0) return [];
  return [
    {
      code: "no_worker",
      severity: "danger",
      text: `No process sends webhooks, and ${counted(pending, "delivery waits", "deliveries wait")}.`,
      action: "Start `serve --role worker`. If one runs, its log says what stops it.",
      at: backlogOf(webhooks).oldest_due_at,
      ...ours,
      link: { page: "overview", query: {} },
    },
  ];
}

/** The endpoints without those that were removed, whose log alone is left. */
function present({ endpoints }: EndpointOverview): EndpointOverview["endpoints"] {
  return endpoints.filter(({ pause_reason: reason }) => reason !== "removed");
}

function endpointCounts(webhooks: EndpointOverview): SystemOverview["endpoints"] {
  const all = present(webhooks);
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
