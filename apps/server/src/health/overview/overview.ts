import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract";
import type { PartnerOverview, ShownCheck, SystemOverview } from "@bikeshare/contract/console";
import { FORGOTTEN_MS } from "../../feeds/gbfs/feed-health.rules.ts";
import { type SourceState, sourceStates } from "../../feeds/gbfs/source-state.ts";
import { keysOf } from "../../partners/keys/service.ts";
import { keyMinutesOf, usageByMinute, usageToday } from "../../partners/request-log/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import {
  type EndpointOverview,
  type EndpointView,
  findShownEndpoints,
} from "../../webhooks/endpoints/endpoint-view.ts";
import { type DeliverySummary, summarizeDeliveries } from "../../webhooks/log/deliveries.ts";
import { acknowledgements } from "../checks/acknowledgements.ts";
import { type Acknowledgement, acknowledgementOf } from "../checks/check-state.rules.ts";
import { type CheckResult, checkScopes, isCheckName } from "../checks/check.ts";
import { feedState } from "../checks/feed-sources.rules.ts";
import { runChecks, systemChecks } from "../checks/list.ts";
import {
  checkDeliveries,
  checkEndpoint,
  checkHeld,
  checkKeys,
  checkRequests,
  type PartnerCheckResult,
} from "../checks/partner-checks.rules.ts";
import { factsOf, listedEndpoints, partnerFacts, partnerResults, refusedKeys } from "../checks/partner-checks.ts";
import { activeChecks } from "../checks/stored-checks.ts";
import { lacksWorker, type SystemCheckContext } from "../checks/system-checks.ts";
import { addCounts, byMinute, keyLoads, lastHour, totalsByKey } from "./usage.rules.ts";

/* What the overview pages of a partner and of the operator show. */

/** A result for an overview. */
interface OverviewResult extends CheckResult {
  /** The machine or the system that the check examined, empty for the deployment; absent: it cannot be acknowledged. */
  readonly of?: string;
  readonly acknowledgement?: Acknowledgement | undefined;
  readonly partner_id: string | null;
  readonly partner_name: string | null;
}

const severities: readonly ShownCheck["severity"][] = ["failure", "warning", "info"];

/** Returns the findings of checks: unacknowledged ones first, and the worst of them first. */
function shownResults(results: readonly OverviewResult[]): ShownCheck[] {
  const rank = ({ acknowledged, severity }: ShownCheck) =>
    severities.indexOf(severity) + (acknowledged === null ? 0 : severities.length);
  return results.flatMap(shown).toSorted((one, other) => rank(one) - rank(other));
}

function shown({ status, at, of, acknowledgement, ...result }: OverviewResult): ShownCheck[] {
  if (status === "ok") return [];
  const { check: name, detail, fix = "", subject = "", partner_id, partner_name } = result;
  return [
    {
      name,
      of: of ?? null,
      subject,
      severity: status,
      // The details of most checks for the operator are fragments. This makes sentences of them.
      text: /[.!?]$/.test(detail) ? detail : `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`,
      fix,
      at: at?.toISOString() ?? null,
      acknowledged:
        acknowledgement === undefined
          ? null
          : { at: acknowledgement.at.toISOString(), until: acknowledgement.until?.toISOString() ?? null },
      partner_id,
      partner_name,
      link: result.link === undefined ? null : { page: result.link.page, query: { ...result.link.query } },
    },
  ];
}

interface OverviewContext {
  readonly db: Queryable;
  readonly clock: () => number;
  /** Requests in any 60 s for partners' keys without a limit of their own. */
  readonly rateLimit: number;
}

const DAY_MS = 86_400_000;

/** Returns API usage, webhook health and checks of a partner. */
export async function partnerOverview(
  context: OverviewContext,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string },
): Promise<PartnerOverview> {
  const now = context.clock();
  const { starts, since } = lastHour(now);
  const [keys, used, endpoints] = await Promise.all([
    keysOf(context, systemId, partnerId),
    keyMinutesOf(context, systemId, partnerId, since),
    findShownEndpoints(context, { systemId, partnerId }),
  ]);
  const ids = keys.map(({ id }) => id);
  const [today, ...summaries] = await Promise.all([
    usageToday(context, systemId, ids),
    ...endpoints.map(({ id }) => summarizeDeliveries(context, systemId, id, new Date(now - DAY_MS))),
  ]);
  const webhooks = endpoints.flatMap((endpoint, index) => {
    const deliveries = summaries[index];
    return deliveries === undefined ? [] : [{ endpoint, deliveries }];
  });
  const facts = keys.map((key) => factsOf(key, context.rateLimit, now));
  const hour = addCounts(used);
  return {
    checks: shownResults(
      [
        ...webhookResults(webhooks),
        ...checkKeys(facts, totalsByKey(used), { now, reader: "partner" }),
        ...checkRequests(hour, now),
      ].map((result) => ({ ...result, ...own })),
    ),
    minutes: starts.map((start) => start.toISOString()),
    keys: keyLoads(facts, used, starts),
    hour,
    today,
    endpoints: webhooks.map(shownEndpoint),
  };
}

