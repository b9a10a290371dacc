import type { MultiPolygon } from "@bikeshare/contract";
import { MDS_SCOPE } from "@bikeshare/contract/mds";
import { beginVehicleLogs } from "../../city/fleet/vehicle-log.ts";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { type IssuedKey, issueKey } from "../../partners/keys/service.ts";
import { createPartner, mustLock } from "../../partners/service.ts";
import type { QueryRunner } from "../../storage/db/database.ts";
import { randomUuid } from "../../uuids.ts";
import { type AgencySettings, insertAgency, findAgencySettings, updateAgencySettings } from "./agency-queries.ts";
import { findProvider, insertProvider } from "./queries.ts";
import { leftOutFields, type RequirementFile } from "./requirements.rules.ts";

/*
 * Creates and changes agencies. An agency is a partner that reads the system by MDS. MDS calls the operator the provider.
 */

/** Settings of an agency. A change keeps the settings that it omits. A new agency starts without the omitted settings. */
export interface AgencyChange {
  /** The time zone of its monthly reports, an IANA name; null: the system's time zone. */
  readonly timeZone?: string | null | undefined;
  /**
   * The agency reads trips that ended at or after this time, and the whole report of the month of this time; null: the start
   * of the vehicle log.
   */
  readonly tripsSince?: Date | null | undefined;
  /** The area that the agency is responsible for; null: everywhere. */
  readonly boundary?: MultiPolygon | null | undefined;
  /** The agency's requirement file, from MDS's Policy API; null: none. */
  readonly requirements?: RequirementFile | null | undefined;
}

/** An agency to create. */
export interface NewAgency extends AgencyChange {
  readonly name: string;
  /** The agency's id in MDS, a UUID. Default: a random one. */
  readonly agencyId?: string | undefined;
  /**
   * The operator's id in MDS, a UUID. Default: the id that earlier agencies of the system use, or a random one for the first
   * agency.
   */
  readonly providerId?: string | undefined;
  /** Requests that its key may make in a minute. Null or undefined: the service's default. */
  readonly rateLimit?: number | null | undefined;
}

/** An agency that was created, with its key, which is shown only now. */
interface MadeAgency {
  /** The id of the partner that the agency is. It is also the client id with which the agency gets tokens. */
  readonly partnerId: string;
  readonly agencyId: string;
  readonly providerId: string;
  readonly key: IssuedKey;
  /** The number of vehicles whose event logs began with this agency. */
  readonly vehicles: number;
}

/** The settings with which a new agency starts. */
const NO_SETTINGS: AgencySettings = {
  time_zone: null,
  trips_since: null,
  boundary: null,
  requirements: null,
  left_out: null,
};

/**
 * Creates an agency and its key. The first agency of a system starts the log of vehicle events.
 * @throws ServiceError when another partner has the name, or earlier agencies use another id for the operator
 */
export async function createAgency(
  context: ActorContext,
  systemId: string,
  { name, agencyId, providerId, rateLimit = null, ...change }: NewAgency,
): Promise<MadeAgency> {
  const uuid = () => randomUuid((bytes) => context.ids.randomBytes(bytes));
  const made = await context.db.transaction(async (tx) => {
    const inTransaction = { ...context, db: tx };
    const { id: partnerId } = await createPartner(inTransaction, systemId, name);
    const agency = { partner_id: partnerId, agency_id: agencyId ?? uuid() };
    // Changes nothing if an earlier agency of the system has created the provider.
    await insertProvider(tx, systemId, {
      provider_id: providerId ?? uuid(),
      // The secret from which the UUIDs that agencies see are computed.
      namespace: uuid(),
      logged_since: new Date(context.clock()),
    });
    const provider = await findProvider(tx, systemId);
    if (provider === undefined) throw new Error("the provider was not written");
    if (providerId !== undefined && providerId !== provider.provider_id)
      throw commandError("conflict", "otherProvider", { providerId: provider.provider_id });
    await insertAgency(tx, systemId, { ...agency, ...settingsAfter(NO_SETTINGS, change, provider.provider_id) });
    const detail = { agency_id: agency.agency_id, provider_id: provider.provider_id };
    await insertActOf(context, tx, { systemId, action: "agency.created", subject: partnerId, detail });
    const key = await issueKey(inTransaction, {
      systemId,
      partnerId,
      scopes: [MDS_SCOPE],
      name: "MDS",
      rateLimit,
    });
    return { partnerId, agencyId: agency.agency_id, providerId: provider.provider_id, key };
  });
  // After the transaction, because the logs of a large fleet begin in many transactions.
  return { ...made, vehicles: await beginVehicleLogs(context, systemId) };
}

/**
 * Changes an agency's settings.
 * @returns the settings after the change
 * @throws ServiceError when there is no such agency
 */
export async function setAgency(
  context: ActorContext,
  systemId: string,
  partnerId: string,
  change: AgencyChange,
): Promise<AgencySettings> {
  return context.db.transaction(async (tx) => {
    await mustLock(tx, systemId, partnerId);
    const before = await findAgencySettings(tx, systemId, partnerId);
    if (before === undefined) throw commandError("not_found", "agency", { id: partnerId });
    const settings = settingsAfter(before, change, await providerIdOf(tx, systemId));
    await updateAgencySettings(tx, systemId, partnerId, settings);
    // The audit log records only whether there is a boundary or a requirement file, because both are too long for it.
    const { time_zone, trips_since, boundary, requirements, left_out } = settings;
    const detail = {
      time_zone,
      trips_since,
      boundary: boundary !== null,
      requirements: requirements !== null,
      left_out,
    };
    await insertActOf(context, tx, { systemId, action: "agency.changed", subject: partnerId, detail });
    return settings;
  });
}

/** Returns the settings after a change. @param providerId the operator's id, to which requirement files refer */
function settingsAfter(
  before: AgencySettings,
  { timeZone, tripsSince, boundary, requirements }: AgencyChange,
  providerId: string | undefined,
): AgencySettings {
  return {
    ...before,
    ...(timeZone !== undefined && { time_zone: timeZone }),
    ...(tripsSince !== undefined && { trips_since: tripsSince }),
    ...(boundary !== undefined && { boundary }),
    ...(requirements !== undefined && {
      requirements,
      left_out: requirements === null ? null : leftOutFields(requirements, providerId),
    }),
  };
}

/** Returns the operator's id in MDS; undefined before the first agency. */
export async function providerIdOf(db: QueryRunner, systemId: string): Promise<string | undefined> {
  return (await findProvider(db, systemId))?.provider_id;
}
