import { issueText } from "@bikeshare/contract";

/*
 * Parsers of the values of environment variables; some also read options of commands. A parser throws an Error whose
 * message says what the value must be.
 */

/** Widens the type of a parser for variables that may be unset. */
export function optional<Value>(parse: (text: string) => Value): (text: string) => Value | undefined {
  return parse;
}

/** Returns a parser of whole numbers in a range, both ends included. */
export function integer(minimum: number, maximum: number) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new Error(issueText("integerRange", { minimum, maximum }));
  };
}

/** Returns a parser of one of some values. */
export function oneOf<const Value extends string>(values: readonly Value[]) {
  return (text: string): Value => {
    const found = values.find((value) => value === text);
    if (found === undefined) throw new Error(issueText("enum", { values: values.join(", ") }));
    return found;
  };
}

/** Returns a parser of one or more of some values, separated by commas. */
export function severalOf<const Value extends string>(values: readonly Value[]) {
  const readOne = oneOf(values);
  return (text: string): readonly Value[] => [...new Set(text.split(",").map((value) => readOne(value.trim())))];
}

/** Returns a parser that accepts texts of a form. @param expected the error for any other text */
function matching(form: RegExp, expected: string) {
  return (text: string): string => {
    if (!form.test(text)) throw new Error(expected);
    return text;
  };
}

/* Each of these accepts texts of a form, and returns them as they are. */

export const hostName = matching(/^[A-Za-z0-9.:_-]+$/, "must be a host name or an IP address, without a port");
export const color = matching(/^#[0-9a-f]{6}$/i, "must be a colour in hexadecimal, such as #0a7c4a");
/** A name that pages show: one line that neither begins nor ends with a space. */
export const shownName = matching(
  /^[^\p{C}\p{Z}](?:[^\p{C}]{0,58}[^\p{C}\p{Z}])?$/u,
  "must be one line of 1 to 60 characters",
);
export const securityContact = matching(
  /^(?:mailto:[^@\s]+@[^@\s]+|https:\/\/[^\s/]\S*|tel:\+[\d-]+)$/,
  "must be an address to report weaknesses to, such as mailto:security@example.com or https://example.com/security",
);
export const systemId = matching(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters");
/** The id of a new system. Stricter than `systemId`, because new ids become part of addresses and file names. */
export const newSystemId = matching(
  /^[A-Za-z0-9][A-Za-z0-9._:-]{0,254}$/,
  "must be 1 to 255 letters, digits, `.`, `_`, `:` and `-`, the first a letter or a digit",
);

/** Tells whether a URL has a user or a password. */
function hasCredentials({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}

/** Parses a base URL, and returns it without slashes at its end. */
export function baseUrl(text: string): string {
  const url = URL.parse(text);
  const isWhole =
    url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" && !hasCredentials(url);
  if (!isWhole) throw new Error("must be an http or https URL without query, such as https://bikes.example.com");
  return text.replace(/\/+$/, "");
}

/** Validates the URL of a mail server (SMTP_URL). */
export function mailServerUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") {
    throw new Error(
      "must be a URL such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the start",
    );
  }
  return text;
}

/** A mail address, or a name and a mail address. Line breaks are refused, because they could inject a second header. */
export const mailSender = matching(
  /^(?:[^<>\r\n]+ )?<[^<>@\s,;]+@[^<>@\s,;]+>$|^[^<>@\s,;]+@[^<>@\s,;]+$/,
  "must be a mail address, such as bikes@example.com or Example Bikes <bikes@example.com>",
);

/** Returns the default sender of mails: `no-reply` at the service's public host; undefined if there is no public host. */
export function senderAt(publicUrl: string | undefined): string | undefined {
  const host = publicUrl === undefined ? undefined : URL.parse(publicUrl)?.hostname;
  const isPublicName = host !== undefined && host.includes(".") && /[a-z]$/i.test(host);
  return isPublicName ? `no-reply@${host}` : undefined;
}

/**
 * Parses an issuer of OpenID Connect: https, except on this machine. Returns it as `URL` writes it, so that issuers can be
 * compared.
 */
export function issuerUrl(text: string): string {
  const url = URL.parse(text);
  const isSecure = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url === null || !isSecure || url.search !== "" || url.hash !== "" || hasCredentials(url)) {
    throw new Error(
      "must be an https URL without query, such as https://login.example.com/realms/bikes; http only on this machine",
    );
  }
  return url.href;
}

