import type { Region, VehicleType } from "@bikeshare/contract";
import { type SystemDetails, isLicenceId } from "../../city/systems/facts.rules.ts";
import { sortById } from "../../storage/lists/page.ts";
import type { PublishedBike, PublishedStation } from "./queries.ts";

// The `data` of each document. GBFS has no null: a field that is not known is undefined, and so left out of the JSON.

/** The differences of a GBFS version from the others. */
export interface GbfsForm {
  readonly version: "2.3" | "3.0";
  readonly names: {
    /** The names of the vehicles' feed, of its list, and of a vehicle's id. */
    readonly vehicleFeed: "free_bike_status" | "vehicle_status";
    readonly vehicles: string;
    readonly vehicleId: string;
    readonly available: string;
    readonly disabled: string;
  };
  /** A text that people read. */
  readonly text: (text: string | null, language: string) => unknown;
  /** An instant, to the second. */
  readonly instant: (at: Date) => number | string;
}

export const form23: GbfsForm = {
  version: "2.3",
  names: {
    vehicleFeed: "free_bike_status",
    vehicles: "bikes",
    vehicleId: "bike_id",
    available: "num_bikes_available",
    disabled: "num_bikes_disabled",
  },
  text: (text) => text ?? undefined,
  instant: (at) => Math.floor(at.getTime() / 1000),
};

export const form30: GbfsForm = {
  version: "3.0",
  names: {
    vehicleFeed: "vehicle_status",
    vehicles: "vehicles",
    vehicleId: "vehicle_id",
    available: "num_vehicles_available",
    disabled: "num_vehicles_disabled",
  },
  text: (text, language) => (text === null ? undefined : [{ text, language }]),
  instant: (at) => `${at.toISOString().slice(0, -".000Z".length)}Z`,
};

/** Every version that is published, oldest first. */
export const forms: readonly GbfsForm[] = [form23, form30];

/** The earliest instant that GBFS 2.3 lets a feed name: 15 December 2015, before which there was no GBFS. */
export const EARLIEST_MS = 1_450_155_600_000;

/** `gbfs.json`: 2.3 lists the feeds by language, 3.0 once. */
export function discovery(
  { version }: GbfsForm,
  { id, language }: SystemDetails,
  baseUrl: string,
  feeds: readonly string[],
): object {
  const listed = { feeds: feeds.map((name) => ({ name, url: urlOf(baseUrl, id, version, name) })) };
  return version === "2.3" ? { [language]: listed } : listed;
}

/** `gbfs_versions.json`. */
export function versions({ id }: SystemDetails, baseUrl: string): object {
  return { versions: forms.map(({ version }) => ({ version, url: urlOf(baseUrl, id, version, "gbfs") })) };
}

/** The URL names the system, so that it holds when there are more one day. */
function urlOf(baseUrl: string, systemId: string, version: string, feed: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/gbfs/${encodeURIComponent(systemId)}/${version}/${feed}.json`;
}

/** GBFS 3.0 requires an address. Mail to this one cannot be sent (RFC 2606), so it cannot be mistaken for a real one. */
const NO_ADDRESS = "unknown@example.invalid";

export function systemInformation({ text, version }: GbfsForm, system: SystemDetails): object {
  const { id, name, language, timezone, feed_contact_email, opening_hours, operator, url, licence } = system;
  const isId = licence !== null && isLicenceId(licence);
  const common = {
    system_id: id,
    name: text(name, language),
    operator: text(operator, language),
    url: url ?? undefined,
    timezone,
  };
  if (version === "3.0") {
    return {
      ...common,
      languages: [language],
      opening_hours,
      feed_contact_email: feed_contact_email ?? NO_ADDRESS,
      license_id: isId ? licence : undefined,
      license_url: isId ? undefined : (licence ?? undefined),
    };
  }
  return {
    ...common,
    language,
    feed_contact_email: feed_contact_email ?? undefined,
    license_url: isId ? `https://spdx.org/licenses/${licence}.html` : (licence ?? undefined),
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
      short_name: text(station.short_name, language),
      lat: station.lat,
      lon: station.lon,
      address: station.address ?? undefined,
      region_id: station.region_id ?? undefined,
      is_virtual_station: station.is_virtual_station,
      capacity: station.capacity ?? undefined,
    })),
  };
}

/** Free docks: of a station whose docks the operator reports no more than its capacity leaves. */
function publishedDocks(station: PublishedStation): number | undefined {
  const { num_docks_available: docks, capacity } = station;
  if (docks === null) return undefined;
  if (capacity === null || station.counters === "mirrored") return docks;
  const { num_bikes_available: available, num_bikes_reserved: held, num_bikes_disabled: disabled } = station;
  const taken = available + held + (disabled ?? 0) + (station.num_docks_disabled ?? 0);
  return Math.max(0, Math.min(docks, capacity - taken));
}

