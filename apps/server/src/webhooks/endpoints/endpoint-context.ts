import { recordActOf } from "../../audit/audit-log.ts";
import type { Queryable, Transaction } from "../../db/database.ts";
import type { Ids } from "../../ids.ts";
import { tellEndpointChanged } from "./endpoint-queries.ts";
import type { SecretSealer } from "./secret.ts";

/** What verbs that change an endpoint need beside their input. */
export interface EndpointContext {
  /** With a transaction they join it. */
  readonly db: Queryable;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Who acts, for the audit log. */
  readonly actor: string;
}

/** What verbs that make secrets need as well. */
export interface SecretContext extends EndpointContext {
  readonly sealer: SecretSealer;
}

/** Whose endpoint. */
export interface PartnerScope {
  readonly systemId: string;
  readonly partnerId: string;
}

/** Writes an act on an endpoint into the audit log, and tells the dispatchers of it. */
export async function recordEndpointAct(
  context: EndpointContext,
  tx: Transaction,
  systemId: string,
  action: string,
  subject: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordActOf(context, tx, { systemId, action, subject, detail });
  await tellEndpointChanged(tx, systemId);
}
