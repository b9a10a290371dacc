import type { Queryable } from "../../db/database.ts";
import { commandError } from "../../errors/command-errors.ts";
import { partnerWithId } from "../../partners/service.ts";
import type { PartnerScope } from "./endpoint-context.ts";
import type { EndpointRow } from "./endpoint-queries.ts";
import { isRemoved } from "./endpoint.ts";

interface LookupContext {
  readonly db: Queryable;
}

/**
 * The endpoint that a partner must have, or have had: a removed one too, whose log is still kept.
 * @throws ServiceError, which tells a partner without an endpoint from one that there is not
 */
export async function mustBeThere(
  context: LookupContext,
  endpoint: EndpointRow | undefined,
  scope: PartnerScope,
): Promise<EndpointRow> {
  if (endpoint !== undefined) return endpoint;
  await mustBePartner(context, scope);
  throw commandError("not_found", "endpoint", { partnerId: scope.partnerId });
}

/**
 * The endpoint that a partner must have now.
 * @throws ServiceError, also where it was removed
 */
export async function mustBeSet(
  context: LookupContext,
  endpoint: EndpointRow | undefined,
  scope: PartnerScope,
): Promise<EndpointRow> {
  const found = await mustBeThere(context, endpoint, scope);
  if (!isRemoved(found)) return found;
  const when = found.paused_at === null ? "" : ` ${found.paused_at.toISOString()}`;
  throw commandError("not_found", "removedEndpoint", { partnerId: scope.partnerId, when });
}

/** @throws ServiceError when there is no such partner */
export async function mustBePartner(context: LookupContext, { systemId, partnerId }: PartnerScope): Promise<void> {
  if ((await partnerWithId(context, systemId, partnerId)) !== undefined) return;
  throw commandError("not_found", "partner", { id: partnerId });
}
