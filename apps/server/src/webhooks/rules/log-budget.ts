import { dayOf } from "../../storage/partitions/partition.rules.ts";

/* Decides how much of each response is stored in the log, so that the log's size stays limited. */

/** Limits on the stored part of a response. */
export interface AnswerLimits {
  /** Names and values of headers. */
  readonly headBytes: number;
  readonly bodyBytes: number;
}

/** The reason why only a part of a response is stored. */
type TruncationReason = "success" | "repeated_failure" | "daily_budget";

/** Bytes kept of an endpoint's attempts on one day. */
export interface LogSize {
  /** The bytes of requests and responses. */
  bytes: number;
  /** The bytes of responses that count towards the day's budget. */
  answerBytes: number;
}

/**
 * The facts that limit how much of the next response is stored: the log size of the endpoint's day, and its failures of
 * this hour.
 */
interface KeptSoFar extends Readonly<LogSize> {
  /** Failures of this hour whose answers were kept whole. */
  readonly wholeFailures: number;
}

/** The limits of a response that is stored whole: as much as the sender reads of it. */
const WHOLE_ANSWER: AnswerLimits = { headBytes: Number.POSITIVE_INFINITY, bodyBytes: Number.POSITIVE_INFINITY };

/**
 * The stored part of a success, and of failures after the first WHOLE_FAILURES_PER_HOUR of an hour. Too low: cuts the short
 * texts that receivers answer with. Too high: successes use up the day's budget, and then new failures are stored as
 * summaries.
 */
export const SHORT_ANSWER: AnswerLimits = { headBytes: 2_048, bodyBytes: 2_048 };

/** The part of every response that is stored without counting towards the budget: the usual short headers. */
export const ANSWER_SUMMARY: AnswerLimits = { headBytes: 256, bodyBytes: 0 };

/**
 * Limits an endpoint's failures per hour whose responses are stored whole. The first ones show the error; later ones repeat
 * it.
 */
export const WHOLE_FAILURES_PER_HOUR = 5;

/**
 * Bytes of an endpoint's responses that are stored a day, beside a summary of each: 480 MiB in the 30 days of the log.
 * Responses that are no longer than a summary do not count.
 */
export const DAILY_ANSWER_BYTES = 16 * 1024 * 1024;

/** Returns the limits on a response, and the reason for them; null: it is stored whole. */
function limitsOfAnswer(
  { answerBytes, wholeFailures }: KeptSoFar,
  isSuccess: boolean,
): { readonly limits: AnswerLimits; readonly reason: TruncationReason | null } {
  if (answerBytes >= DAILY_ANSWER_BYTES) return { limits: ANSWER_SUMMARY, reason: "daily_budget" };
  if (isSuccess) return { limits: SHORT_ANSWER, reason: "success" };
  if (wholeFailures >= WHOLE_FAILURES_PER_HOUR) return { limits: SHORT_ANSWER, reason: "repeated_failure" };
  return { limits: WHOLE_ANSWER, reason: null };
}

type HeaderPair = readonly [name: string, value: string];

/** An answer as it came, or as it is kept. */
export interface AnswerBytes {
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
}

/** Returns the part of a response within the limits: the headers that fit, in their order, and the beginning of the body. */
function truncateAnswer(answer: AnswerBytes, { headBytes, bodyBytes }: AnswerLimits): AnswerBytes {
  let bytesLeft = headBytes;
  const headers = answer.headers.filter((header) => {
    const size = sizeOfHeader(header);
    if (size > bytesLeft) return false;
    bytesLeft -= size;
    return true;
  });
  // Copies the part, because a view would keep the whole body in memory until the log is written.
  const body = answer.body.length <= bodyBytes ? answer.body : answer.body.slice(0, bodyBytes);
  return { headers, body };
}

/** Bytes of an answer in the log. */
export function sizeOfAnswer({ headers, body }: AnswerBytes): number {
  return headers.reduce((sum, header) => sum + sizeOfHeader(header), body.length);
}

