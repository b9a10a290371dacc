import { randomFillSync } from "node:crypto";
import { BASE_62, toBase62 } from "@bikeshare/rules";

/** Where random identifiers come from. Enters at main.ts; tests bring their own. */
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
  return {
    next: (prefix) => `${prefix}_${toBase62(clock(), TIME_LENGTH)}${pool.characters(RANDOM_LENGTH)}`,
    randomBytes: (bytes) => randomFillSync(new Uint8Array(bytes)),
    // The one place where chance enters; everything else is handed it.
    // oxlint-disable-next-line no-restricted-properties
    random: () => Math.random(),
  };
}

/** Random bytes fetched 4 KiB at a time: a call to the system for each identifier costs ten times as much. */
function createRandomPool() {
  const bytes = new Uint8Array(4096);
  let used = bytes.length;
  const nextByte = () => {
    if (used === bytes.length) {
      randomFillSync(bytes);
      used = 0;
    }
    return bytes[used++] ?? 0;
  };
  return {
    characters(length: number): string {
      let text = "";
      while (text.length < length) {
        const byte = nextByte();
        // 248 = 4 × 62: bytes above it would make the first characters likelier.
        if (byte < 248) text += BASE_62.charAt(byte % 62);
      }
      return text;
    },
  };
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
