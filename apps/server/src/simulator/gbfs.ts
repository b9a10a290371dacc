import type { City } from "./city.ts";
import type { History } from "./history.ts";

/** The feeds of a made-up city, as GBFS 2.3 documents by feed name: what an importer would read from a real one. */
export function cityFeeds(city: City, { standing }: Pick<History, "standing">, now: number): Readonly<Record<string, unknown>> {
  const lastUpdated = Math.floor(now / 1000);
  const bikesAt = new Map(city.stations.map((station) => [station, { bike: 0, ebike: 0 }]));
  for (const [bike, station] of standing) {
    const counts = bikesAt.get(station);
    if (counts) counts[bike.isElectric ? "ebike" : "bike"]++;
  }
  const feed = (data: unknown) => ({ last_updated: lastUpdated, ttl: 60, version: "2.3", data });
  return {
    station_information: feed({
      stations: city.stations.map(({ id, name, lat, lon, capacity, regionId }) => ({
        station_id: id,
        name,
        lat,
        lon,
        capacity,
        region_id: regionId,
      })),
    }),
    station_status: feed({
      stations: city.stations.map((station) => {
        const { bike, ebike } = bikesAt.get(station) ?? { bike: 0, ebike: 0 };
        return {
          station_id: station.id,
          is_installed: true,
          is_renting: true,
          is_returning: true,
          num_bikes_available: bike + ebike,
          num_docks_available: Math.max(0, station.capacity - bike - ebike),
          vehicle_types_available: [
            { vehicle_type_id: "bike", count: bike },
            { vehicle_type_id: "ebike", count: ebike },
          ],
          last_reported: lastUpdated,
        };
      }),
    }),
    free_bike_status: feed({
      bikes: [...standing].map(([bike, station]) => ({
        bike_id: bike.id,
        lat: station.lat,
        lon: station.lon,
        is_reserved: false,
        is_disabled: false,
        vehicle_type_id: bike.vehicleTypeId,
        station_id: station.id,
        last_reported: lastUpdated,
      })),
    }),
  };
}
