import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { bike, bikeList, bikeListQuery } from "./bikes.ts";
import type { EndpointMetadata } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { health } from "./health.ts";
import { identifierParam } from "./identifier.ts";
import { me } from "./me.ts";
import { ride, rideList, rideListQuery } from "./rides.ts";
import type { Scope } from "./scopes.ts";
import { station, stationList, stationListQuery } from "./stations.ts";

const c = initContract();

/** No query parameter is known here; an unknown one is refused by name. */
const noQuery = z.object({}).strict();
const idParam = z.object({ id: identifierParam });

function needs(scope: Scope | "any" | "none"): EndpointMetadata {
  return { scope };
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
    me: {
      get: {
        method: "GET",
        path: "/v1/me",
        summary: "Your key",
        description: "The key's id, partner, scopes, expiry, limit and what is left of it.",
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
        metadata: needs("none"),
        query: noQuery,
        responses: { 200: health, 400: errorBody, 403: errorBody, 405: errorBody, 500: errorBody },
      },
      ready: {
        method: "GET",
        path: "/readyz",
        summary: "Can it answer requests?",
        description: "503 while the database is away or the process is shutting down.",
        metadata: needs("none"),
        query: noQuery,
        responses: { 200: health, 400: errorBody, 403: errorBody, 405: errorBody, 500: errorBody, 503: errorBody },
      },
    },
  },
  { strictStatusCodes: true },
);
