import type { VehicleType } from "@bikeshare/contract";

/**
 * The vehicle types of a system: each that the operator or a source describes, or that is named by anything.
 * @param own what the operator says: it goes before what sources say, field by field
 * @param said what sources say, the first source first
 * @param named ids that stations, bikes or rides name
 */
export function mergeVehicleTypes(
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
