/**
 * How a parameter filters a list: a comparison, and the fields of an item that are compared. With several fields, one that
 * matches is enough. `within` names no field: it compares the item's position with a box.
 */
export type Filter<Field extends string = string> = readonly [
  comparison: "equals" | "since" | "before" | "within",
  ...fields: readonly Field[],
];

/**
 * The filters of these lists, by the parameter's name. The service makes SQL conditions of them, and the SDK's fake compares
 * items in memory. A position, such as `after` of events, is not a filter. Deliveries and exports have filters of their own.
 */
export const listFilters = {
  stations: {
    status: ["equals", "status"],
    region_id: ["equals", "region_id"],
    bbox: ["within"],
    updated_since: ["since", "updated_at"],
  },
  bikes: {
    vehicle_state: ["equals", "vehicle_state"],
    station_id: ["equals", "station_id"],
    bbox: ["within"],
    updated_since: ["since", "updated_at"],
  },
  rides: {
    status: ["equals", "status"],
    bike_id: ["equals", "bike_id"],
    station_id: ["equals", "start_station_id", "end_station_id"],
    started_after: ["since", "started_at"],
    started_before: ["before", "started_at"],
    updated_since: ["since", "updated_at"],
  },
  reservations: {
    status: ["equals", "status"],
    rider_ref: ["equals", "rider_ref"],
    bike_id: ["equals", "bike_id"],
    ride_id: ["equals", "ride_id"],
    updated_since: ["since", "updated_at"],
  },
  events: { event: ["equals", "event"] },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Filter>>>>;
