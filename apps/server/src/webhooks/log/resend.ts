import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import { createTestDelivery } from "@bikeshare/webhooks/testing";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Database, Queryable, Transaction } from "../../storage/db/database.ts";
import {
  type EndpointScope,
  expandEvents,
  isRemoved,
  offeredEvents,
  recordEndpointAct,
  requireEndpoint,
  requireEndpointOrRemoved,
} from "../endpoints/endpoint-context.ts";
import type { EndpointRow } from "../endpoints/endpoint-queries.ts";
import {
  insertRedelivery,
  insertTestDelivery,
  notifyQueued,
  updateAllDueNow,
  updateDueNow,
} from "../queue/enqueue-queries.ts";
import { countWorkers } from "../queue/lane-queries.ts";
import {
  countQueuedReplays,
  countReplayable,
  findReplay,
  insertHeldBatch,
  insertReplay,
  insertReplayBatch,
  listUnfinishedReplays,
  type LockedReplay,
  lockReplay,
  type ReplayRange,
  type ReplayRow,
  updateReplayFinished,
  updateReplaysStopped,
} from "../queue/replay-queries.ts";
import { isTestDelivery, TEST_SUFFIX } from "../queue/sql-fragments.ts";
import { MAX_TRIES } from "../rules/after-attempt.ts";
import {
  type BulkResendRow,
  countChosen,
  findBulkResend,
  insertBulkResend,
  MAX_RESENDS,
  type NamedDeliveries,
} from "./bulk-resend-queries.ts";
import { type DeliveryScope, endpointOf, likelyDays, requireDelivery, searchOf } from "./deliveries.ts";
import type { DeliveryFilter } from "./delivery-filter.rules.ts";
import type { EndpointSearch } from "./search-sql-fragments.ts";

/* Sends deliveries again: one of them, a range (a replay) or a choice (a bulk resend). Also sends test deliveries. */

/** Statuses that a replay can choose; pending deliveries are sent anyway. */
export const replayableStates = ["succeeded", "failed", "held"] as const satisfies ReplayRange["statuses"];
type ReplayableState = (typeof replayableStates)[number];

/** A request for a replay of an endpoint's deliveries. */
export interface ReplayInput extends EndpointScope {
  /** Deliveries created from then on. */
  readonly since: Date;
  /** The end of the range, exclusive; now by default. */
  readonly until?: Date | undefined;
  /** Left out: all that are not pending. */
  readonly statuses?: readonly ReplayableState[] | undefined;
  /** Only count. */
  readonly dryRun?: boolean | undefined;
}

/** A replay that was created, or only counted. */
export interface Replay {
  /** Null: only counted. */
  readonly id: string | null;
  /** Deliveries that it sends. */
  readonly total: number;
  readonly since: Date;
  readonly until: Date;
  /** The status of the endpoint: a replay waits until the endpoint is `active`. */
  readonly endpoint_status: "active" | "probing" | "paused";
}

/**
 * Sends a range of deliveries again, after regular ones. The deliveries are counted and recorded at once: later changes do
 * not affect the replay.
 * @throws ServiceError when there is no endpoint, or `since` is not before `until`
 */
export async function createReplay(context: ActorContext, input: ReplayInput): Promise<Replay> {
  const { systemId, since, statuses = replayableStates, dryRun = false } = input;
  const now = new Date(context.clock());
  // One millisecond later, so that deliveries of the present millisecond are included.
  const end = new Date(now.getTime() + 1);
  const until = input.until === undefined || input.until > end ? end : input.until;
  if (since >= until) throw commandError("invalid_parameter", "emptyReplay");
  return context.db.transaction(async (tx) => {
    const endpoint = await requireEndpoint(tx, input);
    const range = { systemId, endpointId: endpoint.id, since, until, statuses };
    const about = { since, until, endpoint_status: endpoint.status };
    if (dryRun) return { id: null, total: await countReplayable(tx, range), ...about };
    const { id, total } = await insertReplay(tx, range, context.ids.next("replay"), now);
    const detail = { replay_id: id, since, until, statuses, total };
    await recordEndpointAct(context, tx, systemId, "webhook.replayed", endpoint.id, detail);
    return { id, total, ...about };
  });
}

/** A replay that was asked to stop. */
export interface StoppedReplay extends ReplayRow {
  /** False: it was finished already. */
  readonly changed: boolean;
}

