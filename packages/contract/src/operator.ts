import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { operatorAlertList, operatorAlertListQuery } from "./alerts.ts";
import { batchOf, batchResults } from "./batch.ts";
import { dashboardLinkEndpoints } from "./dashboard-links.ts";
import { bodyErrors, type EndpointMetadata, errors, noQuery } from "./endpoint.ts";
import type { ErrorCode } from "./error-catalogue.ts";
import { errorBody } from "./errors.ts";
import { idempotencyHeaders } from "./idempotency.ts";
import { ALERT_RETENTION_DAYS } from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { factEndpoints } from "./operator-facts.ts";
import {
  alertEnd,
  alertUpsert,
  bikeReport,
  bikeUpsert,
  pastRide,
  rideCancel,
  rideCorrection,
  rideEnd,
  rideStart,
  stationCommand,
  stationOffline,
  stationUpsert,
} from "./operator-items.ts";
import { identifier, identifierParam, timestamp } from "./values.ts";

const c = initContract();

/** Returns the endpoint of a batch: a POST that takes many items and returns one result for each. */
function batch<const Path extends string, Item extends z.ZodTypeAny, Code extends ErrorCode = never>(
  path: Path,
  item: Item,
  named: { title: string; summary: string; description: string; itemErrors: readonly Code[] },
) {
  // `invalid_parameter` belongs to every batch, because any item may be malformed.
  const itemErrors: readonly (Code | "invalid_parameter")[] = ["invalid_parameter", ...named.itemErrors];
  const metadata = {
    scope: "operator",
    idempotent: true,
    conflicts: ["idempotency_in_progress"],
    itemErrors,
  } as const satisfies EndpointMetadata;
  return {
    method: "POST",
    path: `/operator/v1/${path}`,
    summary: named.summary,
    description: named.description,
    metadata,
    headers: idempotencyHeaders,
    query: noQuery,
    body: batchOf(item, named.title),
    responses: { 200: batchResults, ...bodyErrors, ...errors },
  } as const;
}

const stations = {
  upsert: batch("stations", stationUpsert, {
    title: "StationUpserts",
    summary: "Create or change stations",
    description:
      "A new id creates a station, a known id changes it. Fields that are left out of a change stay as they were.",
    itemErrors: [],
  }),
  offline: batch("stations/offline", stationOffline, {
    title: "StationsOffline",
    summary: "Take stations offline",
    description:
      "A station stays offline until you bring it back online, whatever its flags say. With a `summary`, an alert tells " +
      "riders until then.",
    itemErrors: ["not_found"],
  }),
  online: batch("stations/online", stationCommand, {
    title: "StationsOnline",
    summary: "Bring stations back online",
    description: "Ends what `stations/offline` did, and the alert that it opened.",
    itemErrors: ["not_found"],
  }),
  remove: batch("stations/remove", stationCommand, {
    title: "StationsRemove",
    summary: "Remove stations for good",
    description: "A removed station stays readable, never comes back, and its id is never used again.",
    itemErrors: ["not_found"],
  }),
};

/** A bike that was found by its public id, under which the public feeds list it. */
const publicBike = namedObject("PublicBike", "The bike that has, or recently had, a public id.", {
  id: identifier.describe("Your id of the bike"),
  public_id: z.string(),
  retired_at: timestamp.nullable().describe("When a ride's end replaced the public id; null: the bike still has it"),
});

export type PublicBike = z.infer<typeof publicBike>;

/** Minutes for which a replaced public id still finds its bike. Too low: a link that a rider opens a bit later fails. */
export const RETIRED_PUBLIC_ID_MINUTES = 10;

const findBike = {
  method: "GET",
  path: "/operator/v1/bikes",
  summary: "Find the bike of a public id",
  description:
    "For your app, when a link of the GBFS feeds opens it. A bike's public id changes when a ride ends; the old id still " +
    `finds the bike for ${RETIRED_PUBLIC_ID_MINUTES} minutes.`,
  metadata: { scope: "operator" } as const satisfies EndpointMetadata,
  query: z.object({ public_id: identifierParam.describe("The `vehicle_id` or `bike_id` of the GBFS feeds") }).strict(),
  responses: { 200: publicBike, ...errors, 404: errorBody },
} as const;

