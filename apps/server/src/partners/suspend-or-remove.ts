import { cancelAllReservations } from "../city/fleet/reservation-commands.ts";
import type { ActorContext } from "../command-context.ts";
import { removeEndpointsOf } from "../webhooks/endpoints/endpoint-removal.ts";
import {
  pauseForSuspension,
  resumeAfterSuspension,
  type ResumedEndpoint,
} from "../webhooks/endpoints/endpoint-settings.ts";
import { insertActOf } from "./audit/queries.ts";
import { notifyKeysChanged, revokeKeysOf } from "./keys/service.ts";
import { mustLock, type PartnerRow, sandboxSystemOf, writePartner } from "./service.ts";

/** A partner whose status was asked to change. */
export interface PartnerStatusChange {
  readonly partner: PartnerRow;
  /** False: the partner had this status already. */
  readonly changed: boolean;
}

/**
 * Suspends a partner: on every process each of its keys is refused within a second, and its deliveries are held as at a
 * paused endpoint. Its reservations stay: they end by themselves within the hour.
 * @throws ServiceError when there is no such partner, or it was removed
 */
export async function suspendPartner(
  context: ActorContext,
  systemId: string,
  id: string,
): Promise<PartnerStatusChange> {
  return context.db.transaction(async (tx) => {
    const before = await mustLock(tx, systemId, id);
    if (before.suspended_at !== null) return { partner: before, changed: false };
    const partner = await writePartner(tx, systemId, { ...before, suspended_at: new Date(context.clock()) });
    await insertActOf(context, tx, { systemId, action: "partner.suspended", subject: id, detail: {} });
    await pauseForSuspension({ ...context, db: tx }, tx, { systemId, partnerId: id });
    await notifyKeysChanged(tx, systemId);
    return { partner, changed: true };
  });
}

/** A partner that was resumed. */
export interface ResumedPartner extends PartnerStatusChange {
  /** Its endpoints that the suspension had paused. */
  readonly endpoints: readonly ResumedEndpoint[];
}

/**
 * Resumes a suspended partner: its keys work again, and its endpoints go on as after any pause, beginning with a probe. An
 * endpoint that was paused before the suspension stays paused.
 * @throws ServiceError when there is no such partner, or it was removed
 */
export async function resumePartner(context: ActorContext, systemId: string, id: string): Promise<ResumedPartner> {
  return context.db.transaction(async (tx) => {
    const before = await mustLock(tx, systemId, id);
    if (before.suspended_at === null) return { partner: before, changed: false, endpoints: [] };
    const partner = await writePartner(tx, systemId, { ...before, suspended_at: null });
    await insertActOf(context, tx, { systemId, action: "partner.resumed", subject: id, detail: {} });
    const endpoints = await resumeAfterSuspension({ ...context, db: tx }, tx, { systemId, partnerId: id });
    await notifyKeysChanged(tx, systemId);
    return { partner, changed: true, endpoints };
  });
}

/** A removed partner, and the things that were removed with it. */
export interface RemovedPartner {
  readonly partner: PartnerRow;
  /** The number of keys that were not revoked before. */
  readonly revoked_keys: number;
  readonly cancelled_reservations: number;
  /** Whether it had an endpoint. */
  readonly endpoint_removed: boolean;
  /** How many endpoints it had. */
  readonly endpoints_removed: number;
  /** Deliveries that were not sent. They are held, and stay in the log for their 30 days. */
  readonly unsent_deliveries: number;
}

/**
 * Removes a partner in one transaction: revokes its keys, removes its endpoints with their secrets, and cancels its active
 * reservations, also in its sandbox. The log of deliveries stays for its 30 days. Past reservations, the audit log and the
 * partner's row stay, so that its id is never reused.
 * @throws ServiceError when there is no such partner, or it was removed already
 */
export async function removePartner(context: ActorContext, systemId: string, id: string): Promise<RemovedPartner> {
  return context.db.transaction(async (tx) => {
    const within = { ...context, db: tx };
    const before = await mustLock(tx, systemId, id);
    const partner = await writePartner(tx, systemId, { ...before, removed_at: new Date(context.clock()) });
    // Also notifies all processes that the keys have changed.
    const revoked_keys = await revokeKeysOf(within, tx, systemId, id);
    // Endpoints are removed before reservations end, so that no deliveries about the ends are made.
    const endpoints = await removeEndpointsOf(within, tx, { systemId, partnerId: id });
    const cancelled_reservations = await cancelAllReservations(within, { systemId, partnerId: id });
    const ended = {
      revoked_keys,
      cancelled_reservations,
      endpoint_removed: endpoints.some(({ changed }) => changed),
      endpoints_removed: endpoints.filter(({ changed }) => changed).length,
      unsent_deliveries: endpoints.reduce((sum, { unsent }) => sum + unsent, 0),
    };
    const detail = { name: before.name, ...ended };
    await insertActOf(context, tx, { systemId, action: "partner.removed", subject: id, detail });
    const sandbox = await sandboxSystemOf(tx, systemId, id);
    // In its sandbox, a partner has the same id.
    if (sandbox !== undefined) await removePartner(within, sandbox, id);
    return { partner, ...ended };
  });
}