/** Returns the stored bytes of a response that count towards the day's budget. */
function countedBytes(kept: number): number {
  return Math.max(0, kept - ANSWER_SUMMARY.headBytes);
}

/** Returns the length with the colon, the space and the end of the line. A character of a header is a byte. */
function sizeOfHeader([name, value]: HeaderPair): number {
  return name.length + value.length + 4;
}

/** An answer as the log keeps it. */
export interface KeptAnswer extends AnswerBytes {
  /** The reason why only a part is stored; null: everything is. */
  readonly truncationReason: TruncationReason | null;
}

/** A day's size that has changed since it was last written. */
export interface ChangedSize extends Readonly<LogSize> {
  readonly day: string;
}

/** The facts about an ended attempt that decide how much of its response is kept, and what is counted. */
export interface MeasuredAttempt {
  readonly isSuccess: boolean;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  /** Bytes of the attempt in the log without the response. */
  readonly requestBytes: number;
  readonly answer: AnswerBytes;
}

const HOUR_MS = 3_600_000;

/**
 * Counts the log size of one endpoint's attempts, in the memory of the worker that holds the endpoint's lane (its
 * deliveries in their order). Only one worker holds a lane, so no attempt is counted twice. When a worker dies, its
 * unwritten counts are lost. Each new holder begins the hour's failures anew.
 */
export class LogMeter {
  readonly #days = new Map<string, LogSize & { isWritten: boolean }>();
  /** The hour whose failures are counted. NaN equals no hour, so the first attempt begins a count. */
  #hour = Number.NaN;
  #wholeFailures = 0;

  /** Adopts the counts that an earlier holder has written for a day. */
  resume(day: string, { bytes, answerBytes }: LogSize): void {
    this.#days.set(day, { bytes, answerBytes, isWritten: true });
  }

  /** Decides how much of an answer is kept, and counts it. */
  keep({ isSuccess, endedAt, requestBytes, answer }: MeasuredAttempt): KeptAnswer {
    const size = this.#sizeAt(endedAt);
    const wholeFailures = this.#failuresAt(endedAt);
    const { limits, reason } = limitsOfAnswer({ ...size, wholeFailures }, isSuccess);
    if (!isSuccess && reason === null) this.#wholeFailures++;
    const kept = truncateAnswer(answer, limits);
    const keptBytes = sizeOfAnswer(kept);
    size.bytes += requestBytes + keptBytes;
    size.answerBytes += countedBytes(keptBytes);
    size.isWritten = false;
    return { ...kept, truncationReason: keptBytes < sizeOfAnswer(answer) ? reason : null };
  }

  /** Returns the sizes to write. */
  changed(): ChangedSize[] {
    const changed: ChangedSize[] = [];
    for (const [day, { bytes, answerBytes, isWritten }] of this.#days)
      if (!isWritten) changed.push({ day, bytes, answerBytes });
    return changed;
  }

  /**
   * Marks sizes as written, and forgets written days that are over.
   * @param today the present day, which is not over
   */
  noteWritten(written: readonly ChangedSize[], today: string): void {
    for (const { day, bytes } of written) {
      const size = this.#days.get(day);
      // The size may have grown since.
      if (size !== undefined && size.bytes === bytes) size.isWritten = true;
    }
    for (const [day, { isWritten }] of this.#days) if (isWritten && day < today) this.#days.delete(day);
  }

  #sizeAt(endedAt: number): LogSize & { isWritten: boolean } {
    const day = dayOf(endedAt);
    const known = this.#days.get(day);
    if (known !== undefined) return known;
    const made = { bytes: 0, answerBytes: 0, isWritten: false };
    this.#days.set(day, made);
    return made;
  }

  #failuresAt(endedAt: number): number {
    const hour = Math.floor(endedAt / HOUR_MS);
    if (hour !== this.#hour) this.#wholeFailures = 0;
    this.#hour = hour;
    return this.#wholeFailures;
  }
}
