import { recordActOf } from "../audit/audit-log.ts";
import type { ActorContext } from "../command-context.ts";
import { notifyKeysChanged } from "../keys/service.ts";
import {
  pauseForSuspension,
  type ResumedEndpoint,
  resumeAfterSuspension,
} from "../webhooks/endpoints/endpoint-status.ts";
import { mustLock, type PartnerRow, writePartner } from "./service.ts";

/** A partner whose status was asked to change. */
export interface PartnerStatusChange {
  readonly partner: PartnerRow;
  /** False: it was so already. */
  readonly changed: boolean;
}

/**
 * Suspends a partner: on every process each of its keys is refused within a second, and its deliveries are held as at a
 * paused endpoint. Its reservations stay: they end by themselves within the hour.
 * @throws ServiceError when there is no such partner
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
    await recordActOf(context, tx, { systemId, action: "partner.suspended", subject: id, detail: {} });
    await pauseForSuspension({ ...context, db: tx }, tx, { systemId, partnerId: id });
    await notifyKeysChanged(tx, systemId);
    return { partner, changed: true };
  });
}

/** A partner that was resumed. */
export interface ResumedPartner extends PartnerStatusChange {
  /** Its endpoint, where the suspension held it; null: there is none, or it is paused for another reason. */
  readonly endpoint: ResumedEndpoint | null;
}

/**
 * Resumes a suspended partner: its keys work again, and its endpoint goes on as after any pause, beginning with a probe. An
 * endpoint that was paused before the suspension stays paused.
 * @throws ServiceError when there is no such partner
 */
export async function resumePartner(context: ActorContext, systemId: string, id: string): Promise<ResumedPartner> {
  return context.db.transaction(async (tx) => {
    const before = await mustLock(tx, systemId, id);
    if (before.suspended_at === null) return { partner: before, changed: false, endpoint: null };
    const partner = await writePartner(tx, systemId, { ...before, suspended_at: null });
    await recordActOf(context, tx, { systemId, action: "partner.resumed", subject: id, detail: {} });
    const endpoint = await resumeAfterSuspension({ ...context, db: tx }, tx, { systemId, partnerId: id });
    await notifyKeysChanged(tx, systemId);
    return { partner, changed: true, endpoint };
  });
}
