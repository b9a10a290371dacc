import { bodyErrors, type EndpointMetadata, errors, idParam, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { describedFactsOf, describedListOf, factChangesOf, removedFacts } from "./gbfs/fact-schemas.ts";
import type { FactKind } from "./gbfs/facts.ts";
import { idempotencyHeaders } from "./idempotency.ts";

/*
 * Endpoints with which the operator's backend sets facts: what GBFS publishes besides the state of stations and bikes, such
 * as names, prices and zones.
 */

const metadata = { scope: "operator" } as const satisfies EndpointMetadata;
const changing = {
  ...metadata,
  idempotent: true,
  conflicts: ["idempotency_in_progress"],
} as const satisfies EndpointMetadata;

/** Returns the endpoints of a kind of facts that a system has once: the system itself, or its zones. */
function single<Kind extends FactKind, const Path extends string>(kind: Kind, path: Path, noun: string) {
  const at = `/operator/v1/${path}` as const;
  const described = describedFactsOf(kind);
  return {
    get: {
      method: "GET",
      path: at,
      summary: `Read the facts of ${noun}`,
      metadata,
      query: noQuery,
      responses: { 200: described, ...errors },
    },
    set: {
      method: "PATCH",
      path: at,
      summary: `Set facts of ${noun}`,
      metadata: changing,
      headers: idempotencyHeaders,
      query: noQuery,
      description: "Facts that are left out stay as they are. Null removes your value: a source's value applies again.",
      body: factChangesOf(kind),
      responses: { 200: described, ...errors, ...bodyErrors },
    },
  } as const;
}

/** Returns the endpoints of a kind of facts that a system has many times, each with an id, such as stations. */
function many<Kind extends FactKind, const Path extends string>(
  kind: Kind,
  path: Path,
  noun: string,
  described = describedFactsOf(kind),
) {
  const at = `/operator/v1/${path}/:id` as const;
  const found = { 404: errorBody, ...errors };
  return {
    get: {
      method: "GET",
      path: at,
      summary: `Read the facts of a ${noun}`,
      metadata,
      query: noQuery,
      pathParams: idParam,
      responses: { 200: described, ...found },
    },
    set: {
      method: "PATCH",
      path: at,
      summary: `Set facts of a ${noun}`,
      metadata: changing,
      headers: idempotencyHeaders,
      query: noQuery,
      description: "Facts that are left out stay as they are. Null removes your value: a source's value applies again.",
      pathParams: idParam,
      body: factChangesOf(kind),
      responses: { 200: described, ...found, ...bodyErrors },
    },
    remove: {
      method: "DELETE",
      path: at,
      summary: `Remove your facts of a ${noun}`,
      metadata,
      query: noQuery,
      description: `Facts from sources stay. Refused while something refers to the ${noun} and no source describes it.`,
      pathParams: idParam,
      responses: { 200: removedFacts, ...found, 413: errorBody, 415: errorBody },
    },
  } as const;
}

/** Like `many`, with an endpoint that lists everything in one response, for kinds with few things, such as regions. */
function listed<Kind extends FactKind, const Path extends string>(kind: Kind, path: Path, noun: string) {
  const at = `/operator/v1/${path}` as const;
  const described = describedFactsOf(kind);
  return {
    list: {
      method: "GET",
      path: at,
      summary: `List the ${noun}s with their facts`,
      metadata,
      query: noQuery,
      responses: { 200: describedListOf(kind, described), ...errors },
    },
    ...many(kind, path, noun, described),
  } as const;
}

/** Endpoints for the facts that GBFS publishes besides the state of stations and bikes. */
export const factEndpoints = {
  system: single("system", "system", "the system"),
  vehicleTypes: listed("vehicle_type", "vehicle_types", "vehicle type"),
  regions: listed("region", "regions", "region"),
  pricingPlans: listed("pricing_plan", "pricing_plans", "pricing plan"),
  stationFacts: many("station", "station_facts", "station"),
  bikeFacts: many("bike", "bike_facts", "bike"),
  geofencingZones: single("geofencing_zones", "geofencing_zones", "the geofencing zones"),
} as const;