const bikes = {
  find: findBike,
  upsert: batch("bikes", bikeUpsert, {
    title: "BikeUpserts",
    summary: "Create or change bikes",
    description:
      "A new id creates a bike, a known id changes it. Fields that are left out of a change stay as they were.",
    itemErrors: ["not_found"],
  }),
  report: batch("bikes/reports", bikeReport, {
    title: "BikeReports",
    summary: "Report bikes' states and positions",
    description: "Reports may arrive late or twice: the latest `at` counts, not the latest arrival.",
    itemErrors: ["not_found"],
  }),
};

const rides = {
  upsertPast: batch("rides", pastRide, {
    title: "PastRides",
    summary: "Add past rides",
    description: "Rides that are over, as history: they make no events and move no bike.",
    itemErrors: ["ride_conflict"],
  }),
  start: batch("rides/start", rideStart, {
    title: "RideStarts",
    summary: "Start rides",
    description: "The bike is `on_trip` from the start on; a reservation that held it is fulfilled.",
    itemErrors: ["not_found", "bike_not_available", "reservation_not_active", "ride_conflict"],
  }),
  end: batch("rides/end", rideEnd, {
    title: "RideEnds",
    summary: "End rides",
    description:
      "The bike is `available` again where the ride ended. A ride that has already ended differently is `ride_conflict`; " +
      "the message says what is stored. To change an ended ride, use `rides/correct`.",
    itemErrors: ["not_found", "ride_conflict"],
  }),
  cancel: batch("rides/cancel", rideCancel, {
    title: "RideCancels",
    summary: "Cancel rides",
    description: "For rides that did not take place. The bike is `available` again where it stood.",
    itemErrors: ["not_found", "ride_conflict"],
  }),
  correct: batch("rides/correct", rideCorrection, {
    title: "RideCorrections",
    summary: "Correct rides that have ended",
    description:
      "Changes where and when a completed ride ended, and its other fields; partners get `ride.corrected`. The bike " +
      "is moved to where the ride ended, unless something later is known of the bike.",
    itemErrors: ["not_found", "ride_conflict"],
  }),
};

const alerts = {
  upsert: batch("alerts", alertUpsert, {
    title: "AlertUpserts",
    summary: "Open or change alerts",
    description:
      "A new id opens an alert, an ended alert's id opens that alert again, and an open alert's id changes it. Fields " +
      "that are left out of a change stay as they were. Riders see an alert at once, even if its `times` are in the " +
      "future.",
    itemErrors: [],
  }),
  end: batch("alerts/end", alertEnd, {
    title: "AlertEnds",
    summary: "End alerts",
    description: "Riders no longer see these alerts. An alert ends by itself when its `times` are over.",
    itemErrors: ["not_found"],
  }),
  list: {
    method: "GET",
    path: "/operator/v1/alerts",
    summary: "List alerts",
    description: `Alerts by id, including those of feeds and those that ended in the last ${ALERT_RETENTION_DAYS} days.`,
    metadata: { scope: "operator" },
    query: operatorAlertListQuery,
    responses: { 200: operatorAlertList, ...errors },
  },
} as const;

/**
 * The type of `operatorContract`. It is declared, because TypeScript refuses to emit an inferred type of this length.
 */
type OperatorContract = {
  readonly stations: typeof stations;
  readonly bikes: typeof bikes;
  readonly rides: typeof rides;
  readonly alerts: typeof alerts;
  readonly dashboardLinks: typeof dashboardLinkEndpoints;
} & typeof factEndpoints;

/** The interface of the operator's own backend, which feeds the service. Operator keys only. */
export const operatorContract: OperatorContract = c.router(
  { stations, bikes, rides, alerts, ...factEndpoints, dashboardLinks: dashboardLinkEndpoints },
  { strictStatusCodes: true },
);

/** The nouns whose endpoints take batches. */
type Batches = Pick<typeof operatorContract, "stations" | "bikes" | "rides" | "alerts">;

/** The codes with which an item of one endpoint's batch may fail, such as `ItemError<"rides", "start">`. */
export type ItemError<Noun extends keyof Batches, Verb extends keyof Batches[Noun]> = Batches[Noun][Verb] extends {
  metadata: { itemErrors: readonly (infer Code)[] };
}
  ? Code
  : never;
