import { bodyErrors, errors, followingErrors, getEndpoint, idParam, listEndpoint, needs, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { idempotencyHeaders } from "./idempotency.ts";
import { DEFAULT_HOLD_MINUTES, MAX_HOLD_MINUTES, MAX_TOTAL_HOLD_MINUTES } from "./limits.ts";
import {
  reservation,
  reservationExtension,
  reservationList,
  reservationListQuery,
  reservationRequest,
} from "./reservations.ts";

/** Endpoints with which partners make, read, extend and cancel reservations. */
export const reservationEndpoints = {
  list: listEndpoint("/v1/reservations", {
    scope: "reservations:read",
    summary: "List reservations",
    description: "Your own reservations by `created_at`, newest first; the id breaks ties.",
    query: reservationListQuery,
    answer: reservationList,
    errors: followingErrors,
  }),
  get: getEndpoint("/v1/reservations/:id", "reservations:read", reservation, {
    summary: "One reservation",
    description: "One of your own reservations; another partner's is 404.",
  }),
  create: {
    method: "POST",
    path: "/v1/reservations",
    summary: "Reserve a bike",
    description:
      "Give `station_id` for any bike of a station or `bike_id` for one bike: exactly one of the two. The bike is " +
      `assigned and held at once, for ${DEFAULT_HOLD_MINUTES} minutes unless \`hold_minutes\` says otherwise, at ` +
      `most ${MAX_HOLD_MINUTES}; \`PATCH\` extends the hold. 404 when there is no such station or bike.`,
    metadata: needs("reservations:write", {
      idempotent: true,
      conflicts: [
        "no_bike_available",
        "bike_not_available",
        "station_offline",
        "rider_has_active_reservation",
        "too_many_reservations",
        "idempotency_in_progress",
      ],
    }),
    headers: idempotencyHeaders,
    query: noQuery,
    body: reservationRequest,
    responses: { 201: reservation, 404: errorBody, ...bodyErrors, ...errors },
  },
  extend: {
    method: "PATCH",
    path: "/v1/reservations/:id",
    summary: "Extend a reservation",
    description:
      "Holds the bike for `hold_minutes` more. One request adds at most " +
      `${MAX_HOLD_MINUTES} minutes, and the hold lasts at most ${MAX_TOTAL_HOLD_MINUTES} minutes in total, from ` +
      "`created_at` on. Each request adds minutes: send an `Idempotency-Key`, so that a repeated one does not.",
    metadata: needs("reservations:write", {
      idempotent: true,
      conflicts: ["reservation_not_active", "hold_limit_reached", "idempotency_in_progress"],
    }),
    headers: idempotencyHeaders,
    pathParams: idParam,
    query: noQuery,
    body: reservationExtension,
    responses: { 200: reservation, 404: errorBody, ...bodyErrors, ...errors },
  },
  cancel: {
    method: "DELETE",
    path: "/v1/reservations/:id",
    summary: "Cancel a reservation",
    description:
      "Releases the bike and returns the reservation. Needs no body. Cancelling a cancelled reservation again changes " +
      "nothing and returns the same.",
    metadata: needs("reservations:write", { conflicts: ["reservation_not_active"] }),
    pathParams: idParam,
    query: noQuery,
    responses: { 200: reservation, 404: errorBody, 409: errorBody, 413: errorBody, 415: errorBody, ...errors },
  },
} as const;
