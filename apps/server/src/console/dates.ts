/** Parses an instant of the wire; undefined where none is given. */
export function dateOf(instant: string | undefined): Date | undefined {
  return instant === undefined ? undefined : new Date(instant);
}