/**
 * Stops a replay: queued deliveries are sent, the others stay as they are.
 * @throws ServiceError when there is no such replay
 */
export async function stopReplay(context: ActorContext, systemId: string, id: string): Promise<StoppedReplay> {
  const { db, clock } = context;
  return db.transaction(async (tx) => {
    const at = new Date(clock());
    const [stopped] = await updateReplaysStopped(tx, systemId, { id }, at);
    if (stopped === undefined) {
      const finished = await findReplay(tx, systemId, id);
      if (finished !== undefined) return { ...finished, changed: false };
      throw commandError("not_found", "replay", { id });
    }
    const { total, queued } = stopped;
    const detail = { total, queued };
    await insertActOf(context, tx, { systemId, at, action: "webhook.replay_stopped", subject: id, detail });
    return { ...stopped, changed: true };
  });
}

/**
 * Replayed deliveries of an endpoint that are queued at a time. Too low: the endpoint idles. Too high: lengthens the
 * queue without benefit.
 */
const MAX_QUEUED = 1_000;

/**
 * Queues the next deliveries of the first unfinished replay of each active endpoint, until `maxQueued` replayed deliveries
 * of the endpoint are queued. Each batch is one transaction: a worker that dies leaves nothing half done, and any number of
 * workers may call this at once.
 * @returns how many deliveries were queued
 */
export async function queueReplays(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  systemId: string,
  maxQueued = MAX_QUEUED,
): Promise<number> {
  let queued = 0;
  const failures: unknown[] = [];
  // If the replay of one endpoint fails, those of the others go on.
  for (const { id } of await listUnfinishedReplays(db, systemId)) {
    const batch = db.transaction((tx) => queueBatch(tx, { systemId, id, maxQueued }, new Date(clock())));
    queued += await batch.catch((error: unknown) => {
      failures.push(error);
      return 0;
    });
  }
  if (failures.length > 0) throw failures[0];
  return queued;
}

/** Queues a replay's next batch. @returns how many deliveries; 0 also if another process queues the replay now */
async function queueBatch(
  tx: Transaction,
  { systemId, id, maxQueued }: { readonly systemId: string; readonly id: string; readonly maxQueued: number },
  now: Date,
): Promise<number> {
  const replay = await lockReplay(tx, systemId, id);
  if (replay === undefined) return 0;
  const capacity = maxQueued - (await countQueuedReplays(tx, systemId, replay.endpoint_id, maxQueued));
  if (capacity <= 0) return 0;
  const queued = await insertBatch(tx, systemId, replay, now, capacity);
  if (queued > 0) await notifyQueued(tx, systemId);
  return queued;
}

/** Queues the next of a replay's recorded items, or of the held deliveries if it is a replay of those (`next_held_at`). */
async function insertBatch(
  tx: Transaction,
  systemId: string,
  { next_held_at: next, ...replay }: LockedReplay,
  now: Date,
  limit: number,
): Promise<number> {
  if (next !== null) return insertHeldBatch(tx, systemId, { ...replay, next_held_at: next }, now, limit);
  const queued = await insertReplayBatch(tx, systemId, replay.id, now, limit);
  await updateReplayFinished(tx, systemId, replay.id, now);
  return queued;
}

/** A delivery that somebody asked to be sent again. */
interface Redelivery {
  readonly id: string;
  /**
   * `redelivered`: it was finished or held, and begins a fresh schedule. `retried_now`: it waited for its next attempt,
   * which is due now; its schedule goes on. `already_due`: it is due or being sent, and nothing was changed.
   */
  readonly outcome: "redelivered" | "retried_now" | "already_due";
}

/**
 * Sends a delivery again, now, under the same `delivery_id`.
 * @throws ServiceError when there is no such delivery, it is a test, its endpoint is paused, or its body is no longer stored
 */
