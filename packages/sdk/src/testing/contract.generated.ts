// What the fake of `@bikeshare/sdk/testing` must know of the interface.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.
import type { Alert, Bike, DeliveryRecord, Export, Reservation, Ride, Station, VehicleType } from "../json-types.generated.ts";
import type { Endpoint } from "./parameters.ts";

/** Every operation of the interface: its method and path. */
export type Operation =
  | "GET /v1/stations"
  | "GET /v1/stations/:id/typical"
  | "GET /v1/stations/:id/forecast"
  | "GET /v1/stations/:id"
  | "GET /v1/stations/:id/history"
  | "GET /v1/vehicle_types"
  | "GET /v1/regions"
  | "GET /v1/alerts"
  | "GET /v1/alerts/:id"
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
  | "GET /v1/deliveries"
  | "GET /v1/deliveries/:id"
  | "POST /v1/deliveries/:id/resend"
  | "GET /v1/flows"
  | "GET /v1/system/summary"
  | "GET /v1/exports"
  | "GET /v1/exports/:id"
  | "GET /v1/me"
  | "GET /healthz"
  | "GET /readyz";

/** Who may call each operation, and what it takes. */
export const endpoints: Readonly<Record<Operation, Endpoint>> = {
  "GET /v1/stations": {"scope":"stations:read","parameterScopes":{"at":"history:read"},"path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor","at":"instant","status":["planned","online","offline","removed"],"region_id":"identifier","bbox":"boundingBox","updated_since":"instant","changes_since":"cursor"},"headers":{}},
  "GET /v1/stations/:id/typical": {"scope":"history:read","path":{"id":"identifier"},"query":{},"headers":{}},
  "GET /v1/stations/:id/forecast": {"scope":"history:read","path":{"id":"identifier"},"query":{"horizon":["PT15M","PT30M","PT45M","PT1H","PT2H"]},"headers":{}},
  "GET /v1/stations/:id": {"scope":"stations:read","parameterScopes":{"at":"history:read"},"path":{"id":"identifier"},"query":{"at":"instant"},"headers":{}},
  "GET /v1/stations/:id/history": {"scope":"history:read","path":{"id":"identifier"},"query":{"from":"instant","to":"instant","step":["PT5M","PT10M","PT15M","PT20M","PT30M","PT1H","PT2H","PT3H","PT4H","PT6H","PT8H","PT12H","P1D"]},"headers":{}},
  "GET /v1/vehicle_types": {"scope":"stations:read","path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor"},"headers":{}},
  "GET /v1/regions": {"scope":"stations:read","path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor"},"headers":{}},
  "GET /v1/alerts": {"scope":"stations:read","path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor"},"headers":{}},
  "GET /v1/alerts/:id": {"scope":"stations:read","path":{"id":"identifier"},"query":{},"headers":{}},
  "GET /v1/rides": {"scope":"rides:read","path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor","status":["started","completed","cancelled"],"bike_id":"identifier","station_id":"identifier","started_after":"instant","started_before":"instant","updated_since":"instant","changes_since":"cursor"},"headers":{}},
  "GET /v1/rides/:id": {"scope":"rides:read","path":{"id":"identifier"},"query":{},"headers":{}},
  "GET /v1/bikes": {"scope":"bikes:read","path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor","vehicle_state":["available","reserved","on_trip","non_operational","non_contactable","missing","removed"],"station_id":"identifier","bbox":"boundingBox","updated_since":"instant","changes_since":"cursor"},"headers":{}},
  "GET /v1/bikes/:id": {"scope":"bikes:read","path":{"id":"identifier"},"query":{},"headers":{}},
  "GET /v1/reservations": {"scope":"reservations:read","path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor","status":["active","fulfilled","cancelled","expired"],"rider_ref":"riderRef","bike_id":"identifier","ride_id":"identifier","updated_since":"instant","changes_since":"cursor"},"headers":{}},
  "GET /v1/reservations/:id": {"scope":"reservations:read","path":{"id":"identifier"},"query":{},"headers":{}},
  "POST /v1/reservations": {"scope":"reservations:write","path":{},"query":{},"headers":{"idempotency-key":"idempotencyKey"},"body":{"station_id":{"kind":"givenIdentifier","isRequired":false},"bike_id":{"kind":"givenIdentifier","isRequired":false},"vehicle_type_id":{"kind":"givenIdentifier","isRequired":false},"rider_ref":{"kind":"riderRef","isRequired":false},"hold_minutes":{"kind":{"minimum":1,"maximum":30},"isRequired":false}}},
  "PATCH /v1/reservations/:id": {"scope":"reservations:write","path":{"id":"identifier"},"query":{},"headers":{"idempotency-key":"idempotencyKey"},"body":{"hold_minutes":{"kind":{"minimum":1,"maximum":30},"isRequired":true}}},
  "DELETE /v1/reservations/:id": {"scope":"reservations:write","path":{"id":"identifier"},"query":{},"headers":{}},
  "GET /v1/events": {"scope":"events:read","path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor","event":["ride.started","ride.completed","ride.cancelled","ride.corrected","station.offline","station.online","reservation.created","reservation.cancelled","reservation.expired","reservation.fulfilled","alert.opened","alert.ended","station.below_threshold","station.back_to_normal"],"after":"eventId"},"headers":{}},
  "GET /v1/events/:id": {"scope":"events:read","path":{"id":"identifier"},"query":{},"headers":{}},
  "GET /v1/deliveries": {"scope":"deliveries:read","path":{},"query":{"limit":"positiveInteger","cursor":"cursor","endpoint_id":"identifier","status":["pending","succeeded","failed","held","failing","unsuccessful"],"event":"identifier","failure":"identifier","resource_id":"identifier","since":"instant","until":"instant"},"headers":{}},
  "GET /v1/deliveries/:id": {"scope":"deliveries:read","path":{"id":"identifier"},"query":{},"headers":{}},
  "POST /v1/deliveries/:id/resend": {"scope":"deliveries:write","path":{"id":"identifier"},"query":{},"headers":{"idempotency-key":"idempotencyKey"}},
  "GET /v1/flows": {"scope":"history:read","path":{},"query":{"from":"day","to":"day","station_id":"identifier","limit":"positiveInteger","cursor":"cursor"},"headers":{}},
  "GET /v1/system/summary": {"scope":"history:read","path":{},"query":{"from":"instant","to":"instant","step":["PT15M","PT1H","P1D"]},"headers":{}},
  "GET /v1/exports": {"scope":"exports:read","path":{},"query":{"page":"positiveInteger","limit":"positiveInteger","cursor":"cursor","kind":["rides","stations","station_status"],"month":"month","format":["csv","parquet"]},"headers":{}},
  "GET /v1/exports/:id": {"scope":"exports:read","path":{"id":"identifier"},"query":{},"headers":{}},
  "GET /v1/me": {"scope":"any","path":{},"query":{},"headers":{}},
  "GET /healthz": {"scope":"none","path":{},"query":{},"headers":{}},
  "GET /readyz": {"scope":"none","path":{},"query":{},"headers":{}},
};

