import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import type { Queryable } from "../../db/database.ts";
import { commandError } from "../../errors/command-errors.ts";
import { timeOfId } from "../../ids.ts";
import { addDays, dayOf } from "../../partitions/partition.rules.ts";
import { type PartnerScope, requireEndpointOrRemoved } from "../endpoints/endpoint-context.ts";
import type { EndpointRow } from "../endpoints/endpoint-queries.ts";
import { countWorkers } from "../queue/lane-queries.ts";
import type { DeliveryState } from "../rules/retry-policy.ts";
import {
  type AttemptRow,
  type DeliveryRow,
  findDelivery,
  type FoundDelivery,
  type LatestAttempt,
  listAttempts,
  listDeliveryRows,
  listLatestAttempts,
} from "./delivery-queries.ts";
import { type Circumstances, type Exchange, explainDelivery, readExchange } from "./delivery-view.ts";

/** A delivery as its partner sees it. */
interface DeliveryView extends Pick<
  DeliveryRow,
  "id" | "event" | "event_id" | "created_at" | "status" | "attempts" | "finished_at"
> {
  /** When the next attempt is due; null: none is. */
  readonly next_attempt_at: Date | null;
  /** What its state means, in words. */
  readonly explanation: string;
}

export interface DeliveryPage {
  readonly deliveries: readonly DeliveryView[];
  /** What to give as `after` for the next page; null: this was the last. */
  readonly next: string | null;
}

export interface DeliveryFilters extends PartnerScope {
  readonly status?: DeliveryState | undefined;
  readonly event?: string | undefined;
  /** Created from then on, and before then. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** The id of the last delivery of the page before. */
  readonly after?: string | undefined;
  /** 1 to 200. */
  readonly limit?: number | undefined;
}

/** Deliveries on a page, at most. More make one command expensive, fewer only make pages shorter. */
export const MAX_DELIVERIES = 200;
const DEFAULT_DELIVERIES = 50;
const DAY_MS = 86_400_000;
/** Milliseconds: the longest wait between two attempts, with what chance adds, rounded up to days. */
const LONGEST_WAIT_MS = DAY_MS;

interface ReadContext {
  readonly db: Queryable;
  readonly clock: () => number;
}

/**
 * A partner's deliveries, the newest first, each explained.
 * @throws ServiceError when there is no endpoint, or `after` names no delivery of it
 */
