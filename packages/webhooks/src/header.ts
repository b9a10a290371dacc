import { WebhookVerificationError } from "./verification-error.ts";

/** The request header that holds the time and the signatures of a delivery. */
export const SIGNATURE_HEADER = "Service-Signature";

/** A header's value as frameworks hand it over. */
export type HeaderValue = string | readonly string[] | null | undefined;

/** What the header says. */
export interface SignatureHeader {
  /** When the delivery was signed: unix seconds, as they stand there. */
  readonly time: string;
  /** The signatures of the scheme `v1`: 64 hexadecimal digits each. */
  readonly signatures: readonly string[];
}

/** Characters. Lower refuses a header of ours with over 100 signatures; higher lets a hostile one cost more. */
const MAX_LENGTH = 8192;

/**
 * The latest time that can be signed: in the year 5138. Whoever asks for a later one passes milliseconds.
 * Lower ends sooner; higher takes milliseconds of this century for seconds.
 */
const MAX_SECONDS = 99_999_999_999;

/**
 * The value of the header.
 *
 * @param timestamp unix seconds
 * @param signatures in hexadecimal
 */
export function formatHeader(timestamp: number, signatures: readonly string[]): string {
  return `t=${timestamp},${signatures.map((signature) => `v1=${signature}`).join(",")}`;
}

/** @throws RangeError for what is no number of whole seconds since 1970 */
export function requireTimestamp(timestamp: number): void {
  if (Number.isInteger(timestamp) && timestamp >= 0 && timestamp <= MAX_SECONDS) return;
  throw new RangeError("timestamp is the time of signing in whole seconds since 1970: Math.floor(Date.now() / 1000)");
}

/**
 * Reads the header strictly: one `t`, at least one `v1`, no blanks. Schemes that it does not know are left out, because
 * a later one will come beside `v1` first.
 *
 * @throws WebhookVerificationError `missing_header`, `malformed_header`
 */
export function parseHeader(value: HeaderValue): SignatureHeader {
  const text = oneText(value);
  if (text.length > MAX_LENGTH) throw malformed(`has more than ${MAX_LENGTH} characters`);
  const times: string[] = [];
  const signatures: string[] = [];
  const entries = text.split(",");
  // Node and proxies join with ", ", which is no blank of ours.
  if (entries.filter((entry) => /^\s*t=/.test(entry)).length > 1) {
    throw malformed("has more than one t: two headers were probably joined");
  }
  if (text.trim() !== text)
    throw malformed("begins or ends with white space: take it from the request, not from a log");
  for (const entry of entries) {
    const [, scheme, given] = /^([A-Za-z0-9_-]+)=(.*)$/s.exec(entry) ?? [];
    if (given === undefined) throw malformed("is not a list of <name>=<value> with commas and no blanks between");
    if (scheme === "t") times.push(given);
    if (scheme === "v1") signatures.push(given);
  }
  const [time] = times;
  if (time === undefined) throw malformed("has no t");
  if (!/^(0|[1-9][0-9]{0,10})$/.test(time)) throw malformed("has a t that is no number of seconds since 1970");
  if (signatures.length === 0) throw malformed("has no v1");
  if (!signatures.every((signature) => /^[0-9a-f]{64}$/.test(signature))) {
    throw malformed(
      "has a v1 that is not 64 hexadecimal digits in small letters: it was probably cut off, or changed on its way",
    );
  }
  return { time, signatures };
}

function oneText(value: HeaderValue): string {
  const text: unknown = Array.isArray(value) ? value.join(",") : value;
  if (text === undefined || text === null || text === "") {
    throw new WebhookVerificationError(
      "missing_header",
      `There is no ${SIGNATURE_HEADER} header. Either the request is not a delivery, or a proxy dropped the header.`,
    );
  }
  if (typeof text !== "string") {
    throw malformed("is not text: pass the header's value, such as request.headers.get(...), not all headers");
  }
  return text;
}

function malformed(fault: string): WebhookVerificationError {
  return new WebhookVerificationError("malformed_header", `The ${SIGNATURE_HEADER} header ${fault}.`);
}
