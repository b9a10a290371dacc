import { type Deprecation, deprecationHeaders, type EndpointMetadata } from "@bikeshare/contract";
import { type ServiceError, serviceError } from "@bikeshare/rules";
import { type AppRoute, type AppRouter, isAppRoute, isZodType } from "@ts-rest/core";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from "fastify";
import type { ZodError, ZodType } from "zod";
import { describeIssues, issueWords, type Whole } from "../issues.ts";

/** The handler of an endpoint. The exact types of the request's parts are known only in the endpoint's routes file. */
type Handler = (call: RequestParts & { request: FastifyRequest; reply: FastifyReply; appRoute: AppRoute }) => Promise<{
  readonly status: number;
  readonly body: unknown;
}>;

/** A handler, perhaps with Fastify hooks that run before it. */
type Implementation = Handler | { readonly handler: Handler; readonly hooks?: RouteShorthandOptions };

/**
 * Binds a contract's endpoints to their handlers. The contract's schemas parse requests, and a handler's response is sent
 * unchanged. Other files of the server use only the types of ts-rest. Its own adapter for Fastify is not used: it also
 * validates parts without a schema, and needs two more promises for each answer.
 */
export function bindContract<Contract extends AppRouter>(
  app: FastifyInstance,
  contract: Contract,
  routes: RouterImplementation<Contract>,
): void {
  bindRoutes(app, contract, routes);
}

/** @param prefix the names of the outer parts of the contract, such as `rides.` */
function bindRoutes(
  app: FastifyInstance,
  contract: AppRouter,
  routes: Readonly<Record<string, unknown>>,
  prefix = "",
): void {
  for (const [name, endpoint] of Object.entries(contract)) {
    if (isAppRoute(endpoint)) bindEndpoint(app, `${prefix}${name}`, endpoint, routes[name] as Implementation);
    else bindRoutes(app, endpoint, routes[name] as Record<string, unknown>, `${prefix}${name}.`);
  }
}

function bindEndpoint(app: FastifyInstance, name: string, endpoint: AppRoute, implementation: Implementation): void {
  const { handler, hooks = {} } = typeof implementation === "function" ? { handler: implementation } : implementation;
  const readParts = partsReader(endpoint);
  app.route({
    ...hooks,
    method: endpoint.method,
    url: endpoint.path,
    config: { tsRestRoute: endpoint, endpointName: name },
    handler: (request, reply) =>
      handler({ ...readParts(request), request, reply, appRoute: endpoint }).then(({ status, body }) => {
        reply.code(status);
        return body;
      }),
  });
}

/** The parts of a request that the contract describes. */
interface RequestParts {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: unknown;
  readonly body: unknown;
}

/**
 * Returns a function that parses a request by its endpoint's schemas: first the path, then query, headers and body. A part
 * without a schema stays unchanged.
 */
function partsReader(endpoint: AppRoute): (request: FastifyRequest) => RequestParts {
  const params = schemaOf(endpoint.pathParams);
  const query = schemaOf(endpoint.query);
  const headers = schemaOf(endpoint.headers);
  const body = schemaOf("body" in endpoint ? endpoint.body : undefined);
  return (request) => ({
    params: params === undefined ? request.params : read(params, request.params, badPath),
    query: query === undefined ? request.query : read(query, request.query, badQuery),
    // The schema has only the headers that the endpoint reads. Other headers stay unchanged.
    headers:
      headers === undefined ? request.headers : { ...request.headers, ...read(headers, request.headers, badHeaders) },
    body: body === undefined ? request.body : read(body, request.body, badBody),
  });
}

/** Returns the schema of a part; undefined: the contract has no schema for it. */
function schemaOf(part: unknown): ZodType<object> | undefined {
  return isZodType(part) ? (part as ZodType<object>) : undefined;
}

function read(schema: ZodType<object>, part: unknown, toError: (error: ZodError) => ServiceError): object {
  const result = schema.safeParse(part);
  if (!result.success) throw toError(result.error);
  return result.data;
}

function badPath({ issues: [first] }: ZodError): ServiceError {
  return serviceError("not_found", "pathId", { issue: first === undefined ? "is not possible" : issueWords(first) });
}

const badQuery = bad("query");
const badHeaders = bad("headers");
const badBody = bad("body");

function bad(whole: Whole): (error: ZodError) => ServiceError {
  return ({ issues }) => serviceError("invalid_parameter", "issues", { issues: describeIssues(issues, whole) });
}

/**
 * Returns JSON text, typed as the body that it contains, because a text is sent unchanged. Tests check every such body
 * against the contract's schema.
 */
export function jsonBody<Body>(json: string): Body {
  return json as unknown as Body;
}

/** A route that is to be retired. */
export interface DeprecatedRoute extends Deprecation {
  /** The route as the request log names it: `GET /v1/rides/:id`. */
  readonly route: string;
}

/**
 * Adds the contract's deprecation headers to each response of a deprecated endpoint, errors included. Other routes get no
 * hook.
 * @returns the deprecated routes; routes that are registered later are added to the same array
 */
export function announceDeprecations(app: FastifyInstance): readonly DeprecatedRoute[] {
  const routes: DeprecatedRoute[] = [];
  app.addHook("onRoute", (route) => {
    const metadata = route.config?.tsRestRoute?.metadata as EndpointMetadata | undefined;
    if (metadata?.deprecated === undefined) return;
    const { deprecated } = metadata;
    for (const method of [route.method].flat()) routes.push({ ...deprecated, route: `${method} ${route.url}` });
    const headers = deprecationHeaders(deprecated);
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (_request, reply, payload, done) => {
        reply.headers(headers);
        done(null, payload);
      },
    ];
  });
  return routes;
}
