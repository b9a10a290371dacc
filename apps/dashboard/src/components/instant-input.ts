/** Instants as `<input type="datetime-local">` writes them, and back. */
import { instantAt, wallTime } from "./time-zone.ts";

/** Returns an instant as `<input type="datetime-local">` writes it, in the zone in which the pages show times. */
export function localInput(instant: string | undefined): string {
  if (instant === undefined || Number.isNaN(Date.parse(instant))) return "";
  // Without the seconds of `2026-11-26T08:46:18`, because the input shows minutes.
  return wallTime(new Date(instant)).slice(0, 16);
}

/** Returns the instant that an `<input type="datetime-local">` holds, in UTC. Empty if the input is no valid time. */
export function instantOf(input: string): string {
  return instantAt(input)?.toISOString() ?? "";
}
