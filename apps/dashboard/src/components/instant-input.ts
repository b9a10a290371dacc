/** Instants as `<input type="datetime-local">` writes them, and back. */

/** Returns an instant as `<input type="datetime-local">` writes it, in the reader's zone. */
export function localInput(instant: string | undefined): string {
  if (instant === undefined || Number.isNaN(Date.parse(instant))) return "";
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Returns the instant of such an input; empty where there is none. */
export function instantOf(input: string): string {
  const at = new Date(input);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