export async function listDeliveries(context: ReadContext, filters: DeliveryFilters): Promise<DeliveryPage> {
  const { systemId, limit = DEFAULT_DELIVERIES } = filters;
  if (!(limit >= 1 && limit <= MAX_DELIVERIES)) {
    throw commandError("invalid_parameter", "deliveriesLimit", { limit: MAX_DELIVERIES });
  }
  const { since = new Date(0), until = new Date(context.clock() + DAY_MS) } = filters;
  if (filters.until !== undefined && since >= until) {
    throw commandError("invalid_parameter", "emptyRange");
  }
  const endpoint = await requireEndpointOrRemoved(context.db, filters);
  const after = filters.after === undefined ? undefined : await requireDelivery(context, filters, filters.after);
  const rows = await listDeliveryRows(context.db, {
    systemId,
    endpointId: endpoint.id,
    after,
    status: filters.status,
    event: filters.event,
    since,
    until,
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  const last = await latestAttempts(context, systemId, page);
  const circumstances = await circumstancesOf(context, systemId, endpoint, page);
  return {
    deliveries: page.map((row) => viewOf(row, circumstances, last.get(row.id))),
    next: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}

/** A delivery with every attempt that the log keeps. */
export interface DeliveryDetail extends DeliveryView {
  readonly partner_id: string;
  readonly exchanges: readonly Exchange[];
}

/** Whose delivery: one partner's, or (null) any of the system's, for operators. */
export interface DeliveryScope {
  readonly systemId: string;
  readonly partnerId: string | null;
}

/**
 * One delivery with its attempts.
 * @throws ServiceError when there is none, or it is another partner's
 */
export async function showDelivery(context: ReadContext, scope: DeliveryScope, id: string): Promise<DeliveryDetail> {
  const now = context.clock();
  const row = await requireDelivery(context, scope, id);
  const endpoint = await endpointOf(context, scope.systemId, row);
  const attempts = await listAttempts(context.db, scope.systemId, id, addDays(row.created_on, -1), dayOf(now + DAY_MS));
  return {
    ...viewOf(row, await circumstancesOf(context, scope.systemId, endpoint, [row]), attempts.at(-1)),
    partner_id: row.partner_id,
    exchanges: attempts.map((attempt: AttemptRow) => readExchange(attempt)),
  };
}

export async function requireDelivery(
  { db, clock }: ReadContext,
  scope: DeliveryScope,
  id: string,
): Promise<FoundDelivery> {
  const row = await findDelivery(db, scope.systemId, id, daysToSearch(id, clock()));
  if (row !== undefined && (scope.partnerId === null || row.partner_id === scope.partnerId)) return row;
  throw commandError("not_found", "delivery", { id, days: EVENT_RETENTION_DAYS });
}

export async function endpointOf({ db }: ReadContext, systemId: string, row: FoundDelivery): Promise<EndpointRow> {
  return requireEndpointOrRemoved(db, { systemId, partnerId: row.partner_id });
}

/** What waits is explained by whether anybody sends: asked only where something waits. */
async function circumstancesOf(
  { db, clock }: ReadContext,
  systemId: string,
  endpoint: EndpointRow,
  rows: readonly DeliveryRow[],
): Promise<Circumstances> {
  const isPending = rows.some(({ status }) => status === "pending");
  return { endpoint, isSending: !isPending || (await countWorkers(db, systemId)) > 0, now: clock() };
}

function viewOf(
  row: DeliveryRow,
  circumstances: Circumstances,
  last: LatestAttempt | AttemptRow | undefined,
): DeliveryView {
  const { id, event, event_id, created_at, status, attempts, finished_at } = row;
  const explanation = explainDelivery(row, circumstances, last);
  return { id, event, event_id, created_at, status, attempts, finished_at, next_attempt_at: row.due_at, explanation };
}

/** The latest attempt of each delivery. The log lies by day: where to look follows from when it ended or goes on. */
async function latestAttempts(
  { db, clock }: ReadContext,
  systemId: string,
  rows: readonly DeliveryRow[],
): Promise<Map<string, LatestAttempt>> {
  const wanted = rows.flatMap((row) => {
    if (row.attempts === 0) return [];
    const ended = row.finished_at ?? new Date(clock());
    const waits = row.due_at === null ? DAY_MS : LONGEST_WAIT_MS + Math.max(0, clock() - row.due_at.getTime());
    const from = dayOf(Math.max(ended.getTime() - waits, Date.parse(row.created_on) - DAY_MS));
    return [{ id: row.id, number: row.attempts, from, to: dayOf(ended.getTime()) }];
  });
  if (wanted.length === 0) return new Map();
  const latest = await listLatestAttempts(db, systemId, wanted);
  return new Map(latest.map((attempt) => [attempt.delivery_id, attempt]));
}

/**
 * The days on which a delivery may have been created, the likeliest first: its id has the time of its event; where it has
 * none, any day that is kept. Some to spare, because days are dropped late rather than early.
 */
function daysToSearch(deliveryId: string, now: number): string[] {
  const made = timeOfId(deliveryId);
  const kept = Array.from({ length: EVENT_RETENTION_DAYS + 3 }, (_, i) => now + DAY_MS - i * DAY_MS);
  const likely = made === undefined ? [] : [made, made - DAY_MS, made + DAY_MS];
  return [...new Set([...likely, ...kept].map(dayOf))];
}
