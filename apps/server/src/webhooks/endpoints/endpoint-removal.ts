import type { ActorContext } from "../../command-context.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { updateReplaysStopped } from "../queue/replay-queries.ts";
import {
  type EndpointScope,
  isRemoved,
  lockEndpointOrRemoved,
  type PartnerScope,
  recordEndpointAct,
  REMOVED_URL,
} from "./endpoint-context.ts";
import { countEndpoint, type EndpointRow, updateHealthReset, updateRemoved } from "./endpoint-queries.ts";
import { type ChangedBy, type EndpointChange, lockEndpointsOf, requireOwnPause } from "./endpoint-settings.ts";
import { deleteSecrets } from "./secret-queries.ts";
import { replaceThresholds } from "./threshold-queries.ts";

/** A removed endpoint. */
export interface RemovedEndpoint extends EndpointChange {
  /** Queued and held deliveries. They stay held until their day of the log is dropped, except those in flight. */
  readonly unsent: number;
}

/**
 * Removes one of a partner's endpoints: its secrets are deleted, its address, events and mail address leave its row (the
 * audit log keeps them), its replays are stopped. Attempts in flight end and are logged; nothing else is sent. Waiting
 * deliveries are held, not lost: an endpoint that was removed by mistake can be created anew, and a replay then sends them.
 * @throws ServiceError when the partner never had the endpoint, or `by` is the partner and the operator has paused it
 */
export async function removeEndpoint(
  context: ActorContext,
  scope: EndpointScope & { readonly by?: ChangedBy },
): Promise<RemovedEndpoint> {
  return context.db.transaction(async (tx) => {
    const before = await lockEndpointOrRemoved(tx, scope);
    requireOwnPause(before, scope.by ?? "operator");
    return removeLocked(context, tx, scope, before);
  });
}

/**
 * Like `removeEndpoint`, for all endpoints of a partner. Includes removed ones, because their deliveries may still be held.
 */
export async function removeEndpointsOf(
  context: ActorContext,
  tx: Transaction,
  scope: PartnerScope,
): Promise<readonly RemovedEndpoint[]> {
  const removed: RemovedEndpoint[] = [];
  for (const before of await lockEndpointsOf(tx, scope)) removed.push(await removeLocked(context, tx, scope, before));
  return removed;
}

async function removeLocked(
  context: ActorContext,
  tx: Transaction,
  { systemId, partnerId }: PartnerScope,
  before: EndpointRow,
): Promise<RemovedEndpoint> {
  const { pending, held } = await countEndpoint(tx, systemId, before.id);
  const unsent = pending + held;
  if (isRemoved(before)) return { endpoint: before, changed: false, unsent };
  const now = new Date(context.clock());
  await updateReplaysStopped(tx, systemId, { endpointId: before.id }, now);
  await deleteSecrets(tx, systemId, before.id);
  await updateHealthReset(tx, systemId, before.id);
  await replaceThresholds(tx, systemId, before.id, []);
  const endpoint = await updateRemoved(tx, systemId, before.id, REMOVED_URL, now);
  const detail = { partner_id: partnerId, url: before.url, unsent };
  await recordEndpointAct(context, tx, systemId, "webhook.removed", before.id, detail);
  return { endpoint, changed: true, unsent };
}
