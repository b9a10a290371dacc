import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { bike, bikeList, bikeListQuery } from "./bikes.ts";
import type { EndpointMetadata } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { EVENT_RETENTION_DAYS, eventList, eventListQuery, eventRecord } from "./events.ts";
import { health } from "./health.ts";
import { idempotencyHeaders } from "./idempotency.ts";
import { identifierParam } from "./identifier.ts";
import { me } from "./me.ts";
import { regionList, regionListQuery } from "./regions.ts";
import {
  DEFAULT_HOLD_MINUTES,
  MAX_HOLD_MINUTES,
  reservation,
  reservationList,
  reservationListQuery,
  reservationRequest,
} from "./reservations.ts";
import { ride, rideList, rideListQuery } from "./rides.ts";
import type { Scope } from "./scopes.ts";
import { station, stationList, stationListQuery } from "./stations.ts";
import { vehicleTypeList, vehicleTypeListQuery } from "./vehicle-types.ts";

const c = initContract();

/** No query parameter is known here; an unknown one is refused by name. */
const noQuery = z.object({}).strict();
const idParam = z.object({ id: identifierParam });

function needs(scope: Scope | "any" | "none", more: Omit<EndpointMetadata, "scope"> = {}): EndpointMetadata {
  return { scope, ...more };
}

/** What any endpoint that asks for a key may answer beside its success. */
const errors = {
  400: errorBody,
  401: errorBody,
  403: errorBody,
  405: errorBody,
  429: errorBody,
  500: errorBody,
  503: errorBody,
};

/** The interface that partners use. Every path is under the service's base address. */
export const partnerContract = c.router(
  {
    stations: {
      list: {
        method: "GET",
        path: "/v1/stations",
        summary: "List stations",
        description: "Stations by id.",
        metadata: needs("stations:read"),
        query: stationListQuery,
        responses: { 200: stationList, ...errors },
      },
      get: {
        method: "GET",
        path: "/v1/stations/:id",
        summary: "One station",
        metadata: needs("stations:read"),
        pathParams: idParam,
        query: noQuery,
        responses: { 200: station, 404: errorBody, ...errors },
      },
    },
    vehicleTypes: {
      list: {
        method: "GET",
        path: "/v1/vehicle_types",
        summary: "List vehicle types",
        description: "What the vehicle type ids on stations, bikes and rides mean, by id.",
        metadata: needs("stations:read"),
        query: vehicleTypeListQuery,
        responses: { 200: vehicleTypeList, ...errors },
      },
    },
    regions: {
      list: {
        method: "GET",
        path: "/v1/regions",
        summary: "List regions",
        description: "What the region ids on stations mean, by id.",
        metadata: needs("stations:read"),
        query: regionListQuery,
        responses: { 200: regionList, ...errors },
      },
    },
    rides: {
      list: {
        method: "GET",
        path: "/v1/rides",
        summary: "List rides",
        description: "Rides by `started_at`, newest first; the id breaks ties.",
        metadata: needs("rides:read"),
        query: rideListQuery,
        responses: { 200: rideList, ...errors },
      },
      get: {
        method: "GET",
        path: "/v1/rides/:id",
        summary: "One ride",
        metadata: needs("rides:read"),
        pathParams: idParam,
        query: noQuery,
        responses: { 200: ride, 404: errorBody, ...errors },
      },
    },
    bikes: {
      list: {
        method: "GET",
        path: "/v1/bikes",
        summary: "List bikes",
        description: "Bikes by id.",
        metadata: needs("bikes:read"),
        query: bikeListQuery,
        responses: { 200: bikeList, ...errors },
      },
      get: {
        method: "GET",
        path: "/v1/bikes/:id",
        summary: "One bike",
        metadata: needs("bikes:read"),
        pathParams: idParam,
        query: noQuery,
        responses: { 200: bike, 404: errorBody, ...errors },
      },
    },
    reservations: {
      list: {
        method: "GET",
        path: "/v1/reservations",
        summary: "List reservations",
        description: "Your own reservations by `created_at`, newest first; the id breaks ties.",
        metadata: needs("reservations:read"),
        query: reservationListQuery,
        responses: { 200: reservationList, ...errors },
      },
      get: {
        method: "GET",
        path: "/v1/reservations/:id",
        summary: "One reservation",
        description: "One of your own reservations; another partner's is 404.",
        metadata: needs("reservations:read"),
        pathParams: idParam,
        query: noQuery,
        responses: { 200: reservation, 404: errorBody, ...errors },
      },
      create: {
        method: "POST",
        path: "/v1/reservations",
        summary: "Reserve a bike",
        description:
          "Give `station_id` for any bike of a station or `bike_id` for one bike: exactly one of the two. The bike is " +
          `assigned and held at once, for ${DEFAULT_HOLD_MINUTES} minutes unless \`hold_minutes\` says otherwise, at ` +
          `most ${MAX_HOLD_MINUTES}. 404 when there is no such station or bike.`,
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
        responses: {
          201: reservation,
          404: errorBody,
          409: errorBody,
          413: errorBody,
          415: errorBody,
          422: errorBody,
          ...errors,
        },
      },
      cancel: {
        method: "DELETE",
        path: "/v1/reservations/:id",
        summary: "Cancel a reservation",
        description:
          "Gives the bike back and answers with the reservation. Needs no body. To cancel a cancelled one again changes " +
          "nothing and answers the same.",
        metadata: needs("reservations:write", { conflicts: ["reservation_not_active"] }),
        pathParams: idParam,
        query: noQuery,
        responses: { 200: reservation, 404: errorBody, 409: errorBody, 413: errorBody, 415: errorBody, ...errors },
      },
    },
    events: {
      list: {
        method: "GET",
        path: "/v1/events",
        summary: "List events",
        description:
          `What happened in the last ${EVENT_RETENTION_DAYS} days, oldest first, so that you can catch up after you ` +
          "were down. Shows the events of the resources that the key may read: those of rides need `rides:read` too, " +
          "and so on. Reservation events are your own only.",
        metadata: needs("events:read"),
        query: eventListQuery,
        responses: { 200: eventList, 410: errorBody, ...errors },
      },
      get: {
        method: "GET",
        path: "/v1/events/:id",
        summary: "One event",
        description: `An event of the last ${EVENT_RETENTION_DAYS} days that the key may see in the list; any other is 404.`,
        metadata: needs("events:read"),
        pathParams: idParam,
        query: noQuery,
        responses: { 200: eventRecord, 404: errorBody, ...errors },
      },
    },
    me: {
      get: {
        method: "GET",
        path: "/v1/me",
        summary: "Your key",
        description:
          "The key's id, partner, scopes, expiry, limit and what is left of it; the partner's active reservations and " +
          "how many it may have at once.",
        metadata: needs("any"),
        query: noQuery,
        responses: { 200: me, ...errors },
      },
    },
    health: {
      live: {
        method: "GET",
        path: "/healthz",
        summary: "Is the process alive?",
        metadata: needs("none", { plainHttp: true }),
        query: noQuery,
        responses: { 200: health, 400: errorBody, 403: errorBody, 405: errorBody, 500: errorBody },
      },
      ready: {
        method: "GET",
        path: "/readyz",
        summary: "Can it answer requests?",
        description: "503 while the database is away or the process is shutting down.",
        metadata: needs("none", { plainHttp: true }),
        query: noQuery,
        responses: { 200: health, 400: errorBody, 403: errorBody, 405: errorBody, 500: errorBody, 503: errorBody },
      },
    },
  },
  { strictStatusCodes: true },
);
