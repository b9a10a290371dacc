import type { City, CityBike, CityStation } from "./city.ts";
import type { History } from "./history.ts";

/**
 * The feeds of a made-up city, as GBFS 2.3 documents by feed name: what an importer would read from a real one.
 * @param now milliseconds since 1970
 */
export function cityFeeds(
  city: City,
  { standing }: Pick<History, "standing">,
  now: number,
): Readonly<Record<string, unknown>> {
  const lastReported = Math.floor(now / 1000);
  const feed = (data: unknown) => ({ last_updated: lastReported, ttl: 60, version: "2.3", data });
  const counts = countBikes(city, standing);
  return {
    station_information: feed({ stations: city.stations.map(information) }),
    station_status: feed({
      stations: city.stations.map((station) => status(station, counts.get(station) ?? NO_BIKES, lastReported)),
    }),
    free_bike_status: feed({ bikes: [...standing].map(([bike, station]) => vehicle(bike, station, lastReported)) }),
  };
}

interface BikeCounts {
  bike: number;
  ebike: number;
}

const NO_BIKES: Readonly<BikeCounts> = { bike: 0, ebike: 0 };

function countBikes(city: City, standing: History["standing"]): Map<CityStation, BikeCounts> {
  const counts = new Map(city.stations.map((station) => [station, { ...NO_BIKES }]));
  for (const [bike, station] of standing) {
    const atStation = counts.get(station);
    if (atStation !== undefined) atStation[bike.isElectric ? "ebike" : "bike"]++;
  }
  return counts;
}

function information({ id, name, lat, lon, capacity, regionId }: CityStation) {
  return { station_id: id, name, lat, lon, capacity, region_id: regionId };
}

function status({ id, capacity }: CityStation, { bike, ebike }: Readonly<BikeCounts>, lastReported: number) {
  return {
    station_id: id,
    is_installed: true,
    is_renting: true,
    is_returning: true,
    num_bikes_available: bike + ebike,
    num_docks_available: Math.max(0, capacity - bike - ebike),
    vehicle_types_available: [
      { vehicle_type_id: "bike", count: bike },
      { vehicle_type_id: "ebike", count: ebike },
    ],
    last_reported: lastReported,
  };
}

function vehicle({ id, vehicleTypeId }: CityBike, station: CityStation, lastReported: number) {
  return {
    bike_id: id,
    lat: station.lat,
    lon: station.lon,
    is_reserved: false,
    is_disabled: false,
    vehicle_type_id: vehicleTypeId,
    station_id: station.id,
    last_reported: lastReported,
  };
}
