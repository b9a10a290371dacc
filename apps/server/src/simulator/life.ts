import { createBackend, type BackendOptions } from "./backend.ts";
import { arrive, breakBike, driveVan, listen } from "./bike-care.ts";
import type { City, CityStation } from "./city.ts";
import type { OnAnswer } from "./commands.ts";
import { createOutages } from "./outages.ts";
import { type Happening, happeningsIn } from "./plan.ts";
import { createRides } from "./rides.ts";

/** A city that lives: its plan, met with what became of the bikes. */
export interface CityLife {
  /** Puts a minute's happenings on the agenda. */
  plan(minute: number): void;
  /** A bike that stands at a station, ready to be ridden. */
  stands(bikeId: string, station: CityStation): void;
  /** Brings a bike, from wherever it is, to a station. */
  bring(bikeId: string, moment: number): void;
  /** A station that was found offline comes back. */
  mend(station: CityStation, moment: number): void;
  /** Hears what the service answered. */
  readonly answered: OnAnswer;
  /** Ends what is under way: rides, and failures of stations. */
  settle(moment: number): void;
  /** Rides under way. */
  riding(): number;
  /** Where each bike stands that is ready to be ridden. */
  standing(): ReadonlyMap<string, CityStation>;
}

export interface CityLifeOptions extends BackendOptions {
  readonly seed: number;
  /** Distinguishes the rides of this run from those of others. */
  readonly run: string;
}

const MINUTE = 60_000;
/** Simulated milliseconds until what was found out of order is put right. */
const PUT_RIGHT_AFTER = 30 * MINUTE;

export function createCityLife(options: CityLifeOptions): CityLife {
  const { city, agenda, seed, run } = options;
  const backend = createBackend(options);
  const { fleet } = backend;
  const outages = createOutages(backend);
  const rides = createRides(backend, run);
  const happen = (happening: Happening, moment: number): void => {
    switch (happening.kind) {
      case "ride":
        if (!outages.has(happening.from)) rides.begin(happening, moment);
        return;
      case "station_fails":
        return outages.fail(happening.station, moment + happening.seconds * 1000);
      case "bike_breaks":
        return breakBike(backend, happening, moment);
      case "van":
        return driveVan(backend, happening, moment);
      case "telemetry":
        return listen(backend, rides, happening, moment);
    }
  };
  return {
    plan(minute) {
      for (const happening of happeningsIn(city, seed, minute)) {
        const moment = minute * MINUTE + happening.after;
        agenda.at(moment, () => happen(happening, moment));
      }
    },
    stands: (bikeId, station) => fleet.put(bikeId, station),
    bring(bikeId, moment) {
      const found = moment + PUT_RIGHT_AFTER;
      agenda.at(found, () => arrive(backend, bikeId, found, someStation(city, bikeId)));
    },
    mend: (station, moment) => outages.found(station, moment + PUT_RIGHT_AFTER),
    answered: rides.answered,
    settle(moment) {
      rides.settle(moment);
      outages.end();
    },
    riding: () => rides.underWay(),
    standing: () =>
      new Map(city.stations.flatMap((station) => fleet.at(station).map((bikeId) => [bikeId, station] as const))),
  };
}

/** Where a stray bike is brought: always to the same station. */
function someStation({ stations }: City, bikeId: string): CityStation {
  let sum = 0;
  for (let at = 0; at < bikeId.length; at++) sum += bikeId.charCodeAt(at);
  return stations[sum % stations.length] ?? stations[0];
}
