import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { countHeld, type HeldRange, insertHeldReplay, updateHeldDropped } from "../queue/held-queries.ts";
import { type EndpointScope, lockExistingEndpoint, recordEndpointAct, requireEndpoint } from "./endpoint-context.ts";

/*
 * Counts, sends and drops held deliveries: those that wait because their endpoint was paused, until somebody sends or
 * drops them.
 */

/** The held deliveries of an endpoint, without those that a running replay sends. */
export interface HeldDeliveries {
  readonly total: number;
  /** The instant of the count. A caller that drops them names it, so that later ones are not dropped unseen. */
  readonly until: Date;
}

/** The held deliveries that somebody has decided to drop. */
export interface SeenDeliveries extends HeldDeliveries {
  /**
   * Whether an earlier batch has counted the deliveries. `total` is then taken as it is, because counting a long queue takes
   * as long as a batch.
   */
  readonly isContinued?: boolean;
}

/**
 * Counts the held deliveries of an endpoint that can be sent or dropped.
 * @throws ServiceError when there is no endpoint
 */
export async function showHeld(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  scope: EndpointScope,
): Promise<HeldDeliveries> {
  const { id: endpointId } = await requireEndpoint(db, scope);
  const until = new Date(clock());
  const { total } = await countHeld(db, { systemId: scope.systemId, endpointId, until });
  return { total, until };
}

/**
 * Sends the held deliveries after regular ones, once the endpoint is active. Counts them and records a replay; workers
 * queue its deliveries in batches, oldest first, while the endpoint is active. Omits deliveries that another replay already
 * sends, so that two people who press the same button send once.
 * @returns how many deliveries
 * @throws ServiceError when there is no endpoint
 */
export async function sendHeld(context: ActorContext, scope: EndpointScope): Promise<number> {
  return context.db.transaction(async (tx) => {
    const { id: endpointId } = await lockExistingEndpoint(tx, scope);
    return sendHeldLocked(context, tx, scope.systemId, endpointId);
  });
}

/** Like `sendHeld`, for an endpoint that the caller has locked. */
export async function sendHeldLocked(
  context: ActorContext,
  tx: Transaction,
  systemId: string,
  endpointId: string,
): Promise<number> {
  const now = new Date(context.clock());
  const range: HeldRange = { systemId, endpointId, until: now };
  const { total, oldest } = await countHeld(tx, range);
  if (oldest === null) return 0;
  const id = context.ids.next("replay");
  await insertHeldReplay(tx, range, { id, now, total, oldest });
  await recordEndpointAct(context, tx, systemId, "webhook.held_sent", endpointId, { replay_id: id, total });
  return total;
}

/** Deliveries dropped in one transaction. Too high: locks the endpoint for too long. */
const DROP_BATCH = 5_000;

/** A batch of dropped deliveries. */
export interface DroppedHeld {
  readonly dropped: number;
  /** The deliveries still to be dropped: repeat the call. */
  readonly remaining: number;
}

/**
 * Drops one batch of held deliveries, oldest first. They stay in the log and can be resent while it is kept.
 * @param seen the deliveries that the caller was shown; later ones stay held
 * @throws ServiceError when there is no endpoint, or more is held than the caller was shown
 */
export async function dropHeld(
  context: ActorContext,
  scope: EndpointScope,
  seen: SeenDeliveries,
): Promise<DroppedHeld> {
  const { systemId } = scope;
  return context.db.transaction(async (tx) => {
    // Prevents a concurrent resume, pause or send.
    const { id: endpointId } = await lockExistingEndpoint(tx, scope);
    const range: HeldRange = { systemId, endpointId, until: seen.until };
    const { total } = seen.isContinued === true ? seen : await countHeld(tx, range);
    if (total > seen.total) throw commandError("conflict", "heldChanged", { total, seen: seen.total });
    if (total === 0) return { dropped: 0, remaining: 0 };
    const limit = Math.min(total, DROP_BATCH);
    const dropped = await updateHeldDropped(tx, range, new Date(context.clock()), limit);
    if (dropped === 0) return { dropped: 0, remaining: 0 };
    const detail = { dropped, held_until: seen.until };
    await recordEndpointAct(context, tx, systemId, "webhook.held_dropped", endpointId, detail);
    // Fewer than the limit: the others were resent meanwhile, and none is left.
    return { dropped, remaining: dropped < limit ? 0 : total - dropped };
  });
}
