import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import { commandError } from "../../command-errors.ts";
import { timeOfId } from "../../ids.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type PositionCodec, timePosition } from "../../storage/lists/page.ts";
import { addDays, dayOf } from "../../storage/partitions/partition.rules.ts";
import { type EndpointScope, requireEndpointOrRemoved, requirePartner } from "../endpoints/endpoint-context.ts";
import { type EndpointRow, findEndpoint, listEndpointsOf } from "../endpoints/endpoint-queries.ts";
import { countWorkers } from "../queue/lane-queries.ts";
import type { DeliveryFilter } from "./delivery-filter.rules.ts";
import {
  type AttemptRow,
  type ChangeRow,
  countRecentDeliveries,
  type DeliveryRow,
  type DeliverySummary,
  findDelivery,
  findNextProblem,
  type FoundDelivery,
  type LatestAttempt,
  listAttempts,
  listFoundDeliveries,
  listLatestAttempts,
  listNewestDeliveries,
} from "./delivery-queries.ts";
import { commandHints, type Exchange, explainDelivery, type Hints, readExchange } from "./delivery-view.ts";
import type { DeliveryPosition, SearchRange } from "./search-sql-fragments.ts";

/* Lists and shows deliveries, and finds out which of the newest ones have changed. */

/** A delivery as its partner sees it. */
export interface DeliveryView extends Pick<
  DeliveryRow,
  | "id"
  | "endpoint_id"
  | "event"
  | "event_id"
  | "resource_id"
  | "created_at"
  | "status"
  | "attempts"
  | "latest_code"
  | "latest_failure"
  | "finished_at"
> {
  /** When the next attempt is due; null: none is. */
  readonly next_attempt_at: Date | null;
  /** An explanation of the delivery's state. */
  readonly explanation: string;
  /** The name of its endpoint. */
  readonly endpoint_name: string;
}

/** A page of a list of deliveries, newest first. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryView[];
  /** The position behind which the next page begins; null: this was the last. */
  readonly next: DeliveryPosition | null;
  /**
   * The time back to which an incomplete page was searched: older deliveries may follow. Null: the page is full, or the
   * last.
   */
  readonly searchedTo: Date | null;
}

/**
 * A page request for a partner's deliveries. Without `endpointRef`, it lists the deliveries of all endpoints that the
 * partner has or had.
 */
export interface DeliveryListInput extends EndpointScope, DeliveryFilter {
  /** The position, or the id of the delivery, behind which the page begins. */
  readonly after?: DeliveryPosition | string | undefined;
  /** 1 to 200. */
  readonly limit?: number | undefined;
}

/** Encodes the position of a delivery in the list, for cursors. */
export const deliveryPosition: PositionCodec<DeliveryPosition> = {
  encode: ({ created_at: at, id }) => timePosition.encode({ at: at.toISOString(), id }),
  decode(text) {
    const position = timePosition.decode(text);
    return position && { created_at: new Date(position.at), id: position.id };
  },
};

/** Maximum deliveries on a page. Too low: makes pages short. Too high: makes one request expensive. */
export const MAX_DELIVERIES = 200;
const DEFAULT_DELIVERIES = 50;
const DAY_MS = 86_400_000;
/** Milliseconds: the longest wait between two attempts, including jitter, rounded up to days. */
const LONGEST_WAIT_MS = DAY_MS;

/** The context of functions that read deliveries. */
export interface ReadContext {
  readonly db: Queryable;
  readonly clock: () => number;
  /** The remedies in explanations; commands by default. */
  readonly hints?: Hints;
}

/**
 * Returns a partner's deliveries, the newest first, each explained.
 * @throws ServiceError when there is no endpoint, `after` names no delivery of the partner's, or the limit or the range of
 * time is not allowed
 */
export async function listDeliveries(context: ReadContext, input: DeliveryListInput): Promise<DeliveryPage> {
  return listDeliveriesOf(context, input, await listedEndpoints(context.db, input));
}

/** Like `listDeliveries`. If the input names no endpoint, a partner that never had one gets an empty page. */
export async function listPartnersDeliveries(context: ReadContext, input: DeliveryListInput): Promise<DeliveryPage> {
  if (input.endpointRef !== undefined) return listDeliveries(context, input);
  return listDeliveriesOf(context, input, await listEndpointsOf(context.db, input.systemId, input.partnerId));
}

