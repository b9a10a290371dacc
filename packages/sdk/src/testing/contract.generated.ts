// What the fake of `@bikeshare/sdk/testing` must know of the interface.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.
import type { Bike, Reservation, Ride, Station, VehicleType } from "../json-types.generated.ts";
import type { Endpoint } from "./parameters.ts";

/** Every operation of the interface: its method and path. */
export type Operation =
  | "GET /v1/stations"
  | "GET /v1/stations/:id"
  | "GET /v1/vehicle_types"
  | "GET /v1/regions"
  | "GET /v1/rides"
  | "GET /v1/rides/:id"
  | "GET /v1/bikes"
  | "GET /v1/bikes/:id"
  | "GET /v1/reservations"
  | "GET /v1/reservations/:id"
  | "POST /v1/reservations"
  | "PATCH /v1/reservations/:id"
  | "DELETE /v1/reservations/:id"
  | "GET /v1/events"
  | "GET /v1/events/:id"
  | "GET /v1/me"
  | "GET /healthz"
  | "GET /readyz";

/** Who may call each operation, and what it takes. */
export const endpoints: Readonly<Record<Operation, Endpoint>> = {
  "GET /v1/stations": {"scope":"stations:read","path":{},"query":{"page":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"cursor":{"type":"string"},"status":{"type":"string","enum":["planned","online","offline","removed"]},"region_id":{"type":"string","minLength":1,"maxLength":255},"bbox":{"type":"string"},"updated_since":{"type":"string","format":"date-time"}},"headers":{}},
  "GET /v1/stations/:id": {"scope":"stations:read","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{}},
  "GET /v1/vehicle_types": {"scope":"stations:read","path":{},"query":{"page":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"cursor":{"type":"string"}},"headers":{}},
  "GET /v1/regions": {"scope":"stations:read","path":{},"query":{"page":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"cursor":{"type":"string"}},"headers":{}},
  "GET /v1/rides": {"scope":"rides:read","path":{},"query":{"page":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"cursor":{"type":"string"},"status":{"type":"string","enum":["started","completed","cancelled"]},"bike_id":{"type":"string","minLength":1,"maxLength":255},"station_id":{"type":"string","minLength":1,"maxLength":255},"started_after":{"type":"string","format":"date-time"},"started_before":{"type":"string","format":"date-time"},"updated_since":{"type":"string","format":"date-time"}},"headers":{}},
  "GET /v1/rides/:id": {"scope":"rides:read","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{}},
  "GET /v1/bikes": {"scope":"bikes:read","path":{},"query":{"page":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"cursor":{"type":"string"},"vehicle_state":{"type":"string","enum":["available","reserved","on_trip","non_operational","non_contactable","missing","removed"]},"station_id":{"type":"string","minLength":1,"maxLength":255},"bbox":{"type":"string"},"updated_since":{"type":"string","format":"date-time"}},"headers":{}},
  "GET /v1/bikes/:id": {"scope":"bikes:read","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{}},
  "GET /v1/reservations": {"scope":"reservations:read","path":{},"query":{"page":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"cursor":{"type":"string"},"status":{"type":"string","enum":["active","fulfilled","cancelled","expired"]},"rider_ref":{"type":"string","pattern":"^[\\x21-\\x7e]*$","minLength":1,"maxLength":64},"bike_id":{"type":"string","minLength":1,"maxLength":255},"ride_id":{"type":"string","minLength":1,"maxLength":255},"updated_since":{"type":"string","format":"date-time"}},"headers":{}},
  "GET /v1/reservations/:id": {"scope":"reservations:read","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{}},
  "POST /v1/reservations": {"scope":"reservations:write","path":{},"query":{},"headers":{"idempotency-key":{"type":"string","pattern":"^[\\x21-\\x7e]{1,255}$"}},"body":{"station_id":{"type":"string","minLength":1,"maxLength":255},"bike_id":{"type":"string","minLength":1,"maxLength":255},"vehicle_type_id":{"type":"string","minLength":1,"maxLength":255},"rider_ref":{"type":"string","pattern":"^[\\x21-\\x7e]*$","minLength":1,"maxLength":64},"hold_minutes":{"type":"integer","minimum":1,"maximum":30}}},
  "PATCH /v1/reservations/:id": {"scope":"reservations:write","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{"idempotency-key":{"type":"string","pattern":"^[\\x21-\\x7e]{1,255}$"}},"body":{"hold_minutes":{"type":"integer","minimum":1,"maximum":30,"required":true}}},
  "DELETE /v1/reservations/:id": {"scope":"reservations:write","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{}},
  "GET /v1/events": {"scope":"events:read","path":{},"query":{"page":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"cursor":{"type":"string"},"event":{"type":"string","enum":["ride.started","ride.completed","ride.cancelled","ride.corrected","station.offline","station.online","reservation.created","reservation.cancelled","reservation.expired","reservation.fulfilled"]},"after":{"type":"string","maxLength":255,"pattern":"^event_\\w+$"}},"headers":{}},
  "GET /v1/events/:id": {"scope":"events:read","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{}},
  "GET /v1/me": {"scope":"any","path":{},"query":{},"headers":{}},
  "GET /healthz": {"scope":"none","path":{},"query":{},"headers":{}},
  "GET /readyz": {"scope":"none","path":{},"query":{},"headers":{}},
};

/** Resources of which nothing is known: null where the contract allows it, else empty, 0, false or the first value. */
export const blank: Readonly<{ Station: Station; Bike: Bike; Ride: Ride; Reservation: Reservation; VehicleType: VehicleType }> = {
  "Station": {"id":"","name":"","short_name":null,"lat":0,"lon":0,"address":null,"region_id":null,"capacity":null,"is_virtual_station":false,"is_installed":false,"is_renting":false,"is_returning":false,"num_bikes_available":0,"num_bikes_reserved":0,"num_bikes_disabled":null,"num_docks_available":null,"num_docks_disabled":null,"vehicle_types_available":[],"status":"planned","offline_reason":null,"last_reported":null,"updated_at":""},
  "Bike": {"id":"","number":null,"vehicle_type_id":null,"vehicle_state":"available","station_id":null,"lat":null,"lon":null,"current_range_meters":null,"last_reported":null,"updated_at":""},
  "Ride": {"id":"","bike_id":"","status":"started","start_station_id":null,"end_station_id":null,"started_at":"","ended_at":null,"duration_seconds":null,"distance_meters":null,"vehicle_type_id":null,"rider_category":null,"end_reason":null,"is_countable":null,"updated_at":""},
  "Reservation": {"id":"","status":"active","station_id":null,"bike_id":"","vehicle_type_id":null,"rider_ref":null,"created_at":"","expires_at":"","cancelled_at":null,"cancel_reason":null,"ride_id":null,"updated_at":""},
  "VehicleType": {"id":"","name":null,"form_factor":null,"propulsion_type":null,"max_range_meters":null},
};
