import { isPathStep } from "@bikeshare/contract";
import type { PastRide } from "../../city/fleet/ride-import.ts";
import { columnName, type Layout, type TripField } from "./formats.ts";
import { ImportFileError, type RowProblem, type WarningReason } from "./problems.ts";
import {
  clockChangeAt,
  compactLocal,
  DURATION_TOLERANCE_MS,
  isDayFirst,
  readWallTime,
  resolveTripTimes,
  type TimeZone,
  type TripTimes,
  type WallTime,
} from "./trip-times.rules.ts";

/** The location of a station in a trip file. */
interface Location {
  readonly lat: number;
  readonly lon: number;
}

/** One end of a trip. */
export interface TripEnd {
  readonly stationId: string | null;
  readonly stationName: string | null;
  /** Null: the file gives no location, or gives latitude 0 and longitude 0, which stand for "unknown" in these files. */
  readonly location: Location | null;
}

/** A trip as read from one row. */
export interface Trip {
  readonly ride: PastRide;
  readonly start: TripEnd;
  readonly end: TripEnd;
}

/** What reading the rows of one file needs. */
export interface TripReading {
  readonly layout: Layout;
  readonly source: string;
  readonly zone: TimeZone;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Called for a value that is unusual but does not prevent the row's import. */
  warn(reason: WarningReason, row: number, column: string, value: string): void;
}

/** The reason why a row cannot be imported; thrown and caught within this file. */
class RowRejected extends Error {
  readonly problem: RowProblem;
  constructor(problem: RowProblem) {
    super(problem.reason);
    this.problem = problem;
  }
}

/** The kinds of riders, by the words of the operators. Lyft's newer files have `member` and `casual`. */
const RIDER_CATEGORIES: ReadonlyMap<string, PastRide["riderCategory"]> = new Map([
  ["subscriber", "member"],
  ["member", "member"],
  ["customer", "casual"],
  ["casual", "casual"],
]);
/** The maximum of the database's column, an `integer`. */
const MAX_DURATION_SECONDS = 2_147_483_647;
const MAX_ID_LENGTH = 255;

/**
 * Returns a function that turns a row into a trip, or into the reason why the row cannot be imported. The function throws
 * an ImportFileError if a row shows that the whole file writes the day before the month.
 */
export function createTripReader(reading: TripReading): (fields: readonly string[], row: number) => Trip | RowProblem {
  return (fields, row) => {
    try {
      return readTrip(reading, fields, row);
    } catch (error) {
      if (error instanceof RowRejected) return error.problem;
      throw error;
    }
  };
}

function readTrip(reading: TripReading, fields: readonly string[], row: number): Trip {
  const { layout, zone, now } = reading;
  if (fields.length !== layout.width) {
    throw new RowRejected({
      reason: "wrong_column_count",
      column: null,
      value: `${fields.length} columns instead of ${layout.width}`,
    });
  }
  const values: RowValues = { fields, layout };
  const startTime = requiredTime(values, "startedAt", row);
  const endTime = requiredTime(values, "endedAt", row);
  const givenDuration = durationSeconds(values);
  const times = resolveTripTimes(startTime, endTime, givenDuration === null ? undefined : givenDuration * 1000, zone);
  if (times.endedAt < times.startedAt) throw rejection(values, "end_before_start", "endedAt");
  if (times.endedAt > now) throw rejection(values, "ends_in_future", "endedAt");
  const length = times.endedAt - times.startedAt;
  if (givenDuration !== null && Math.abs(length - givenDuration * 1000) > DURATION_TOLERANCE_MS) {
    reading.warn("duration_differs", row, columnName(values.layout, "duration"), value(values, "duration") ?? "");
  }
  for (const [field, time] of [
    ["startedAt", startTime],
    ["endedAt", endTime],
  ] as const) {
    const change = clockChangeAt(time, zone);
    // No warning for a time that clocks showed twice if the row has a duration, which tells which of the two times it was.
    if (change === undefined || (change === "time_shown_twice" && givenDuration !== null)) continue;
    reading.warn(change, row, columnName(values.layout, field), value(values, field) ?? "");
  }
  const start = tripEnd(values, "startStationId", "startStationName", "startLat", "startLon");
  const end = tripEnd(values, "endStationId", "endStationName", "endLat", "endLon");
  const { id, bikeId } = identity(values, reading.source, startTime, times, { start, end });
  return {
    ride: {
      row,
      id,
      bikeId,
      startStationId: start.stationId,
      endStationId: end.stationId,
      startedAt: times.startedAt,
      endedAt: times.endedAt,
      durationSeconds: givenDuration ?? Math.floor(length / 1000),
      vehicleTypeId: vehicleType(values, reading, row),
      riderCategory: riderCategory(values, reading, row),
      endReason: endReason(end),
    },
    start,
    end,
  };
}

/** Returns why a ride ended; null when the row has neither an end station nor an end position. */
function endReason(end: TripEnd): PastRide["endReason"] {
  if (end.stationId !== null) return "returned";
  return end.location === null ? null : "free_floating";
}

/** The fields of a row, and which columns they are. */
interface RowValues {
  readonly fields: readonly string[];
  readonly layout: Layout;
}

/** Returns a field's text; undefined when the file has no such column, or the value is empty or a database's null. */
function value({ fields, layout }: RowValues, field: TripField): string | undefined {
  const columnIndex = layout.columnIndexes[field];
  if (columnIndex === undefined) return undefined;
  const text = fields[columnIndex]?.trim();
  return text === "" || text === "NULL" || text === "\\N" ? undefined : text;
}