/**
 * Returns the endpoint that a scope names, or all that the partner has or had.
 * @throws ServiceError when there is none
 */
export async function listedEndpoints(db: Queryable, scope: EndpointScope): Promise<readonly EndpointRow[]> {
  if (scope.endpointRef !== undefined) return [await requireEndpointOrRemoved(db, scope)];
  const all = await listEndpointsOf(db, scope.systemId, scope.partnerId);
  if (all.length > 0) return all;
  await requirePartner({ db }, scope);
  throw commandError("not_found", "endpoint", { partnerId: scope.partnerId });
}

async function listDeliveriesOf(
  context: ReadContext,
  input: DeliveryListInput,
  endpoints: readonly EndpointRow[],
): Promise<DeliveryPage> {
  const { systemId, after, limit = DEFAULT_DELIVERIES, ...filter } = input;
  // Also refuses NaN.
  if (!(limit >= 1 && limit <= MAX_DELIVERIES)) {
    throw commandError("invalid_parameter", "deliveriesLimit", { limit: MAX_DELIVERIES });
  }
  const position = typeof after === "string" ? await requireDelivery(context, input, after) : after;
  const range = searchOf(context, { systemId, filter, after: position });
  const search = { ...range, endpointIds: endpoints.map(({ id }) => id) };
  // One more than the page shows: it tells whether another page follows.
  const { rows, stoppedAt } = await listFoundDeliveries(context.db, search, limit + 1);
  const page = rows.slice(0, limit);
  const isFull = rows.length > limit;
  return {
    deliveries: await viewsOf(context, systemId, endpoints, page),
    next: isFull ? positionOf(page.at(-1)) : stoppedAt,
    searchedTo: isFull ? null : (stoppedAt?.created_at ?? null),
  };
}

/**
 * Returns a search for the deliveries that match a filter, newest first, from the end of its time range or from a position.
 * @throws ServiceError when `since` is not before `until`
 */
export function searchOf(
  { clock }: Pick<ReadContext, "clock">,
  {
    systemId,
    filter,
    after,
  }: Pick<SearchRange, "systemId" | "filter"> & { readonly after?: DeliveryPosition | undefined },
): SearchRange {
  const { since = new Date(0), until = new Date(clock() + DAY_MS) } = filter;
  if (filter.until !== undefined && since >= until) throw serviceError("invalid_parameter", "deliveriesReversed");
  // The empty id sorts first, so deliveries created at `until` are left out.
  const before = after !== undefined && after.created_at < until ? after : { created_at: until, id: "" };
  return { systemId, filter, since, before };
}

function positionOf(row: DeliveryRow | undefined): DeliveryPosition | null {
  return row === undefined ? null : { created_at: row.created_at, id: row.id };
}

/** Returns the views of deliveries, each explained by its latest attempt. @param endpoints those of the deliveries */
async function viewsOf(
  context: ReadContext,
  systemId: string,
  endpoints: readonly EndpointRow[],
  rows: readonly DeliveryRow[],
): Promise<DeliveryView[]> {
  const last = await latestAttempts(context, systemId, rows);
  const isSending = await findWhetherSending(context, systemId, rows);
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  return rows.flatMap((row) => {
    const endpoint = byId.get(row.endpoint_id);
    return endpoint === undefined ? [] : [viewOf(context, row, { endpoint, isSending }, last.get(row.id))];
  });
}

/** A delivery with its logged attempts, oldest first: all of them, or the latest (`showDelivery`). */
export interface DeliveryDetail extends DeliveryView {
  readonly partner_id: string;
  readonly exchanges: readonly Exchange[];
}

/** The owner of a delivery: one partner, or (null) any of the system, for operators. */
export interface DeliveryScope {
  readonly systemId: string;
  readonly partnerId: string | null;
}

/**
 * Returns one delivery with its attempts.
 * @param latest maximum number of attempts, counted from the latest; undefined: all
 * @throws ServiceError when there is none, or it is another partner's
 */
export async function showDelivery(
  context: ReadContext,
  scope: DeliveryScope,
  id: string,
  latest?: number,
): Promise<DeliveryDetail> {
  const now = context.clock();
  const row = await requireDelivery(context, scope, id);
  const endpoint = await endpointOf(context, scope.systemId, row);
  const days = { from: addDays(row.created_on, -1), to: dayOf(now + DAY_MS) };
  const attempts = await listAttempts(context.db, scope.systemId, { id, ...days, limit: latest });
  const isSending = await findWhetherSending(context, scope.systemId, [row]);
  return {
    ...viewOf(context, row, { endpoint, isSending }, attempts.at(-1)),
    partner_id: row.partner_id,
    exchanges: attempts.map((attempt, index) =>
      index < attempts.length - 1 ? readExchange(attempt) : withDueTime(readExchange(attempt), row.due_at),
    ),
  };
}

