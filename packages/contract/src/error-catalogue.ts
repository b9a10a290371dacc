/** The meaning of an error code. */
interface ErrorEntry {
  /** HTTP status. */
  readonly status: 400 | 401 | 403 | 404 | 405 | 406 | 409 | 410 | 413 | 415 | 416 | 422 | 429 | 500 | 503;
  /** The cause. */
  readonly meaning: string;
  /** The remedy for the caller. */
  readonly action: string;
}

/**
 * Every error that the service responds with. The server uses no other code, except that MDS has some of its own in
 * mds/resources.ts. Codes are added over time and never removed. This file imports nothing, so that clients can use it
 * without the rest of the contract.
 */
export const errorCatalogue = {
  unauthorized: {
    status: 401,
    meaning: "The request carries no credentials, or credentials that do not identify anyone.",
    action: "Send `Authorization: Bearer <API_KEY>` with a key that is neither expired nor revoked.",
  },
  forbidden: {
    status: 403,
    meaning: "The key is known, but its scopes do not cover this operation.",
    action: "Ask the operator for a key with the scope that the message names.",
  },
  confirmation_required: {
    status: 403,
    meaning:
      "The dashboard asks who you are once more before it shows a secret, makes a key or sends deliveries elsewhere.",
    action: "Confirm with a passkey or your password, then send the request again.",
  },
  https_required: {
    status: 403,
    meaning: "The request came over plain HTTP. A key must never be sent that way.",
    action: "Use https. If the request carried a key, others may have read it: ask for a new one.",
  },
  invalid_request: {
    status: 400,
    meaning: "The request could not be understood as a whole: its syntax, its headers or its body.",
    action: "Correct what the message names.",
  },
  invalid_parameter: {
    status: 400,
    meaning: "A parameter is unknown, repeated, of the wrong form or out of its bounds.",
    action: "Correct the parameter that the message names.",
  },
  invalid_cursor: {
    status: 400,
    meaning: "The cursor or checkpoint is empty, damaged, not ours, or belongs to another list or other filters.",
    action: "Copy `next_cursor` or `checkpoint` unchanged, with the same filters, or begin again without.",
  },
  outside_history: {
    status: 400,
    meaning: "The instant lies before the history that is kept, or in the future.",
    action: "Ask for an instant between the one that the message names and now.",
  },
  page_out_of_range: {
    status: 400,
    meaning: "The page lies beyond the last one.",
    action: "Ask for a page between 1 and `total_pages`; the message names the last page.",
  },
  not_found: {
    status: 404,
    meaning: "There is no such resource, or no such path.",
    action: "Check the identifier and the path.",
  },
  method_not_allowed: {
    status: 405,
    meaning: "The path exists, but not for this method.",
    action: "Use a method that the `Allow` header names.",
  },
  not_acceptable: {
    status: 406,
    meaning: "The request does not accept the version of MDS that is served.",
    action: "Send `Accept: application/vnd.mds+json;version=2.0`, for reports `text/vnd.mds+csv;version=2.0`.",
  },
  no_bike_available: {
    status: 409,
    meaning: "The station has no bike that could be reserved.",
    action: "Try another station, or again later.",
  },
  bike_not_available: {
    status: 409,
    meaning: "The bike is reserved, on a trip or out of order.",
    action: "Choose another bike.",
  },
  sandbox_full: {
    status: 409,
    meaning: "The sandbox has reached its maximum number of rides.",
    action: "Reset it with `POST /sandbox/v1/reset`.",
  },
  station_offline: {
    status: 409,
    meaning: "The station does not rent out bikes at present.",
    action: "Choose another station.",
  },
  rider_has_active_reservation: {
    status: 409,
    meaning: "This `rider_ref` already holds a bike.",
    action: "Cancel the active reservation first.",
  },
  too_many_reservations: {
    status: 409,
    meaning: "You have as many active reservations as your limit allows.",
    action: "Cancel one, or wait until one ends. `GET /v1/me` shows your limit and your use of it.",
  },
  reservation_not_active: {
    status: 409,
    meaning: "The reservation has ended, so it can be neither cancelled nor extended.",
    action: "Fetch the reservation to see its state.",
  },
  hold_limit_reached: {
    status: 409,
    meaning: "The reservation would hold its bike for longer than a hold may last in all.",
    action: "Ask for fewer minutes: the message says how many are left.",
  },
  conflict: {
    status: 409,
    meaning: "What was asked for does not fit the present state, which the message names.",
    action: "Nothing was changed. Look at the present state, and do first what the message says.",
  },
  ride_conflict: {
    status: 409,
    meaning: "The ride's state, or its bike's, does not allow this.",
    action: "Fetch the ride and the bike to see their states.",
  },
  idempotency_in_progress: {
    status: 409,
    meaning: "A request with this `Idempotency-Key` is still running.",
    action: "Wait a moment and send the same request again.",
  },
  last_one: {
    status: 409,
    meaning: "It is the last of its kind, and at least one must stay.",
    action: "Add another one first.",
  },
  checkpoint_lost: {
    status: 410,
    meaning:
      "What came after the checkpoint is not all there any more: the event is no longer kept, or is none that the key may see, or rows that changed since were deleted or restored.",
    action: "Fetch the resources that you follow anew, then go on without `after`, or from the new `checkpoint`.",
  },
  system_ended: {
    status: 410,
    meaning: "The system ended more than 30 days ago, and its feeds are no longer published.",
    action: "Remove it from what you show.",
  },
  download_link_ended: {
    status: 410,
    meaning: "The download link has ended, is incomplete, or its file is no longer shared.",
    action: "Read the export again: its `download_url` is a new link.",
  },
  payload_too_large: {
    status: 413,
    meaning: "The request's body is larger than the service takes.",
    action: "Send less at once; the message names the bound.",
  },
  unsupported_media_type: {
    status: 415,
    meaning: "The request's body is not JSON in UTF-8, or is compressed.",
    action: "Send JSON as it is, with `Content-Type: application/json`, and no `Content-Encoding`.",
  },
  range_not_satisfiable: {
    status: 416,
    meaning: "The range begins behind the end of the file.",
    action: "Ask for a range within the size that `Content-Range` names.",
  },
  idempotency_key_reused: {
    status: 422,
    meaning: "This `Idempotency-Key` was used before with another body.",
    action: "Make a new key for each new request.",
  },
  rate_limited: {
    status: 429,
    meaning: "The key, or the address, has used up its requests.",
    action: "Wait the seconds that `Retry-After` names.",
  },
  internal: {
    status: 500,
    meaning: "The service failed in a way it did not foresee.",
    action: "Try again; if it stays, tell the operator the `Request-Id`.",
  },
  unavailable: {
    status: 503,
    meaning: "The service cannot answer at present. Nothing was changed, unless the message says that this is unknown.",
    action: "Try again after the seconds that `Retry-After` names.",
  },
} as const satisfies Record<string, ErrorEntry>;

/** The machine-readable reason in an error body. */
export type ErrorCode = keyof typeof errorCatalogue;

/** Every error code, in the catalogue's order. */
export const errorCodes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];

/**
 * Codes that the OpenAPI document for partners does not name: of the dashboard, the operator, sandboxes, MDS and
 * downloads. All other codes are in it.
 */
const NOT_OF_PARTNERS: ReadonlySet<string> = new Set<ErrorCode>([
  "confirmation_required",
  "download_link_ended",
  "last_one",
  "not_acceptable",
  "range_not_satisfiable",
  "ride_conflict",
  "sandbox_full",
]);

/** The codes that the OpenAPI document for partners names. */
export const partnerErrorCodes: readonly ErrorCode[] = errorCodes.filter((code) => !NOT_OF_PARTNERS.has(code));
