import {
  type Field,
  type Fields,
  type GbfsFeed,
  type GbfsFeedName,
  gbfsFeeds,
  stationInformationFields,
  stationStatusFields,
  vehicleFields,
} from "@bikeshare/contract";
import { currentFields } from "./canonical.ts";

// The fields of stations and vehicles that have no column of their own: they are kept together, in canonical form.

/** Characters of a station's facts. Most have 300; the outline of a virtual station takes 2,000. Stations stay for good. */
export const MAX_STATION_FACTS = 8_000;
/** Characters of a vehicle's facts. Most have 300. A feed may have 200,000 vehicles. */
export const MAX_VEHICLE_FACTS = 2_000;

const without = (fields: Fields, columns: readonly string[]): readonly (readonly [string, Field])[] =>
  currentFields(fields).filter(([name]) => !columns.includes(name));

export const stationFacts = without(stationInformationFields, [
  ...["station_id", "name", "short_name", "lat", "lon", "address", "region_id", "capacity", "is_virtual_station"],
]);

/** Texts whose column holds one language. */
export const stationTexts = currentFields(stationInformationFields).filter(([name]) =>
  ["name", "short_name"].includes(name),
);

export const docksAvailableType = stationStatusFields.vehicle_docks_available.type;

export const vehicleFacts = without(vehicleFields, [
  ...["vehicle_id", "lat", "lon", "is_reserved", "is_disabled", "vehicle_type_id", "last_reported"],
  ...["current_range_meters", "station_id"],
]);

/** Returns the names of a feed's fields in all versions, and of those that real feeds have besides. */
export function knownFields(feed: GbfsFeedName, more: readonly string[] = []): ReadonlySet<string> {
  const { fields, records, oldNames }: GbfsFeed = gbfsFeeds[feed];
  const ofRecord = records === undefined ? fields : (fields[records.list]?.type.item?.fields ?? {});
  return new Set([...Object.keys(ofRecord), ...Object.values(oldNames?.fields ?? {}), ...more]);
}
