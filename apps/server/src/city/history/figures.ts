import type { Database } from "../../storage/db/database.ts";
import { systemsOf } from "../systems/service.ts";
import { countStartedInHour, findLatestSample } from "./queries.ts";

/** A figure of a system for monitors. */
export interface CityFigure {
  readonly systemId: string;
  readonly of: "bikes" | "stations" | "rides started";
  /** The state of the bikes or stations; empty for rides. */
  readonly state: string;
  readonly n: number;
}

/** A sample that is older says nothing of now. */
const FRESH_MS = 15 * 60_000;

/** Returns the figures of every system: of its newest sample and its sums, so that a scrape counts nothing. */
export async function cityFigures(db: Database, now: number): Promise<CityFigure[]> {
  const figures: CityFigure[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    const sample = await findLatestSample(db, systemId);
    if (sample === undefined || now - sample.at.getTime() > FRESH_MS) continue;
    const { available, reserved, on_trip, disabled, missing, online, empty, full, offline } = sample;
    const add = (of: CityFigure["of"], states: Readonly<Record<string, number | null>>) => {
      for (const [state, n] of Object.entries(states)) if (n !== null) figures.push({ systemId, of, state, n });
    };
    add("bikes", { available, reserved, on_trip, disabled, missing });
    add("stations", { online, empty, full, offline });
    add("rides started", { "": await countStartedInHour(db, systemId, new Date(now)) });
  }
  return figures;
}
