import { initContract } from "@ts-rest/core";
import { alert, alertList, alertListQuery } from "./alerts.ts";
import { bike, bikeList, bikeListQuery } from "./bikes.ts";
import { deliveryEndpoints } from "./deliveries.ts";
import { errors, followingErrors, getEndpoint, listEndpoint, needs, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { eventList, eventListQuery, eventRecord } from "./events.ts";
import { exportFile, exportList, exportListQuery } from "./exports.ts";
import { health } from "./health.ts";
import { stationHistoryEndpoints } from "./history.ts";
import { ALERT_RETENTION_DAYS, EVENT_RETENTION_DAYS } from "./limits.ts";
import { me } from "./me.ts";
import { reservationEndpoints } from "./partner-reservations.ts";
import { regionList, regionListQuery } from "./regions.ts";
import { ride, rideList, rideListQuery } from "./rides.ts";
import { stationAt, stationList, stationListQuery, stationQuery } from "./stations.ts";
import { flowEndpoints, stationSumEndpoints, systemSumEndpoints } from "./sums.ts";
import { vehicleTypeList, vehicleTypeListQuery } from "./vehicle-types.ts";

const c = initContract();

/** The interface that partners use. Every path is under the service's base address. */
export const partnerContract = c.router(
  {
    stations: {
      list: listEndpoint("/v1/stations", {
        scope: "stations:read",
        summary: "List stations",
        description: "Stations by id.",
        query: stationListQuery,
        answer: stationList,
        errors: followingErrors,
        parameterScopes: { at: "history:read" },
      }),
      ...stationSumEndpoints,
      get: {
        ...getEndpoint("/v1/stations/:id", "stations:read", stationAt, { summary: "One station" }),
        metadata: needs("stations:read", { parameterScopes: { at: "history:read" } }),
        query: stationQuery,
      },
      ...stationHistoryEndpoints,
    },
    vehicleTypes: {
      list: listEndpoint("/v1/vehicle_types", {
        scope: "stations:read",
        summary: "List vehicle types",
        description: "The vehicle types that stations, bikes and rides name by id, sorted by id.",
        query: vehicleTypeListQuery,
        answer: vehicleTypeList,
      }),
    },
    regions: {
      list: listEndpoint("/v1/regions", {
        scope: "stations:read",
        summary: "List regions",
        description: "The regions that stations name by id, sorted by id.",
        query: regionListQuery,
        answer: regionList,
      }),
    },
    alerts: {
      list: listEndpoint("/v1/alerts", {
        scope: "stations:read",
        summary: "List alerts",
        description: "What riders should know now: the open alerts, by id.",
        query: alertListQuery,
        answer: alertList,
      }),
      get: getEndpoint("/v1/alerts/:id", "stations:read", alert, {
        summary: "One alert",
        description: `An open alert, or one that ended in the last ${ALERT_RETENTION_DAYS} days.`,
      }),
    },
    rides: {
      list: listEndpoint("/v1/rides", {
        scope: "rides:read",
        summary: "List rides",
        description: "Rides by `started_at`, newest first; the id breaks ties.",
        query: rideListQuery,
        answer: rideList,
        errors: followingErrors,
      }),
      get: getEndpoint("/v1/rides/:id", "rides:read", ride, { summary: "One ride" }),
    },
    bikes: {
      list: listEndpoint("/v1/bikes", {
        scope: "bikes:read",
        summary: "List bikes",
        description: "Bikes by id.",
        query: bikeListQuery,
        answer: bikeList,
        errors: followingErrors,
      }),
      get: getEndpoint("/v1/bikes/:id", "bikes:read", bike, { summary: "One bike" }),
    },
    reservations: reservationEndpoints,
    events: {
      list: listEndpoint("/v1/events", {
        scope: "events:read",
        summary: "List events",
        description:
          `What happened in the last ${EVENT_RETENTION_DAYS} days, oldest first, so that you can catch up after an ` +
          "outage. Shows the events of the resources that the key may read: ride events need `rides:read` too, and so " +
          "on. Of reservation events, only your own are shown.",
        query: eventListQuery,
        answer: eventList,
        errors: followingErrors,
      }),
      get: getEndpoint("/v1/events/:id", "events:read", eventRecord, {
        summary: "One event",
        description: `An event of the last ${EVENT_RETENTION_DAYS} days that the key may see in the list; any other is 404.`,
      }),
    },
    deliveries: deliveryEndpoints,
    flows: flowEndpoints,
    system: systemSumEndpoints,
    exports: {
      list: listEndpoint("/v1/exports", {
        scope: "exports:read",
        summary: "List exports",
        description: "Finished files of open data that the operator shares with partners, newest first.",
        query: exportListQuery,
        answer: exportList,
      }),
      get: getEndpoint("/v1/exports/:id", "exports:read", exportFile, {
        summary: "One export",
        description:
          "With a download link that expires. It accepts range and conditional requests; the file's SHA-256 is the " +
          "`ETag` and in `Repr-Digest`. You may run two downloads at a time.",
      }),
    },
    me: {
      get: {
        method: "GET",
        path: "/v1/me",
        summary: "Your key",
        description:
          "The key's id, partner, scopes, expiry, rate limit and requests left; the partner's active reservations and " +
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
        summary: "Can the process answer requests?",
        description: "503 while the database is unreachable or the process is shutting down.",
        metadata: needs("none", { plainHttp: true }),
        query: noQuery,
        responses: { 200: health, 400: errorBody, 403: errorBody, 405: errorBody, 500: errorBody, 503: errorBody },
      },
    },
  },
  { strictStatusCodes: true },
);
