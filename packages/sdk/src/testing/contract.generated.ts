// What the fake of `@bikeshare/sdk/testing` must know of the interface.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.
import type { ErrorCode, Scope } from "../wire.generated.ts";
import type { Endpoint } from "./endpoint.ts";

/** By method and path: who may call it, and what it takes. */
export const endpoints: Readonly<Record<string, Endpoint>> = {
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
  "PATCH /v1/reservations/:id": {"scope":"reservations:write","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{"idempotency-key":{"type":"string","pattern":"^[\\x21-\\x7e]{1,255}$"}},"body":{"hold_minutes":{"type":"integer","minimum":1,"maximum":30}}},
  "DELETE /v1/reservations/:id": {"scope":"reservations:write","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{}},
  "GET /v1/events": {"scope":"events:read","path":{},"query":{"page":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1},"cursor":{"type":"string"},"event":{"type":"string","enum":["ride.started","ride.completed","ride.cancelled","ride.corrected","station.offline","station.online","reservation.created","reservation.cancelled","reservation.expired","reservation.fulfilled"]},"after":{"type":"string","maxLength":255,"pattern":"^event_\\w+$"}},"headers":{}},
  "GET /v1/events/:id": {"scope":"events:read","path":{"id":{"type":"string","minLength":1,"maxLength":255}},"query":{},"headers":{}},
  "GET /v1/me": {"scope":"any","path":{},"query":{},"headers":{}},
  "GET /healthz": {"scope":"none","path":{},"query":{},"headers":{}},
  "GET /readyz": {"scope":"none","path":{},"query":{},"headers":{}},
};

/** The HTTP status of each error. */
export const errorStatus: Readonly<Record<ErrorCode, number>> = {
  unauthorized: 401,
  forbidden: 403,
  https_required: 403,
  invalid_request: 400,
  invalid_parameter: 400,
  invalid_cursor: 400,
  page_out_of_range: 400,
  not_found: 404,
  method_not_allowed: 405,
  no_bike_available: 409,
  bike_not_available: 409,
  station_offline: 409,
  rider_has_active_reservation: 409,
  too_many_reservations: 409,
  reservation_not_active: 409,
  hold_limit_reached: 409,
  ride_conflict: 409,
  idempotency_in_progress: 409,
  checkpoint_lost: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

export const scopeNames: readonly Scope[] = ["stations:read","rides:read","bikes:read","reservations:read","reservations:write","events:read"];

/** Items on a page when `limit` is not given. */
export const DEFAULT_PAGE_SIZE = 50;
/** Days for which events are kept. */
export const EVENT_RETENTION_DAYS = 30;
/** Minutes that a reservation holds a bike when the request names no number. */
export const DEFAULT_HOLD_MINUTES = 15;
/** Most minutes that a reservation may hold a bike in all. */
export const MAX_TOTAL_HOLD_MINUTES = 60;
/** Active reservations that a partner may have at once. */
export const DEFAULT_MAX_RESERVATIONS = 50;
/** Hours for which the answer to an `Idempotency-Key` is kept. */
export const IDEMPOTENCY_KEY_HOURS = 24;
