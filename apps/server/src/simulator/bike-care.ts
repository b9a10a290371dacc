import type { Backend } from "./backend.ts";
import type { CityStation } from "./city.ts";
import type { HappeningOf } from "./plan.ts";
import type { Rides } from "./rides.ts";

/** A bike stands at a station, ready to be ridden. */
export function arrive(backend: Backend, bikeId: string, moment: number, station: CityStation): void {
  report(backend, bikeId, moment, { station, isRidable: true });
  backend.fleet.put(bikeId, station);
}

/** A bike of a station breaks, and is repaired there. */
export function breakBike(backend: Backend, { station, seconds }: HappeningOf<"bike_breaks">, moment: number): void {
  const bikeId = backend.fleet.take(station);
  if (bikeId === undefined) return;
  report(backend, bikeId, moment, { station, isRidable: false });
  const repaired = moment + seconds * 1000;
  backend.agenda.at(repaired, () => arrive(backend, bikeId, repaired, station));
}

/** A van takes bikes from the fullest station to the emptiest. */
export function driveVan(backend: Backend, { bikes, seconds }: HappeningOf<"van">, moment: number): void {
  const { agenda, fleet } = backend;
  const [from, to, unloaded] = [fleet.fullest(), fleet.emptiest(), moment + seconds * 1000];
  for (let n = 0; n < bikes; n++) {
    const bikeId = fleet.take(from);
    if (bikeId === undefined) return;
    report(backend, bikeId, moment, { station: null, isRidable: false });
    agenda.at(unloaded, () => arrive(backend, bikeId, unloaded, to));
  }
}

/** The bikes of a station say how they are, and the station how many docks are free. */
export function listen(backend: Backend, rides: Rides, happening: HappeningOf<"telemetry">, moment: number): void {
  const { fleet, stamp, tell } = backend;
  const { station, rangeMeters, isLate } = happening;
  for (const id of fleet.at(station)) {
    if (isLate) reportLate(backend, rides, id);
    else {
      const item = { id, at: stamp(id, moment), station_id: station.id, current_range_meters: rangeMeters };
      tell({ path: "bikes/reports", about: id, item });
    }
  }
  const docks = Math.max(0, station.capacity - fleet.at(station).length);
  tell({ path: "stations", about: station.id, item: { id: station.id, num_docks_available: docks } });
}

/** An old report, overtaken by the end of a ride: it must not move the bike back. */
function reportLate({ tell }: Backend, rides: Rides, id: string): void {
  const last = rides.lastOf(id);
  if (last === undefined) return;
  tell({ path: "bikes/reports", about: id, item: { id, at: last.startedAt, station_id: last.from.id } });
}

function report(
  { tell, stamp }: Backend,
  id: string,
  moment: number,
  { station, isRidable }: { readonly station: CityStation | null; readonly isRidable: boolean },
): void {
  const item = {
    id,
    at: stamp(id, moment),
    vehicle_state: isRidable ? ("available" as const) : ("non_operational" as const),
    station_id: station?.id ?? null,
  };
  tell({ path: "bikes/reports", about: id, item });
}
