/**
 * A client for the endpoints of the dashboard. It uses the contract's types and a generated table of paths, but no schemas,
 * which would make the pages larger to load.
 */
import type { consoleContract } from "@bikeshare/contract/console";
import type { AppRoute, ClientInferRequest, ClientInferResponseBody } from "@ts-rest/core";
import { ApiError, ConnectionError } from "./errors.ts";
import { routes } from "./routes.generated.ts";

/** The statuses with which an endpoint answers a success. */
type SuccessStatus<Route extends AppRoute> = Extract<keyof Route["responses"], 200 | 201 | 202>;

/**
 * The parts of a request, typed by the contract: `params`, `query` and `body`. A part may be omitted if all its fields are
 * optional.
 */
type Request<Route extends AppRoute> = OptionalWhereEmpty<
  Pick<ClientInferRequest<Route>, keyof ClientInferRequest<Route> & ("params" | "query" | "body")>
> & { readonly signal?: AbortSignal };

/** The type of `{}`. It extends another object type exactly if all fields of that type are optional. */
type NoFields = Record<never, never>;

/** Requires the parts that have a required field, and makes the other parts optional. */
type OptionalWhereEmpty<Parts> = {
  readonly [Part in keyof Parts as NoFields extends Parts[Part] ? never : Part]: Parts[Part];
} & { readonly [Part in keyof Parts as NoFields extends Parts[Part] ? Part : never]?: Parts[Part] };

/** Calls an endpoint, and returns the body of its response. The request may be omitted if all its parts may. */
type Call<Route extends AppRoute> = (
  ...request: NoFields extends Request<Route> ? [Request<Route>?] : [Request<Route>]
) => Promise<ClientInferResponseBody<Route, SuccessStatus<Route>>>;

/** A function for each endpoint, by noun and verb. */
type Client<Contract> = {
  readonly [Noun in keyof Contract]: {
    readonly [Verb in keyof Contract[Noun]]: Contract[Noun][Verb] extends AppRoute ? Call<Contract[Noun][Verb]> : never;
  };
};

export type ConsoleClient = Client<typeof consoleContract>;

/**
 * Earlier responses by address, the latest last. A request sends the ETag of the earlier response. If the server answers
 * 304 (not modified), the client returns the body stored here.
 */
type Tagged = Map<string, { readonly etag: string; readonly body: unknown }>;

/**
 * Most stored responses. Too low: responses that did not change are sent again. Too high: a page that is open for days
 * needs more memory.
 */
const MAX_TAGGED = 50;

export interface ClientOptions {
  /** The CSRF token for requests that change data; undefined before the sign-in. */
  readonly csrfToken: () => string | undefined;
  /** Called after each `unauthorized`: the session is missing or has ended, or a sign-in was refused. */
  readonly onSignedOut: () => void;
  /** Called after a request that the page has not cancelled, with whether the server could be reached. */
  readonly onReached: (isReached: boolean) => void;
  /** Called instead of `onReached` after a response that leaves open whether the server can be reached. */
  readonly onUnavailable: () => void;
  /**
   * Whether the page is in a frame of the operator's portal. Requests then use the session of the frame instead of the
   * browser's.
   */
  readonly isEmbedded?: boolean;
  readonly fetch?: typeof fetch;
}