export async function redeliver(context: ActorContext, scope: DeliveryScope, id: string): Promise<Redelivery> {
  const { systemId } = scope;
  const row = await requireDelivery(context, scope, id);
  const endpoint = await endpointOf(context, systemId, row);
  if (isTestDelivery(id)) {
    throw commandError("conflict", "testDelivery", { id });
  }
  if (endpoint.status === "paused") {
    const message = isRemoved(endpoint) ? "endpointRemoved" : "endpointPaused";
    throw commandError("conflict", message, { partnerId: row.partner_id });
  }
  if (!row.has_body) throw commandError("conflict", "deliveryNotKept", { id, days: EVENT_RETENTION_DAYS });
  return context.db.transaction(async (tx) => {
    const now = new Date(context.clock());
    const isRequeued = await insertRedelivery(tx, systemId, row, now);
    const isRetriedNow = !isRequeued && (await updateDueNow(tx, systemId, id, now));
    if (!isRequeued && !isRetriedNow) return { id, outcome: "already_due" };
    const detail = { partner_id: row.partner_id, was: row.status };
    await insertActOf(context, tx, { systemId, at: now, action: "webhook.redelivered", subject: id, detail });
    await notifyQueued(tx, systemId);
    return { id, outcome: isRequeued ? "redelivered" : "retried_now" };
  });
}

/** Deliveries made due in one transaction. Too high: delays the results of deliveries that are in flight. */
const RETRY_BATCH = 1_000;

/**
 * Makes all of an endpoint's deliveries that wait for their next attempts due now, each in its own schedule: for an
 * endpoint that works again, so that they need not wait for hours. Makes each due at most once.
 * @returns how many
 * @throws ServiceError when there is no endpoint, or it is paused: then its deliveries are held
 */
export async function retryEndpointNow(context: ActorContext, scope: EndpointScope): Promise<number> {
  const { db, clock } = context;
  const { systemId, partnerId } = scope;
  const endpoint = await requireEndpoint(db, scope);
  if (endpoint.status === "paused") {
    throw commandError("conflict", "endpointPausedReplay", { partnerId });
  }
  const now = new Date(clock());
  let count = 0;
  let after = "";
  let batch: readonly string[];
  // In the order of their ids, so that a delivery that fails again meanwhile does not match a later batch. A batch that is
  // not full is the last.
  do {
    batch = await updateAllDueNow(db, { systemId, endpointId: endpoint.id }, now, { after, limit: RETRY_BATCH });
    count += batch.length;
    after = batch.at(-1) ?? after;
  } while (batch.length === RETRY_BATCH);
  if (count === 0) return 0;
  await db.transaction(async (tx) => {
    await recordEndpointAct(context, tx, systemId, "webhook.retried_now", endpoint.id, { deliveries: count });
    await notifyQueued(tx, systemId);
  });
  return count;
}

interface TestDeliveryInput extends EndpointScope {
  /** The event's name; left out: the first that the endpoint subscribes to. */
  readonly event?: string | undefined;
}

/**
 * Queues a test delivery: the documentation's example of an event, signed, sent and logged as any other, but tried once. Its
 * id ends in `_test`. It counts for the endpoint's health as any other. The endpoint need not subscribe to the event.
 * @returns its id
 * @throws ServiceError when there is no endpoint or event, the endpoint is paused, or no process is running to send it
 */
export async function sendTestDelivery(context: ActorContext, input: TestDeliveryInput): Promise<string> {
  const { db, ids, clock } = context;
  const { systemId, partnerId } = input;
  const endpoint = await requireEndpoint(db, input);
  const event = input.event ?? expandEvents(endpoint.events)[0] ?? "";
  if (!offeredEvents.includes(event)) {
    const events = offeredEvents.join(", ");
    throw commandError("invalid_parameter", "unknownEvent", { event: JSON.stringify(event), events });
  }
  if (endpoint.status === "paused") throw commandError("conflict", "endpointPausedProbe", { partnerId });
  if ((await countWorkers(db, systemId)) === 0) throw commandError("conflict", "notSending");
  const eventId = ids.next("event");
  const id = `delivery_${eventId.slice(eventId.indexOf("_") + 1)}${endpoint.tag}${TEST_SUFFIX}`;
  return db.transaction(async (tx) => {
    const now = new Date(clock());
    const data = JSON.stringify(createTestDelivery({ event }).data);
    // All attempts but one count as made, so that the test is never tried again.
    const test = { id, endpointId: endpoint.id, eventId, event, data, tries: MAX_TRIES - 1 };
    await insertTestDelivery(tx, systemId, test, now);
    await recordEndpointAct(context, tx, systemId, "webhook.tested", endpoint.id, { delivery_id: id, event });
    await notifyQueued(tx, systemId);
    return id;
  });
}

