import {
  type AnswerBytes,
  countedBytes,
  type CutReason,
  keepAnswer,
  limitsOfAnswer,
  type LogSize,
  sizeOfAnswer,
} from "../rules/answer-budget.ts";
import { dayOf } from "../rules/log-days.ts";

/** An answer as the log keeps it. */
export interface KeptAnswer extends AnswerBytes {
  /** Why it is less than came; null: it is not. */
  readonly cutFor: CutReason | null;
}

/** A day's size that has changed since it was last written. */
export interface ChangedSize extends Readonly<LogSize> {
  readonly day: string;
}

/** An attempt's share of the log. */
export interface MeasuredAttempt {
  readonly isSuccess: boolean;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  /** Bytes of what was sent. */
  readonly requestBytes: number;
  readonly answer: AnswerBytes;
}

const HOUR_MS = 3_600_000;

/**
 * How much of the log one endpoint's attempts take, counted in the memory of its lane's holder. Only one worker holds a
 * lane, so the count is exact; one that dies forgets what it has not written, and another begins the hour's failures anew.
 */
export class LogMeter {
  readonly #days = new Map<string, LogSize & { isWritten: boolean }>();
  #hour = Number.NaN;
  #wholeFailures = 0;

  /** Takes over what an earlier holder has written of a day. */
  resume(day: string, { bytes, answerBytes }: LogSize): void {
    this.#days.set(day, { bytes, answerBytes, isWritten: true });
  }

  /** Decides how much of an answer is kept, and counts it. */
  keep({ isSuccess, endedAt, requestBytes, answer }: MeasuredAttempt): KeptAnswer {
    const size = this.#sizeAt(endedAt);
    const wholeFailures = this.#failuresAt(endedAt);
    const { limits, reason } = limitsOfAnswer({ ...size, wholeFailures }, isSuccess);
    if (!isSuccess && reason === null) this.#wholeFailures++;
    const kept = keepAnswer(answer, limits);
    const keptBytes = sizeOfAnswer(kept);
    size.bytes += requestBytes + keptBytes;
    size.answerBytes += countedBytes(keptBytes);
    size.isWritten = false;
    return { ...kept, cutFor: keptBytes < sizeOfAnswer(answer) ? reason : null };
  }

  /** What has to be written. */
  changed(): ChangedSize[] {
    return [...this.#days].flatMap(([day, { bytes, answerBytes, isWritten }]) =>
      isWritten ? [] : [{ day, bytes, answerBytes }],
    );
  }

  /** Notes that sizes are written, and forgets the days that are over. @param today the day that is not */
  noteWritten(written: readonly ChangedSize[], today: string): void {
    for (const { day, bytes } of written) {
      const size = this.#days.get(day);
      // It may have grown since.
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
