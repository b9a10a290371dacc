import type { Agenda } from "./agenda.ts";
import type { City } from "./city.ts";
import type { Command } from "./commands.ts";
import { type CityLife, createCityLife } from "./life.ts";

/** A city whose bikes stand evenly at its stations, on a wall clock that runs sixty times slower than its own. */
export function createLifeFor(city: City, seed: number, agenda: Agenda, tell: (command: Command) => void): CityLife {
  const instantOf = (moment: number) => Date.parse("2026-06-01T12:00:00Z") + Math.round(moment / 60);
  const life = createCityLife({ city, seed, run: "test", agenda, instantOf, tell });
  for (const [index, bike] of city.bikes.entries()) {
    life.stands(bike.id, city.stations[index % city.stations.length] ?? city.stations[0]);
  }
  return life;
}
