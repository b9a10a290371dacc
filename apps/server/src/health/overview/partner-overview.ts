import type { PartnerOverview } from "@bikeshare/contract/console";
import { keysOf } from "../../partners/keys/service.ts";
import { keyMinutesOf, usageToday } from "../../partners/request-log/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type EndpointView, findShownEndpoint } from "../../webhooks/endpoints/endpoint-view.ts";
import { type DeliverySummary, summarizeDeliveries } from "../../webhooks/log/deliveries.ts";
import { checkKeys, checkRequests, type PartnerCheckResult } from "../checks/key-checks.rules.ts";
import { factsOf } from "../checks/partner-checks.ts";
import { lacksWorker } from "../checks/system-checks.ts";
import { checkDeliveries, checkEndpoint, checkHeld } from "../checks/webhook-checks.rules.ts";
import { shownResults } from "./shown-checks.ts";
import { addCounts, keyLoads, lastHour, totalsByKey } from "./usage.rules.ts";

export interface OverviewContext {
  readonly db: Queryable;
  readonly clock: () => number;
  /** Requests in any 60 s for keys without a number of their own. */
  readonly rateLimit: number;
}

const DAY_MS = 86_400_000;

/** API usage and webhook health of a partner, and its checks. Every part costs one indexed statement. */
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
  const ids = keys.map(({ id }) => id);
  const [today, deliveries] = await Promise.all([
    usageToday(context, systemId, ids),
    endpoint && summarizeDeliveries(context, systemId, endpoint.id, new Date(now - DAY_MS)),
  ]);
  const facts = keys.map((key) => factsOf(key, context.rateLimit, now));
  const hour = addCounts(used);
  return {
    checks: shownResults(
      [
        ...webhookResults(endpoint, deliveries),
        ...checkKeys(facts, totalsByKey(used), { now, reader: "partner" }),
        ...checkRequests(hour, now),
      ].map((result) => ({ ...result, ...own })),
    ),
    minutes: starts.map((start) => start.toISOString()),
    keys: keyLoads(facts, used, starts),
    hour,
    today,
    endpoint: endpoint === undefined ? null : shownEndpoint(endpoint),
    deliveries: endpoint === undefined || deliveries === undefined ? null : deliveryCounts(endpoint, deliveries),
  };
}

/** The partner reads its own pages: nobody has to be named. */
const own = { partner_id: null, partner_name: null };

function webhookResults(
  endpoint: EndpointView | undefined,
  deliveries: DeliverySummary | undefined,
): PartnerCheckResult[] {
  if (endpoint === undefined || deliveries === undefined) return [noAddress];
  const whose = { reader: "partner" as const, ...own };
  return [
    ...checkEndpoint(endpoint, whose),
    ...checkHeld(endpoint, whose),
    ...checkDeliveries(deliveries, endpoint, own),
    ...unsent(endpoint),
    ...unreadable(endpoint),
  ];
}

const noAddress: PartnerCheckResult = {
  check: "webhook address",
  status: "info",
  detail: "No webhook address is set: events are kept, but none is sent to you.",
  fix: "Set an address, and choose the events that you want to receive.",
  ...own,
  link: { page: "webhook", query: {} },
};

/** The check of workers, for whom it delays. */
function unsent({ pending, workers }: EndpointView): PartnerCheckResult[] {
  if (pending === 0 || !lacksWorker(workers)) return [];
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

function unreadable({ unreadable_events: events }: EndpointView): PartnerCheckResult[] {
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
