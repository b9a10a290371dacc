import { recordActOf } from "../audit/audit-log.ts";
import type { ActorContext } from "../command-context.ts";
import { cancelAllReservations } from "../fleet/reservation-commands.ts";
import { revokeKeysOf } from "../keys/service.ts";
import { removeEndpointOf } from "../webhooks/endpoints/endpoint-status.ts";
import { mustLock, type PartnerRow, writePartner } from "./service.ts";

/** A partner that was removed, and what ended with it. */
export interface RemovedPartner {
  readonly partner: PartnerRow;
  /** Keys that worked, or would have. */
  readonly revoked_keys: number;
  readonly cancelled_reservations: number;
  /** Whether it had an endpoint. */
  readonly endpoint_removed: boolean;
  /** Deliveries that were not sent: held with the rest of the log, until their 30 days are over. */
  readonly unsent_deliveries: number;
}

/**
 * Ends everything of a partner, all or nothing: its keys are revoked, its endpoint is removed with its secrets, its active
 * reservations are cancelled. What is kept leads nowhere any more: the log of deliveries for its 30 days, past reservations,
 * the audit log, and the row itself, so that its id is never another's.
 * @throws ServiceError when there is no such partner, or it was removed already
 */
export async function removePartner(context: ActorContext, systemId: string, id: string): Promise<RemovedPartner> {
  return context.db.transaction(async (tx) => {
    const within = { ...context, db: tx };
    // Locked first: a reservation is either made before, and cancelled here, or finds the partner gone.
    const before = await mustLock(tx, systemId, id);
    const partner = await writePartner(tx, systemId, { ...before, removed_at: new Date(context.clock()) });
    const revoked_keys = await revokeKeysOf(within, tx, systemId, id);
    // Before its reservations: nobody is there any more who would be told of their end.
    const endpoint = await removeEndpointOf(within, tx, { systemId, partnerId: id });
    const cancelled_reservations = await cancelAllReservations(within, { systemId, partnerId: id });
    const ended = {
      revoked_keys,
      cancelled_reservations,
      endpoint_removed: endpoint?.changed === true,
      unsent_deliveries: endpoint?.unsent ?? 0,
    };
    const detail = { name: before.name, ...ended };
    await recordActOf(context, tx, { systemId, action: "partner.removed", subject: id, detail });
    return { partner, ...ended };
  });
}
