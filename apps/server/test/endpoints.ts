import { type EndpointMetadata, partnerContract, type Scope, scopeNames } from "@bikeshare/contract";
import type { AppRoute, AppRouter } from "@ts-rest/core";
import type { z } from "zod";

/** An endpoint of the partners' contract, as a test calls it. */
export interface Endpoint {
  readonly method: string;
  /** With ids of `sampleId` in it. */
  readonly path: string;
  readonly scope: EndpointMetadata["scope"];
  readonly success: z.ZodTypeAny;
}

/** The id that the walked resources have. */
export const sampleId = "sample-1";

/** Every endpoint there is, read from the contract itself. */
export const endpoints: readonly Endpoint[] = routesOf(partnerContract).map((route) => ({
  method: route.method,
  path: route.path.replaceAll(":id", sampleId),
  scope: (route.metadata as EndpointMetadata).scope,
  success: (route.responses as Record<number, z.ZodTypeAny>)[200]!,
}));

/** Those that ask for a key. */
export const guarded = endpoints.filter(({ scope }) => scope !== "none");

/** Every scope but the one that an endpoint asks for. */
export function otherScopes(scope: EndpointMetadata["scope"]): Scope[] {
  return scopeNames.filter((name) => name !== scope);
}

function routesOf(router: AppRouter): AppRoute[] {
  return Object.values(router).flatMap((entry) => (isRoute(entry) ? [entry] : routesOf(entry)));
}

function isRoute(entry: AppRoute | AppRouter): entry is AppRoute {
  return typeof entry.method === "string" && typeof entry.path === "string";
}
