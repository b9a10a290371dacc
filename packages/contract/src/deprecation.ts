/** The planned retirement of an endpoint. Dates are days in UTC: `2027-01-31`. */
export interface Deprecation {
  /** The day on which the deprecation was announced. */
  readonly since: string;
  /** The first day on which a release may lack the endpoint: at least 12 months after `since`. It works until then. */
  readonly sunset: string;
  /** The method and path of the replacement, such as `GET /v1/rides`. */
  readonly successor?: string | undefined;
}

/** The page that documents the deprecation. */
const REFERENCE = "/docs/reference";

/**
 * Returns the headers of every response of a deprecated endpoint: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link`
 * (RFC 8288).
 */
export function deprecationHeaders({ since, sunset, successor }: Deprecation): Readonly<Record<string, string>> {
  const links = [`<${REFERENCE}>; rel="deprecation"; type="text/html"`];
  if (successor !== undefined) links.push(`<${pathOf(successor)}>; rel="successor-version"`);
  return {
    // RFC 9745 writes a date as `@` and seconds since 1970.
    deprecation: `@${Date.parse(since) / 1_000}`,
    sunset: new Date(sunset).toUTCString(),
    link: links.join(", "),
  };
}

/** Describes a deprecation in words, for the documents. */
export function describeDeprecation({ since, sunset, successor }: Deprecation): string {
  const instead = successor === undefined ? "Nothing replaces it." : `Use \`${successor}\` instead.`;
  return `**Deprecated since ${since}; a release from ${sunset} on may lack this endpoint.** ${instead}`;
}

/** Returns the path up to its first parameter, which can be opened as an address: `GET /v1/rides/:id` gives `/v1/rides`. */
function pathOf(endpoint: string): string {
  return endpoint.slice(endpoint.indexOf("/")).replace(/\/[:{].*$/, "");
}
