/* The stored details of a refused request: enough to explain the refusal, without the credentials that are recognised. */

/** A refused request, as it came and as it was answered. */
export interface RefusedRequest {
  readonly url: string;
  readonly message: string;
  /** The parsed body; undefined: there was none, or it was not read. */
  readonly body: unknown;
  /** NaN: the caller has not announced a length. */
  readonly bodyBytes: number;
}

/** The stored details of a request, as columns of `request_log`. */
export interface RefusedDetails {
  /** The message of the error with which it was refused. */
  readonly message: string | null;
  /** Path and query. */
  readonly target: string | null;
  /** The body as JSON; null: there was none, or it was too large, of unknown length or too deeply nested to be stored. */
  readonly body: string | null;
  /** The announced length of the body; null: none was announced, or it was 0. */
  readonly body_bytes: number | null;
}

/** The details of a request that succeeded, or whose details are not stored. */
export const NO_DETAILS: RefusedDetails = { message: null, target: null, body: null, body_bytes: null };

const MAX_MESSAGE_CHARS = 2_000;
const MAX_TARGET_CHARS = 2_000;
/**
 * Larger bodies are not stored: they are batches of an operator's backend, and the message names the item. Bodies of unknown
 * length are not stored either.
 */
const MAX_KEPT_BODY_BYTES = 16_384;

/**
 * Returns the details of a refused request without credentials: values under the names of credentials, and keys and webhook
 * secrets of this service wherever they stand, in plain text or percent-encoded.
 */
export function detailsOf({ url, message, body, bodyBytes }: RefusedRequest): RefusedDetails {
  // A length that is NaN fails this comparison and the one below.
  const isKept = body !== undefined && body !== null && bodyBytes <= MAX_KEPT_BODY_BYTES;
  const written = isKept ? writtenBody(body) : undefined;
  return {
    message: storable(redactText(message).slice(0, MAX_MESSAGE_CHARS)),
    target: storable(redactTarget(url.slice(0, MAX_TARGET_CHARS))),
    body: written === undefined ? null : storable(redactText(written)),
    body_bytes: bodyBytes > 0 ? bodyBytes : null,
  };
}

/** Returns about how many bytes details take: their characters, most of which take one byte. */
export function sizeOf({ message, target, body }: RefusedDetails): number {
  return (message?.length ?? 0) + (target?.length ?? 0) + (body?.length ?? 0);
}

const REDACTED = "[redacted]";
/** A pattern for a character as it is, or percent-encoded once or more often. @param code its hexadecimal digits */
const character = (plain: string, code: string) => `(?:${plain}|%(?:25)*${code})`;
/** A pattern for a text whose characters may be percent-encoded. */
const spelled = (text: string) => text.replaceAll(/./g, (plain) => character(plain, plain.charCodeAt(0).toString(16)));
/**
 * Matches keys of this service and webhook secrets, anywhere in a text, and the percent-encoded characters in them. Takes
 * too much rather than too little: also a path, and encoded characters of any kind, that follow.
 */
const CREDENTIALS = new RegExp(
  `(${spelled("bss_")}${character("[a-z]", "[67][\\da-f]")}+${spelled("_")}|${spelled("whsec_")})[\\w+/=%-]*`,
  "gi",
);
/** Names under which callers send credentials. */
const CREDENTIAL_NAMES = new RegExp(
  `(?:${["authorization", "key", "token", "secret", "password"].map(spelled).join("|")})$`,
  "i",
);

function redactText(text: string): string {
  return text.replaceAll(CREDENTIALS, `$1${REDACTED}`);
}

function redactField(name: string, value: unknown): unknown {
  return CREDENTIAL_NAMES.test(name) ? REDACTED : value;
}

/**
 * Returns a body as JSON without credentials; undefined when the body is nested so deeply that writing it exhausts the
 * stack. The request is then logged without its body.
 */
function writtenBody(body: unknown): string | undefined {
  try {
    return JSON.stringify(body, redactField);
  } catch {
    return undefined;
  }
}

/**
 * Returns path and query without credentials, in one spelling each. So a rider who is to be forgotten is found, however the
 * caller encoded the reference.
 */
function redactTarget(url: string): string {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const segments = path.split("/").map((segment) => encodeURIComponent(decoded(segment)));
  const query = new URLSearchParams(mark < 0 ? "" : url.slice(mark));
  for (const [name] of [...query]) if (CREDENTIAL_NAMES.test(name)) query.set(name, REDACTED);
  const text = query.toString();
  return redactText(`${segments.join("/")}${text === "" ? "" : `?${text}`}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** PostgreSQL takes neither a NUL nor half of a surrogate pair. */
function storable(text: string): string {
  return text.replaceAll("\0", "\u{FFFD}").toWellFormed();
}

/* Limits on the stored details of rejected requests. */

/** Bytes of one caller's details that may be kept at once, and in a second on the average: 16 MiB a day. */
const CALLER_BURST_BYTES = 1_048_576;
const CALLER_BYTES_PER_SECOND = 194;
/**
 * Bytes of the details of all callers of this process that may be kept at once, and in an average second: 512 MiB a
 * day.
 */
const TOTAL_BURST_BYTES = 33_554_432;
const TOTAL_BYTES_PER_SECOND = 6_214;

/** Decides whether the details of a refused request are kept. */
interface DetailBudget {
  /**
   * @param caller the sender of the request: all keys of a partner share one budget
   * @param at milliseconds since 1970
   * @returns false: the caller's budget or the total budget is used up
   */
  take(caller: string, bytes: number, at: number): boolean;
}

interface Bucket {
  bytes: number;
  at: number;
}

/** Creates budgets that refill over time: for a caller that never stops failing, some details are still kept. */
export function createDetailBudget(): DetailBudget {
  const callers = new Map<string, Bucket>();
  const total: Bucket = { bytes: TOTAL_BURST_BYTES, at: 0 };
  return {
    take(caller, bytes, at) {
      const own = callers.get(caller) ?? { bytes: CALLER_BURST_BYTES, at };
      callers.set(caller, own);
      refill(own, at, CALLER_BYTES_PER_SECOND, CALLER_BURST_BYTES);
      refill(total, at, TOTAL_BYTES_PER_SECOND, TOTAL_BURST_BYTES);
      if (own.bytes < bytes || total.bytes < bytes) return false;
      own.bytes -= bytes;
      total.bytes -= bytes;
      return true;
    },
  };
}

function refill(bucket: Bucket, at: number, perSecond: number, most: number): void {
  const passed = Math.max(0, at - bucket.at) / 1_000;
  bucket.bytes = Math.min(most, bucket.bytes + passed * perSecond);
  bucket.at = Math.max(bucket.at, at);
}
