import { commandError } from "../../errors/command-errors.ts";
import { type EndpointContext, type PartnerScope, recordEndpointAct } from "../endpoints/endpoint-context.ts";
import { mustBeSet } from "../endpoints/endpoint-lookup.ts";
import { findEndpoint } from "../endpoints/endpoint-queries.ts";
import { tellDue } from "../queue/replay-queries.ts";
import { hurryDeliveries } from "./delivery-queries.ts";

/** Deliveries made due in one transaction: more would keep results of theirs from being written for long. */
const BATCH = 1_000;

/**
 * Makes all of an endpoint's deliveries that wait for their next attempts due now, each in its own schedule: for an
 * endpoint that is well again, so that they need not wait for hours.
 * @returns how many
 * @throws ServiceError when there is no endpoint, or it is paused: then nothing waits
 */
export async function hurryEndpoint(context: EndpointContext, scope: PartnerScope): Promise<number> {
  const { db, clock } = context;
  const { systemId, partnerId } = scope;
  const endpoint = await mustBeSet(context, await findEndpoint(db, systemId, partnerId), scope);
  if (endpoint.status === "paused") {
    throw commandError("conflict", "endpointPausedReplay", { partnerId });
  }
  // What comes to wait meanwhile has just been tried.
  const now = new Date(clock());
  let hurried = 0;
  for (let last = BATCH; last === BATCH; hurried += last) {
    last = await hurryDeliveries(db, systemId, endpoint.id, now, BATCH);
  }
  if (hurried === 0) return 0;
  await db.transaction(async (tx) => {
    await recordEndpointAct(context, tx, systemId, "webhook.hurried", endpoint.id, { hurried });
    await tellDue(tx, systemId);
  });
  return hurried;
}
