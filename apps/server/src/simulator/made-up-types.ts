import type { Acting } from "../audit/audit-log.ts";
import type { Queryable } from "../db/database.ts";
import { allVehicleTypesOf, describeVehicleType, type VehicleTypeChanges } from "../vehicle-types/service.ts";

/** Metres that a made-up e-bike goes on a full battery; they report as much when they are new. */
export const MADE_UP_RANGE_METERS = 60_000;

/** The types of a made-up city's bikes. */
const madeUpTypes: Readonly<Record<string, VehicleTypeChanges>> = {
  bike: { name: "Bike", form_factor: "bicycle", propulsion_type: "human" },
  ebike: {
    name: "E-bike",
    form_factor: "bicycle",
    propulsion_type: "electric_assist",
    max_range_meters: MADE_UP_RANGE_METERS,
  },
};

/** Says what the types of a made-up city's bikes are, where nobody has said it. */
export async function describeMadeUpTypes(
  context: Acting & { readonly db: Queryable },
  systemId: string,
): Promise<void> {
  const described = (await allVehicleTypesOf(context.db, systemId)).filter((type) => type.propulsion_type !== null);
  for (const [id, words] of Object.entries(madeUpTypes)) {
    if (!described.some((type) => type.id === id)) await describeVehicleType(context, systemId, id, words);
  }
}