/** The partner reads its own pages, so no partner is named. */
const own = { partner_id: null, partner_name: null };

/** One of a partner's webhooks, and its deliveries: the results of the last day, and all that are failing now. */
interface WebhookFacts {
  readonly endpoint: EndpointView;
  readonly deliveries: DeliverySummary;
}

function webhookResults(webhooks: readonly WebhookFacts[]): PartnerCheckResult[] {
  if (webhooks.length === 0) return [noAddress];
  const results = webhooks.flatMap(({ endpoint, deliveries }) => {
    const whose = { reader: "partner" as const, ...own, endpoint: webhooks.length === 1 ? null : endpoint };
    return [
      ...checkEndpoint(endpoint, whose),
      ...checkHeld(endpoint, whose),
      ...checkDeliveries(deliveries, endpoint, whose),
    ];
  });
  const unreadableEvents = new Set(webhooks.flatMap(({ endpoint }) => endpoint.unreadable_events));
  return [...results, ...unsent(webhooks), ...unreadable([...unreadableEvents])];
}

const noAddress: PartnerCheckResult = {
  check: "webhook address",
  status: "info",
  detail: "No webhook address is set: events are kept, but none is sent to you.",
  fix: "Set an address, and choose the events that you want to receive.",
  ...own,
  link: { page: "webhook", query: {} },
};

/** Returns the check of workers when deliveries wait for one. */
function unsent(webhooks: readonly WebhookFacts[]): PartnerCheckResult[] {
  if (!webhooks.some(({ endpoint: { pending, workers } }) => pending > 0 && lacksWorker(workers))) return [];
  return [
    {
      check: "workers",
      status: "failure",
      detail: "The service sends no webhooks at present. Yours wait.",
      fix: "Nothing is lost, and nothing is for you to do. Tell the operator if it stays.",
      ...own,
      link: { page: "deliveries", query: { status: "pending" } },
    },
  ];
}

function unreadable(events: readonly string[]): PartnerCheckResult[] {
  if (events.length === 0) return [];
  return [
    {
      check: "unreadable events",
      status: "warning",
      detail: `No key of yours may read what these events are about: ${events.join(", ")}.`,
      fix: "Create a key with that scope, ask the operator for one, or choose fewer events.",
      ...own,
      link: { page: "webhook", query: {} },
    },
  ];
}

function shownEndpoint({ endpoint, deliveries }: WebhookFacts): PartnerOverview["endpoints"][number] {
  return {
    id: endpoint.id,
    name: endpoint.name,
    status: endpoint.status,
    status_text: endpoint.status_text,
    url: endpoint.url ?? "",
    failing_since: endpoint.failing_since?.toISOString() ?? null,
    oldest_due_at: endpoint.oldest_due?.toISOString() ?? null,
    deliveries: deliveryCounts(endpoint, deliveries),
  };
}

function deliveryCounts(
  { pending, held }: EndpointView,
  { succeeded, given_up, failing, is_complete }: DeliverySummary,
): PartnerOverview["endpoints"][number]["deliveries"] {
  return { succeeded, given_up, pending, failing, held, is_complete };
}

/** Returns API usage, webhooks, feeds and checks of a system. */
export async function systemOverview(
  context: OverviewContext & SystemCheckContext,
  systemId: string,
): Promise<SystemOverview> {
  const now = context.clock();
  const { starts, since } = lastHour(now);
  // Ends in the future, so that no minute is left out that another process has begun.
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

/**
 * Returns the results for the operator: the system's checks, which run now, and the stored findings of all processes about
 * themselves, their machines and the database.
 */
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
    // The partner that a result is about, for the link to its page: the subject of `held webhooks` is a partner's id.
    // Null for all other checks.
    partner_id: result.check === "held webhooks" ? (result.subject ?? null) : null,
    partner_name: null,
  }));
}

function followedFeeds(source: SourceState, now: number): SystemOverview["feeds"] {
  const since = (at: Date | null) => (at === null ? null : Math.max(0, now - at.getTime()) / 1_000);
  return source.feeds
    .filter(({ checked_at: at }) => now - at.getTime() < FORGOTTEN_MS)
    .map((feed) => ({
      source: source.source,
      feed: feed.feed,
      state: feedState(feed, source, now),
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
