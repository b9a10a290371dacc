import { ImportFileError } from "./problems.ts";

/** What a column of a trip file may mean to us. */
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

/** A kind of trip file. Column names are in the form that `columnKey` gives them. */
export interface TripFormat {
  readonly name: string;
  /** The columns that such a file must have, in any order. */
  readonly columns: Readonly<Partial<Record<TripField, string>>>;
  /** Columns that it may have and that we do not keep: riders' birth years and genders above all. */
  readonly dropped: readonly string[];
}

/** A column's name without case, spaces and punctuation: `Start Station ID` and `start_station_id` are one. */
export function columnKey(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** Citi Bike until January 2021, Bluebikes until March 2023 (there with a postal code since 2020). */
const citiBike: TripFormat = {
  name: "Citi Bike until 2021, Bluebikes until 2023",
  columns: {
    bikeId: "bikeid",
    startedAt: "starttime",
    endedAt: "stoptime",
    duration: "tripduration",
    startStationId: "startstationid",
    startStationName: "startstationname",
    startLat: "startstationlatitude",
    startLon: "startstationlongitude",
    endStationId: "endstationid",
    endStationName: "endstationname",
    endLat: "endstationlatitude",
    endLon: "endstationlongitude",
    riderCategory: "usertype",
  },
  dropped: ["birthyear", "gender", "postalcode"],
};

/** What Lyft's systems publish since 2020 or 2021: Citi Bike, Divvy, Bay Wheels, Capital Bikeshare, Bluebikes. */
const lyft: TripFormat = {
  name: "Lyft since 2020",
  columns: {
    rideId: "rideid",
    vehicleType: "rideabletype",
    startedAt: "startedat",
    endedAt: "endedat",
    startStationId: "startstationid",
    startStationName: "startstationname",
    startLat: "startlat",
    startLon: "startlng",
    endStationId: "endstationid",
    endStationName: "endstationname",
    endLat: "endlat",
    endLon: "endlng",
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

/** The second quarter of 2019 came with the headings of a report. */
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
    startStationId: "startstationid",
    startStationName: "startstationname",
    startLat: "startstationlatitude",
    startLon: "startstationlongitude",
    endStationId: "endstationid",
    endStationName: "endstationname",
    endLat: "endstationlatitude",
    endLon: "endstationlongitude",
  },
  dropped: ["startstationdescription", "endstationdescription"],
};

/** Every kind of trip file that is understood. */
export const tripFormats: readonly TripFormat[] = [citiBike, lyft, divvy, divvyBefore2017, divvyReport, urbanSharing];

/** Where a file has what. */
export interface Layout {
  readonly format: TripFormat;
  /** How many columns each row must have. */
  readonly width: number;
  /** The place of each field's column; undefined: this kind of file does not have it. */
  readonly columnIndexes: Readonly<Partial<Record<TripField, number>>>;
  /** The columns' names as the file writes them. */
  readonly names: readonly string[];
}

/**
 * Recognises a trip file by its header, whatever the order, case and spacing of the columns.
 * @throws FileRefused for an unknown header, a missing column, or a column that such a file does not have
 */
export function recogniseHeader(header: readonly string[], line: number): Layout {
  const keys = header.map(columnKey);
  const ranked = tripFormats
    .map((format) => ({ format, ...compareColumns(keys, format) }))
    .toSorted((a, b) => a.missing.length + a.extra.length - (b.missing.length + b.extra.length));
  const best = ranked[0];
  if (best === undefined || best.missing.length > Object.keys(best.format.columns).length / 2) {
    const known = tripFormats.map(({ name }) => name).join("; ");
    throw new ImportFileError(
      "unknown_header",
      line,
      `the header "${shorten(header.join(","))}" is of no trip file we know (${known})`,
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
  const [place] = extra;
  if (place !== undefined) {
    const name = header[place] ?? "";
    throw new ImportFileError(
      "extra_column",
      line,
      `looks like ${format.name}, but column ${place + 1} ("${shorten(name)}") does not belong there`,
    );
  }
  const columnIndexes = Object.fromEntries(
    Object.entries(format.columns).map(([field, key]) => [field, keys.indexOf(key)]),
  );
  return { format, width: keys.length, columnIndexes, names: header.map((name) => name.trim()) };
}

/** Which columns of a format are missing, and the places of those that do not belong to it or come twice. */
function compareColumns(keys: readonly string[], format: TripFormat): { missing: string[]; extra: number[] } {
  const required = Object.values(format.columns);
  const known = new Set([...required, ...format.dropped]);
  return {
    missing: required.filter((key) => !keys.includes(key)),
    extra: keys.flatMap((key, place) => (known.has(key) && keys.indexOf(key) === place ? [] : [place])),
  };
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
