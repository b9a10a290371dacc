import type { ServiceError } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { holdPartner } from "../../partners/service.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { insertProbe } from "../queue/enqueue-queries.ts";
import { updateReplaysStopped } from "../queue/replay-queries.ts";
import {
  lockEndpointOrRemoved,
  lockExistingEndpoint,
  type PartnerScope,
  recordEndpointAct,
} from "./endpoint-context.ts";
import {
  type EndpointRow,
  countEndpoint,
  deleteSecrets,
  lockEndpoint,
  updateHealthReset,
  updatePaused,
  updateRemoved,
  updateStatus,
} from "./endpoint-queries.ts";
import { isRemoved, REMOVED_URL } from "./endpoint.rules.ts";
import { sendHeldLocked } from "./held.ts";

/** An endpoint whose status somebody asked to change. */
export interface EndpointChange {
  readonly endpoint: EndpointRow;
  /** False: it was so already. */
  readonly changed: boolean;
}

/** Who asks for a change. What the operator has paused, the operator alone resumes or removes. */
type ChangedBy = "partner" | "operator";

/**
 * Pauses an endpoint: what happens from now on is held, what is in flight ends. One that is paused already keeps its
 * reason.
 * @param input `takesOver`: one that is paused already gets the reason, so that whoever paused it cannot resume it
 * @throws ServiceError when there is no endpoint
 */
export async function pauseEndpoint(
  context: ActorContext,
  input: PartnerScope & { readonly reason: ChangedBy; readonly takesOver?: boolean },
): Promise<EndpointChange> {
  const { systemId, reason, takesOver = false } = input;
  return context.db.transaction(async (tx) => {
    const before = await lockExistingEndpoint(tx, input);
    const now = new Date(context.clock());
    const isTakenOver = takesOver && before.pause_reason !== reason;
    const from = ["active", "probing", ...(isTakenOver ? (["paused"] as const) : [])] as const;
    const paused = await updatePaused(tx, systemId, before.id, { from, reason, now });
    if (paused === undefined) return { endpoint: before, changed: false };
    const was = before.pause_reason;
    await recordEndpointAct(context, tx, systemId, "webhook.paused", before.id, { reason, ...(was && { was }) });
    return { endpoint: paused, changed: true };
  });
}

/** An endpoint that was resumed. */
export interface ResumedEndpoint extends EndpointChange {
  /** The held delivery that is sent to see whether the endpoint works again; null: the next event is. */
  readonly probe: string | null;
  /** Deliveries that are sent once the endpoint is active, because whoever resumed asked for it. */
  readonly sent: number;
  /** Deliveries that stay held, until somebody has them sent or dropped. */
  readonly held: number;
  readonly held_since: Date | null;
}

/**
 * Resumes a paused endpoint: one delivery is sent as a probe, the oldest of those held; once it succeeds the endpoint is
 * active.
 * @param scope `sendsHeld`: the other held deliveries are sent then; else they stay held
 * @throws ServiceError when there is no endpoint, or its partner is suspended
 */
export async function resumeEndpoint(
  context: ActorContext,
  scope: PartnerScope & { readonly by?: ChangedBy; readonly sendsHeld?: boolean },
): Promise<ResumedEndpoint> {
  const { systemId, partnerId, by = "operator", sendsHeld = false } = scope;
  return context.db.transaction(async (tx) => {
    const partner = await holdPartner(tx, systemId, partnerId);
    const before = await lockExistingEndpoint(tx, scope);
    requireOwnPause(before, by);
    if (partner?.suspended_at instanceof Date) throw suspended(partnerId);
    const resumed = await resumeLocked(context, tx, systemId, before);
    if (!sendsHeld) return resumed;
    const sent = await sendHeldLocked(context, tx, systemId, before.id);
    return { ...resumed, sent, held: Math.max(0, resumed.held - sent) };
  });
}

