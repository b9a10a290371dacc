import type { TimeZone } from "./time-zone.ts";
import type { WallTime } from "./wall-clock.ts";

/** When a trip started and ended: milliseconds since 1970, UTC. */
export interface TripTimes {
  readonly startedAt: number;
  readonly endedAt: number;
  /** The start's local time is shown twice that day, and this is the second time. */
  readonly secondReading: boolean;
}

/**
 * Milliseconds by which a given duration may differ from the times that it still confirms. Files of 2013 to 2017
 * have times to the minute and durations to the second; with an hour, a change of clocks would go unnoticed.
 */
export const DURATION_TOLERANCE = 60_000;

/**
 * Turns a trip's local times into instants. Where clocks were moved there are several readings: a given duration
 * decides, else the shortest trip that does not end before it starts; where these tie, the first occurrence.
 * When no reading fits a given duration, but the difference of the two local times does (the clock that wrote them
 * was not moved during the trip), the end follows from the start.
 * @param duration milliseconds, where the file has it
 */
export function resolveTripTimes(
  start: WallTime,
  end: WallTime,
  duration: number | undefined,
  zone: TimeZone,
): TripTimes {
  const starts = readings(start, zone);
  const ends = readings(end, zone);
  let best: TripTimes | undefined;
  let smallestError = Infinity;
  for (const [index, startedAt] of starts.entries()) {
    for (const endedAt of ends) {
      const issue = durationError(endedAt - startedAt, duration);
      if (best !== undefined && issue >= smallestError) continue;
      best = { startedAt, endedAt, secondReading: index === 1 && startedAt > (starts[0] ?? startedAt) };
      smallestError = issue;
    }
  }
  if (best === undefined) throw new RangeError(`the zone ${zone.name} has no reading of ${start.local}`);
  if (duration === undefined || smallestError <= DURATION_TOLERANCE) return best;
  return clockNotMoved(start, end, duration, best) ?? best;
}

function readings(time: WallTime, zone: TimeZone): readonly number[] {
  return time.offset === undefined ? zone.instants(time.local) : [time.local - time.offset];
}

/** How badly a reading fits; the smallest wins. Ending before the start is worse than any length. */
function durationError(length: number, duration: number | undefined): number {
  if (duration !== undefined) return Math.abs(length - duration);
  return length >= 0 ? length : Number.MAX_SAFE_INTEGER / 2 - length;
}

function clockNotMoved(start: WallTime, end: WallTime, duration: number, times: TripTimes): TripTimes | undefined {
  if (start.offset !== undefined || end.offset !== undefined) return undefined;
  const shown = end.local - start.local;
  const moved = shown !== times.endedAt - times.startedAt;
  return moved && Math.abs(shown - duration) <= DURATION_TOLERANCE
    ? { ...times, endedAt: times.startedAt + shown }
    : undefined;
}