interface AnyRequest {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * Statuses of a proxy that cannot reach the service, and of a service that starts or cannot reach its database. A
 * healthy service sends them too, for example 503 for a list that takes too long. So they do not tell whether the
 * connection is lost.
 */
const UNAVAILABLE_STATUSES = [502, 503, 504];

/** Returns a client with a function for each endpoint. Pages use the only one, `api` in api.ts. */
export function createClient(options: ClientOptions): ConsoleClient {
  const tagged: Tagged = new Map();
  const nouns = Object.entries(routes).map(([noun, verbs]) => [
    noun,
    Object.fromEntries(
      Object.entries(verbs).map(([verb, route]) => [
        verb,
        (request?: AnyRequest) => send(route, request ?? {}, { ...options, tagged }),
      ]),
    ),
  ]);
  // The table of paths is generated from the contract, by noun and verb. A test checks that both agree.
  return Object.fromEntries(nouns) as ConsoleClient;
}

/**
 * Sends a request, and returns the body of the response.
 * @param route the method and the path, as the table of paths has them: `GET /console/v1/session`
 * @throws ApiError, or ConnectionError if no complete response arrived
 */
async function send(
  route: string,
  request: AnyRequest,
  options: ClientOptions & { readonly tagged: Tagged },
): Promise<unknown> {
  const [method = "GET"] = route.split(" ", 1);
  const csrfToken = method === "GET" ? undefined : options.csrfToken();
  const address = addressOf(route, request.params, request.query);
  const { body } = request;
  const isBytes = body instanceof Uint8Array;
  const known = method === "GET" ? options.tagged.get(address) : undefined;
  const response = await reach(address, options, {
    method,
    // Lets the page cancel its request: `send` then throws the browser's AbortError, and the connection does not count as lost.
    ...(request.signal && { signal: request.signal }),
    ...(body !== undefined && { body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
    headers: {
      accept: "application/json",
      ...(options.isEmbedded === true && { "x-dashboard-frame": "1" }),
      ...(body !== undefined && { "content-type": `application/${isBytes ? "octet-stream" : "json"}` }),
      ...(csrfToken !== undefined && { "x-csrf-token": csrfToken }),
      ...(known && { "if-none-match": known.etag }),
    },
  });
  if (known !== undefined && response.status === 304) return known.body;
  if (response.ok) return readBody(response, address, options.tagged);
  const error = await errorOf(response);
  if (error.code === "unauthorized") {
    // Somebody else may sign in next.
    options.tagged.clear();
    options.onSignedOut();
  }
  throw error;
}

/** Reads the body of a successful response, and stores it with its ETag if it has one. */
async function readBody(response: Response, address: string, tagged: Tagged): Promise<unknown> {
  const body: unknown = await response.json().catch(throwConnectionError("The response was incomplete. Try again."));
  const etag = response.headers.get("etag");
  if (etag === null) return body;
  // Deleted first, so that the response moves to the end of the map: the first one is dropped when there are too many.
  tagged.delete(address);
  tagged.set(address, { etag, body });
  const [oldest = ""] = tagged.keys();
  if (tagged.size > MAX_TAGGED) tagged.delete(oldest);
  return body;
}

/** Sends a request. Reports to `onReached` or `onUnavailable` what the response says of the connection. */
async function reach(address: string, options: ClientOptions, init: RequestInit): Promise<Response> {
  const ask = options.fetch ?? fetch;
  try {
    const response = await ask(address, { credentials: "same-origin", ...init });
    if (UNAVAILABLE_STATUSES.includes(response.status)) options.onUnavailable();
    else options.onReached(true);
    return response;
  } catch (error) {
    if (isCancelled(error)) throw error;
    options.onReached(false);
    throw new ConnectionError(UNREACHED, { cause: error });
  }
}

const UNREACHED = "The server could not be reached.";

/** Tells whether a request failed because the page has cancelled it. */
function isCancelled(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * Returns a handler for `catch`. It throws a `ConnectionError` with this message, or the failure itself if the page has
 * cancelled the request.
 */
function throwConnectionError(message: string): (failure: unknown) => never {
  return (failure) => {
    throw isCancelled(failure) ? failure : new ConnectionError(message, { cause: failure });
  };
}

/**
 * Reads a JSON document that the service publishes outside of the dashboard's endpoints, such as a feed.
 * @throws ApiError, or ConnectionError if no complete response arrived
 */
export async function readDocument(address: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(address, init).catch(throwConnectionError(UNREACHED));
  if (!response.ok) throw await errorOf(response);
  return response.json().catch(throwConnectionError("The document was incomplete. Try again."));
}

/**
 * Returns the address of a route such as `GET /console/v1/session`, with its parameters filled in. The route may lack the
 * method. Leaves out parts of the query that are undefined or empty. Pages use it for links to files and for live updates.
 */
export function addressOf(route: string, params: AnyRequest["params"] = {}, query: AnyRequest["query"] = {}): string {
  const path = route
    .slice(route.indexOf(" ") + 1)
    .replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return search === "" ? path : `${path}?${search}`;
}

/** Returns the error of a response. A response without the service's error body, such as a proxy's, is `unexpected`. */
async function errorOf(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch((error: unknown) => {
    if (isCancelled(error)) throw error;
  });
  const { error, message } = isErrorBody(body)
    ? body
    : { error: "unexpected", message: `The server answered with status ${response.status}. Try again in a moment.` };
  const retryAfter = Number(response.headers.get("retry-after"));
  return new ApiError(message, {
    status: response.status,
    code: error,
    requestId: response.headers.get("request-id") ?? undefined,
    retryAfterSeconds: retryAfter > 0 ? retryAfter : undefined,
  });
}

function isErrorBody(body: unknown): body is { readonly error: string; readonly message: string } {
  return typeof body === "object" && body !== null && "error" in body && "message" in body;
}
