import { MDS_SCOPE } from "@bikeshare/contract/mds";
import { beginVehicleLogs } from "../../city/fleet/vehicle-log.ts";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { type IssuedKey, issueKey } from "../../partners/keys/service.ts";
import { createPartner } from "../../partners/service.ts";
import { randomUuid } from "../../uuids.ts";
import { findProvider, insertAgency, insertProvider } from "./queries.ts";

export interface NewAgency {
  readonly name: string;
  /** As MDS names the agency; a random one when left out. */
  readonly agencyId?: string | undefined;
  /** As MDS names the operator. When left out: that of the earlier agencies, or a random one. */
  readonly providerId?: string | undefined;
  readonly rateLimit?: number | null | undefined;
  readonly keyKind: "live" | "test";
}

interface MadeAgency {
  /** The partner that is the agency: the client id of its tokens. */
  readonly partnerId: string;
  readonly agencyId: string;
  readonly providerId: string;
  readonly key: IssuedKey;
  /** Vehicles whose logs began. */
  readonly vehicles: number;
}

/**
 * Makes an agency with its key. With the first agency of a system the log of its vehicles begins.
 * @throws ServiceError when another partner has the name, or earlier agencies know the operator by another id
 */
export async function createAgency(
  context: ActorContext,
  systemId: string,
  { name, agencyId, providerId, rateLimit = null, keyKind }: NewAgency,
): Promise<MadeAgency> {
  const uuid = () => randomUuid((bytes) => context.ids.randomBytes(bytes));
  const made = await context.db.transaction(async (tx) => {
    const inTransaction = { ...context, db: tx };
    const { id: partnerId } = await createPartner(inTransaction, systemId, name);
    const agency = { partner_id: partnerId, agency_id: agencyId ?? uuid() };
    await insertAgency(tx, systemId, agency);
    await insertProvider(tx, systemId, {
      ...{ provider_id: providerId ?? uuid(), namespace: uuid(), logged_since: new Date(context.clock()) },
    });
    const provider = await findProvider(tx, systemId);
    if (provider === undefined) throw new Error("the provider was not written");
    if (providerId !== undefined && providerId !== provider.provider_id)
      throw commandError("conflict", "otherProvider", { providerId: provider.provider_id });
    const detail = { agency_id: agency.agency_id, provider_id: provider.provider_id };
    await insertActOf(context, tx, { systemId, action: "agency.created", subject: partnerId, detail });
    const key = await issueKey(inTransaction, {
      ...{ systemId, kind: keyKind, partnerId, scopes: [MDS_SCOPE], name: "MDS", rateLimit },
    });
    return { partnerId, agencyId: agency.agency_id, providerId: provider.provider_id, key };
  });
  return { ...made, vehicles: await beginVehicleLogs(context, systemId) };
}
