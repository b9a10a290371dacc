/** How much of an answer is kept. */
export interface AnswerLimits {
  /** Names and values of headers. */
  readonly headBytes: number;
  readonly bodyBytes: number;
}

/** Why less of an answer is kept than came. */
export type CutReason = "success" | "repeated_failure" | "daily_budget";

/** Bytes kept of an endpoint's attempts on one day. */
export interface LogSize {
  /** Requests and answers. */
  bytes: number;
  /** Of answers, what counts towards the day's budget. */
  answerBytes: number;
}

/** What decides how much of the next answer is kept: the endpoint's day so far, and its failures of this hour. */
export interface KeptSoFar extends Readonly<LogSize> {
  /** Failures of this hour whose answers were kept whole. */
  readonly wholeFailures: number;
}

/** What an answer may fill in the log: as much as the sender reads of it. */
const WHOLE: AnswerLimits = { headBytes: Number.POSITIVE_INFINITY, bodyBytes: Number.POSITIVE_INFINITY };

/**
 * What is kept of a success, and of failures after the first of an hour. Less cuts the short texts that receivers answer
 * with; more lets a receiver decide how much disk we use.
 */
export const SHORT: AnswerLimits = { headBytes: 2_048, bodyBytes: 2_048 };

/** What is kept of every answer, and does not count towards the budget: the usual short headers. */
export const SUMMARY: AnswerLimits = { headBytes: 256, bodyBytes: 0 };

/** Failures of an endpoint in an hour whose answers are kept whole. The first tell what is wrong; more repeat it. */
export const WHOLE_FAILURES_PER_HOUR = 5;

/**
 * Bytes of an endpoint's answers that are kept a day, beside a summary of each: 480 MiB in the 30 days of the log. Short
 * answers never come near it, however many they are.
 */
export const DAILY_ANSWER_BYTES = 16 * 1024 * 1024;

/** How much of an answer is kept, and why no more. */
export function limitsOfAnswer(
  { answerBytes, wholeFailures }: KeptSoFar,
  isSuccess: boolean,
): { readonly limits: AnswerLimits; readonly reason: CutReason | null } {
  if (answerBytes >= DAILY_ANSWER_BYTES) return { limits: SUMMARY, reason: "daily_budget" };
  if (isSuccess) return { limits: SHORT, reason: "success" };
  if (wholeFailures >= WHOLE_FAILURES_PER_HOUR) return { limits: SHORT, reason: "repeated_failure" };
  return { limits: WHOLE, reason: null };
}

type HeaderPair = readonly [name: string, value: string];

/** An answer as it came, or as it is kept. */
export interface AnswerBytes {
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
}

/** As much of an answer as the limits allow: the headers that fit, in their order, and the beginning of the body. */
export function keepAnswer(answer: AnswerBytes, { headBytes, bodyBytes }: AnswerLimits): AnswerBytes {
  let room = headBytes;
  const headers = answer.headers.filter((header) => {
    const size = sizeOfHeader(header);
    if (size > room) return false;
    room -= size;
    return true;
  });
  // A copy: a view would hold the whole of it in memory until it is written.
  const body = answer.body.length <= bodyBytes ? answer.body : answer.body.slice(0, bodyBytes);
  return { headers, body };
}

/** Bytes of an answer in the log. */
export function sizeOfAnswer({ headers, body }: AnswerBytes): number {
  return headers.reduce((sum, header) => sum + sizeOfHeader(header), body.length);
}

/** Of an answer that is kept, what counts towards the day's budget. */
export function countedBytes(kept: number): number {
  return Math.max(0, kept - SUMMARY.headBytes);
}

/** With the colon, the blank and the line's end. A character of a header is a byte. */
function sizeOfHeader([name, value]: HeaderPair): number {
  return name.length + value.length + 4;
}
