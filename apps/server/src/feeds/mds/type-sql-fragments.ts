/**
 * SQL: joins what the operator says of a vehicle's type, as `type`. Types that a feed alone describes have none: vehicles of
 * feeds are not served.
 * @param id SQL of the type's id
 */
export const joinType = (id: string) =>
  `left join descriptions type on type.system_id = $1 and type.kind = 'vehicle_type' and type.id = ${id}`;

/** SQL: the shape of vehicles of a joined type. */
export const FORM_FACTOR = "type.content ->> 'form_factor'";

/** SQL: what moves vehicles of a joined type. */
export const PROPULSION_TYPE = "type.content ->> 'propulsion_type'";
