import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { dayOf } from "../rules/log-days.ts";

const DAY = 86_400_000;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Characters of an identifier that tell when it was made (ids.ts). */
const TIME_LENGTH = 8;

/**
 * The days on which a delivery may have been made, the likeliest first: its id tells roughly when; where it does not,
 * any day that is kept. Some to spare, because days are dropped late rather than early.
 */
export function daysToLook(deliveryId: string, now: number): string[] {
  const made = timeOf(deliveryId);
  const kept = Array.from({ length: EVENT_RETENTION_DAYS + 3 }, (_, i) => now + DAY - i * DAY);
  const likely = made === undefined ? [] : [made, made - DAY, made + DAY];
  return [...new Set([...likely, ...kept].map(dayOf))];
}

/** When a delivery's event was made, in milliseconds since 1970; undefined where the id does not tell. */
function timeOf(deliveryId: string): number | undefined {
  const start = deliveryId.indexOf("_") + 1;
  const digits = Array.from({ length: TIME_LENGTH }, (_, i) => deliveryId.charAt(start + i));
  const time = digits.reduce((value, digit) => value * 62 + ALPHABET.indexOf(digit), 0);
  // Up to the year 9999: an id that anybody can type must not become a date that PostgreSQL cannot read.
  const isPlausible =
    digits.every((digit) => digit !== "" && ALPHABET.includes(digit)) && time > DAY && time < 253_000_000_000_000;
  return isPlausible ? time : undefined;
}
