import type { PartnerOverview, Problem } from "@bikeshare/contract/console";
import type { KeyRow } from "../../partners/keys/service.ts";
import { keysOf } from "../../partners/keys/service.ts";
import { keyMinutesOf, usageToday } from "../../partners/request-log/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type EndpointView, findShownEndpoint } from "../../webhooks/endpoints/endpoint-view.ts";
import { type DeliverySummary, summarizeDeliveries } from "../../webhooks/log/delivery-summary.ts";
import { factsOf } from "./key-facts.ts";
import { type KeyFacts, keyProblems, requestProblems } from "./key-problems.rules.ts";
import { addCounts, type KeyMinute, keyLoads, lastHour, totalsByKey } from "./usage.rules.ts";
import { deliveryProblems, endpointProblems } from "./webhook-problems.rules.ts";

export interface OverviewContext {
  readonly db: Queryable;
  readonly clock: () => number;
  /** Requests in any 60 s for keys without a number of their own. */
  readonly rateLimit: number;
}

export interface SystemOverviewContext extends OverviewContext {
  /** Milliseconds after which a ride is under way for too long. */
  readonly longRideAfterMs: number;
}

const DAY_MS = 86_400_000;

/** How a partner's keys and webhooks do, what fails and what to do. Every part costs one indexed statement. */
export async function partnerOverview(
  context: OverviewContext,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string },
): Promise<PartnerOverview> {
  const now = context.clock();
  const { starts, since } = lastHour(now);
  const [keys, used, endpoint] = await Promise.all([
    keysOf(context, systemId, partnerId),
    keyMinutesOf(context, systemId, partnerId, since),
    findShownEndpoint(context, { systemId, partnerId }),
  ]);
  const [today, deliveries] = await Promise.all([
    usageToday(context, systemId, idsOf(keys)),
    endpoint && summarizeDeliveries(context, systemId, endpoint.id, new Date(now - DAY_MS)),
  ]);
  const facts = keys.map((key) => factsOf(key, context.rateLimit, now));
  const hour = addCounts(used);
  return {
    problems: [
      ...webhookProblems(endpoint, deliveries),
      ...partnerKeyProblems(facts, used, now),
      ...requestProblems(hour, now),
    ].toSorted(bySeverity),
    minutes: starts.map((start) => start.toISOString()),
    keys: keyLoads(facts, used, starts),
    hour,
    today,
    endpoint: endpoint === undefined ? null : shownEndpoint(endpoint),
    deliveries: endpoint === undefined || deliveries === undefined ? null : deliveryCounts(endpoint, deliveries),
  };
}

function idsOf(keys: readonly KeyRow[]): readonly string[] {
  return keys.map(({ id }) => id);
}

/** The partner reads its own pages: nobody has to be named. */
const own = { partner_id: null, partner_name: null };

function partnerKeyProblems(facts: readonly KeyFacts[], used: readonly KeyMinute[], now: number): Problem[] {
  return keyProblems(facts, totalsByKey(used), { now, reader: "partner" }).map((problem) => ({ ...problem, ...own }));
}

function webhookProblems(endpoint: EndpointView | undefined, deliveries: DeliverySummary | undefined): Problem[] {
  if (endpoint === undefined || deliveries === undefined) return [noEndpoint];
  return [
    ...endpointProblems(endpoint, { reader: "partner", ...own }),
    ...deliveryProblems(deliveries, endpoint, own),
    ...unsent(endpoint),
    ...unreadable(endpoint),
  ];
}

const noEndpoint: Problem = {
  code: "no_endpoint",
  severity: "info",
  text: "No webhook address is set: events are kept, but none is sent to you.",
  action: "Set an address, and choose the events that you want to receive.",
  at: null,
  ...own,
  link: { page: "webhook", query: {} },
};

function unsent({ pending, workers }: EndpointView): Problem[] {
  if (pending === 0 || workers > 0) return [];
  return [
    {
      code: "no_worker",
      severity: "danger",
      text: "The service sends no webhooks at present. Yours wait.",
      action: "Nothing is lost, and nothing is for you to do. Tell the operator if it stays.",
      at: null,
      ...own,
      link: { page: "deliveries", query: { status: "pending" } },
    },
  ];
}

function unreadable({ unreadable_events: events }: EndpointView): Problem[] {
  if (events.length === 0) return [];
  return [
    {
      code: "unreadable_events",
      severity: "warning",
      text: `No key of yours may read what these events are about: ${events.join(", ")}.`,
      action: "Create a key with that scope, ask the operator for one, or choose fewer events.",
      at: null,
      ...own,
      link: { page: "webhook", query: {} },
    },
  ];
}

function shownEndpoint(endpoint: EndpointView): PartnerOverview["endpoint"] {
  return {
    status: endpoint.status,
    status_text: endpoint.status_text,
    url: endpoint.url ?? "",
    failing_since: endpoint.failing_since?.toISOString() ?? null,
    oldest_due_at: endpoint.oldest_due?.toISOString() ?? null,
  };
}

function deliveryCounts(
  { pending, held }: EndpointView,
  { succeeded, given_up, failing, is_complete }: DeliverySummary,
): PartnerOverview["deliveries"] {
  return { succeeded, given_up, pending, failing, held, is_complete };
}

const severities: readonly Problem["severity"][] = ["danger", "warning", "info"];

/** The worst first. */
export function bySeverity(one: Problem, other: Problem): number {
  return severities.indexOf(one.severity) - severities.indexOf(other.severity);
}