/** The chosen deliveries: by their ids, or by a filter. */
export type ResendChoice = { readonly ids: readonly string[] } | { readonly filter: DeliveryFilter };

/** Many deliveries that are sent again. */
interface BulkResend extends Omit<BulkResendRow, "is_stopped"> {
  /** `waiting`: the endpoint is not active, or an earlier replay or resend of it is not done yet. */
  readonly status: "running" | "waiting" | "finished" | "cancelled";
}

/**
 * Returns how many deliveries a resend would send now.
 * @throws ServiceError when there is no endpoint, the range of time is empty, or more match than one resend may send
 */
export async function countResend(context: ActorContext, scope: EndpointScope, choice: ResendChoice): Promise<number> {
  const endpoint = await requireEndpoint(context.db, scope);
  return countWithinLimit(context.db, chosen(context, scope.systemId, endpoint, choice));
}

/**
 * Sends deliveries again, after regular ones. A pending one keeps its schedule, and its next attempt becomes due at its
 * turn; all others begin a new schedule. Skips deliveries that succeed before their turn.
 * @throws ServiceError when there is no endpoint, the range of time is empty, or more match than one resend may send
 */
export async function startResend(
  context: ActorContext,
  scope: EndpointScope,
  choice: ResendChoice,
): Promise<BulkResend> {
  const { systemId } = scope;
  return context.db.transaction(async (tx) => {
    const endpoint = await requireEndpoint(tx, scope);
    const deliveries = chosen(context, systemId, endpoint, choice);
    await countWithinLimit(tx, deliveries);
    const now = new Date(context.clock());
    const row = await insertBulkResend(tx, deliveries, { id: context.ids.next("replay"), now });
    const detail = {
      resend_id: row.id,
      total: row.total,
      ...("ids" in choice ? {} : { filters: { ...choice.filter } }),
    };
    await recordEndpointAct(context, tx, systemId, "webhook.resent", endpoint.id, detail);
    return showResend({ db: tx }, scope, row.id);
  });
}

/**
 * Returns the progress of a bulk resend.
 * @throws ServiceError when the partner has no such resend
 */
export async function showResend(
  { db }: { readonly db: Queryable },
  scope: EndpointScope,
  id: string,
): Promise<BulkResend> {
  const endpoint = await requireEndpointOrRemoved(db, scope);
  const row = await findBulkResend(db, scope.systemId, endpoint.id, id);
  if (row === undefined) throw commandError("not_found", "replay", { id });
  return withStatus(row, endpoint);
}

/**
 * Cancels a resend: queued deliveries are sent, the others stay as they are.
 * @throws ServiceError when the partner has no such resend
 */
export async function cancelResend(context: ActorContext, scope: EndpointScope, id: string): Promise<BulkResend> {
  await showResend(context, scope, id);
  await stopReplay(context, scope.systemId, id);
  return showResend(context, scope, id);
}

/** Returns a choice as the statements of a bulk resend take it. */
function chosen(
  context: ActorContext,
  systemId: string,
  { id: endpointId }: EndpointRow,
  choice: ResendChoice,
): EndpointSearch | NamedDeliveries {
  if ("filter" in choice) return { ...searchOf(context, { systemId, filter: choice.filter }), endpointId };
  const { ids } = choice;
  return { systemId, endpointId, ids, days: [...new Set(ids.flatMap((id) => likelyDays(id, context.clock())))] };
}

/**
 * Counts the deliveries that a resend would send.
 * @throws ServiceError when they are too many for one, or too many to count
 */
async function countWithinLimit(db: Queryable, deliveries: EndpointSearch | NamedDeliveries): Promise<number> {
  const { total, is_cut: isCut } = await countChosen(db, deliveries);
  if (!isCut && total <= MAX_RESENDS) return total;
  throw serviceError("invalid_parameter", "tooManyToResend", { limit: MAX_RESENDS });
}

/** Returns a resend with its status. */
function withStatus(
  { is_stopped: isStopped, is_behind: isBehind, ...row }: BulkResendRow & { readonly is_behind: boolean },
  endpoint: EndpointRow,
): BulkResend {
  if (row.finished_at !== null) return { ...row, status: isStopped ? "cancelled" : "finished" };
  return { ...row, status: isBehind || endpoint.status !== "active" ? "waiting" : "running" };
}
