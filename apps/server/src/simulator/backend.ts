import type { Agenda } from "./agenda.ts";
import type { City } from "./city.ts";
import type { Command } from "./commands.ts";
import { createFleet, type Fleet } from "./fleet.ts";

/** What all parts of a made-up operator's backend work with. */
export interface Backend {
  readonly city: City;
  readonly agenda: Agenda;
  readonly fleet: Fleet;
  readonly tell: (command: Command) => void;
  /** The instant, as RFC 3339, of something that happens to a bike at a moment: later than all that did before. */
  readonly stamp: (bikeId: string, moment: number) => string;
}

export interface BackendOptions {
  readonly city: City;
  readonly agenda: Agenda;
  /** The wall clock, in milliseconds since 1970, at a moment of simulated time. */
  readonly instantOf: (moment: number) => number;
  readonly tell: (command: Command) => void;
}

export function createBackend({ city, agenda, instantOf, tell }: BackendOptions): Backend {
  const said = new Map<string, number>();
  return {
    city,
    agenda,
    fleet: createFleet(city),
    tell,
    stamp(bikeId, moment) {
      const instant = Math.max(instantOf(moment), (said.get(bikeId) ?? 0) + 1);
      said.set(bikeId, instant);
      return new Date(instant).toISOString();
    },
  };
}
