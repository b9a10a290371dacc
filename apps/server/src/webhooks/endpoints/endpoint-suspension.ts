import type { Transaction } from "../../db/database.ts";
import { type EndpointContext, type PartnerScope, recordEndpointAct } from "./endpoint-context.ts";
import { lockEndpoint, markPaused } from "./endpoint-queries.ts";
import { type ResumedEndpoint, resumeLocked } from "./endpoint-status.ts";

export type { ResumedEndpoint } from "./endpoint-status.ts";

/** Pauses the endpoint of a partner that is being suspended. One that is paused already keeps its reason. */
export async function holdEndpoint(context: EndpointContext, tx: Transaction, scope: PartnerScope): Promise<void> {
  const { systemId, partnerId } = scope;
  const before = await lockEndpoint(tx, systemId, partnerId);
  if (before === undefined) return;
  const reason = "suspended";
  const now = new Date(context.clock());
  const paused = await markPaused(tx, systemId, before.id, { from: ["active", "probing"], reason, now });
  if (paused !== undefined) await recordEndpointAct(context, tx, systemId, "webhook.paused", before.id, { reason });
}

/** Resumes the endpoint of a partner that is being resumed; null where the suspension did not pause one. */
export async function resumeHeldEndpoint(
  context: EndpointContext,
  tx: Transaction,
  { systemId, partnerId }: PartnerScope,
): Promise<ResumedEndpoint | null> {
  const before = await lockEndpoint(tx, systemId, partnerId);
  return before?.pause_reason === "suspended" ? resumeLocked(context, tx, systemId, before) : null;
}
