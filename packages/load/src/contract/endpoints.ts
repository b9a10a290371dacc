import { errorBody, operatorContract, partnerContract } from "@bikeshare/contract";
import type { z } from "zod";

/* Builds requests of the load test from the contract, and checks responses against the contract's schemas. */

type Partner = typeof partnerContract;
type Operator = typeof operatorContract;
/** The names `<noun>.<verb>` of a router's endpoints, each with a prefix. */
type Names<Router, Prefix extends string> = {
  [Noun in keyof Router & string]: `${Prefix}${Noun}.${keyof Router[Noun] & string}`;
}[keyof Router & string];

/** Every endpoint by its name in the contract's router: `rides.list`, `operator.rides.start`. */
export type EndpointName = Names<Partner, ""> | Names<Operator, "operator.">;

/** The endpoint of a router by its noun and verb; never: there is none. */
type Member<Router, Noun, Verb> = Noun extends keyof Router
  ? Verb extends keyof Router[Noun]
    ? Router[Noun][Verb]
    : never
  : never;
/** The contract's description of the endpoint with a name. */
type RouteOf<Name extends EndpointName> = Name extends `operator.${infer Noun}.${infer Verb}`
  ? Member<Operator, Noun, Verb>
  : Name extends `${infer Noun}.${infer Verb}`
    ? Member<Partner, Noun, Verb>
    : never;
type Input<Schema> = Schema extends z.ZodTypeAny ? z.input<Schema> : never;

/**
 * The input of a request of an endpoint, typed by the contract's schemas: `params`, `query` and `body`, as far as the
 * endpoint has them. `unknown` stands for one that it lacks, because it adds nothing to an intersection.
 */
export type RequestInput<Name extends EndpointName> = (RouteOf<Name> extends { pathParams: infer Schema }
  ? { readonly params: Input<Schema> }
  : unknown) &
  (RouteOf<Name> extends { query: infer Schema } ? { readonly query?: Input<Schema> } : unknown) &
  (RouteOf<Name> extends { body: infer Schema } ? { readonly body: Input<Schema> } : unknown);

/** A request as it is sent, without credentials. */
export interface ApiRequest {
  readonly endpoint: EndpointName;
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly body: string | undefined;
}

/** The part of the contract's description of an endpoint that is used here. */
interface Route {
  readonly method: string;
  readonly path: string;
  readonly responses: Readonly<Record<number, unknown>>;
}

/** Returns the routes of a contract, each with its name. @param prefix what the names begin with */
function routesOf(router: object, prefix: string): [string, Route][] {
  return Object.entries(router).flatMap(([noun, verbs]) =>
    Object.entries(verbs as Record<string, Route>).map(([verb, route]): [string, Route] => [
      `${prefix}${noun}.${verb}`,
      route,
    ]),
  );
}

const routes: ReadonlyMap<string, Route> = new Map([
  ...routesOf(partnerContract, ""),
  ...routesOf(operatorContract, "operator."),
]);

function routeOf(name: EndpointName): Route {
  const route = routes.get(name);
  if (route === undefined) throw new Error(`The contract has no endpoint ${name}.`);
  return route;
}

/** Returns the request of an endpoint, with the contract's method and path. */
export function apiRequest<Name extends EndpointName>(endpoint: Name, input: RequestInput<Name>): ApiRequest {
  const { method, path } = routeOf(endpoint);
  const {
    params = {},
    query = {},
    body,
  } = input as {
    params?: Record<string, string>;
    query?: Record<string, string | number | undefined>;
    body?: unknown;
  };
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return {
    endpoint,
    method,
    path: search.size === 0 ? filled : `${filled}?${search.toString()}`,
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

/** Returns how a response violates the contract; undefined: it agrees with the contract. */
export function contractViolation(endpoint: EndpointName, status: number, body: string): string | undefined {
  // The contract declares no 304, because it belongs to HTTP rather than to an endpoint. A 304 has no body.
  if (status === 304) return body === "" ? undefined : "304 with a body";
  const declared = routeOf(endpoint).responses[status];
  if (declared === undefined) return `status ${status} is not in the contract`;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return `${status} without valid JSON`;
  }
  const parsed = (declared as z.ZodTypeAny).safeParse(value);
  if (parsed.success) return undefined;
  const [issue] = parsed.error.issues;
  return `${status}: ${issue?.path.join(".") || "the body"}: ${issue?.message ?? "does not match the schema"}`;
}

/** Returns the error code in an answer's body; undefined: it has none. */
export function errorCodeOf(body: string): string | undefined {
  try {
    const parsed = errorBody.safeParse(JSON.parse(body));
    return parsed.success ? parsed.data.error : undefined;
  } catch {
    return undefined;
  }
}
