import { type EndpointMetadata, gbfsContract, operatorContract, partnerContract } from "@bikeshare/contract";
import { consoleContract } from "@bikeshare/contract/console";
import type { AppRoute, AppRouter } from "@ts-rest/core";
import { z } from "zod";
import { endpoints as exampleEndpoints, sampleId } from "../endpoints.ts";

/** An endpoint of the contract, with what the fuzzer needs to draw requests. */
export interface FuzzEndpoint {
  readonly method: string;
  /** The path, with parameters as `:name`. */
  readonly path: string;
  readonly metadata: EndpointMetadata;
  readonly pathParams: Readonly<Record<string, z.ZodTypeAny>>;
  readonly query: Readonly<Record<string, z.ZodTypeAny>>;
  /** The schema of the body; undefined: the endpoint has no body. */
  readonly body: z.ZodTypeAny | undefined;
  /** A valid body, if the OpenAPI document has an example. */
  readonly example: unknown;
}

/** Every endpoint of the contracts for partners, the operator's backend, the dashboard and GBFS. */
export const contractEndpoints: readonly FuzzEndpoint[] = [
  partnerContract,
  operatorContract,
  consoleContract,
  gbfsContract,
].flatMap((contract) => routesOf(contract).map(readRoute));

/** The paths that are served besides the contracts: documents and pages. */
export const pagePaths: readonly string[] = [
  "/",
  "/docs",
  "/docs/",
  "/docs/errors",
  "/docs/errors.md",
  "/docs/reference.md",
  "/llms.txt",
  "/mcp",
  "/docs/search",
  "/docs/reference",
  "/docs/operator",
  "/docs/js/scalar.js",
  "/docs/js/partners.js",
  "/openapi.json",
  "/openapi/operator.json",
  "/openapi/gbfs.json",
  "/.well-known/security.txt",
  "/dashboard",
  "/dashboard/",
  "/dashboard/sign-in",
  "/dashboard/assets/none.js",
  "/favicon.ico",
  "/metrics",
  "/v1",
  "/v1/nothing",
  "/operator/v1/nothing",
  "/console/v1/nothing",
  "/gbfs",
  "/gbfs/nothing/3.0/gbfs.json",
];

function readRoute(route: AppRoute): FuzzEndpoint {
  const { path, method } = route;
  const shown = exampleEndpoints.find((one) => one.method === method && one.path === path.replaceAll(":id", sampleId));
  return {
    method,
    path,
    metadata: route.metadata as EndpointMetadata,
    pathParams: shapeOf(route.pathParams),
    query: shapeOf(route.query),
    body: "body" in route && route.body instanceof z.ZodType ? route.body : undefined,
    example: shown?.body,
  };
}

function shapeOf(schema: unknown): Record<string, z.ZodTypeAny> {
  if (schema instanceof z.ZodEffects) return shapeOf(schema.innerType());
  return schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodTypeAny>) : {};
}

function routesOf(router: AppRouter): AppRoute[] {
  return Object.values(router).flatMap((entry) => (isRoute(entry) ? [entry] : routesOf(entry)));
}

function isRoute(entry: AppRoute | AppRouter): entry is AppRoute {
  return typeof entry.method === "string" && typeof entry.path === "string";
}
