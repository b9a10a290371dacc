/** A zone's local times. All local times are milliseconds since 1970-01-01 00:00 on a wall clock of the zone. */
export interface TimeZone {
  readonly name: string;
  /**
   * The instants (milliseconds since 1970, UTC) at which a wall clock of the zone may have shown `local`.
   * One, as a rule. Two in the hour that is shown twice: first the earlier. Two as well for a time that was skipped
   * when clocks went forward: first as a clock shows it that was not yet moved, then as one that was moved too soon.
   */
  instants(local: number): readonly number[];
}

/** The text names no zone whose clocks are known: it is an offset, an abbreviation, or unknown. */
export class UnknownTimeZone extends Error {
  override readonly name = "UnknownTimeZone";
}

/** A stretch of time, in UTC, in which the zone's offset from UTC stays the same. */
interface OffsetPeriod {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Opens an IANA zone such as `America/New_York`. Asks `Intl` some 400 times for each year it meets and remembers
 * the changes of offset; a look-up costs two comparisons while the times stay between two changes.
 * @throws UnknownTimeZone
 */
export function openTimeZone(name: string): TimeZone {
  refuseUnlessZone(name);
  const offsetAt = zoneOffsets(name);
  const years = new Map<number, readonly OffsetPeriod[]>();
  // Local times from `sureFrom` until before `sureTo` have the one offset `sureOffset`.
  let sureFrom = 0;
  let sureTo = 0;
  let sureOffset = 0;

  return {
    name,
    instants(local) {
      if (local >= sureFrom && local < sureTo) return [local - sureOffset];
      const year = new Date(local).getUTCFullYear();
      const stretches = years.get(year) ?? offsetPeriodsOfYear(year, offsetAt);
      years.set(year, stretches);
      const at = stretches.findIndex(({ from, to, offset }) => local - offset >= from && local - offset < to);
      const found = stretches[at];
      if (found === undefined) return skippedTime(local, stretches);
      const instant = local - found.offset;
      const next = stretches[at + 1];
      if (next !== undefined && local - next.offset >= next.from) return [instant, local - next.offset];
      const before = stretches[at - 1];
      sureOffset = found.offset;
      sureFrom = found.from + Math.max(found.offset, before?.offset ?? found.offset);
      sureTo = found.to + Math.min(found.offset, next?.offset ?? found.offset);
      return [instant];
    },
  };
}

/** Returns the two readings of a local time that no clock showed. */
function skippedTime(local: number, stretches: readonly OffsetPeriod[]): readonly number[] {
  const after = stretches.findIndex(({ from, offset }) => local - offset < from);
  const moved = stretches[after];
  const unmoved = stretches[after - 1];
  if (moved === undefined || unmoved === undefined) throw new RangeError(`no offset is known for ${local}`);
  return [local - unmoved.offset, local - moved.offset];
}

/** Returns the stretches that cover a year and two days on each side, so that every local time of the year lies within. */
function offsetPeriodsOfYear(year: number, offsetAt: (instant: number) => number): readonly OffsetPeriod[] {
  const end = Date.UTC(year + 1, 0, 3);
  const stretches: OffsetPeriod[] = [];
  let from = Date.UTC(year, 0, 1) - 2 * DAY_MS;
  let offset = offsetAt(from);
  // A day at a time: a zone that changed its offset and changed it back within one day would be missed; none did.
  for (let day = from; day < end; day += DAY_MS) {
    const later = offsetAt(day + DAY_MS);
    if (later === offset) continue;
    const change = changeBetween(day, day + DAY_MS, offset, offsetAt);
    stretches.push({ from, to: change, offset });
    from = change;
    offset = later;
  }
  stretches.push({ from, to: end, offset });
  return stretches;
}

/** When, between two instants, the offset stopped being `offset`; to the millisecond. */
function changeBetween(low: number, high: number, offset: number, offsetAt: (instant: number) => number): number {
  let same = low;
  let changed = high;
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2);
    if (offsetAt(middle) === offset) same = middle;
    else changed = middle;
  }
  return changed;
}

/** Returns the zone's offset from UTC at an instant, both in milliseconds, by `Intl`. */
export function zoneOffsets(timeZone: string): (instant: number) => number {
  const format = offsetFormat(timeZone);
  return (instant) => {
    // "GMT-05:00", "GMT+05:30", "GMT" for zero, "GMT-00:01:15" for local mean time
    const text = format.formatToParts(instant).find((part) => part.type === "timeZoneName")?.value ?? "";
    const [, sign, hours, minutes, seconds] = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text) ?? [];
    const size = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * 60_000 + Number(seconds ?? 0) * 1000;
    return sign === "-" ? -size : size;
  };
}

const EXAMPLES = "such as America/New_York or Europe/Oslo";

/** Abbreviations that operators write, and the zones whose clocks they mean. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  EST: "America/New_York",
  EDT: "America/New_York",
  EST5EDT: "America/New_York",
  CST: "America/Chicago",
  CDT: "America/Chicago",
  CST6CDT: "America/Chicago",
  MST: "America/Denver",
  MDT: "America/Denver",
  MST7MDT: "America/Denver",
  PST: "America/Los_Angeles",
  PDT: "America/Los_Angeles",
  PST8PDT: "America/Los_Angeles",
  HST: "Pacific/Honolulu",
  GMT: "Europe/London, or UTC",
  BST: "Europe/London",
  WET: "Europe/Lisbon",
  CET: "Europe/Berlin",
  CEST: "Europe/Berlin",
  MET: "Europe/Berlin",
  EET: "Europe/Helsinki",
  EEST: "Europe/Helsinki",
  JST: "Asia/Tokyo",
};

/**
 * `Intl` takes offsets and some abbreviations for zones. Their clocks are never moved, so half a year of trips would be
 * an hour off without a word.
 */
function refuseUnlessZone(name: string): void {
  if (name.includes("/") || name === "UTC") return;
  if (/^(?:UTC|GMT)?[+-]\d/i.test(name)) {
    throw new UnknownTimeZone(
      `is an offset, which does not say when clocks change: give the IANA name of the city's zone, ${EXAMPLES}, or UTC`,
    );
  }
  const newer = canonicalName(name);
  const meant = ABBREVIATIONS[name.toUpperCase()];
  if (meant === undefined && newer !== undefined) {
    throw new UnknownTimeZone(`is an old name of a time zone: give ${newer}`);
  }
  if (meant !== undefined) {
    throw new UnknownTimeZone(
      `is an abbreviation, which does not say when clocks change: give the IANA name, such as ${meant}`,
    );
  }
  throw unknown();
}

/** Returns the IANA name behind an old one, such as Asia/Tokyo behind Japan. */
function canonicalName(name: string): string | undefined {
  try {
    const { timeZone } = new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions();
    return timeZone.includes("/") ? timeZone : undefined;
  } catch {
    return undefined;
  }
}

function unknown(options?: ErrorOptions): UnknownTimeZone {
  return new UnknownTimeZone(`is not a time zone: give an IANA name, ${EXAMPLES}`, options);
}

function offsetFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  } catch (error) {
    throw unknown({ cause: error });
  }
}
