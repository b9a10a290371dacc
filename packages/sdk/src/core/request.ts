import { UsageError } from "../errors/errors.ts";
import { VERSION } from "../version.ts";
import type { Platform } from "./platform.ts";

/** What the client needs to know of an endpoint. It is generated from the contract. */
export type Route = readonly [
  /** Method and path: `GET /v1/rides/:id`. */
  operation: string,
  /** The HTTP status of a success. */
  successStatus: number,
  /**
   * `idempotent`: it takes an `Idempotency-Key`. `open`: it needs no API key and does not count towards the rate limit.
   * `once`: a repeated request has its effect again, so it is retried after a 429 only.
   */
  kind?: "idempotent" | "open" | "once",
];

/** Query parameters. Undefined ones are not sent. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** A request to an endpoint. */
export interface ApiRequest {
  readonly route: Route;
  readonly id?: string | undefined;
  readonly query?: Query;
  readonly body?: object;
}

/** Allowed base URLs: https, or http on this machine; without credentials, query or fragment. Matches `URL.href`. */
const SAFE_URL = /^(https:\/\/|http:\/\/(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\])[:/])[^@?#]*$/;

/**
 * Checks the service's base URL and returns it without a trailing slash.
 *
 * @throws UsageError when it is not a URL, is not https (except on this machine), has credentials, a query or a fragment,
 *   or ends in /v1, because every path begins with /v1
 */
export function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text).href : "";
  if (/\/v1\/*$/.test(url)) throw new UsageError("baseUrl must not end with /v1");
  if (SAFE_URL.test(url)) return url.replace(/\/+$/, "");
  // The message does not contain the text, because somebody may pass the key as the base URL by mistake.
  throw new UsageError(`baseUrl ${text ? "must be https:// or http://localhost" : "is not set"}`);
}

/**
 * Returns the idempotency key of a call, if the endpoint takes one. A call has one key, which all its attempts send.
 *
 * @throws UsageError for a key that a header cannot hold
 */
export function readIdempotencyKey(
  [, , kind]: Route,
  platform: Platform,
  given: string | undefined,
): string | undefined {
  if (kind !== "idempotent") return undefined;
  return requireHeaderValue("idempotencyKey", given ?? platform.crypto.randomUUID());
}

/**
 * Checks a header's value: visible ASCII, with spaces only inside. Other values would be changed or rejected on the way.
 *
 * @returns the value
 * @throws UsageError with the name, but not the value
 */
export function requireHeaderValue(name: string, value: unknown): string {
  if (typeof value === "string" && /^[!-~]([ -~]*[!-~])?$/.test(value)) return value;
  throw new UsageError(`${name} ${value ? "must be ASCII without spaces around it" : "is not set"}`);
}

/** The settings that `buildRequest` uses. */
interface RequestBase {
  readonly baseUrl: string;
  readonly userAgent?: string | undefined;
  readonly platform: Platform;
}

/**
 * Returns a request as it is sent, except for the API key and the body, of which only the presence matters here. Hooks get
 * it in this form.
 *
 * @throws UsageError for an id that cannot be part of a path
 */
export function buildRequest(
  { baseUrl, userAgent = "", platform }: RequestBase,
  { route: [operation, , kind], id, query = {}, body }: ApiRequest,
  idempotencyKey: string | undefined,
) {
  const [method, path] = operation.split(" ") as [string, string]; // Every operation has this form.
  const headers = withoutUndefined({
    accept: "application/json",
    authorization: kind === "open" ? undefined : "Bearer [redacted]",
    // Without a `userAgent` the value begins with a space, which fetch trims. Not set in a browser: a request without a key
    // would then need a preflight request.
    "user-agent": platform.document ? undefined : `${userAgent} bikeshare-sdk/${VERSION}`,
    "content-type": body && "application/json",
    "idempotency-key": idempotencyKey,
  });
  return { operation, method, url: baseUrl + buildPath(path, id, query), headers };
}

function buildPath(template: string, id: string | undefined, query: Query): string {
  const path = template.replace(/:\w+/, () => {
    // With an empty id the path would be that of the list; `.` and `..` would be resolved as relative steps.
    if (typeof id !== "string" || /^\.{0,2}$/.test(id)) throw new UsageError(`"${id}" is not a valid id`);
    return encodeURIComponent(id);
  });
  const search = new URLSearchParams(withoutUndefined(query) as Record<string, string>).toString(); // It converts numbers.
  return search ? `${path}?${search}` : path;
}

/** Returns an object without its undefined properties, so that an undefined option means its default. */
export function withoutUndefined<Values extends object>(values: Values): Partial<Defined<Values>> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Defined<Values>>; // It has a subset of the properties.
}

type Defined<Values> = { [Name in keyof Values]: Exclude<Values[Name], undefined> };
