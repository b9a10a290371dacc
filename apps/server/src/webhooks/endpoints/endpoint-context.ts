import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { partnerWithId } from "../../partners/service.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { type EndpointRow, findEndpoint, lockEndpoint, notifyEndpointChanged } from "./endpoint-queries.ts";
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

/**
 * The endpoint that a partner must have, or have had: a removed one too, whose log is still kept.
 * @throws ServiceError, which tells a partner without an endpoint from one that there is not
 */
export async function requireEndpointOrRemoved(db: Queryable, scope: PartnerScope): Promise<EndpointRow> {
  return (await findEndpoint(db, scope.systemId, scope.partnerId)) ?? rejectUnknown(db, scope);
}

/** The same, held against every other change until the transaction ends. */
export async function lockEndpointOrRemoved(tx: Transaction, scope: PartnerScope): Promise<EndpointRow> {
  return (await lockEndpoint(tx, scope.systemId, scope.partnerId)) ?? rejectUnknown(tx, scope);
}

/**
 * The endpoint that a partner must have now.
 * @throws ServiceError, also where it was removed
 */
export async function requireEndpoint(db: Queryable, scope: PartnerScope): Promise<EndpointRow> {
  return rejectRemoved(await requireEndpointOrRemoved(db, scope), scope);
}

/** The same, held against every other change until the transaction ends. */
export async function lockExistingEndpoint(tx: Transaction, scope: PartnerScope): Promise<EndpointRow> {
  return rejectRemoved(await lockEndpointOrRemoved(tx, scope), scope);
}

async function rejectUnknown(db: Queryable, scope: PartnerScope): Promise<never> {
  await requirePartner({ db }, scope);
  throw commandError("not_found", "endpoint", { partnerId: scope.partnerId });
}

function rejectRemoved(endpoint: EndpointRow, { partnerId }: PartnerScope): EndpointRow {
  if (!isRemoved(endpoint)) return endpoint;
  const when = endpoint.paused_at === null ? "" : ` ${endpoint.paused_at.toISOString()}`;
  throw commandError("not_found", "removedEndpoint", { partnerId, when });
}

/** @throws ServiceError when there is no such partner */
export async function requirePartner(
  context: { readonly db: Queryable },
  { systemId, partnerId }: PartnerScope,
): Promise<void> {
  if ((await partnerWithId(context, systemId, partnerId)) !== undefined) return;
  throw commandError("not_found", "partner", { id: partnerId });
}