export function stationStatus({ names, instant }: GbfsForm, stations: readonly PublishedStation[]): object {
  return {
    stations: stations.map((station) => {
      // A station that the operator has closed lends no bikes, whatever its source reports.
      const isOnline = station.status === "online";
      return {
        station_id: station.id,
        [names.available]: station.num_bikes_available,
        vehicle_types_available: typesAvailable(station),
        [names.disabled]: station.num_bikes_disabled ?? undefined,
        num_docks_available: publishedDocks(station),
        num_docks_disabled: station.num_docks_disabled ?? undefined,
        is_installed: station.is_installed,
        is_renting: isOnline && station.is_renting,
        is_returning: isOnline && station.is_returning,
        // GBFS requires it, and takes no time before there were such feeds.
        last_reported: instant(
          reported(station.last_reported) ?? new Date(Math.max(station.updated_at.getTime(), EARLIEST_MS)),
        ),
      };
    }),
  };
}

export function vehicleStatus({ names, instant }: GbfsForm, bikes: readonly PublishedBike[]): object {
  return {
    [names.vehicles]: bikes.map((bike) => {
      const hasPosition = bike.lat !== null && bike.lon !== null;
      const lastReported = reported(bike.last_reported);
      return {
        [names.vehicleId]: bike.public_id,
        lat: hasPosition ? bike.lat : undefined,
        lon: hasPosition ? bike.lon : undefined,
        is_reserved: bike.vehicle_state === "reserved",
        is_disabled: bike.vehicle_state === "non_operational",
        vehicle_type_id: bike.vehicle_type_id ?? UNSPECIFIED,
        last_reported: lastReported === undefined ? undefined : instant(lastReported),
        current_range_meters: bike.current_range_meters ?? undefined,
        station_id: bike.station_id ?? undefined,
      };
    }),
  };
}

/** When a thing last reported; undefined where that is not known, or before there were such feeds. */
function reported(at: Date | null): Date | undefined {
  return at === null || at.getTime() < EARLIEST_MS ? undefined : at;
}

/** The type of vehicles without one: GBFS itself takes a vehicle without a type for a plain bicycle. */
const UNSPECIFIED = "unspecified";

/** Returns the types at a station, so that they add up to the vehicles that are there. */
function typesAvailable({ vehicle_types_available: types, num_bikes_available }: PublishedStation): object[] {
  let rest = num_bikes_available;
  // A row in which they are more than the vehicles does not say which of them are not there: the last ones give way.
  const fitting = types.map(({ vehicle_type_id, count }) => {
    const fits = Math.min(count, rest);
    rest -= fits;
    return { vehicle_type_id, count: fits };
  });
  if (rest === 0) return fitting;
  const unspecified = fitting.find((type) => type.vehicle_type_id === UNSPECIFIED)?.count ?? 0;
  const others = fitting.filter((type) => type.vehicle_type_id !== UNSPECIFIED);
  return [...others, { vehicle_type_id: UNSPECIFIED, count: unspecified + rest }];
}

/** @param types every type that is described, or that stations and bikes name */
export function vehicleTypes({ text }: GbfsForm, { language }: SystemDetails, types: readonly VehicleType[]): object {
  const nothing = { name: null, form_factor: null, propulsion_type: null, max_range_meters: null };
  const unspecified = types.some(({ id }) => id === UNSPECIFIED) ? [] : [{ id: UNSPECIFIED, ...nothing }];
  return {
    vehicle_types: sortById([...unspecified, ...types]).map((type) => {
      // GBFS has no value for "not known", and assumes a plain bicycle where a vehicle has no type.
      const { form_factor, propulsion_type } = type;
      const isHuman = propulsion_type === null || propulsion_type === "human";
      return {
        vehicle_type_id: type.id,
        form_factor: form_factor ?? "bicycle",
        propulsion_type: propulsion_type ?? "human",
        // GBFS requires the range of whatever has a motor; 0 where it is not known.
        max_range_meters: isHuman ? undefined : (type.max_range_meters ?? 0),
        name: text(type.name, language),
      };
    }),
  };
}

/** @returns undefined where there is no region at all */
export function systemRegions(
  { text }: GbfsForm,
  { language }: SystemDetails,
  regions: readonly Region[],
): object | undefined {
  if (regions.length === 0) return undefined;
  return { regions: regions.map(({ id, name }) => ({ region_id: id, name: text(name, language) })) };
}
