import { insertActOf } from "../../audit/queries.ts";
import type { ActorContext } from "../../command-context.ts";
import type { Queryable, Transaction } from "../../db/database.ts";
import { commandError } from "../../errors/command-errors.ts";
import { partnerWithId } from "../../partners/service.ts";
import { type EndpointRow, notifyEndpointChanged } from "./endpoint-queries.ts";
import { isRemoved } from "./endpoint.rules.ts";
import type { SecretCipher } from "./secret.ts";

/** What verbs that make secrets need as well. */
export interface SecretContext extends ActorContext {
  readonly cipher: SecretCipher;
}

/** Whose endpoint. */
export interface PartnerScope {
  readonly systemId: string;
  readonly partnerId: string;
}

/** Writes an act on an endpoint into the audit log, and notifies the dispatchers of it. */
export async function recordEndpointAct(
  context: ActorContext,
  tx: Transaction,
  systemId: string,
  action: string,
  subject: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await insertActOf(context, tx, { systemId, action, subject, detail });
  await notifyEndpointChanged(tx, systemId);
}

interface LookupContext {
  readonly db: Queryable;
}

/**
 * The endpoint that a partner must have, or have had: a removed one too, whose log is still kept.
 * @throws ServiceError, which tells a partner without an endpoint from one that there is not
 */
export async function requireEndpointOrRemoved(
  context: LookupContext,
  endpoint: EndpointRow | undefined,
  scope: PartnerScope,
): Promise<EndpointRow> {
  if (endpoint !== undefined) return endpoint;
  await requirePartner(context, scope);
  throw commandError("not_found", "endpoint", { partnerId: scope.partnerId });
}

/**
 * The endpoint that a partner must have now.
 * @throws ServiceError, also where it was removed
 */
export async function requireEndpoint(
  context: LookupContext,
  endpoint: EndpointRow | undefined,
  scope: PartnerScope,
): Promise<EndpointRow> {
  const found = await requireEndpointOrRemoved(context, endpoint, scope);
  if (!isRemoved(found)) return found;
  const when = found.paused_at === null ? "" : ` ${found.paused_at.toISOString()}`;
  throw commandError("not_found", "removedEndpoint", { partnerId: scope.partnerId, when });
}

/** @throws ServiceError when there is no such partner */
export async function requirePartner(context: LookupContext, { systemId, partnerId }: PartnerScope): Promise<void> {
  if ((await partnerWithId(context, systemId, partnerId)) !== undefined) return;
  throw commandError("not_found", "partner", { id: partnerId });
}
