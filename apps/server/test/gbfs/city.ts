import { languageFrom } from "../../src/city/descriptions/lenient-values.rules.ts";
import { readDocument } from "../../src/feeds/gbfs/documents.ts";
import type { GbfsSource } from "../../src/feeds/gbfs/snapshot.ts";

// A city of two stations and three vehicles for tests, as feeds of each GBFS version.

/** The time of the city's feeds, in milliseconds since 1970. */
export const CITY_TIME = Date.UTC(2025, 5, 1, 12);
const SECONDS = CITY_TIME / 1000;

export type Documents = Record<string, object>;

const envelope = (version: string | undefined, data: unknown, last_updated: unknown = SECONDS) => ({
  last_updated,
  ttl: 60,
  ...(version === undefined ? {} : { version }),
  data,
});

const locations = {
  harbour: { lat: 59.9, lon: 10.7 },
  square: { lat: 59.91, lon: 10.75 },
};

/** Returns the city as GBFS 1.0: without a version, with flags as 0 and 1. */
export function city10(): Documents {
  return {
    station_information: envelope(undefined, {
      stations: [
        { station_id: "harbour", name: "Harbour", ...locations.harbour, capacity: 12 },
        { station_id: "square", name: "Square", ...locations.square, capacity: 20 },
      ],
    }),
    station_status: envelope(undefined, {
      stations: [
        {
          station_id: "harbour",
          num_bikes_available: 3,
          num_docks_available: 9,
          is_installed: 1,
          is_renting: 1,
          is_returning: 1,
          last_reported: SECONDS - 30,
        },
        {
          station_id: "square",
          num_bikes_available: 0,
          num_docks_available: 20,
          is_installed: 1,
          is_renting: 0,
          is_returning: 0,
          last_reported: SECONDS - 30,
        },
      ],
    }),
    free_bike_status: envelope(undefined, {
      bikes: [
        { bike_id: "b1", lat: 59.92, lon: 10.71, is_reserved: 0, is_disabled: 0 },
        { bike_id: "b2", lat: 59.93, lon: 10.72, is_reserved: 1, is_disabled: 0 },
        { bike_id: "b3", lat: 59.94, lon: 10.73, is_reserved: 0, is_disabled: 1 },
      ],
    }),
  };
}

/** Returns the city as GBFS 2.3: with booleans, vehicle types, and a bike at a station, which has no coordinates. */
export function city23(): Documents {
  const types = (count: number) => [
    { count: 0, vehicle_type_id: "ebike" },
    { vehicle_type_id: "bike", count },
  ];
  return {
    station_information: envelope("2.3", {
      stations: [
        { station_id: "harbour", name: "Harbour", ...locations.harbour, capacity: 12, is_virtual_station: false },
        { station_id: "square", name: "Square", ...locations.square, capacity: 20, is_virtual_station: false },
      ],
    }),
    station_status: envelope("v2.3", {
      stations: [
        {
          station_id: "harbour",
          num_bikes_available: 3,
          vehicle_types_available: types(3),
          num_docks_available: 9,
          is_installed: true,
          is_renting: true,
          is_returning: true,
          last_reported: SECONDS - 30,
        },
        {
          station_id: "square",
          num_bikes_available: 0,
          vehicle_types_available: types(0),
          num_docks_available: 20,
          is_installed: true,
          is_renting: false,
          is_returning: false,
          last_reported: SECONDS - 30,
        },
      ],
    }),
    free_bike_status: envelope("2.3", {
      bikes: [
        {
          bike_id: "b1",
          lat: 59.92,
          lon: 10.71,
          is_reserved: false,
          is_disabled: false,
          vehicle_type_id: "bike",
          current_range_meters: 1200.7,
        },
        {
          bike_id: "b2",
          station_id: "harbour",
          is_reserved: true,
          is_disabled: false,
          vehicle_type_id: "bike",
          last_reported: SECONDS,
        },
        { bike_id: "b3", lat: 59.94, lon: 10.73, is_reserved: false, is_disabled: true, vehicle_type_id: "scooter" },
      ],
    }),
  };
}

/** Returns the city as GBFS 3.0 or 3.1: with RFC 3339 times, vehicles, and texts by language. */
export function city3(version: "3.0" | "3.1"): Documents {
  const at = "2025-06-01T14:00:00+02:00";
  const text = (english: string, other: string) => [
    { text: other, language: "no" },
    { text: english, language: "en" },
  ];
  const reported = "2025-06-01T11:59:30Z";
  const types = (count: number) => [
    { vehicle_type_id: "ebike", count: 0 },
    { vehicle_type_id: "bike", count },
  ];
  return {
    station_information: envelope(
      version,
      {
        stations: [
          { station_id: "harbour", name: text("Harbour", "Havn"), ...locations.harbour, capacity: 12 },
          { station_id: "square", name: text("Square", "Torg"), ...locations.square, capacity: 20 },
        ],
      },
      at,
    ),
    station_status: envelope(
      version,
      {
        stations: [
          {
            station_id: "harbour",
            num_vehicles_available: 3,
            vehicle_types_available: types(3),
            num_docks_available: 9,
            is_installed: true,
            is_renting: true,
            is_returning: true,
            last_reported: reported,
          },
          {
            station_id: "square",
            num_vehicles_available: 0,
            vehicle_types_available: types(0),
            num_docks_available: 20,
            is_installed: true,
            is_renting: false,
            is_returning: false,
            last_reported: reported,
          },
        ],
      },
      at,
    ),
    vehicle_status: envelope(
      version,
      {
        vehicles: [
          {
            vehicle_id: "b1",
            lat: 59.92,
            lon: 10.71,
            is_reserved: false,
            is_disabled: false,
            vehicle_type_id: "bike",
            current_range_meters: 1200.7,
          },
          {
            vehicle_id: "b2",
            station_id: "harbour",
            is_reserved: true,
            is_disabled: false,
            vehicle_type_id: "bike",
            last_reported: "2025-06-01T12:00:00Z",
          },
          {
            vehicle_id: "b3",
            lat: 59.94,
            lon: 10.73,
            is_reserved: false,
            is_disabled: true,
            vehicle_type_id: "scooter",
          },
        ],
      },
      at,
    ),
  };
}

/** Returns documents as a source of an import. */
export function sourceOf(documents: { readonly [name: string]: object | undefined }): GbfsSource {
  const system: { readonly data?: { readonly language?: unknown } } | undefined = documents["system_information"];
  return {
    read(feed, now) {
      const document = documents[feed];
      const bytes = Buffer.from(JSON.stringify(document) ?? "");
      return Promise.resolve(document && readDocument(feed, bytes, now, languageFrom(system?.data?.language)).content);
    },
  };
}
