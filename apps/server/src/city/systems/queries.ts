import type { Region, VehicleType } from "@bikeshare/contract";
import type { Queryable, QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { OperatorFacts } from "./facts.rules.ts";

export type SystemRow = Pick<Tables["systems"], "system_id" | "name" | "created_at">;

const insert = statement(
  "systems.insert",
  `insert into systems (system_id, name, created_at) values ($1, $2, $3) on conflict do nothing returning system_id`,
);
// In a statement of its own: a distributed database has the two tables on different machines.
const insertPlaced = statement(
  "systems.insertPlaced",
  `insert into placed_systems (system_id) values ($1) on conflict (system_id) do nothing`,
);
const all = statement("systems.all", `select system_id, name, created_at from systems order by created_at, system_id`);

/** @returns false when there is a system with this id already */
export async function insertSystem(
  db: Queryable,
  { system_id: systemId, name, created_at: createdAt }: SystemRow,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    tx.send(insertPlaced, [systemId]);
    return (await tx.query(insert, [systemId, name, createdAt])).length === 1;
  });
}

export function listSystems(db: Queryable): Promise<SystemRow[]> {
  return db.query<SystemRow>(all);
}

// A system that nobody named is called by its id.
const columns = `system_id, nullif(name, system_id) as name, timezone, language, feed_contact_email, opening_hours, operator,
  url, licence`;

const find = statement("systemFacts.find", `select ${columns} from systems where system_id = $1`);
const list = statement("systemFacts.list", `select ${columns} from systems order by created_at, system_id`);
const lock = statement("systemFacts.lock", `select ${columns} from systems where system_id = $1 for update`);

const update = statement(
  "systemFacts.update",
  `update systems set name = coalesce($2, system_id), timezone = $3, language = $4, feed_contact_email = $5,
     opening_hours = $6, operator = $7, url = $8, licence = $9
   where system_id = $1`,
);

// The listeners of the stations' channel also cache data derived from a system's facts.
const notify = statement("systemFacts.notify", "select pg_notify('stations', $1)");

/** Returns the facts that the operator has set for a system; undefined when there is no such system. */
export async function findFacts(db: QueryRunner, systemId: string): Promise<OperatorFacts | undefined> {
  return (await db.query<OperatorFacts>(find, [systemId]))[0];
}

/** Returns the facts that the operator has set for each system, oldest system first. */
export function listFacts(db: Queryable): Promise<OperatorFacts[]> {
  return db.query<OperatorFacts>(list);
}

/** The same of one system, locked until the transaction ends. */
export async function lockFacts(tx: Transaction, systemId: string): Promise<OperatorFacts | undefined> {
  return (await tx.query<OperatorFacts>(lock, [systemId]))[0];
}

/** Writes what the operator says of a system, and tells listeners once the transaction has committed. */
export async function updateFacts(tx: Transaction, facts: OperatorFacts): Promise<void> {
  await tx.query(update, [
    facts.system_id,
    facts.name,
    facts.timezone,
    facts.language,
    facts.feed_contact_email,
    facts.opening_hours,
    facts.operator,
    facts.url,
    facts.licence,
  ]);
  await tx.query(notify, [facts.system_id]);
}

const own = statement("regions.own", "select id, name from regions where system_id = $1");

const upsert = statement(
  "regions.upsert",
  `insert into regions (system_id, id, name) values ($1, $2, $3)
   on conflict (system_id, id) do update set name = excluded.name`,
);

const remove = statement("regions.remove", "delete from regions where system_id = $1 and id = $2 returning id");

const used = statement(
  "regions.used",
  "select distinct region_id as id from stations where system_id = $1 and region_id is not null",
);

const isUsed = statement(
  "regions.isUsed",
  "select exists (select from stations where system_id = $1 and region_id = $2) as is_used",
);

// The listeners of the stations' channel also cache data derived from regions.
const notifyOfRegions = statement("regions.notify", "select pg_notify('stations', $1)");

