import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** What the operator sets of an agency. */
export type AgencySettings = Pick<Tables["agencies"], "time_zone" | "boundary" | "requirements" | "left_out">;

const insertRow = statement(
  "mds.insertAgency",
  `insert into agencies (system_id, partner_id, agency_id, time_zone, boundary, requirements, left_out)
   values ($1, $2, $3, $4, $5, $6, $7)`,
);

const findSettings = statement(
  "mds.findAgencySettings",
  "select time_zone, boundary, requirements, left_out from agencies where system_id = $1 and partner_id = $2",
);

const updateSettings = statement(
  "mds.updateAgencySettings",
  `update agencies set time_zone = $3, boundary = $4, requirements = $5, left_out = $6
   where system_id = $1 and partner_id = $2`,
);

/** Makes a partner an agency. */
export async function insertAgency(
  tx: Transaction,
  systemId: string,
  agency: Pick<Tables["agencies"], "partner_id" | "agency_id"> & AgencySettings,
): Promise<void> {
  const { partner_id: partnerId, agency_id: agencyId } = agency;
  await tx.query(insertRow, [systemId, partnerId, agencyId, ...parameters(agency)]);
}

/** Returns an agency's settings; undefined when the partner is none. */
export async function findAgencySettings(
  db: QueryRunner,
  systemId: string,
  partnerId: string,
): Promise<AgencySettings | undefined> {
  return (await db.query<AgencySettings>(findSettings, [systemId, partnerId]))[0];
}

/** Updates the settings of an agency whose partner is locked. */
export async function updateAgencySettings(
  tx: Transaction,
  systemId: string,
  partnerId: string,
  settings: AgencySettings,
): Promise<void> {
  await tx.query(updateSettings, [systemId, partnerId, ...parameters(settings)]);
}

function parameters({ time_zone, boundary, requirements, left_out }: AgencySettings): unknown[] {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  return [time_zone, json(boundary), json(requirements), json(left_out)];
}
