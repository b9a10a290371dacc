import { randomFillSync } from "node:crypto";
import { BASE_62, toBase62 } from "@bikeshare/rules";

/** The source of random identifiers. Created in main.ts; tests bring their own. */
export interface Ids {
  /** A new identifier: `<prefix>_` and 22 characters that sort by time of making. */
  next(prefix: string): string;
  /** `bytes` random bytes fit for secrets. */
  randomBytes(bytes: number): Uint8Array;
  /** A number from 0 up to 1, not for secrets. */
  random(): number;
}

/** Characters of base 62 that hold milliseconds since 1970 until the year 8,889. */
const TIME_LENGTH = 8;
/** Random characters behind them: 83 bits, so that no two processes ever make the same in one millisecond. */
const RANDOM_LENGTH = 14;

/** Identifiers from the operating system's randomness. */
export function createIds(clock: () => number): Ids {
  const pool = createRandomPool();
  let latest = { at: Number.NaN, text: "" };
  const timeText = () => {
    const at = clock();
    if (at !== latest.at) latest = { at, text: toBase62(at, TIME_LENGTH) };
    return latest.text;
  };
  return {
    next: (prefix) => `${prefix}_${timeText()}${pool.characters(RANDOM_LENGTH)}`,
    randomBytes: (bytes) => randomFillSync(new Uint8Array(bytes)),
    // The one place where chance enters; everything else is handed it.
    // oxlint-disable-next-line no-restricted-properties
    random: () => Math.random(),
  };
}

/** All pairs of characters: every request has an identifier, and two characters cost as much as one. */
const pairs = Array.from({ length: 62 * 62 }, (_, n) => BASE_62.charAt(Math.floor(n / 62)) + BASE_62.charAt(n % 62));

/** Random numbers fetched 4 KiB at a time: a call to the system for each identifier costs ten times as much. */
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
        // 65,348 = 17 × 3,844: numbers above it would make the first pairs likelier.
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

/** When an identifier was made, in milliseconds since 1970; undefined where it has no plausible time. */
export function timeOfId(id: string): number | undefined {
  const start = id.indexOf("_") + 1;
  const digits = Array.from({ length: TIME_LENGTH }, (_, i) => id.charAt(start + i));
  const time = digits.reduce((value, digit) => value * 62 + BASE_62.indexOf(digit), 0);
  // Up to the year 9999: an id that anybody can type must not become a date that PostgreSQL cannot read.
  const isPlausible =
    digits.every((digit) => digit !== "" && BASE_62.includes(digit)) && time > 86_400_000 && time < 253_000_000_000_000;
  return isPlausible ? time : undefined;
}
