/** Instants as `<input type="datetime-local">` writes them, and back. */
import { instantAt, wallTime } from "./time-zone.ts";

/** Returns an instant as `<input type="datetime-local">` writes it, in the system's zone. */
export function localInput(instant: string | undefined): string {
  if (instant === undefined || Number.isNaN(Date.parse(instant))) return "";
  return wallTime(new Date(instant)).slice(0, 16);
}

/** Returns the instant of such an input; empty where there is none. */
export function instantOf(input: string): string {
  return instantAt(input)?.toISOString() ?? "";
}
