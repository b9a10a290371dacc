import { hmacHex, signedContent } from "./hmac.ts";
import { type RawBody, requireRawBody } from "./raw-body.ts";
import { requireSecrets, type Secrets } from "./secret.ts";
import { WebhookVerificationError } from "./verification-error.ts";

/** The request header with the time and the signatures of a delivery. */
export const SIGNATURE_HEADER = "Service-Signature";

/** A header's value as frameworks provide it. */
export type HeaderValue = string | readonly string[] | null | undefined;

/** The header, parsed. */
export interface SignatureHeader {
  /** When the delivery was signed: unix seconds, as written in the header. */
  readonly time: string;
  /** The signatures of the scheme `v1`: 64 hexadecimal digits each. */
  readonly signatures: readonly string[];
}

/**
 * Maximum characters of the header, enough for over 100 signatures. Too low: rejects valid headers. Too high: a hostile
 * header costs more time.
 */
const MAX_HEADER_LENGTH = 8192;

/**
 * The latest time that can be signed, in the year 5138. A greater number is probably in milliseconds. Too high: accepts
 * milliseconds of this century as seconds.
 */
const MAX_TIMESTAMP_SECONDS = 99_999_999_999;

/** The signed values, the secret and the time. */
export interface SigningInput {
  /** The body exactly as it is sent. */
  readonly body: RawBody;
  /** Each secret makes a signature. There are several during a rotation. */
  readonly secrets: Secrets;
  /** Unix seconds. */
  readonly timestamp: number;
}

/**
 * Returns the value of the `Service-Signature` header for a body: `t=<unix seconds>,v1=<hex>`, with a `v1` for each secret.
 *
 * @throws TypeError for no secret, an empty one, or one that is not a string; RangeError for a time that is not in whole
 * seconds; WebhookVerificationError `body_not_raw`
 */
export async function sign({ body, secrets, timestamp }: SigningInput): Promise<string> {
  const keys = requireSecrets(secrets);
  requireTimestamp(timestamp);
  requireRawBody(body);
  const content = signedContent(String(timestamp), body);
  return formatHeader(timestamp, await Promise.all(keys.map((key) => hmacHex(key, content))));
}

/**
 * Returns the value of the header.
 *
 * @param timestamp unix seconds
 * @param signatures in hexadecimal
 */
export function formatHeader(timestamp: number, signatures: readonly string[]): string {
  return `t=${timestamp},${signatures.map((signature) => `v1=${signature}`).join(",")}`;
}

/** @throws RangeError if the timestamp is not a whole number of seconds since 1970 */
export function requireTimestamp(timestamp: number): void {
  if (Number.isInteger(timestamp) && timestamp >= 0 && timestamp <= MAX_TIMESTAMP_SECONDS) return;
  throw new RangeError(
    "timestamp must be the time of signing in whole seconds since 1970: Math.floor(Date.now() / 1000)",
  );
}

/**
 * Parses the header strictly: one `t`, at least one `v1`, no spaces. Unknown schemes are ignored, because a new one will
 * first be sent beside `v1`.
 *
 * @throws WebhookVerificationError `missing_header`, `malformed_header`
 */
export function parseHeader(value: HeaderValue): SignatureHeader {
  const text = headerText(value);
  if (text.length > MAX_HEADER_LENGTH) throw malformed(`has more than ${MAX_HEADER_LENGTH} characters`);
  const times: string[] = [];
  const signatures: string[] = [];
  const entries = text.split(",");
  // Node and proxies join two headers with ", ". `sign` never writes a space.
  if (entries.filter((entry) => /^\s*t=/.test(entry)).length > 1) {
    throw malformed("has more than one t: two headers were probably joined");
  }
  if (text.trim() !== text)
    throw malformed("begins or ends with white space: take it from the request, not from a log");
  for (const entry of entries) {
    const [, scheme, given] = /^([A-Za-z0-9_-]+)=(.*)$/s.exec(entry) ?? [];
    if (given === undefined) throw malformed("is not a list of <name>=<value> separated by commas without spaces");
    if (scheme === "t") times.push(given);
    if (scheme === "v1") signatures.push(given);
  }
  const [time] = times;
  if (time === undefined) throw malformed("has no t");
  if (!/^(0|[1-9][0-9]{0,10})$/.test(time)) throw malformed("has a t that is not a number of seconds since 1970");
  if (signatures.length === 0) throw malformed("has no v1");
  if (!signatures.every((signature) => /^[0-9a-f]{64}$/.test(signature))) {
    throw malformed(
      "has a v1 that is not 64 lowercase hexadecimal digits: it was probably cut off, or changed on its way",
    );
  }
  return { time, signatures };
}

function headerText(value: HeaderValue): string {
  const text: unknown = Array.isArray(value) ? value.join(",") : value;
  if (text === undefined || text === null || text === "") {
    throw new WebhookVerificationError(
      "missing_header",
      `The ${SIGNATURE_HEADER} header is missing. Either the request is not a delivery, or a proxy dropped the header.`,
    );
  }
  if (typeof text !== "string") {
    throw malformed("is not a string: pass the header's value, such as request.headers.get(...), not all headers");
  }
  return text;
}

function malformed(issue: string): WebhookVerificationError {
  return new WebhookVerificationError("malformed_header", `The ${SIGNATURE_HEADER} header ${issue}.`);
}