/**
 * Returns the latest attempt with the time at which the next one is due now. The time that was planned after the attempt no
 * longer holds once the delivery is held, sent again or given up.
 */
function withDueTime(exchange: Exchange, dueAt: Date | null): Exchange {
  const isPlanned = exchange.next_attempt_at?.getTime() === dueAt?.getTime();
  return isPlanned ? exchange : { ...exchange, next_attempt_at: dueAt, next_attempt_reason: null };
}

/**
 * Returns the ids of the nearest older and newer deliveries to the same endpoint that are failing, or were given up,
 * dropped or skipped; null: there is none.
 */
export async function findFailingBeside(
  { db }: Pick<ReadContext, "db">,
  systemId: string,
  { endpoint_id: endpointId, ...from }: DeliveryPosition & { readonly endpoint_id: string },
): Promise<{ readonly older: string | null; readonly newer: string | null }> {
  const find = (direction: "older" | "newer") => findNextProblem(db, { systemId, endpointId }, from, direction);
  const [older, newer] = await Promise.all([find("older"), find("newer")]);
  return { older, newer };
}

/** @throws ServiceError when there is no such delivery, it is another partner's, or it is no longer stored */
export async function requireDelivery(
  { db, clock }: ReadContext,
  scope: DeliveryScope,
  id: string,
): Promise<FoundDelivery> {
  const row = await findDelivery(db, scope.systemId, id, daysToSearch(id, clock()));
  if (row !== undefined && (scope.partnerId === null || row.partner_id === scope.partnerId)) return row;
  throw commandError("not_found", "delivery", { id, days: EVENT_RETENTION_DAYS });
}

/** Returns a delivery's endpoint, also a removed one. */
export async function endpointOf({ db }: ReadContext, systemId: string, row: FoundDelivery): Promise<EndpointRow> {
  return findEndpoint(db, systemId, row.endpoint_id);
}

/**
 * Tells whether any worker sends the system's webhooks, which the explanation of a pending delivery needs. Returns true
 * without a query if no row is pending.
 */
async function findWhetherSending(
  { db }: ReadContext,
  systemId: string,
  rows: readonly DeliveryRow[],
): Promise<boolean> {
  const isAnyPending = rows.some(({ status }) => status === "pending");
  return !isAnyPending || (await countWorkers(db, systemId)) > 0;
}

function viewOf(
  { clock, hints = commandHints }: ReadContext,
  row: DeliveryRow,
  { endpoint, isSending }: { readonly endpoint: EndpointRow; readonly isSending: boolean },
  last: LatestAttempt | AttemptRow | undefined,
): DeliveryView {
  return {
    id: row.id,
    endpoint_id: row.endpoint_id,
    event: row.event,
    event_id: row.event_id,
    resource_id: row.resource_id,
    created_at: row.created_at,
    status: row.status,
    attempts: row.attempts,
    latest_code: row.latest_code,
    latest_failure: row.latest_failure,
    finished_at: row.finished_at,
    next_attempt_at: row.due_at,
    explanation: explainDelivery(row, { endpoint, isSending, now: clock(), hints }, last),
    endpoint_name: endpoint.name,
  };
}

/**
 * Returns the latest attempt of each delivery. The log is partitioned by day: the days to search follow from when the
 * delivery ended or is due.
 */
async function latestAttempts(
  { db, clock }: ReadContext,
  systemId: string,
  rows: readonly DeliveryRow[],
): Promise<Map<string, LatestAttempt>> {
  const wanted = rows.flatMap((row) => {
    if (row.attempts === 0) return [];
    const ended = row.finished_at ?? new Date(clock());
    // The latest attempt ended at most one wait before the delivery was given up or became due. One that is due may
    // have been so for long. If a delivery was held for longer before it was dropped, or was sent again much later, its
    // latest attempt is not found until the next one is made.
    const overdueMs = row.due_at === null ? 0 : Math.max(0, clock() - row.due_at.getTime());
    const from = dayOf(Math.max(ended.getTime() - LONGEST_WAIT_MS - overdueMs, Date.parse(row.created_on) - DAY_MS));
    return [{ id: row.id, number: row.attempts, from, to: dayOf(ended.getTime()) }];
  });
  if (wanted.length === 0) return new Map();
  const latest = await listLatestAttempts(db, systemId, wanted);
  return new Map(latest.map((attempt) => [attempt.delivery_id, attempt]));
}

