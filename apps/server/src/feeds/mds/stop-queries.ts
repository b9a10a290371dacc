import { STATES_IN_DOCK } from "@bikeshare/rules";
import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { QueryRunner } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { FORM_FACTOR, joinType } from "./type-sql-fragments.ts";

/* The statements for MDS's stops, which are this service's stations. */

const columns = columnsOfTable("stations").only(
  "id",
  "name",
  "short_name",
  "lat",
  "lon",
  "address",
  "region_id",
  "capacity",
  "status",
  "updated_at",
  "is_installed",
  "is_renting",
  "is_returning",
  "counters",
  "vehicle_types_available",
  "num_bikes_available",
  "num_bikes_reserved",
  "num_bikes_disabled",
  "num_docks_available",
  "num_docks_disabled",
);

/** A station, with the vehicles at the station. */
export interface StopRow extends RowOf<typeof columns> {
  readonly vehicle_types_available: readonly { readonly vehicle_type_id: string; readonly count: number }[];
  /** Null: the station has mirrored counters, which a feed gives, so its vehicles are not known one by one. */
  readonly vehicles: readonly StoppedVehicle[] | null;
}

/** A vehicle at a station. */
interface StoppedVehicle {
  readonly id: string;
  readonly vehicle_state: (typeof STATES_IN_DOCK)[number];
  readonly form_factor: string | null;
  /** Whether the vehicle's events are logged. Agencies see only such vehicles. */
  readonly is_logged: boolean;
}

const states = STATES_IN_DOCK.map((state) => `'${state}'`).join(", ");
/** The condition for a station that agencies see: neither the operator nor its feed has removed it. */
const isThere = "s.status <> 'removed' and s.offline_reason is distinct from 'removed_from_source'";
// `vehicles` is null unless the station's counters are `operated`, which means that this service counts its bikes itself.
// `joinType` joins the description of a bike's type, which `FORM_FACTOR` reads.
const select = `select ${columns.list("s")}, case when s.counters = 'operated' then (
     select coalesce(json_agg(json_build_object('id', b.id, 'vehicle_state', b.vehicle_state,
       'form_factor', ${FORM_FACTOR}, 'is_logged', b.last_event is not null) order by b.id), '[]')
     from bikes b ${joinType("b.vehicle_type_id")}
     where b.system_id = $1 and b.station_id = s.id and b.vehicle_state in (${states})) end as vehicles
   from stations s where s.system_id = $1 and ${isThere}`;

const listRows = statement("mds.listStops", `${select} and s.id > $2 order by s.id limit $3`);
const findRow = statement("mds.findStop", `${select} and s.id = $2`);
const listIds = statement(
  "mds.listStopIds",
  `select id from stations s where s.system_id = $1 and ${isThere} and s.id > $2 order by s.id limit $3`,
);
// `type` is the name under which `FORM_FACTOR` reads a description.
const listForms = statement(
  "mds.listFormFactors",
  `select id, ${FORM_FACTOR} as form_factor from descriptions type
   where system_id = $1 and kind = 'vehicle_type' and ${FORM_FACTOR} is not null order by id`,
);

/** Returns existing and planned stations after an id, in the order of their ids. */
export function listStops(db: QueryRunner, systemId: string, after: string, limit: number): Promise<StopRow[]> {
  return db.query<StopRow>(listRows, [systemId, after, limit]);
}

/** Returns a station; undefined when it does not exist or was removed. */
export async function findStop(db: QueryRunner, systemId: string, id: string): Promise<StopRow | undefined> {
  return (await db.query<StopRow>(findRow, [systemId, id]))[0];
}

/** Returns ids of existing and planned stations after an id, in their order. */
export async function listStopIds(db: QueryRunner, systemId: string, after: string, limit: number): Promise<string[]> {
  return (await db.query<{ id: string }>(listIds, [systemId, after, limit])).map(({ id }) => id);
}

/** Returns the form factors of a system's vehicle types, by the types' ids. */
export async function listFormFactors(db: QueryRunner, systemId: string): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query<{ id: string; form_factor: string }>(listForms, [systemId]);
  return new Map(rows.map(({ id, form_factor: form }) => [id, form]));
}
