import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Database, Transaction } from "../../storage/db/database.ts";
import { type PartnerScope, recordEndpointAct, requireEndpoint } from "../endpoints/endpoint-context.ts";
import { notifyQueued } from "../queue/enqueue-queries.ts";
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

/** Statuses that a replay can choose; pending deliveries are sent anyway. */
export const replayableStates = ["succeeded", "failed", "held"] as const satisfies ReplayRange["statuses"];
type ReplayableState = (typeof replayableStates)[number];

export interface ReplayInput extends PartnerScope {
  /** Deliveries created from then on. */
  readonly since: Date;
  /** The end of the range, exclusive; now by default. */
  readonly until?: Date | undefined;
  /** All that are not pending, when left out. */
  readonly statuses?: readonly ReplayableState[] | undefined;
  /** Only count. */
  readonly dryRun?: boolean | undefined;
}

export interface Replay {
  /** Null: only counted. */
  readonly id: string | null;
  /** Deliveries that it sends. */
  readonly total: number;
  readonly since: Date;
  readonly until: Date;
  /** The endpoint's: a replay waits until it is `active`. */
  readonly endpoint_status: "active" | "probing" | "paused";
}

/**
 * Sends a range of deliveries again, behind newer ones. It counts and records them at once; later changes do not affect the
 * range.
 * @throws ServiceError when there is no endpoint, or the range is empty by definition
 */
export async function createReplay(context: ActorContext, input: ReplayInput): Promise<Replay> {
  const { systemId, since, statuses = replayableStates, dryRun = false } = input;
  const now = new Date(context.clock());
  // This very millisecond is still in.
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
 * Queues the remaining deliveries of replays, as far as the queues of active endpoints have capacity. Each batch is one
 * transaction: a worker that dies leaves nothing half done, and any number of workers may call this at once.
 * @returns how many deliveries were queued
 */
export async function queueReplays(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  systemId: string,
  maxQueued = MAX_QUEUED,
): Promise<number> {
  let queued = 0;
  const failures: unknown[] = [];
  // One at a time for each endpoint, in the order in which they were created. One that fails does not stop the others.
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
