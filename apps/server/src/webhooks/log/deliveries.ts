import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { recordActOf } from "../../audit/audit-log.ts";
import type { Queryable } from "../../db/database.ts";
import { commandError } from "../../errors/command-errors.ts";
import type { EndpointContext, PartnerScope } from "../endpoints/endpoint-context.ts";
import { mustBeThere } from "../endpoints/endpoint-lookup.ts";
import { type EndpointRow, findEndpoint } from "../endpoints/endpoint-queries.ts";
import { isRemoved } from "../endpoints/endpoint.ts";
import { tellDue } from "../queue/replay-queries.ts";
import { isTestDelivery } from "../queue/test-mark.ts";
import { countWorkers } from "../queue/worker-queries.ts";
import { dayOf } from "../rules/log-days.ts";
import type { DeliveryState } from "../rules/retry-policy.ts";
import { daysToLook } from "./delivery-days.ts";
import { explainDelivery, type Surroundings } from "./delivery-explanation.ts";
import {
  type AttemptRow,
  type DeliveryRow,
  findDelivery,
  type FoundDelivery,
  hurryDelivery,
  type LatestAttempt,
  listAttempts,
  listLatestAttempts,
  putDeliveryBack,
  selectDeliveries,
} from "./delivery-queries.ts";
import { readExchange, type Exchange } from "./exchange-view.ts";

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
  /** Made from then on, and before then. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** The id of the last delivery of the page before. */
  readonly after?: string | undefined;
  /** 1 to 200. */
  readonly limit?: number | undefined;
}

/** Deliveries on a page, at most. More make one look expensive, fewer only make pages shorter. */
export const MAX_DELIVERIES = 200;
const DEFAULT_DELIVERIES = 50;
const DAY = 86_400_000;
/** Longest wait between two attempts, with what chance adds, rounded up to days. */
const LONGEST_WAIT = DAY;

interface ReadContext {
  readonly db: Queryable;
  readonly clock: () => number;
}

/**
 * A partner's deliveries, the newest first, each explained.
 * @throws ServiceError when there is no endpoint, or `after` names no delivery of it
 */
export async function listDeliveries(context: ReadContext, filters: DeliveryFilters): Promise<DeliveryPage> {
  const { systemId, partnerId, limit = DEFAULT_DELIVERIES } = filters;
  if (!(limit >= 1 && limit <= MAX_DELIVERIES)) {
    throw commandError("invalid_parameter", "deliveriesLimit", { limit: MAX_DELIVERIES });
  }
  const { since = new Date(0), until = new Date(context.clock() + DAY) } = filters;
  if (filters.until !== undefined && since >= until) {
    throw commandError("invalid_parameter", "emptyRange");
  }
  const endpoint = await mustBeThere(context, await findEndpoint(context.db, systemId, partnerId), filters);
  const after = filters.after === undefined ? undefined : await mustFind(context, filters, filters.after);
  const rows = await selectDeliveries(context.db, {
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
  const around = await surroundingsOf(context, systemId, endpoint, page);
  return {
    deliveries: page.map((row) => viewOf(row, around, last.get(row.id))),
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
  const row = await mustFind(context, scope, id);
  const endpoint = await endpointOf(context, scope.systemId, row);
  const attempts = await listAttempts(context.db, scope.systemId, id, dayBefore(row.created_on), dayOf(now + DAY));
  return {
    ...viewOf(row, await surroundingsOf(context, scope.systemId, endpoint, [row]), attempts.at(-1)),
    partner_id: row.partner_id,
    exchanges: attempts.map((attempt: AttemptRow) => readExchange(attempt)),
  };
}

/** A delivery that was asked to be sent again. */
export interface Redelivery {
  readonly id: string;
  /**
   * `redelivered`: it was at rest, and begins a fresh schedule. `hurried`: it waited for its next attempt, which is due
   * now; its schedule goes on. `already_due`: it is in line or being sent, and nothing was changed.
   */
  readonly outcome: "redelivered" | "hurried" | "already_due";
}

/**
 * Sends a delivery again, now, under the same `delivery_id`.
 * @throws ServiceError when there is none, its endpoint is paused, or what it said is no longer kept
 */
export async function redeliver(context: EndpointContext, scope: DeliveryScope, id: string): Promise<Redelivery> {
  const { systemId } = scope;
  const row = await mustFind(context, scope, id);
  const endpoint = await endpointOf(context, systemId, row);
  if (isTestDelivery(id)) {
    throw commandError("invalid_parameter", "testDelivery", { id });
  }
  if (endpoint.status === "paused") {
    const message = isRemoved(endpoint) ? "endpointRemoved" : "endpointPaused";
    throw commandError("conflict", message, { partnerId: row.partner_id });
  }
  if (!row.has_body) {
    throw commandError("conflict", "deliveryNotKept", { id, days: EVENT_RETENTION_DAYS });
  }
  return context.db.transaction(async (tx) => {
    const now = new Date(context.clock());
    const isBack = await putDeliveryBack(tx, systemId, row, now);
    const isHurried = !isBack && (await hurryDelivery(tx, systemId, id, now));
    if (!isBack && !isHurried) return { id, outcome: "already_due" };
    const detail = { partner_id: row.partner_id, was: row.status };
    await recordActOf(context, tx, { systemId, at: now, action: "webhook.redelivered", subject: id, detail });
    await tellDue(tx, systemId);
    return { id, outcome: isBack ? "redelivered" : "hurried" };
  });
}

async function mustFind({ db, clock }: ReadContext, scope: DeliveryScope, id: string): Promise<FoundDelivery> {
  const row = await findDelivery(db, scope.systemId, id, daysToLook(id, clock()));
  if (row !== undefined && (scope.partnerId === null || row.partner_id === scope.partnerId)) return row;
  throw commandError("not_found", "delivery", { id, days: EVENT_RETENTION_DAYS });
}

async function endpointOf({ db }: ReadContext, systemId: string, row: FoundDelivery): Promise<EndpointRow> {
  const scope = { systemId, partnerId: row.partner_id };
  return mustBeThere({ db }, await findEndpoint(db, systemId, row.partner_id), scope);
}

/** What waits is explained by whether anybody sends: asked only where something waits. */
async function surroundingsOf(
  { db, clock }: ReadContext,
  systemId: string,
  endpoint: EndpointRow,
  rows: readonly DeliveryRow[],
): Promise<Surroundings> {
  const isPending = rows.some(({ status }) => status === "pending");
  return { endpoint, isSending: !isPending || (await countWorkers(db, systemId)) > 0, now: clock() };
}

function viewOf(row: DeliveryRow, around: Surroundings, last: LatestAttempt | AttemptRow | undefined): DeliveryView {
  const { id, event, event_id, created_at, status, attempts, finished_at } = row;
  const explanation = explainDelivery(row, around, last);
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
    const waits = row.due_at === null ? DAY : LONGEST_WAIT + Math.max(0, clock() - row.due_at.getTime());
    const from = dayOf(Math.max(ended.getTime() - waits, Date.parse(row.created_on) - DAY));
    return [{ id: row.id, number: row.attempts, from, to: dayOf(ended.getTime()) }];
  });
  if (wanted.length === 0) return new Map();
  const latest = await listLatestAttempts(db, systemId, wanted);
  return new Map(latest.map((attempt) => [attempt.delivery_id, attempt]));
}

function dayBefore(day: string): string {
  return dayOf(Date.parse(day) - DAY);
}
