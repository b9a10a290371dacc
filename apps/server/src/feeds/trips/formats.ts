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