/** Tells whether the host of a URL is this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** Parses domains of mail addresses, separated by commas. */
export function domains(text: string): readonly string[] {
  const all = text.split(",").map((domain) => domain.trim().toLowerCase());
  if (!all.every((domain) => /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(domain)))
    throw new Error("must be domains of mail addresses, such as example.com,example.org");
  return all;
}

/** Parses a feed's URL. It may have a query, which may contain a key, but no user and password, which `fetch` rejects. */
export function feedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || hasCredentials(url)) {
    throw new Error("must be the http or https URL of a gbfs.json, without user and password");
  }
  return text;
}

/** Reads the address of map tiles, such as `https://tiles.example.com/{z}/{x}/{y}.png`. */
export function tilesUrl(text: string): string {
  const url = URL.parse(text);
  const isWhole =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    !hasCredentials(url) &&
    !/[{}]/.test(url.host) &&
    ["{z}", "{x}", "{y}"].every((part) => text.includes(part)) &&
    // Nothing else may be in braces.
    /^[^{}]*(\{(z|x|y|r)\}[^{}]*)+$/.test(text) &&
    !/[\s;,'"<>\\]/.test(text);
  if (!isWhole)
    throw new Error(
      "must be an http or https URL with {z}, {x} and {y}, and {r} where sharp screens get other tiles, such as https://tiles.example.com/{z}/{x}/{y}.png",
    );
  // The grammar of Content-Security-Policy has no `_` in hosts: Firefox would ignore the host there, and show no tiles.
  if (url.host.includes("_"))
    throw new Error(
      "must not have _ in its host name, which browsers refuse in a Content-Security-Policy. Use a name without it, such as tile-server",
    );
  return text;
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns a parser of durations such as `30s` or `5m`, to milliseconds.
 * @param bounds the shortest and the longest one; none: every duration is accepted
 */
export function duration(...bounds: [minimum: string, maximum: string] | []) {
  const range = bounds.length === 0 ? "" : ` from ${bounds.join(" to ")}`;
  const [minimum = 0, maximum = Infinity] = bounds.map(milliseconds);
  return (text: string): number => {
    const value = milliseconds(text);
    // An invalid text gives NaN, for which both comparisons are false.
    if (value >= minimum && value <= maximum) return value;
    throw new Error(`must be a duration${range}, such as 30s, 15m, 24h or 7d`);
  };
}

/** Returns the milliseconds of a duration; NaN if it is invalid. */
function milliseconds(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return Number(amount) * (UNITS_MS[unit ?? ""] ?? Number.NaN);
}

const SSL_MODES: readonly string[] = ["disable", "require", "verify-ca", "verify-full"];

/**
 * Validates a database URL. `sslmode` has the meaning that PostgreSQL's programs give it. Modes that may silently use no
 * encryption, such as `prefer`, are rejected.
 */
export function databaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new Error("must be a URL such as postgres://user:password@host:5432/database");
  }
  const mode = url.searchParams.get("sslmode");
  if (mode !== null && !SSL_MODES.includes(mode)) {
    throw new Error(`sslmode must be one of ${SSL_MODES.join(", ")}`);
  }
  if (mode === "verify-ca" && !url.searchParams.has("sslrootcert")) {
    throw new Error("sslmode=verify-ca needs sslrootcert=<file>, the authority to trust; or say verify-full");
  }
  return text;
}

/** Validates a Redis URL. Rejects a query, from which the client would take options: a typo there would pass unnoticed. */
export function redisUrl(text: string): string {
  const url = URL.parse(text);
  const isWhole =
    url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== "" && url.search === "" && url.hash === "";
  if (!isWhole || !/^(\/(\d{1,3})?)?$/.test(url.pathname) || !isDecodable(url.username, url.password)) {
    throw new Error(
      "must be a URL such as redis://user:password@redis.example.com:6379/0, or rediss:// for TLS; 0 is the database's number",
    );
  }
  return text;
}