/** Returns the regions that the operator has described. */
export function findOwnRegions(db: QueryRunner, systemId: string): Promise<Region[]> {
  return db.query<Region>(own, [systemId]);
}

export async function updateRegion(tx: Transaction, systemId: string, { id, name }: Region): Promise<void> {
  await tx.query(upsert, [systemId, id, name]);
  await tx.query(notifyOfRegions, [systemId]);
}

/** @returns false when the operator said nothing of it */
export async function deleteRegion(tx: Transaction, systemId: string, id: string): Promise<boolean> {
  const isDeleted = (await tx.query(remove, [systemId, id])).length === 1;
  await tx.query(notifyOfRegions, [systemId]);
  return isDeleted;
}

/** Returns the ids that stations name. */
export async function findUsedRegions(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(used, [systemId])).map(({ id }) => id);
}

export async function findWhetherRegionUsed(db: QueryRunner, systemId: string, id: string): Promise<boolean> {
  return oneRow(await db.query<{ is_used: boolean }>(isUsed, [systemId, id])).is_used;
}

const vehicleTypeOwn = statement(
  "vehicleTypes.own",
  "select id, name, form_factor, propulsion_type, max_range_meters from vehicle_types where system_id = $1",
);

const lockVehicleType = statement(
  "vehicleTypes.lock",
  `select id, name, form_factor, propulsion_type, max_range_meters from vehicle_types
   where system_id = $1 and id = $2 for update`,
);

const vehicleTypeUpsert = statement(
  "vehicleTypes.upsert",
  `insert into vehicle_types (system_id, id, name, form_factor, propulsion_type, max_range_meters)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (system_id, id) do update set name = excluded.name, form_factor = excluded.form_factor,
     propulsion_type = excluded.propulsion_type, max_range_meters = excluded.max_range_meters`,
);

const vehicleTypeRemove = statement(
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

// The listeners of the stations' channel also cache data derived from vehicle types.
const notifyOfVehicleTypes = statement("vehicleTypes.notify", "select pg_notify('stations', $1)");

/** Returns the vehicle types that the operator has described. */
export function findOwnTypes(db: QueryRunner, systemId: string): Promise<VehicleType[]> {
  return db.query<VehicleType>(vehicleTypeOwn, [systemId]);
}

/**
 * Returns the operator's description of a vehicle type, and locks it until the transaction ends; undefined: there is none.
 */
export async function lockOwnType(tx: Transaction, systemId: string, id: string): Promise<VehicleType | undefined> {
  return (await tx.query<VehicleType>(lockVehicleType, [systemId, id]))[0];
}

export async function updateType(tx: Transaction, systemId: string, type: VehicleType): Promise<void> {
  const { id, name, form_factor, propulsion_type, max_range_meters } = type;
  await tx.query(vehicleTypeUpsert, [systemId, id, name, form_factor, propulsion_type, max_range_meters]);
  await tx.query(notifyOfVehicleTypes, [systemId]);
}

/** @returns false when the operator said nothing of it */
export async function deleteType(tx: Transaction, systemId: string, id: string): Promise<boolean> {
  const isDeleted = (await tx.query(vehicleTypeRemove, [systemId, id])).length === 1;
  await tx.query(notifyOfVehicleTypes, [systemId]);
  return isDeleted;
}

/** Returns the ids that bikes and stations name. */
export async function findNamedTypes(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(namedNow, [systemId])).map(({ id }) => id);
}

/** Returns the ids that rides name. */
export async function findRiddenTypes(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(namedEver, [systemId])).map(({ id }) => id);
}

/** Who names a type. */
interface TypeUses {
  readonly by_bikes: boolean;
  readonly by_rides: boolean;
  readonly by_stations: boolean;
}

export async function findTypeUses(db: QueryRunner, systemId: string, id: string): Promise<TypeUses> {
  return oneRow(await db.query<TypeUses>(uses, [systemId, id]));
}
