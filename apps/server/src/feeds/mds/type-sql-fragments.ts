/**
 * Returns SQL that joins the operator's description of a vehicle type as `type`. Types that only a feed describes have no
 * such description. They are not needed, because agencies do not read the vehicles of feeds.
 * @param id SQL for the id of the vehicle type
 */
export const joinType = (id: string) =>
  `left join descriptions type on type.system_id = $1 and type.kind = 'vehicle_type' and type.id = ${id}`;

/** SQL for the form factor of a joined vehicle type, such as `bicycle`. */
export const FORM_FACTOR = "type.content ->> 'form_factor'";

/** SQL for the propulsion of a joined vehicle type, such as `human`. */
export const PROPULSION_TYPE = "type.content ->> 'propulsion_type'";