/** Returns the rejection of a row for the value of one field. The caller throws it. */
function rejection(values: RowValues, reason: RowProblem["reason"], field: TripField): RowRejected {
  return new RowRejected({ reason, column: columnName(values.layout, field), value: value(values, field) ?? "" });
}

/** Reads a time. @throws RowRejected when it is missing or unreadable */
function requiredTime(values: RowValues, field: TripField, row: number): WallTime {
  const text = value(values, field);
  if (text === undefined) throw rejection(values, "missing_value", field);
  const time = readWallTime(text);
  // Rejects the whole file, because its other rows could be read with day and month swapped: 2/1/2026 as February 1.
  if (time === undefined && isDayFirst(text)) {
    throw new ImportFileError(
      "day_first",
      row,
      `"${text}" has the day before the month, and times with slashes are read with the month first: write the file's times as 2026-01-25 08:00`,
    );
  }
  if (time === undefined) throw rejection(values, "bad_time", field);
  return time;
}

/** Reads the duration in whole seconds. Divvy's files write it as "1,783.0". */
function durationSeconds(values: RowValues): number | null {
  const text = value(values, "duration");
  if (text === undefined) return null;
  const seconds = /^(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?$/.test(text) ? Number(text.replaceAll(",", "")) : NaN;
  // Also rejects NaN.
  if (!(seconds <= MAX_DURATION_SECONDS)) throw rejection(values, "bad_duration", "duration");
  return Math.floor(seconds);
}

/** Reads an id; null: it is missing. @throws RowRejected */
function identifier(values: RowValues, field: TripField): string | null {
  const text = value(values, field);
  if (text === undefined) return null;
  // The first test is the fast one; the second allows the printable characters of any script. The ids `.` and `..` are
  // rejected, because in a URL they are steps of the path.
  const isPrintable = /^[ -~]*$/.test(text) || /^\P{C}*$/u.test(text);
  if (!isPrintable || text.length > MAX_ID_LENGTH || isPathStep(text)) throw rejection(values, "bad_identifier", field);
  return text;
}

function requiredIdentifier(values: RowValues, field: TripField): string {
  const text = identifier(values, field);
  if (text === null) throw rejection(values, "missing_value", field);
  return text;
}

function tripEnd(values: RowValues, id: TripField, name: TripField, lat: TripField, lon: TripField): TripEnd {
  const latitude = degrees(values, lat, 90);
  const longitude = degrees(values, lon, 180);
  const isKnown = latitude !== null && longitude !== null && (latitude !== 0 || longitude !== 0);
  return {
    stationId: identifier(values, id),
    stationName: value(values, name) ?? null,
    location: isKnown ? { lat: latitude, lon: longitude } : null,
  };
}

/** Reads a coordinate; null: it is missing. @param bound its greatest size, 90 or 180 */
function degrees(values: RowValues, field: TripField, bound: number): number | null {
  const text = value(values, field);
  if (text === undefined) return null;
  const number = Number(text);
  // Also rejects NaN.
  if (!(Math.abs(number) <= bound)) throw rejection(values, "bad_coordinate", field);
  return number;
}

/**
 * Returns the ids of a ride and its bike. In a file without ride ids, a ride's id is made of its source, its bike and the
 * local time of its start (with `~2` if clocks showed that time twice and this is the second time). In a file without ride
 * ids and bike ids, it is made of its source, its two stations, its start and its length. In a file without bike ids, each
 * ride gets its own bike.
 */
function identity(
  values: RowValues,
  source: string,
  start: WallTime,
  times: TripTimes,
  ends: { readonly start: TripEnd; readonly end: TripEnd },
): { id: string; bikeId: string } {
  const { columnIndexes } = values.layout;
  const at = `${compactLocal(start.local)}${times.isSecondOccurrence ? "~2" : ""}`;
  const givenBike = columnIndexes.bikeId === undefined ? undefined : requiredIdentifier(values, "bikeId");
  const id = () => {
    if (columnIndexes.rideId !== undefined) return requiredIdentifier(values, "rideId");
    if (givenBike !== undefined) return `${source}:${givenBike}:${at}`;
    // `at` ends with milliseconds. The further digits keep more ids different.
    const microseconds = /\.\d{3}(\d+)/.exec(value(values, "startedAt") ?? "")?.[1] ?? "";
    return `${source}:${ends.start.stationId ?? ""}:${ends.end.stationId ?? ""}:${at}${microseconds}:${times.endedAt - times.startedAt}`;
  };
  const rideId = id();
  const bikeId = givenBike ?? `${source}:ride:${rideId}`;
  if (Math.max(rideId.length, bikeId.length) > MAX_ID_LENGTH) {
    // Names the column from which the too long id was made.
    const madeOf = (["rideId", "bikeId"] as const).find((field) => columnIndexes[field] !== undefined);
    throw rejection(values, "bad_identifier", madeOf ?? "startStationId");
  }
  return { id: rideId, bikeId };
}

/** Reads the kind of rider; null: it is missing, or unknown, which is a warning. */
function riderCategory(values: RowValues, reading: TripReading, row: number): PastRide["riderCategory"] {
  const text = value(values, "riderCategory");
  if (text === undefined) return null;
  const category = RIDER_CATEGORIES.get(text.toLowerCase());
  if (category !== undefined) return category;
  reading.warn("unknown_rider_category", row, columnName(values.layout, "riderCategory"), text);
  return null;
}

/** Reads the vehicle type. Null: it is missing, or the text `unknown`, which is a warning. */
function vehicleType(values: RowValues, reading: TripReading, row: number): string | null {
  const text = identifier(values, "vehicleType");
  if (text === null || text.toLowerCase() !== "unknown") return text;
  reading.warn("unknown_vehicle_type", row, columnName(values.layout, "vehicleType"), text);
  return null;
}
