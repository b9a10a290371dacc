import type { Agenda } from "./agenda.ts";
import type { City, CityStation } from "./city.ts";
import type { Command, OnAnswer } from "./commands.ts";
import { createFleet } from "./fleet.ts";
import { type Happening, happeningsIn } from "./plan.ts";
import { createRides, type Rides } from "./rides.ts";

/** A city that lives: its plan, met with what became of the bikes. */
export interface CityLife {
  /** Puts a minute's happenings on the agenda. */
  plan(minute: number): void;
  /** A bike that stands at a station, ready to be ridden. */
  stands(bikeId: string, station: CityStation): void;
  /** Brings a bike, from wherever it is, to a station within an hour. */
  bring(bikeId: string, moment: number): void;
  /** A station that is offline comes back within an hour. */
  mend(station: CityStation, moment: number): void;
  /** Hears what the service answered. */
  answered: OnAnswer;
  /** Ends what is under way: rides, and failures of stations. */
  settle(moment: number): void;
  /** Rides under way. */
  riding(): number;
  /** Where each bike stands that is ready to be ridden. */
  standing(): ReadonlyMap<string, CityStation>;
}

export interface CityLifeOptions {
  readonly city: City;
  readonly seed: number;
  /** Distinguishes the rides of this run from those of others. */
  readonly run: string;
  readonly agenda: Agenda;
  /** The wall clock, in milliseconds since 1970, at a moment of simulated time. */
  readonly instantOf: (moment: number) => number;
  readonly tell: (command: Command) => void;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export function createCityLife({ city, seed, run, agenda, instantOf, tell }: CityLifeOptions): CityLife {
  const fleet = createFleet(city);
  const offline = new Set<CityStation>();
  /** The last instant at which something was said of each bike: no two things happen to one at once. */
  const said = new Map<string, number>();
  const stamp = (bikeId: string, moment: number): string => {
    const instant = Math.max(instantOf(moment), (said.get(bikeId) ?? 0) + 1);
    said.set(bikeId, instant);
    return new Date(instant).toISOString();
  };
  const rides = createRides({ run, agenda, fleet, stamp, tell });

  const report = (bikeId: string, moment: number, station: CityStation | null, isRidable: boolean) =>
    tell({
      path: "bikes/reports",
      about: bikeId,
      item: {
        id: bikeId,
        at: stamp(bikeId, moment),
        vehicle_state: isRidable ? "available" : "non_operational",
        station_id: station?.id ?? null,
      },
    });
  const arrive = (bikeId: string, moment: number, station: CityStation) => {
    report(bikeId, moment, station, true);
    fleet.put(bikeId, station);
  };
  const bringOnline = (station: CityStation) => {
    if (offline.delete(station)) tell({ path: "stations/online", about: station.id, item: { id: station.id } });
  };

  const live = {
    ride: (wish: Of<"ride">, moment: number) => {
      if (!offline.has(wish.from)) rides.begin(wish, moment);
    },
    station_fails: ({ station, seconds }: Of<"station_fails">, moment: number) => {
      if (offline.has(station)) return;
      offline.add(station);
      tell({ path: "stations/offline", about: station.id, item: { id: station.id } });
      agenda.at(moment + seconds * 1000, () => bringOnline(station));
    },
    bike_breaks: ({ station, seconds }: Of<"bike_breaks">, moment: number) => {
      const bikeId = fleet.take(station);
      if (bikeId === undefined) return;
      report(bikeId, moment, station, false);
      const repaired = moment + seconds * 1000;
      agenda.at(repaired, () => arrive(bikeId, repaired, station));
    },
    van: ({ bikes, seconds }: Of<"van">, moment: number) => {
      const [from, to, unloaded] = [fleet.fullest(), fleet.emptiest(), moment + seconds * 1000];
      for (let n = 0; n < bikes; n++) {
        const bikeId = fleet.take(from);
        if (bikeId === undefined) return;
        report(bikeId, moment, null, false);
        agenda.at(unloaded, () => arrive(bikeId, unloaded, to));
      }
    },
    telemetry: ({ station, rangeMeters, isLate }: Of<"telemetry">, moment: number) => {
      for (const bikeId of fleet.at(station)) {
        if (isLate) tellLate(bikeId, rides);
        else {
          const at = stamp(bikeId, moment);
          const item = { id: bikeId, at, station_id: station.id, current_range_meters: rangeMeters };
          tell({ path: "bikes/reports", about: bikeId, item });
        }
      }
      const docks = Math.max(0, station.capacity - fleet.at(station).length);
      tell({ path: "stations", about: station.id, item: { id: station.id, num_docks_available: docks } });
    },
  };

  /** An old report, overtaken by the end of a ride: it must not move the bike back. */
  function tellLate(bikeId: string, { lastOf }: Rides): void {
    const last = lastOf(bikeId);
    if (last === undefined) return;
    const item = { id: bikeId, at: last.startedAt, station_id: last.from.id };
    tell({ path: "bikes/reports", about: bikeId, item });
  }

  return {
    plan(minute) {
      for (const happening of happeningsIn(city, seed, minute)) {
        const moment = minute * MINUTE + happening.after;
        agenda.at(moment, () => happen(happening, moment));
      }
    },
    stands: (bikeId, station) => fleet.put(bikeId, station),
    bring(bikeId, moment) {
      const station = nearEnough(bikeId);
      agenda.at(moment + HOUR / 2, () => arrive(bikeId, moment + HOUR / 2, station));
    },
    mend(station, moment) {
      offline.add(station);
      agenda.at(moment + HOUR / 2, () => bringOnline(station));
    },
    answered: rides.answered,
    settle(moment) {
      rides.settle(moment);
      for (const station of offline) bringOnline(station);
    },
    riding: rides.underWay,
    standing: () =>
      new Map(city.stations.flatMap((station) => fleet.at(station).map((bikeId) => [bikeId, station] as const))),
  };

  function happen(happening: Happening, moment: number): void {
    switch (happening.kind) {
      case "ride":
        return live.ride(happening, moment);
      case "station_fails":
        return live.station_fails(happening, moment);
      case "bike_breaks":
        return live.bike_breaks(happening, moment);
      case "van":
        return live.van(happening, moment);
      case "telemetry":
        return live.telemetry(happening, moment);
    }
  }

  /** Where a stray bike is brought: some station, always the same for one bike. */
  function nearEnough(bikeId: string): CityStation {
    const sum = [...bikeId].reduce((total, character) => total + character.charCodeAt(0), 0);
    return city.stations[sum % city.stations.length] ?? city.stations[0];
  }
}

type Of<Kind extends Happening["kind"]> = Extract<Happening, { readonly kind: Kind }>;
