import { shorten } from "../report-files.ts";
import { ImportFileError } from "./problems.ts";

/** The facts about a trip that a column of a trip file may contain. */
export type TripField =
  | "rideId"
  | "bikeId"
  | "startedAt"
  | "endedAt"
  | "duration"
  | "startStationId"
  | "startStationName"
  | "startLat"
  | "startLon"
  | "endStationId"
  | "endStationName"
  | "endLat"
  | "endLon"
  | "vehicleType"
  | "riderCategory";

/** A kind of trip file. Column names are written as `columnKey` returns them. */
export interface TripFormat {
  readonly name: string;
  /** The columns that such a file must have, in any order. */
  readonly columns: Readonly<Partial<Record<TripField, string>>>;
  /** Columns that such a file may have and that the import ignores, such as riders' birth years and genders. */
  readonly dropped: readonly string[];
}

/** Returns a column's name in lower case without spaces and punctuation: `Start Station ID` becomes `startstationid`. */
export function columnKey(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** The columns for both ends of a trip, in formats that give each station's id, name and location. */
const stationColumns = (lat: string, lon: string) => ({
  startStationId: "startstationid",
  startStationName: "startstationname",
  startLat: `start${lat}`,
  startLon: `start${lon}`,
  endStationId: "endstationid",
  endStationName: "endstationname",
  endLat: `end${lat}`,
  endLon: `end${lon}`,
});

/** Citi Bike until January 2021, Bluebikes until March 2023 (there with a postal code since 2020). */
const citiBike: TripFormat = {
  name: "Citi Bike until 2021, Bluebikes until 2023",
  columns: {
    bikeId: "bikeid",
    startedAt: "starttime",
    endedAt: "stoptime",
    duration: "tripduration",
    ...stationColumns("stationlatitude", "stationlongitude"),
    riderCategory: "usertype",
  },
  dropped: ["birthyear", "gender", "postalcode"],
};

/** The format of Lyft's systems since 2020 or 2021: Citi Bike, Divvy, Bay Wheels, Capital Bikeshare, Bluebikes. */
const lyft: TripFormat = {
  name: "Lyft since 2020",
  columns: {
    rideId: "rideid",
    vehicleType: "rideabletype",
    startedAt: "startedat",
    endedAt: "endedat",
    ...stationColumns("lat", "lng"),
    riderCategory: "membercasual",
  },
  dropped: [],
};

const divvyStations = {
  startStationId: "fromstationid",
  startStationName: "fromstationname",
  endStationId: "tostationid",
  endStationName: "tostationname",
  riderCategory: "usertype",
} as const;
const divvyDropped = ["gender", "birthyear", "birthday"];

const divvy: TripFormat = {
  name: "Divvy until 2019",
  columns: {
    rideId: "tripid",
    bikeId: "bikeid",
    startedAt: "starttime",
    endedAt: "endtime",
    duration: "tripduration",
    ...divvyStations,
  },
  dropped: divvyDropped,
};

const divvyBefore2017: TripFormat = {
  name: "Divvy until 2016",
  columns: { ...divvy.columns, endedAt: "stoptime" },
  dropped: divvyDropped,
};

/** Divvy's file for the second quarter of 2019, whose column names are headings such as "01 - Rental Details Rental ID". */
const divvyReport: TripFormat = {
  name: "Divvy 2019 Q2",
  columns: {
    rideId: "01rentaldetailsrentalid",
    bikeId: "01rentaldetailsbikeid",
    startedAt: "01rentaldetailslocalstarttime",
    endedAt: "01rentaldetailslocalendtime",
    duration: "01rentaldetailsdurationinsecondsuncapped",
    startStationId: "03rentalstartstationid",
    startStationName: "03rentalstartstationname",
    endStationId: "02rentalendstationid",
    endStationName: "02rentalendstationname",
    riderCategory: "usertype",
  },
  dropped: ["membergender", "05memberdetailsmemberbirthdayyear"],
};

const urbanSharing: TripFormat = {
  name: "Urban Sharing (Oslo, Bergen, Trondheim, Edinburgh)",
  columns: {
    startedAt: "startedat",
    endedAt: "endedat",
    duration: "duration",
    ...stationColumns("stationlatitude", "stationlongitude"),
  },
  dropped: ["startstationdescription", "endstationdescription"],
};

/** All kinds of trip files that the import can read. */
export const tripFormats: readonly TripFormat[] = [citiBike, lyft, divvy, divvyBefore2017, divvyReport, urbanSharing];

/** The assignment of a file's columns to fields. */
export interface Layout {
  readonly format: TripFormat;
  /** The number of columns of each row. */
  readonly width: number;
  /** The index of each field's column; undefined: this kind of file does not have it. */
  readonly columnIndexes: Readonly<Partial<Record<TripField, number>>>;
  /** The columns' names as the file writes them. */
  readonly names: readonly string[];
}

/** Returns the name of a field's column as the file writes it; the field's own name if the file has no such column. */
export function columnName({ names, columnIndexes }: Layout, field: TripField): string {
  const columnIndex = columnIndexes[field];
  return (columnIndex === undefined ? undefined : names[columnIndex]) ?? field;
}

/**
 * Returns a hint for a header that is only one column: the file may use semicolons or tabs, as spreadsheet programs do in
 * many languages.
 */
function separatorHint(header: readonly string[]): string {
  const [only = ""] = header;
  if (header.length > 1) return "";
  if (only.includes(";")) return ". Its columns are separated by semicolons: save it with commas";
  return only.includes("\t") ? ". Its columns are separated by tabs: save it with commas" : "";
}

/**
 * Recognises a trip file by its header, whatever the order, case and spacing of the columns.
 * @throws ImportFileError for an unknown header, a missing column, or a column that such a file does not have
 */
export function recogniseHeader(header: readonly string[], line: number): Layout {
  const keys = header.map(columnKey);
  const ranked = tripFormats
    .map((format) => ({ format, ...compareColumns(keys, format) }))
    .toSorted((a, b) => a.missing.length + a.extra.length - (b.missing.length + b.extra.length));
  const best = ranked[0];
  // A header that lacks more than half of the nearest format's columns is of an unknown kind.
  if (best === undefined || best.missing.length > Object.keys(best.format.columns).length / 2) {
    const known = tripFormats.map(({ name }) => name).join("; ");
    throw new ImportFileError(
      "unknown_header",
      line,
      `the header "${shorten(header.join(","))}" is not that of a known trip file (${known})${separatorHint(header)}`,
    );
  }
  const { format, missing, extra } = best;
  if (missing.length > 0) {
    throw new ImportFileError(
      "missing_column",
      line,
      `looks like ${format.name}, but has no column for ${missing.join(", ")}`,
    );
  }
  const [extraIndex] = extra;
  if (extraIndex !== undefined) {
    const name = header[extraIndex] ?? "";
    throw new ImportFileError(
      "extra_column",
      line,
      `looks like ${format.name}, but column ${extraIndex + 1} ("${shorten(name)}") does not belong there`,
    );
  }
  const columnIndexes = Object.fromEntries(
    Object.entries(format.columns).map(([field, key]) => [field, keys.indexOf(key)]),
  );
  return { format, width: keys.length, columnIndexes, names: header.map((name) => name.trim()) };
}

/** Returns the missing columns of a format, and the indexes of unknown and repeated ones. */
function compareColumns(keys: readonly string[], format: TripFormat): { missing: string[]; extra: number[] } {
  const required = Object.values(format.columns);
  const known = new Set([...required, ...format.dropped]);
  const isUnknown = (key: string) => !known.has(key);
  const isRepeated = (key: string, index: number) => keys.indexOf(key) !== index;
  return {
    missing: required.filter((key) => !keys.includes(key)),
    extra: keys.flatMap((key, index) => (isUnknown(key) || isRepeated(key, index) ? [index] : [])),
  };
}
