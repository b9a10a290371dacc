import type { Queryable, QueryRunner, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { FORM_FACTOR, joinType } from "./type-sql-fragments.ts";

/*
 * The statements for the operator's side of agencies: their settings, and the counts and months that the console shows.
 * queries.ts has the statements for what agencies read.
 */

/** The settings of an agency that the operator can change. */
export type AgencySettings = Pick<
  Tables["agencies"],
  "time_zone" | "trips_since" | "boundary" | "requirements" | "left_out"
>;

const insertRow = statement(
  "mds.insertAgency",
  `insert into agencies
     (system_id, partner_id, agency_id, time_zone, trips_since, boundary, requirements, left_out, boundary_hash)
   values ($1, $2, $3, $4, $5, $6::json, $7, $8, md5($6::json::text))`,
);

const findSettings = statement(
  "mds.findAgencySettings",
  "select time_zone, trips_since, boundary, requirements, left_out from agencies where system_id = $1 and partner_id = $2",
);

const updateSettings = statement(
  "mds.updateAgencySettings",
  `update agencies set time_zone = $3, trips_since = $4, boundary = $5::json, requirements = $6, left_out = $7,
     boundary_hash = md5($5::json::text)
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

/** Returns an agency's settings; undefined when the partner is not an agency. */
export async function findAgencySettings(
  db: QueryRunner,
  systemId: string,
  partnerId: string,
): Promise<AgencySettings | undefined> {
  return (await db.query<AgencySettings>(findSettings, [systemId, partnerId]))[0];
}

/** Updates the settings of an agency. The caller has locked its partner. */
export async function updateAgencySettings(
  tx: Transaction,
  systemId: string,
  partnerId: string,
  settings: AgencySettings,
): Promise<void> {
  await tx.query(updateSettings, [systemId, partnerId, ...parameters(settings)]);
}

/** Returns the values of the settings' columns. */
function parameters({ time_zone, trips_since, boundary, requirements, left_out }: AgencySettings): unknown[] {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  return [time_zone, trips_since, json(boundary), json(requirements), json(left_out)];
}

/** The number of vehicles in one state, or in one state at one position, and how many of them lack a fact. */
export interface StateRow {
  readonly state: string;
  readonly vehicles: number;
  /** Vehicles whose position is not known. */
  readonly nowhere: number;
  /** Vehicles whose form factor is not known. */
  readonly untyped: number;
  /** The position of these vehicles, as `lat` and `lon`; null: it is unknown, or vehicles are not counted by position. */
  readonly lat: number | null;
  readonly lon: number | null;
}

// A vehicle is where its last event happened, or else at the station of that event. $2: whether to group by position, the
// columns 5 and 6, as well as by state. `joinType` joins the description of the vehicle's type, which `FORM_FACTOR` reads.
const countStates = statement(
  "mds.countStates",
  `select state, count(*)::int as vehicles, count(*) filter (where lat is null)::int as nowhere,
     count(*) filter (where form_factor is null)::int as untyped,
     case when $2::boolean then lat end as lat, case when $2::boolean then lon end as lon
   from (select b.vehicle_state as state, ${FORM_FACTOR} as form_factor,
           coalesce((b.last_event::json ->> 'lat')::double precision, s.lat) as lat,
           coalesce((b.last_event::json ->> 'lon')::double precision, s.lon) as lon
         from bikes b
         left join stations s on s.system_id = $1 and s.id = b.last_event::json ->> 'station_id'
         ${joinType("b.vehicle_type_id")}
         where b.system_id = $1 and b.last_event is not null) as vehicle
   group by 1, 5, 6`,
);

/** Counts the vehicles whose events are logged, by state. @param isByPlace whether to count by position as well */
export function countVehicleStates(db: Queryable, systemId: string, isByPlace: boolean): Promise<StateRow[]> {
  return db.query<StateRow>(countStates, [systemId, isByPlace]);
}

// Steps by month in the local time of the zone $3, and converts the end of each month back to an instant.
const listMonthRows = statement(
  "mds.listMonths",
  `select to_char(month, 'YYYY-MM') as month, (month + interval '1 month') at time zone $3 as ends_at
   from generate_series(date_trunc('month', $1::timestamptz at time zone $3), $2::timestamptz at time zone $3,
     interval '1 month') as month
   order by month desc limit $4`,
);

/** Returns the latest months of a period in a time zone, the newest first, each with its end. */
export function listMonths(
  db: Queryable,
  {
    since,
    until,
    timeZone,
    limit,
  }: { readonly since: Date; readonly until: Date; readonly timeZone: string; readonly limit: number },
): Promise<{ readonly month: string; readonly ends_at: Date }[]> {
  return db.query(listMonthRows, [since, until, timeZone, limit]);
}
