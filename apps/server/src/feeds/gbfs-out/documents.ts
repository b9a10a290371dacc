import type { Region, VehicleType } from "@bikeshare/contract";
import { sortById } from "../../lists/page.ts";
import { type SystemDetails, isLicenceId } from "../../systems/facts.rules.ts";
import { EARLIEST, type GbfsForm, forms } from "./form.ts";
import type { PublishedBike, PublishedStation } from "./queries.ts";

// The `data` of each document. A field that is not known is left out: GBFS has no null.

/** The type of vehicles whose type nobody said. GBFS itself takes a vehicle without a type for a plain bicycle. */
const UNSPECIFIED = "unspecified";
const UNSPECIFIED_TYPE: VehicleType = {
  id: UNSPECIFIED,
  name: null,
  form_factor: null,
  propulsion_type: null,
  max_range_meters: null,
};
/** GBFS 3.0 requires an address. Mail to this one cannot be sent (RFC 2606), so that nobody takes it for an address. */
const NO_ADDRESS = "unknown@example.invalid";

export function systemInformation({ text, version }: GbfsForm, system: SystemDetails): object {
  const { id, name, language, timezone, feed_contact_email, opening_hours, operator, url, licence } = system;
  if (version === "2.3") {
    return {
      system_id: id,
      language,
      name,
      ...given("operator", operator),
      ...given("url", url),
      ...given("feed_contact_email", feed_contact_email),
      timezone,
      ...given("license_url", licence === null ? null : licenceAddress(licence)),
    };
  }
  return {
    system_id: id,
    languages: [language],
    name: text(name, language),
    opening_hours,
    ...(operator === null ? {} : { operator: text(operator, language) }),
    ...given("url", url),
    feed_contact_email: feed_contact_email ?? NO_ADDRESS,
    timezone,
    ...(licence === null ? {} : { [isLicenceId(licence) ? "license_id" : "license_url"]: licence }),
  };
}

/** Where a licence can be read. */
function licenceAddress(licence: string): string {
  return isLicenceId(licence) ? `https://spdx.org/licenses/${licence}.html` : licence;
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

/** @param types every type that is described, or that stations and bikes name */
export function vehicleTypes({ text }: GbfsForm, { language }: SystemDetails, types: readonly VehicleType[]): object {
  const unspecified = types.some(({ id }) => id === UNSPECIFIED) ? [] : [UNSPECIFIED_TYPE];
  return {
    vehicle_types: sortById([...unspecified, ...types]).map((type) => {
      const form_factor = type.form_factor ?? plainBicycle.form_factor;
      const propulsion_type = type.propulsion_type ?? plainBicycle.propulsion_type;
      return {
        vehicle_type_id: type.id,
        form_factor,
        propulsion_type,
        // GBFS asks for the range of whatever has a motor; 0 where nobody said it.
        ...(propulsion_type === "human" ? {} : { max_range_meters: type.max_range_meters ?? 0 }),
        ...(type.name === null ? {} : { name: text(type.name, language) }),
      };
    }),
  };
}

/** @param regions every region; undefined is given where there is none at all */
export function systemRegions(
  { text }: GbfsForm,
  { language }: SystemDetails,
  regions: readonly Region[],
): object | undefined {
  if (regions.length === 0) return undefined;
  return { regions: regions.map(({ id, name }) => ({ region_id: id, name: text(name, language) })) };
}

/** The types at a station, so that they add up to the vehicles that are there. */
function typesAvailable({ vehicle_types_available: types, num_bikes_available }: PublishedStation): object[] {
  let rest = num_bikes_available;
  // A row in which they are more than the vehicles cannot say which of them are not there: the last ones give way.
  const fitting = types.map(({ vehicle_type_id, count }) => {
    const fits = Math.min(count, rest);
    rest -= fits;
    return { vehicle_type_id, count: fits };
  });
  if (rest === 0) return fitting;
  const known = fitting.find((type) => type.vehicle_type_id === UNSPECIFIED)?.count ?? 0;
  const others = fitting.filter((type) => type.vehicle_type_id !== UNSPECIFIED);
  return [...others, { vehicle_type_id: UNSPECIFIED, count: known + rest }];
}

/** What GBFS takes a vehicle for of which nothing is said; it has no word for "not known". */
const plainBicycle = { form_factor: "bicycle", propulsion_type: "human" } as const;

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

/** Where the feeds of a system are. The address names the system, so that it holds when there are more one day. */
function addressOf(baseUrl: string, systemId: string, version: string, feed: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/gbfs/${encodeURIComponent(systemId)}/${version}/${feed}.json`;
}

/** The `data` of gbfs.json: 2.3 lists the feeds by language, 3.0 once. */
export function discovery(
  { version }: GbfsForm,
  { id, language }: SystemDetails,
  baseUrl: string,
  feeds: readonly string[],
): object {
  const listed = { feeds: feeds.map((name) => ({ name, url: addressOf(baseUrl, id, version, name) })) };
  return version === "2.3" ? { [language]: listed } : listed;
}

/** The `data` of gbfs_versions.json. */
export function versions({ id }: SystemDetails, baseUrl: string): object {
  return { versions: forms.map(({ version }) => ({ version, url: addressOf(baseUrl, id, version, "gbfs") })) };
}
