import { textIn } from "../../city/descriptions/published-facts.rules.ts";
import { describedAll } from "../../city/descriptions/service.ts";
import { readFlags } from "../../city/history/changes-state.rules.ts";
import type { QueryRunner } from "../../storage/db/database.ts";
import type { Column, Value } from "./file-writer.ts";
import type { Period } from "./months.rules.ts";
import { readStationChanges, readStations, type StationRecord } from "./queries.ts";

/*
 * Makes the rows of two kinds of exported files, stations and changes of stations, and names the places of rides for the
 * third kind (make-file.ts).
 */

/** The start or the end of a ride as an exported file names it: a station or a region. */
export interface ShownPlace {
  /** The station's id; null for a region, and outside a station. */
  readonly id: string | null;
  readonly name: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
}

/** The stations and regions of a system as exported files name them. */
export interface Places {
  readonly all: readonly StationRecord[];
  /** Returns the name of a region, or its id if it has no name; null: no region is given. */
  regionName(regionId: string | null): string | null;
  /** Returns the id of a station's region; undefined: it has none, or there is no such station. */
  regionOf(stationId: string): string | undefined;
  /** Returns a station with its exact position. */
  station(id: string | null): ShownPlace;
  /** Returns a station with its position rounded to about 100 metres. */
  coarseStation(id: string | null): ShownPlace;
  /** Returns a region with the average position of its stations, rounded likewise. Null: outside a station. */
  region(id: string | null): ShownPlace;
}

/** The end of a ride outside a station, of which nothing is exported. */
const NOWHERE: ShownPlace = { id: null, name: null, lat: null, lon: null };

/** Reads a system's stations and regions. */
export async function readPlaces(db: QueryRunner, systemId: string, language: string): Promise<Places> {
  const all: StationRecord[] = [];
  for await (const stations of readStations(db, systemId)) all.push(...stations);
  const regions = await describedAll(db, systemId, "region");
  const names = new Map(regions.map(({ id, published }) => [id, textIn(published.name, language) ?? id]));
  const shown = new Map(all.map(({ id, name, lat, lon }) => [id, { id, name, lat, lon }]));
  const coarse = new Map(
    all.map(({ id, name, lat, lon }) => [id, { id, name, lat: coarsely(lat), lon: coarsely(lon) }]),
  );
  const regionIds = new Map(
    all.flatMap(({ id, region_id: region }) => (region === null ? [] : [[id, region] as const])),
  );
  const middles = middlesOf(all, names);
  // Returns a station. One that only rides name has nothing but its id.
  const found = (places: ReadonlyMap<string, ShownPlace>, id: string | null) =>
    id === null ? NOWHERE : (places.get(id) ?? { ...NOWHERE, id });
  return {
    all,
    regionName: (id) => (id === null ? null : (names.get(id) ?? id)),
    regionOf: (id) => regionIds.get(id),
    station: (id) => found(shown, id),
    coarseStation: (id) => found(coarse, id),
    region: (id) => (id === null ? NOWHERE : (middles.get(id) ?? NOWHERE)),
  };
}

/** Returns each region with the average position of its stations, removed ones included, rounded to about 100 metres. */
function middlesOf(
  stations: readonly StationRecord[],
  names: ReadonlyMap<string, string>,
): ReadonlyMap<string, ShownPlace> {
  const byRegion = Map.groupBy(stations, ({ region_id: region }) => region);
  const middle = (values: readonly number[]) => coarsely(values.reduce((sum, value) => sum + value, 0) / values.length);
  return new Map(
    [...byRegion].flatMap(([id, ofRegion]) => {
      if (id === null) return [];
      const lat = middle(ofRegion.map((station) => station.lat));
      const lon = middle(ofRegion.map((station) => station.lon));
      return [[id, { id: null, name: names.get(id) ?? id, lat, lon }] as const];
    }),
  );
}

/** Rounds a coordinate to 3 decimals, about 100 metres. */
function coarsely(degrees: number): number {
  return Math.round(degrees * 1000) / 1000;
}

/** The columns of an export of stations. */
export const stationColumns: readonly Column[] = [
  { name: "station_id", type: "text", text: "The operator's id" },
  { name: "name", type: "text", text: "As riders know it" },
  { name: "short_name", type: "text", text: "As printed on it" },
  { name: "lat", type: "number", text: "WGS 84" },
  { name: "lng", type: "number", text: "WGS 84" },
  { name: "region_id", type: "text", text: "The operator's id of its region" },
  { name: "region_name", type: "text", text: "As riders know it" },
  { name: "capacity", type: "integer", text: "Docks; empty: unknown" },
  { name: "is_virtual_station", type: "boolean", text: "A place without docks" },
  { name: "status", type: "text", text: "`planned`, `online`, `offline`, or `removed`" },
];

/** Yields the stations as rows of a file. Includes removed stations, because past rides name them. */
export async function* stationRows(places: Places): AsyncGenerator<Value[][], undefined> {
  yield places.all.map((station) => [
    station.id,
    station.name,
    station.short_name,
    station.lat,
    station.lon,
    station.region_id,
    places.regionName(station.region_id),
    station.capacity,
    station.is_virtual_station,
    station.status,
  ]);
}

/** The columns of an export of the changes of stations. */
export const stationStatusColumns: readonly Column[] = [
  { name: "station_id", type: "text", text: "The operator's id" },
  { name: "station_name", type: "text", text: "As riders know it at present" },
  {
    name: "changed_at",
    type: "instant",
    text: "From then on, until the station's next row. CSV: local time of the city",
  },
  { name: "num_bikes_available", type: "integer", text: "Bikes to rent" },
  { name: "num_bikes_disabled", type: "integer", text: "Bikes out of order; empty: unknown" },
  { name: "num_docks_available", type: "integer", text: "Docks to return to; empty: unknown" },
  { name: "num_docks_disabled", type: "integer", text: "Docks out of order; empty: unknown" },
  { name: "status", type: "text", text: "`planned`, `online`, `offline`, or `removed`" },
  { name: "is_renting", type: "boolean", text: "Whether it gave out bikes" },
  { name: "is_returning", type: "boolean", text: "Whether it took bikes back" },
];

/** Yields the changes of stations in a period as rows of a file. */
export async function* stationStatusRows(
  db: QueryRunner,
  systemId: string,
  period: Period,
  places: Places,
): AsyncGenerator<Value[][], undefined> {
  for await (const changes of readStationChanges(db, systemId, period)) {
    yield changes.map((change) => {
      const { status, is_renting: isRenting, is_returning: isReturning } = readFlags(change.flags);
      return [
        change.stationId,
        places.station(change.stationId).name,
        change.at,
        change.bikes,
        change.disabled,
        change.docks,
        change.docksDisabled,
        status,
        isRenting,
        isReturning,
      ];
    });
  }
}