/** Tells whether the percent-encoding of all texts is valid. */
function isDecodable(...texts: readonly string[]): boolean {
  try {
    texts.forEach(decodeURIComponent);
    return true;
  } catch {
    return false;
  }
}

/** The length of the shortest known name for which typos are reported. */
const SHORTEST_NAME_CHECKED = 7;

/**
 * Warns of variables whose names are one edit away from a known name, because they would silently have no effect. Skips
 * short known names such as PORT, to which too many other names are close.
 * @param ours the names of all variables that are read
 */
export function warningsOfTypos(env: Readonly<Record<string, string | undefined>>, ours: readonly string[]): string[] {
  const warnings: string[] = [];
  for (const name of Object.keys(env)) {
    if (ours.includes(name) || env[name] === "") continue;
    const meant = ours.find((candidate) => candidate.length >= SHORTEST_NAME_CHECKED && isOneEditAway(name, candidate));
    if (meant !== undefined) warnings.push(`${name} is set and has no effect. Did you mean ${meant}?`);
  }
  return warnings;
}

/** Tells whether two names differ by one character added, removed or changed, or by two neighbouring characters swapped. */
export function isOneEditAway(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  const [restOfOne, restOfOther] = [one.slice(start), other.slice(start)];
  if (restOfOne.length !== restOfOther.length) {
    return restOfOne.slice(1) === restOfOther || restOfOther.slice(1) === restOfOne;
  }
  const isChanged = restOfOne.slice(1) === restOfOther.slice(1);
  const isSwapped =
    restOfOne[0] === restOfOther[1] && restOfOne[1] === restOfOther[0] && restOfOne.slice(2) === restOfOther.slice(2);
  return isChanged || isSwapped;
}

/* From here on: values of variables about alerts and traces. */

/** Matches a single mail address without a name or a comma. */
const MAIL_ADDRESS = /^[^\s@,;:<>()[\]"\\]{1,64}@[^\s@,;:<>()[\]"\\]{1,189}$/u;
/** The most addresses. Instead of more, operators should use a mailing list, which is one address. */
const MAX_ADDRESSES = 10;

/** Parses mail addresses, separated by commas. Leaves out repeated ones. */
export function mailAddresses(text: string): readonly string[] {
  const addresses = [...new Set(text.split(",").map((part) => part.trim()))];
  if (addresses.length > MAX_ADDRESSES || !addresses.every((address) => MAIL_ADDRESS.test(address))) {
    throw new Error(`must be up to ${MAX_ADDRESSES} mail addresses, separated by commas, such as ops@example.com`);
  }
  return addresses;
}

/** Parses the base URL of an OTLP collector (OTEL_EXPORTER_OTLP_ENDPOINT). @returns the URL to which traces are sent */
export function otlpTracesUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || hasCredentials(url) || url.search !== "" || url.hash !== "") {
    throw new Error("must be the http or https URL of an OTLP collector, such as http://127.0.0.1:4318");
  }
  return `${url.href.replace(/\/$/, "")}/v1/traces`;
}

/** Parses the URL of a chat room's incoming webhook (ALERT_WEBHOOK_URL). */
export function chatRoomUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || hasCredentials(url)) {
    throw new Error("must be the URL of an incoming webhook, such as https://hooks.slack.com/services/…");
  }
  return url.href;
}

/** Parses `name=value` pairs, separated by commas, with percent-encoded values (OTEL_EXPORTER_OTLP_HEADERS). */
export function headerPairs(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(",").map((part) => {
    const [, name, value] = /^\s*([\w-]+)\s*=(.*)$/.exec(part) ?? [];
    if (name === undefined || value === undefined || !isDecodable(value))
      throw new Error("must be headers such as authorization=Bearer%20abc,x-tenant=main");
    return [name, decodeURIComponent(value.trim())] as const;
  });
  return Object.fromEntries(pairs);
}

/** Parses a share, from 0 (nothing) to 1 (everything). */
export function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 1) return value;
  throw new Error("must be a number from 0 to 1, such as 0.1");
}