/** Resources of which nothing is known: null where the contract allows it, else empty, 0, false or the first value. */
export const blank: Readonly<{ Station: Station; Alert: Alert; Bike: Bike; Ride: Ride; Reservation: Reservation; VehicleType: VehicleType; Export: Export; DeliveryRecord: DeliveryRecord }> = {
  Station: {"id":"","name":"","short_name":null,"lat":0,"lon":0,"address":null,"region_id":null,"capacity":null,"is_virtual_station":false,"is_installed":false,"is_renting":false,"is_returning":false,"num_bikes_available":0,"num_bikes_reserved":0,"num_bikes_disabled":null,"num_docks_available":null,"num_docks_disabled":null,"vehicle_types_available":[],"status":"planned","offline_reason":null,"last_reported":null,"updated_at":""},
  Alert: {"id":"","type":"system_closure","summary":"","description":null,"url":null,"times":[],"station_ids":[],"region_ids":[],"opened_at":"","ended_at":null,"updated_at":""},
  Bike: {"id":"","number":null,"vehicle_type_id":null,"vehicle_state":"available","station_id":null,"lat":null,"lon":null,"current_range_meters":null,"last_reported":null,"updated_at":""},
  Ride: {"id":"","bike_id":"","status":"started","start_station_id":null,"end_station_id":null,"started_at":"","ended_at":null,"duration_seconds":null,"distance_meters":null,"vehicle_type_id":null,"rider_category":null,"end_reason":null,"is_countable":null,"updated_at":""},
  Reservation: {"id":"","status":"active","station_id":null,"bike_id":"","vehicle_type_id":null,"rider_ref":null,"created_at":"","expires_at":"","cancelled_at":null,"cancel_reason":null,"ride_id":null,"ride_cancelled_at":null,"updated_at":""},
  VehicleType: {"id":"","name":null,"form_factor":null,"propulsion_type":null,"max_range_meters":null},
  Export: {"id":"","kind":"rides","month":null,"format":"csv","privacy":null,"file_name":"","bytes":0,"sha256":"","rows":0,"left_out":null,"merged":null,"as_of":"","time_zone":"","licence":null,"made_at":"","download_url":"","download_expires_at":""},
  DeliveryRecord: {"id":"","endpoint_id":"","endpoint_name":"","event":"","event_id":"","resource_id":null,"created_at":"","status":"pending","is_failing":false,"attempts":0,"code":null,"failure":null,"next_attempt_at":null,"finished_at":null,"explanation":""},
};
