import { COARSE_MINUTES } from "@bikeshare/contract";
import { isoInstant } from "../../iso-instant.ts";
import { openTimeZone, zoneOffsets } from "../trips/trip-times.rules.ts";

/** A period from `from` to before `to`, in milliseconds since 1970. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** Returns the period of a month in a city's local time. @param month such as `2026-10` @throws UnknownTimeZone */
export function periodOfMonth(month: string, timeZone: string): Period {
  const zone = openTimeZone(timeZone);
  const [year = 0, number = 0] = month.split("-").map(Number);
  const beginning = (offset: number) => {
    // Two instants if the clocks change at that midnight: the month begins at the first.
    const [first = 0] = zone.instants(Date.UTC(year, number - 1 + offset, 1));
    return first;
  };
  return { from: beginning(0), to: beginning(1) };
}

/** Returns the month of an instant in a city's local time. @param offset months to add to it; negative: to subtract */
export function monthOf(instant: number, timeZone: string, offset = 0): string {
  // A date whose UTC fields are the local year and month.
  const local = new Date(instant + zoneOffsets(timeZone)(instant));
  const first = new Date(Date.UTC(local.getUTCFullYear(), local.getUTCMonth() + offset, 1));
  return first.toISOString().slice(0, 7);
}

const MINUTE_MS = 60_000;
/** The quarter of an hour to which the privacy level `coarse` rounds times. */
const COARSE_MS = COARSE_MINUTES * MINUTE_MS;

/** The local time of a city. */
export interface CityClock {
  /** Rounds an instant down to a quarter of an hour of local time. */
  coarse(instant: number): number;
  /** Writes an instant as local time: `2026-10-25 02:30:00`; with `hasMilliseconds`: `2026-10-25 02:30:00.000`. */
  text(instant: number, hasMilliseconds: boolean): string;
}

/** Creates the clock of a city. @throws UnknownTimeZone */
export function cityClock(timeZone: string): CityClock {
  const findOffset = zoneOffsets(timeZone);
  // Caches the offset of each quarter of an hour, because zones change their offset only at whole quarters in UTC.
  const known = new Map<number, number>();
  const offsetAt = (instant: number): number => {
    const quarter = Math.floor(instant / COARSE_MS);
    const offset = known.get(quarter) ?? findOffset(instant);
    known.set(quarter, offset);
    return offset;
  };
  return {
    coarse(instant) {
      const offset = offsetAt(instant);
      return Math.floor((instant + offset) / COARSE_MS) * COARSE_MS - offset;
    },
    text(instant, hasMilliseconds) {
      const text = isoInstant(instant + offsetAt(instant));
      return `${text.slice(0, 10)} ${text.slice(11, hasMilliseconds ? 23 : 19)}`;
    },
  };
}
