import type { VehicleType } from "../gbfs/descriptions.ts";
import { EARLIEST, type GbfsForm } from "./form.ts";
import type { PublishedBike, PublishedStation } from "./queries.ts";
import type { SystemDetails } from "./system.ts";

// The `data` of each document. A field that is not known is left out: GBFS has no null.

/** The type of vehicles whose type nobody said. GBFS itself takes a vehicle without a type for a plain bicycle. */
const UNSPECIFIED = "unspecified";
/** GBFS 3.0 asks for an address. RFC 2606 keeps this domain free, so that no mail reaches a stranger. */
const NO_ADDRESS = "unknown@example.invalid";

export function systemInformation({ text, version }: GbfsForm, system: SystemDetails): object {
  const { id, name, language, timezone, feedContactEmail, openingHours } = system;
  if (version === "2.3") {
    return { system_id: id, language, name, timezone, ...given("feed_contact_email", feedContactEmail) };
  }
  return {
    system_id: id,
    languages: [language],
    name: text(name, language),
    opening_hours: openingHours,
    feed_contact_email: feedContactEmail ?? NO_ADDRESS,
    timezone,
  };
}

export function stationInformation(
  { text }: GbfsForm,
  { language }: SystemDetails,
  stations: readonly PublishedStation[],
): object {
  return {
    stations: stations.map((station) => ({
      station_id: station.id,
      name: text(station.name, language),
      ...(station.short_name === null ? {} : { short_name: text(station.short_name, language) }),
      lat: station.lat,
      lon: station.lon,
      ...given("address", station.address),
      ...given("region_id", station.region_id),
      is_virtual_station: station.is_virtual_station,
      ...given("capacity", station.capacity),
    })),
  };
}

export function stationStatus({ names, instant }: GbfsForm, stations: readonly PublishedStation[]): object {
  return {
    stations: stations.map((station) => {
      // What the operator took out of service lends nothing, whatever its source last said.
      const isOnline = station.status === "online";
      return {
        station_id: station.id,
        [names.available]: station.num_bikes_available,
        vehicle_types_available: typesAvailable(station),
        ...given(names.disabled, station.num_bikes_disabled),
        ...given("num_docks_available", station.num_docks_available),
        ...given("num_docks_disabled", station.num_docks_disabled),
        is_installed: station.is_installed,
        is_renting: isOnline && station.is_renting,
        is_returning: isOnline && station.is_returning,
        last_reported: instant(reported(station.last_reported) ?? atLeastEarliest(station.updated_at)),
      };
    }),
  };
}

export function vehicleStatus({ names, instant }: GbfsForm, bikes: readonly PublishedBike[]): object {
  return {
    [names.vehicles]: bikes.map((bike) => {
      const last = reported(bike.last_reported);
      return {
        [names.vehicleId]: bike.public_id,
        ...(bike.lat === null || bike.lon === null ? {} : { lat: bike.lat, lon: bike.lon }),
        is_reserved: bike.vehicle_state === "reserved",
        is_disabled: bike.vehicle_state === "non_operational",
        vehicle_type_id: bike.vehicle_type_id ?? UNSPECIFIED,
        ...(last === null ? {} : { last_reported: instant(last) }),
        ...given("current_range_meters", bike.current_range_meters),
        ...given("station_id", bike.station_id),
      };
    }),
  };
}

/** @param used types that stations and bikes name, whether a source describes them or not */
export function vehicleTypes(
  { text }: GbfsForm,
  { language, vehicleTypes: described }: SystemDetails,
  used: readonly string[],
): object {
  const ids = [...new Set([UNSPECIFIED, ...described.keys(), ...used])].sort();
  return {
    vehicle_types: ids.map((id) => {
      const type = described.get(id) ?? plainBicycle(id);
      return {
        vehicle_type_id: id,
        form_factor: type.form_factor,
        propulsion_type: type.propulsion_type,
        // GBFS asks for the range of whatever has a motor; 0 where nobody said it.
        ...(type.propulsion_type === "human" ? {} : { max_range_meters: type.max_range_meters ?? 0 }),
        ...(type.name === null ? {} : { name: text(type.name, language) }),
      };
    }),
  };
}

/** @param used regions that stations name; undefined where there is no region at all */
export function systemRegions(
  { text }: GbfsForm,
  { language, regions }: SystemDetails,
  used: readonly string[],
): object | undefined {
  const ids = [...new Set([...regions.keys(), ...used])].sort();
  if (ids.length === 0) return undefined;
  return { regions: ids.map((id) => ({ region_id: id, name: text(regions.get(id)?.name ?? id, language) })) };
}

/** The types at a station, so that they add up to the vehicles that are there. */
function typesAvailable({ vehicle_types_available: types, num_bikes_available }: PublishedStation): object[] {
  const rest = types.reduce((left, { count }) => left - count, num_bikes_available);
  if (rest <= 0) return [...types];
  const known = types.find((type) => type.vehicle_type_id === UNSPECIFIED)?.count ?? 0;
  const others = types.filter((type) => type.vehicle_type_id !== UNSPECIFIED);
  return [...others, { vehicle_type_id: UNSPECIFIED, count: known + rest }];
}

function plainBicycle(id: string): VehicleType {
  return { id, name: null, form_factor: "bicycle", propulsion_type: "human", max_range_meters: null };
}

/** When a thing last reported; null where nobody knows, or where it says a time before there were such feeds. */
function reported(at: Date | null): Date | null {
  return at === null || at.getTime() < EARLIEST ? null : at;
}

function atLeastEarliest(at: Date): Date {
  return at.getTime() < EARLIEST ? new Date(EARLIEST) : at;
}

function given(name: string, value: string | number | null): object {
  return value === null ? {} : { [name]: value };
}
