import type { Transaction } from "../../db/database.ts";
import { stopReplays } from "../queue/replay-queries.ts";
import { type EndpointContext, type PartnerScope, recordEndpointAct } from "./endpoint-context.ts";
import { mustBeThere } from "./endpoint-lookup.ts";
import { countEndpoint, type EndpointRow, lockEndpoint, markRemoved, resetLaneHealth } from "./endpoint-queries.ts";
import type { EndpointChange } from "./endpoint-status.ts";
import { isRemoved, REMOVED_URL } from "./endpoint.ts";
import { forgetSecrets } from "./secret-queries.ts";

/** An endpoint that was removed. */
export interface RemovedEndpoint extends EndpointChange {
  /** Deliveries that were not sent: held with the rest of the log, until their 30 days are over. */
  readonly unsent: number;
}

/**
 * Removes a partner's endpoint: its secrets are destroyed, its address, events and mail address leave its row (the audit
 * log keeps them), its replays are ended. Nothing is sent any more but what is in flight, which ends and is logged. What waits is held, not lost: an
 * endpoint that was removed by mistake is made anew, and sent it by a replay.
 * @throws ServiceError when there never was one
 */
export async function removeEndpoint(context: EndpointContext, scope: PartnerScope): Promise<RemovedEndpoint> {
  const { systemId, partnerId } = scope;
  return context.db.transaction(async (tx) => {
    const before = await mustBeThere(context, await lockEndpoint(tx, systemId, partnerId), scope);
    return removeLocked(context, tx, scope, before);
  });
}

/** The same for a partner that may have none. @returns undefined: it never had one */
export async function removeEndpointOf(
  context: EndpointContext,
  tx: Transaction,
  scope: PartnerScope,
): Promise<RemovedEndpoint | undefined> {
  const before = await lockEndpoint(tx, scope.systemId, scope.partnerId);
  return before === undefined ? undefined : removeLocked(context, tx, scope, before);
}

async function removeLocked(
  context: EndpointContext,
  tx: Transaction,
  { systemId, partnerId }: PartnerScope,
  before: EndpointRow,
): Promise<RemovedEndpoint> {
  const { pending, held } = await countEndpoint(tx, systemId, before.id);
  const unsent = pending + held;
  if (isRemoved(before)) return { endpoint: before, changed: false, unsent };
  const now = new Date(context.clock());
  await stopReplays(tx, systemId, { endpointId: before.id }, now);
  await forgetSecrets(tx, systemId, before.id);
  await resetLaneHealth(tx, systemId, before.id);
  const endpoint = await markRemoved(tx, systemId, before.id, REMOVED_URL, now);
  const detail = { partner_id: partnerId, url: before.url, unsent };
  await recordEndpointAct(context, tx, systemId, "webhook.removed", before.id, detail);
  return { endpoint, changed: true, unsent };
}
