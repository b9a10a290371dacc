import type { VehicleType } from "@bikeshare/contract";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

const own = statement(
  "vehicleTypes.own",
  "select id, name, form_factor, propulsion_type, max_range_meters from vehicle_types where system_id = $1",
);

const lock = statement(
  "vehicleTypes.lock",
  `select id, name, form_factor, propulsion_type, max_range_meters from vehicle_types
   where system_id = $1 and id = $2 for update`,
);

const upsert = statement(
  "vehicleTypes.upsert",
  `insert into vehicle_types (system_id, id, name, form_factor, propulsion_type, max_range_meters)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (system_id, id) do update set name = excluded.name, form_factor = excluded.form_factor,
     propulsion_type = excluded.propulsion_type, max_range_meters = excluded.max_range_meters`,
);

const remove = statement(
  "vehicleTypes.remove",
  "delete from vehicle_types where system_id = $1 and id = $2 returning id",
);

// Steps through an index from each type to the next: as many looks as there are types, however many rows there are.
const distinctTypes = (table: "bikes" | "rides") => `
  (with recursive step (id) as (
     (select vehicle_type_id from ${table} where system_id = $1 and vehicle_type_id is not null
      order by vehicle_type_id limit 1)
     union all
     select (select each.vehicle_type_id from ${table} as each where each.system_id = $1 and each.vehicle_type_id > step.id
             order by each.vehicle_type_id limit 1)
     from step where step.id is not null)
   select id from step where id is not null)`;

const atStations = `
  select type ->> 'vehicle_type_id' as id
  from stations s, json_array_elements(s.vehicle_types_available) as type where s.system_id = $1`;

const namedNow = statement(
  "vehicleTypes.namedNow",
  `select id from ${distinctTypes("bikes")} as b union ${atStations}`,
);
const namedEver = statement("vehicleTypes.namedEver", `select id from ${distinctTypes("rides")} as r`);

const uses = statement(
  "vehicleTypes.uses",
  `select exists (select from bikes where system_id = $1 and vehicle_type_id = $2) as by_bikes,
     exists (select from rides where system_id = $1 and vehicle_type_id = $2) as by_rides,
     exists (select from (${atStations}) as s where id = $2) as by_stations`,
);

// Whoever keeps something made of vehicle types listens for stations already.
const notify = statement("vehicleTypes.notify", "select pg_notify('stations', $1)");

/** What the operator says of vehicle types. */
export function findOwnTypes(db: QueryRunner, systemId: string): Promise<VehicleType[]> {
  return db.query<VehicleType>(own, [systemId]);
}

/** What the operator says of one type, locked until the transaction ends; undefined: nothing. */
export async function lockOwnType(tx: Transaction, systemId: string, id: string): Promise<VehicleType | undefined> {
  return (await tx.query<VehicleType>(lock, [systemId, id]))[0];
}

export async function updateType(tx: Transaction, systemId: string, type: VehicleType): Promise<void> {
  const { id, name, form_factor, propulsion_type, max_range_meters } = type;
  await tx.query(upsert, [systemId, id, name, form_factor, propulsion_type, max_range_meters]);
  await tx.query(notify, [systemId]);
}

/** @returns false when the operator said nothing of it */
export async function deleteType(tx: Transaction, systemId: string, id: string): Promise<boolean> {
  const isDeleted = (await tx.query(remove, [systemId, id])).length === 1;
  await tx.query(notify, [systemId]);
  return isDeleted;
}

/** The ids that bikes and stations name. */
export async function findNamedTypes(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(namedNow, [systemId])).map(({ id }) => id);
}

/** The ids that rides name. */
export async function findRiddenTypes(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(namedEver, [systemId])).map(({ id }) => id);
}

/** Who names a type. */
export interface TypeUses {
  readonly by_bikes: boolean;
  readonly by_rides: boolean;
  readonly by_stations: boolean;
}

export async function findTypeUses(db: QueryRunner, systemId: string, id: string): Promise<TypeUses> {
  return oneRow(await db.query<TypeUses>(uses, [systemId, id]));
}
