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

// Fields of stations and vehicles without a column. They are stored together, in canonical form.

/**
 * Maximum characters of a station's facts. Most have 300; the outline of a virtual station takes 2,000. Stations are
 * never deleted.
 */
export const MAX_STATION_FACTS = 8_000;
/** Maximum characters of a vehicle's facts. Most have 300. A feed may have 200,000 vehicles. */
export const MAX_VEHICLE_FACTS = 2_000;

const without = (fields: Fields, columns: readonly string[]): readonly (readonly [string, Field])[] =>
  currentFields(fields).filter(([name]) => !columns.includes(name));

export const stationFacts = without(stationInformationFields, [
  ...["station_id", "name", "short_name", "lat", "lon", "address", "region_id", "capacity", "is_virtual_station"],
]);

/** Texts whose column stores one language. */
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