/**
 * Returns the days on which a delivery may have been created: the day of the time in its id, and the days before and after
 * it; all stored days if the id has no time.
 */
export function likelyDays(deliveryId: string, now: number): string[] {
  const made = timeOfId(deliveryId);
  return made === undefined ? daysToSearch(deliveryId, now) : [made, made - DAY_MS, made + DAY_MS].map(dayOf);
}

/**
 * Returns the days on which a delivery may have been created, the likeliest first: the days around the time in its id, if it
 * has one, then all stored days. Adds a few days, because old days are dropped late.
 */
function daysToSearch(deliveryId: string, now: number): string[] {
  const made = timeOfId(deliveryId);
  const kept = Array.from({ length: EVENT_RETENTION_DAYS + 3 }, (_, i) => now + DAY_MS - i * DAY_MS);
  const likely = made === undefined ? [] : [made, made - DAY_MS, made + DAY_MS];
  return [...new Set([...likely, ...kept].map(dayOf))];
}

export type { DeliverySummary } from "./delivery-queries.ts";

/** Maximum deliveries that are counted of each kind. It bounds the cost of an overview. */
const MAX_COUNTED = 20_000;

/** Returns a summary of an endpoint's deliveries since an instant. */
export function summarizeDeliveries(
  { db }: Pick<ReadContext, "db">,
  systemId: string,
  endpointId: string,
  since: Date,
): Promise<DeliverySummary> {
  return countRecentDeliveries(db, systemId, endpointId, since, MAX_COUNTED);
}

/**
 * The newest deliveries of an endpoint, whose changes are reported to open pages. Older ones change rarely, and few pages
 * show them.
 */
const FOLLOWED_DELIVERIES = 200;
/** Maximum ids in one report of changes. */
const MAX_IDS = 50;

/** The changes of an endpoint's deliveries since the last poll. */
interface Changes {
  readonly endpointId: string;
  /** The newest first. */
  readonly ids: readonly string[];
  /** There are more changes than those listed. */
  readonly more: boolean;
}

/** Finds out which of the newest deliveries of some endpoints have changed, by reading them again and again. */
export class DeliveryChanges {
  /** The last seen state of each of the newest deliveries, by its id; these by system and endpoint. */
  readonly #seen = new Map<string, ReadonlyMap<string, string>>();

  /** Reads all of a system's watched endpoints in one statement. The first poll of an endpoint reports no change. */
  async poll(db: Queryable, systemId: string, endpointIds: readonly string[]): Promise<Changes[]> {
    const rows = await listNewestDeliveries(db, systemId, endpointIds, FOLLOWED_DELIVERIES);
    const byEndpoint = Map.groupBy(rows, (row) => row.endpoint_id);
    return endpointIds.flatMap((endpointId) => {
      const states = new Map((byEndpoint.get(endpointId) ?? []).map((row) => [row.id, stateOf(row)]));
      const before = this.#seen.get(`${systemId}\n${endpointId}`);
      this.#seen.set(`${systemId}\n${endpointId}`, states);
      if (before === undefined) return [];
      const ids = [...states].flatMap(([id, state]) => (before.get(id) === state ? [] : [id]));
      return ids.length === 0 ? [] : [{ endpointId, ids: ids.slice(0, MAX_IDS), more: ids.length > MAX_IDS }];
    });
  }

  /** Forgets endpoints without a watcher. @param isWatched whether somebody watches an endpoint of a system */
  forget(isWatched: (systemId: string, endpointId: string) => boolean): void {
    for (const key of [...this.#seen.keys()]) {
      const [systemId = "", endpointId = ""] = key.split("\n");
      if (!isWatched(systemId, endpointId)) this.#seen.delete(key);
    }
  }
}

/** Returns the properties by which a change of a delivery is noticed, as one text. */
function stateOf({ status, attempts, latest_failure: failure }: ChangeRow): string {
  return `${status} ${attempts} ${failure ?? ""}`;
}
