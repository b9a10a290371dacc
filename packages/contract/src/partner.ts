import { initContract } from "@ts-rest/core";
import { bike, bikeList, bikeListQuery } from "./bikes.ts";
import { errors, idParam, needs, noQuery } from "./endpoint-parts.ts";
import { errorBody } from "./errors.ts";
import { eventList, eventListQuery, eventRecord } from "./events.ts";
import { health } from "./health.ts";
import { EVENT_RETENTION_DAYS } from "./limits.ts";
import { me } from "./me.ts";
import { reservationEndpoints } from "./partner-reservations.ts";
import { regionList, regionListQuery } from "./regions.ts";
import { ride, rideList, rideListQuery } from "./rides.ts";
import { station, stationList, stationListQuery } from "./stations.ts";
import { vehicleTypeList, vehicleTypeListQuery } from "./vehicle-types.ts";

const c = initContract();

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
    reservations: reservationEndpoints,
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
