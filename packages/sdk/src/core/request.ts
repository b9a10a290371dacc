import { UsageError } from "../errors/errors.ts";
import { VERSION } from "../version.ts";
import type { Platform } from "./platform.ts";

/** An endpoint as the client must know it; generated from the contract. */
export type Route = readonly [
  /** Method and path: `GET /v1/rides/:id`. */
  operation: string,
  /** The status of its success. */
  successStatus: number,
  /**
   * `idempotent`: it takes an `Idempotency-Key`. `open`: it needs no key and does not count towards the rate limit. `once`: what
   * it does would happen again where it is sent again.
   */
  kind?: "idempotent" | "open" | "once",
];

/** Query parameters; those that are undefined are not sent. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** A request to an endpoint. */
export interface ApiRequest {
  readonly route: Route;
  readonly id?: string | undefined;
  readonly query?: Query;
  readonly body?: object;
}

/** https, or http to this machine; without credentials, query or fragment. Matches the spelling of a parsed URL. */
const SAFE_URL = /^(https:\/\/|http:\/\/(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\])[:/])[^@?#]*$/;

/**
 * The service's base URL, checked and without a trailing slash.
 *
 * @throws UsageError when it is not a URL, is not https (except on this machine), has credentials, a query or a
 *   fragment, or ends in /v1, with which every path begins
 */
export function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text).href : "";
  if (/\/v1\/*$/.test(url)) throw new UsageError("baseUrl must not end with /v1");
  if (SAFE_URL.test(url)) return url.replace(/\/+$/, "");
  // The text is not repeated: someone who confuses the options puts the key here.
  throw new UsageError(`baseUrl ${text ? "must be https:// or http://localhost" : "is not set"}`);
}

/**
 * Returns the idempotency key of a call, if the endpoint takes one: made once, so that every attempt is the same creation.
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
 * Checks a header's value: visible ASCII with spaces only inside, or it would be changed or refused.
 *
 * @returns the value
 * @throws UsageError with the name, but not the value
 */
export function requireHeaderValue(name: string, value: unknown): string {
  if (typeof value === "string" && /^[!-~]([ -~]*[!-~])?$/.test(value)) return value;
  throw new UsageError(`${name} ${value ? "must be ASCII without spaces around it" : "is not set"}`);
}

/** The properties that all requests of a client share. */
interface RequestBase {
  readonly baseUrl: string;
  readonly userAgent?: string | undefined;
  readonly platform: Platform;
}

/**
 * Returns a request as hooks see it, and as it is sent except for the key.
 *
 * @throws UsageError for an id that a path cannot hold
 */
export function buildRequest(
  { baseUrl, userAgent = "", platform }: RequestBase,
  { route: [operation, , kind], id, query = {}, body }: ApiRequest,
  idempotencyKey: string | undefined,
) {
  const [method, path] = operation.split(" ") as [string, string]; // The routes are written so.
  const headers = withoutUndefined({
    accept: "application/json",
    authorization: kind === "open" ? undefined : "Bearer [redacted]",
    // fetch trims a leading space. A browser sets its own name, and would send a preflight request for another one.
    "user-agent": platform.document ? undefined : `${userAgent} bikeshare-sdk/${VERSION}`,
    "content-type": body && "application/json",
    "idempotency-key": idempotencyKey,
  });
  return { operation, method, url: baseUrl + buildPath(path, id, query), headers };
}

function buildPath(template: string, id: string | undefined, query: Query): string {
  const path = template.replace(/:\w+/, () => {
    // An empty segment would be the list; dots would be resolved as the parent directory.
    if (typeof id !== "string" || /^\.{0,2}$/.test(id)) throw new UsageError(`"${id}" is not a valid id`);
    return encodeURIComponent(id);
  });
  const search = new URLSearchParams(withoutUndefined(query) as Record<string, string>).toString(); // It converts numbers.
  return search ? `${path}?${search}` : path;
}

/** Returns an object without its undefined properties: passing an option on as undefined means its default. */
export function withoutUndefined<Values extends object>(values: Values): Partial<Defined<Values>> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Defined<Values>>; // A subset of the properties.
}

type Defined<Values> = { [Name in keyof Values]: Exclude<Values[Name], undefined> };
