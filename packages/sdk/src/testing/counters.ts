import type { Bike, Station } from "../wire.generated.ts";
import { viewOf } from "./bike.ts";
import type { City, StationState } from "./city.ts";
import { instant } from "./clock.ts";
import { compareTexts } from "./order.ts";

/** What of a bike counts at its station. */
export type Shown = Pick<Bike, "vehicle_state" | "station_id">;

type Counters = Pick<
  Station,
  "num_bikes_available" | "num_bikes_reserved" | "num_bikes_disabled" | "vehicle_types_available"
>;

/** Brings the counters of the stations up to date that a bike was at and is at. */
export function recountStations(city: City, before: Shown | undefined, after: Shown): void {
  for (const id of new Set([before?.station_id ?? null, after.station_id])) {
    const station = id === null ? undefined : city.stations.get(id);
    if (station === undefined) continue;
    write(
      city,
      station,
      station.isMirrored ? shifted(station.shown, before, after) : countedAt(city, station.shown.id),
    );
  }
}

/** Counts a station's bikes, as the service does for stations of the operator's own. */
export function countedAt(city: City, stationId: string): Counters {
  const here = [...city.bikes.values()].map(viewOf).filter((bike) => bike.station_id === stationId);
  const count = (state: string, bikes: readonly Bike[] = here) =>
    bikes.filter((bike) => bike.vehicle_state === state).length;
  const types = [...new Set(here.flatMap((bike) => bike.vehicle_type_id ?? []))].sort(compareTexts);
  return {
    num_bikes_available: count("available"),
    num_bikes_reserved: count("reserved"),
    num_bikes_disabled: count("non_operational"),
    vehicle_types_available: types.map((type) => ({
      vehicle_type_id: type,
      count: count(
        "available",
        here.filter((bike) => bike.vehicle_type_id === type),
      ),
    })),
  };
}

/** Changes counters that a feed gave by the difference that a bike makes, until the feed speaks again. */
function shifted(station: Station, before: Shown | undefined, after: Shown): Partial<Counters> {
  // A bike that is only now known was in the feed's numbers before.
  if (before === undefined) return {};
  const at = (bike: Shown, state: string) => Number(bike.station_id === station.id && bike.vehicle_state === state);
  const shift = (count: number, state: string) => Math.max(0, count + at(after, state) - at(before, state));
  return {
    num_bikes_available: shift(station.num_bikes_available, "available"),
    num_bikes_reserved: shift(station.num_bikes_reserved, "reserved"),
  };
}

function write(city: City, station: StationState, counters: Partial<Counters>): void {
  const shown = { ...station.shown, ...counters };
  if (JSON.stringify(shown) === JSON.stringify(station.shown)) return;
  station.shown = { ...shown, updated_at: instant(city.now()) };
}
