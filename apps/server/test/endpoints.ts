import { type EndpointMetadata, operatorContract, partnerContract, type Scope, scopeNames } from "@bikeshare/contract";
import { createOpenApiDocument, createOperatorOpenApiDocument } from "@bikeshare/contract/openapi";
import { type AppRoute, type AppRouter, isZodType } from "@ts-rest/core";
import { z } from "zod";

/** An endpoint of a contract, with what a test needs to call it. */
export interface Endpoint {
  readonly method: string;
  /** The path, with `sampleId` for each id. */
  readonly path: string;
  /** The required parameters with the value `sampleId`: `?public_id=sample-1`. Empty if there are none. */
  readonly query: string;
  readonly scope: EndpointMetadata["scope"];
  readonly metadata: EndpointMetadata;
  readonly successStatus: number;
  readonly success: z.ZodTypeAny;
  /** Every status that the contract declares. */
  readonly statuses: readonly number[];
  /** A valid body: the first example of the OpenAPI document. Undefined: the endpoint has no body. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/** The id of the sample resources in `walker-world.ts`. */
export const sampleId = "sample-1";

/** The part of an OpenAPI document that is read here. */
interface Document {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const documentOptions = { baseUrl: "http://127.0.0.1", version: "0.0.0" };

/** Every endpoint of the partners' and the operator's contracts. */
export const endpoints: readonly Endpoint[] = [
  ...endpointsOf(partnerContract, createOpenApiDocument(documentOptions)),
  ...endpointsOf(operatorContract, createOperatorOpenApiDocument(documentOptions)),
];

/** The endpoints that need a key. */
export const guarded = endpoints.filter(({ scope }) => scope !== "none");

/** Returns the methods of a path, as the header `Allow` lists them. */
export function methodsOf(path: string): string[] {
  const methods = endpoints.filter((endpoint) => endpoint.path === path).map(({ method }) => method);
  return [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].sort();
}

/** Returns every scope except the one that an endpoint needs. */
export function otherScopes(scope: EndpointMetadata["scope"]): Scope[] {
  return scopeNames.filter((name) => name !== scope);
}

function endpointsOf(contract: AppRouter, document: Document): Endpoint[] {
  return routesOf(contract).map((route) => {
    const metadata = route.metadata as EndpointMetadata;
    const statuses = Object.keys(route.responses).map(Number);
    const successStatus = Math.min(...statuses);
    return {
      method: route.method,
      path: route.path.replaceAll(":id", sampleId),
      query: requiredQuery(route),
      scope: metadata.scope,
      metadata,
      successStatus,
      success: (route.responses as Record<number, z.ZodTypeAny>)[successStatus]!,
      statuses,
      body: "body" in route && isZodType(route.body) ? exampleBody(route, document) : undefined,
    };
  });
}

function requiredQuery({ query }: AppRoute): string {
  const parameters = query instanceof z.ZodObject ? Object.entries(query.shape as z.ZodRawShape) : [];
  const required = parameters.filter(([, type]) => !type.isOptional()).map(([name]) => `${name}=${sampleId}`);
  return required.length === 0 ? "" : `?${required.join("&")}`;
}

function exampleBody(route: AppRoute, { paths }: Document): Readonly<Record<string, unknown>> {
  const operation = paths?.[route.path.replaceAll(/:(\w+)/g, "{$1}")]?.[route.method.toLowerCase()] as {
    readonly requestBody: {
      readonly content: Readonly<
        Record<string, { readonly examples: Readonly<Record<string, { readonly value: Record<string, unknown> }>> }>
      >;
    };
  };
  const [example] = Object.values(operation.requestBody.content["application/json"]?.examples ?? {});
  if (example === undefined) throw new Error(`${route.method} ${route.path} has no example of its body`);
  return example.value;
}

function routesOf(router: AppRouter): AppRoute[] {
  return Object.values(router).flatMap((entry) => (isRoute(entry) ? [entry] : routesOf(entry)));
}

function isRoute(entry: AppRoute | AppRouter): entry is AppRoute {
  return typeof entry.method === "string" && typeof entry.path === "string";
}
