import type { Station, StationAt, StationHistory } from "../json-types.generated.ts";
import type { Values } from "./parameters.ts";
import { foldHistory, readHistoryRange, readInstantOfHistory, serviceError, type RecordedState } from "./rules.ts";

/** The stations of a fake, with their past states. Each call of `set` records a state. */
export class RecordedStations<Recorded extends { readonly shown: Station }> extends Map<string, Recorded> {
  readonly #now: () => number;
  /** The states of each station, oldest first. */
  readonly #past = new Map<string, { readonly at: number; readonly shown: Station }[]>();

  constructor(now: () => number) {
    super();
    this.#now = now;
  }

  override set(id: string, station: Recorded): this {
    const past = this.#past.get(id) ?? [];
    this.#past.set(id, past);
    past.push({ at: this.#now(), shown: station.shown });
    return super.set(id, station);
  }

  /** Returns when the first station was set; Infinity: none was set. */
  begins(): number {
    return Math.min(...[...this.#past.values()].flatMap(([first]) => first?.at ?? []));
  }

  /**
   * Returns the stations as they were at an instant, but with their present names, positions, addresses, regions and
   * capacities.
   * @throws ServiceError `outside_history`
   */
  at(text: string): StationAt[] {
    const instant = readInstantOfHistory(text, this.#now());
    const begins = this.begins();
    if (instant < begins && begins < Infinity)
      throw serviceError("outside_history", "before", { at: text, begins: new Date(begins).toISOString() });
    return [...this.values()].flatMap(({ shown: { name, short_name, lat, lon, address, region_id, capacity, id } }) => {
      const then = this.#past.get(id)?.findLast(({ at }) => at <= instant)?.shown;
      if (then === undefined) return [];
      const described = { name, short_name, lat, lon, address, region_id, capacity };
      return [{ ...then, ...described, last_reported: null, as_of: new Date(instant).toISOString() }];
    });
  }

  /** Returns a station's history, with days in UTC. @throws ServiceError `not_found`, `invalid_parameter` */
  history(id: string, query: Values): StationHistory {
    const past = this.#past.get(id);
    if (past === undefined) throw serviceError("not_found", "station");
    const { step, bounds } = readHistoryRange(query, "UTC", this.#now());
    const fold = foldHistory(bounds);
    fold.add(
      past.map(({ at, shown: { num_bikes_available: bikes, num_docks_available: docks, status } }): RecordedState => ({
        at,
        bikes,
        docks,
        isOnline: status === "online",
      })),
    );
    return { station_id: id, step, time_zone: "UTC", data: fold.finish(this.#now()) };
  }
}