/** @throws ServiceError when a partner would undo what the operator has done */
function requireOwnPause({ pause_reason: reason }: EndpointRow, by: ChangedBy): void {
  if (by === "partner" && reason === "operator") throw commandError("conflict", "endpointPausedByOperator");
}

/** Resumes an endpoint that is locked. */
async function resumeLocked(
  context: ActorContext,
  tx: Transaction,
  systemId: string,
  before: EndpointRow,
): Promise<ResumedEndpoint> {
  const now = new Date(context.clock());
  const resumed = await updateStatus(tx, systemId, before.id, { from: "paused", to: "probing", now });
  let probe: string | null = null;
  if (resumed !== undefined) {
    await updateHealthReset(tx, systemId, before.id);
    probe = (await insertProbe(tx, systemId, before.id, now)) ?? null;
    const was = before.pause_reason;
    await recordEndpointAct(context, tx, systemId, "webhook.resumed", before.id, { was, probe });
  }
  const { held, held_since } = await countEndpoint(tx, systemId, before.id);
  return { endpoint: resumed ?? before, changed: resumed !== undefined, probe, sent: 0, held, held_since };
}

/** Rejects what would send something to a suspended partner. */
export function suspended(partnerId: string): ServiceError {
  return commandError("conflict", "partnerSuspended", { partnerId });
}

/** Pauses the endpoint of a partner that is being suspended. One that is paused already keeps its reason. */
export async function pauseForSuspension(context: ActorContext, tx: Transaction, scope: PartnerScope): Promise<void> {
  const { systemId, partnerId } = scope;
  const before = await lockEndpoint(tx, systemId, partnerId);
  if (before === undefined) return;
  const reason = "suspended";
  const now = new Date(context.clock());
  const paused = await updatePaused(tx, systemId, before.id, { from: ["active", "probing"], reason, now });
  if (paused !== undefined) await recordEndpointAct(context, tx, systemId, "webhook.paused", before.id, { reason });
}

/** Resumes the endpoint of a partner that is being resumed; null where the suspension did not pause one. */
export async function resumeAfterSuspension(
  context: ActorContext,
  tx: Transaction,
  { systemId, partnerId }: PartnerScope,
): Promise<ResumedEndpoint | null> {
  const before = await lockEndpoint(tx, systemId, partnerId);
  return before?.pause_reason === "suspended" ? resumeLocked(context, tx, systemId, before) : null;
}

/** An endpoint that was removed. */
export interface RemovedEndpoint extends EndpointChange {
  /** Deliveries that were not sent: held with the rest of the log for as long as that is kept. */
  readonly unsent: number;
}

/**
 * Removes a partner's endpoint: its secrets are deleted, its address, events and mail address leave its row (the audit
 * log keeps them), its replays are finished. What is in flight ends and is logged; nothing else is sent. What waits is
 * held, not lost: an endpoint that was removed by mistake is created anew, and a replay sends it.
 * @throws ServiceError when there never was one
 */
export async function removeEndpoint(
  context: ActorContext,
  scope: PartnerScope & { readonly by?: ChangedBy },
): Promise<RemovedEndpoint> {
  return context.db.transaction(async (tx) => {
    const before = await lockEndpointOrRemoved(tx, scope);
    requireOwnPause(before, scope.by ?? "operator");
    return removeLocked(context, tx, scope, before);
  });
}

/** The same for a partner that may have none. @returns undefined: it never had one */
export async function removeEndpointOf(
  context: ActorContext,
  tx: Transaction,
  scope: PartnerScope,
): Promise<RemovedEndpoint | undefined> {
  const before = await lockEndpoint(tx, scope.systemId, scope.partnerId);
  return before === undefined ? undefined : removeLocked(context, tx, scope, before);
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
  const endpoint = await updateRemoved(tx, systemId, before.id, REMOVED_URL, now);
  const detail = { partner_id: partnerId, url: before.url, unsent };
  await recordEndpointAct(context, tx, systemId, "webhook.removed", before.id, detail);
  return { endpoint, changed: true, unsent };
}
