/** Instants of the wire and dates of the services. */

export function dateOf(instant: string | undefined): Date | undefined {
  return instant === undefined ? undefined : new Date(instant);
}

export function instantOf(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}
