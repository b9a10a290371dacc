import type { VehicleType } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { QueryRunner } from "../../storage/db/database.ts";
import { pageOfItems, sortById, type Page } from "../../storage/lists/page.ts";
import {
  deleteType,
  findNamedTypes,
  findOwnTypes,
  findRiddenTypes,
  findTypeUses,
  lockOwnType,
  updateType,
} from "./queries.ts";
import { saidBySources } from "./said.ts";

/** Every vehicle type that is described, or that a bike or a station names. */
export async function vehicleTypesOf(db: QueryRunner, systemId: string): Promise<VehicleType[]> {
  return typesNamed(db, systemId, await findNamedTypes(db, systemId));
}

/** The same, with those that only past rides name. */
export async function allVehicleTypesOf(db: QueryRunner, systemId: string): Promise<VehicleType[]> {
  const named = await findNamedTypes(db, systemId);
  return typesNamed(db, systemId, [...named, ...(await findRiddenTypes(db, systemId))]);
}

/** Every vehicle type as readers see it, with what the operator says of it; null: nothing. */
export async function describedVehicleTypes(
  db: QueryRunner,
  systemId: string,
): Promise<{ type: VehicleType; own: VehicleType | null }[]> {
  const own = await findOwnTypes(db, systemId);
  const types = await allVehicleTypesOf(db, systemId);
  return types.map((type) => ({ type, own: own.find(({ id }) => id === type.id) ?? null }));
}

async function typesNamed(db: QueryRunner, systemId: string, named: readonly string[]): Promise<VehicleType[]> {
  const said = await typesOfSources(db, systemId);
  return sortById(mergeVehicleTypes(await findOwnTypes(db, systemId), said, named));
}

async function typesOfSources(db: QueryRunner, systemId: string): Promise<VehicleType[]> {
  const sources = await saidBySources(db, systemId);
  return sources.flatMap((source) => (source.feed === "vehicle_types" ? source.content : []));
}

/** Returns a page of a system's vehicle types, ordered by id. */
export async function listVehicleTypes(
  db: QueryRunner,
  systemId: string,
  request: PageRequest<string>,
): Promise<Page<string>> {
  return pageOfItems(await allVehicleTypesOf(db, systemId), request);
}

/** Changes to a vehicle type's description. Null removes the operator's value; omitted fields stay as they are. */
export type VehicleTypeChanges = {
  readonly [Field in Exclude<keyof VehicleType, "id">]?: VehicleType[Field] | undefined;
};

/** Stores the operator's description of a vehicle type, which takes precedence over those of sources. */
export function describeVehicleType(
  context: ActorContext,
  systemId: string,
  id: string,
  changes: VehicleTypeChanges,
): Promise<VehicleType> {
  const given = Object.fromEntries(Object.entries(changes).filter(([, word]) => word !== undefined));
  return context.db.transaction(async (tx) => {
    const nothing = { name: null, form_factor: null, propulsion_type: null, max_range_meters: null };
    const type = { ...nothing, ...(await lockOwnType(tx, systemId, id)), ...given, id };
    await updateType(tx, systemId, type);
    await insertActOf(context, tx, { systemId, action: "vehicle_type.described", subject: id, detail: given });
    return type;
  });
}

/**
 * Takes back what the operator says of a vehicle type.
 * @throws ServiceError `not_found` when that is nothing, `invalid_parameter` while something names a type that no source
 *   describes: its id would mean nothing
 */
export async function removeVehicleType(context: ActorContext, systemId: string, id: string): Promise<void> {
  await context.db.transaction(async (tx) => {
    if ((await lockOwnType(tx, systemId, id)) === undefined) throw commandError("not_found", "vehicleType", { id });
    const isDescribed = (await typesOfSources(tx, systemId)).some((type) => type.id === id);
    const uses = await findTypeUses(tx, systemId, id);
    const users = [
      ...(uses.by_bikes ? ["bikes"] : []),
      ...(uses.by_stations ? ["stations"] : []),
      ...(uses.by_rides ? ["rides"] : []),
    ];
    if (!isDescribed && users.length > 0) {
      throw commandError("invalid_parameter", "vehicleTypeInUse", { users: users.join(" and "), id });
    }
    await deleteType(tx, systemId, id);
    await insertActOf(context, tx, { systemId, action: "vehicle_type.removed", subject: id, detail: {} });
  });
}

/**
 * Returns the vehicle types of a system: each that the operator or a source describes, or that is named by anything.
 * @param own what the operator says: it goes before what sources say, field by field
 * @param said what sources say, the first source first
 * @param named ids that stations, bikes or rides name
 */
function mergeVehicleTypes(
  own: readonly VehicleType[],
  said: readonly VehicleType[],
  named: Iterable<string>,
): VehicleType[] {
  const ids = new Set([...own, ...said].map(({ id }) => id).concat([...named]));
  return [...ids].map((id) => {
    const words = [own, said].flatMap((types) => types.find((type) => type.id === id) ?? []);
    const first = <Field extends keyof VehicleType>(field: Field) =>
      words.find((word) => word[field] !== null)?.[field] ?? null;
    return {
      id,
      name: first("name"),
      form_factor: first("form_factor"),
      propulsion_type: first("propulsion_type"),
      max_range_meters: first("max_range_meters"),
    };
  });
}
