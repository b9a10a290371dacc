const RFC_3339 = /^(?!0000)(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/;

/** Whether a text is an RFC 3339 instant with `Z` or an offset, on a day that there is. */
export function isInstant(text: string): boolean {
  const [whole, year, month, day] = RFC_3339.exec(text) ?? [];
  if (whole === undefined) return false;
  // JavaScript takes the 30th of February for a day in March.
  const date = new Date(`${year}-${month}-01T00:00:00Z`);
  date.setUTCDate(Number(day));
  return date.getUTCMonth() + 1 === Number(month) && Number(day) > 0;
}
