import { randomFillSync } from "node:crypto";
import { BASE_62, toBase62 } from "@bikeshare/rules";

/** The source of random identifiers. Created in main.ts; tests pass another one. */
export interface Ids {
  /** Returns a new identifier: `<prefix>_` and 22 characters, which sort by the time of their creation. */
  next(prefix: string): string;
  /** Returns `bytes` random bytes that are suitable for secrets. */
  randomBytes(bytes: number): Uint8Array;
  /** Returns a random number from 0 up to, not including, 1. Not for secrets. */
  random(): number;
}

/** Characters for the time, milliseconds since 1970 in base 62: enough until the year 8888. */
const TIME_LENGTH = 8;
/** Random characters after the time: 83 bits, so that two equal ones in one millisecond are practically impossible. */
const RANDOM_LENGTH = 14;

/** Creates identifiers from the operating system's random numbers. */
export function createIds(clock: () => number): Ids {
  const pool = createRandomPool();
  // The text of the latest time. NaN equals no time, so the first call makes its text.
  let latest = { at: Number.NaN, text: "" };
  const timeText = () => {
    const at = clock();
    if (at !== latest.at) latest = { at, text: toBase62(at, TIME_LENGTH) };
    return latest.text;
  };
  return {
    next: (prefix) => `${prefix}_${timeText()}${pool.characters(RANDOM_LENGTH)}`,
    randomBytes: (bytes) => randomFillSync(new Uint8Array(bytes)),
    // The only call of `Math.random`: all other code of the service gets random numbers through `Ids`.
    // oxlint-disable-next-line no-restricted-properties
    random: () => Math.random(),
  };
}

/** All pairs of characters. For speed, because every request has an identifier: a pair takes as long as one character. */
const pairs = Array.from({ length: 62 * 62 }, (_, n) => BASE_62.charAt(Math.floor(n / 62)) + BASE_62.charAt(n % 62));

/** Fetches random numbers 4 KiB at a time. A system call for each identifier would take ten times as long. */
function createRandomPool() {
  const numbers = new Uint16Array(2048);
  let used = numbers.length;
  const nextNumber = () => {
    if (used === numbers.length) {
      randomFillSync(numbers);
      used = 0;
    }
    return numbers[used++] ?? 0;
  };
  return {
    /** @param length an even number */
    characters(length: number): string {
      let text = "";
      while (text.length < length) {
        const number = nextNumber();
        // 65,348 = 17 × 3,844 (the number of pairs). Using numbers from there on would make the first pairs more likely.
        if (number < 65_348) text += pairs[number % pairs.length] ?? "";
      }
      return text;
    },
  };
}

/**
 * Returns a text that sorts before every identifier made at or after an instant (milliseconds since 1970), and after all
 * earlier ones.
 */
export function firstIdAt(prefix: string, at: number): string {
  return `${prefix}_${toBase62(at, TIME_LENGTH)}`;
}

/** Returns when an identifier was created, in milliseconds since 1970; undefined if it has no plausible time. */
export function timeOfId(id: string): number | undefined {
  const start = id.indexOf("_") + 1;
  const digits = Array.from({ length: TIME_LENGTH }, (_, i) => id.charAt(start + i));
  const time = digits.reduce((value, digit) => value * 62 + BASE_62.indexOf(digit), 0);
  // Callers may send any id. A time on 1 January 1970 is not plausible. The latest that the digits can give, in the
  // year 8888, is a date that PostgreSQL can read.
  const isPlausible = digits.every((digit) => digit !== "" && BASE_62.includes(digit)) && time > 86_400_000;
  return isPlausible ? time : undefined;
}
