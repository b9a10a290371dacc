import type { Station, Threshold } from "@bikeshare/contract";

/*
 * The rules that say when a station crosses a threshold ("fewer than n bikes, or docks, for m minutes"). `thresholds.ts` and
 * the preview of an endpoint both apply these rules to a station's history, so that the preview counts the events that would
 * have been sent.
 */

/** How a station is, compared with a threshold: `unknown` while it is not online, or does not publish the count. */
type Level = "below" | "enough" | "unknown";

/**
 * A station that is below a threshold, from its first moment below until it has enough again. Instants are milliseconds
 * since 1970.
 */
export interface Crossing {
  readonly belowSince: number;
  /** When `station.below_threshold` is due, if the station stays below until then; null: the event was recorded. */
  readonly dueAt: number | null;
}

/** An event that a crossing causes. Instants are milliseconds since 1970. */
export interface CrossingEvent {
  readonly name: "station.below_threshold" | "station.back_to_normal";
  readonly at: number;
  readonly belowSince: number;
}

/** A change of a station, as its history has it. */
export interface StationState {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bikes: number;
  /** Null: the station does not publish its docks. */
  readonly docks: number | null;
  readonly isOnline: boolean;
}

/**
 * Parses a station's history, as statements return it: four values for each change, all separated by commas:
 * milliseconds since 1970, bikes, docks (or `null`) and 1 if the station is online. Null: there is no change.
 */
export function readHistory(numbers: string | null): StationState[] {
  const values = numbers === null ? [] : numbers.split(",");
  const states: StationState[] = [];
  for (let index = 0; index + 3 < values.length; index += 4) {
    const [at, bikes, docks, online] = values.slice(index, index + 4);
    states.push({
      at: Number(at),
      bikes: Number(bikes),
      docks: docks === "null" ? null : Number(docks),
      isOnline: online === "1",
    });
  }
  return states;
}

/** Tells whether a station's JSON fits an event of a threshold: below it, or enough again. */
export function fitsEvent(
  threshold: Pick<Threshold, "count" | "fewer_than">,
  name: CrossingEvent["name"],
  json: string,
): boolean {
  const station = JSON.parse(json) as Pick<Station, "num_bikes_available" | "num_docks_available" | "status">;
  const state = {
    bikes: station.num_bikes_available,
    docks: station.num_docks_available,
    isOnline: station.status === "online",
  };
  return levelOf(threshold, state) === (name === "station.below_threshold" ? "below" : "enough");
}

function levelOf(
  { count, fewer_than: limit }: Pick<Threshold, "count" | "fewer_than">,
  state: Omit<StationState, "at">,
): Level {
  const counted = state[count];
  if (!state.isOnline || counted === null) return "unknown";
  return counted < limit ? "below" : "enough";
}

/**
 * Follows a station through changes, oldest first, up to an instant.
 *
 * Before its `station.below_threshold`, a crossing ends when the station is no longer known to be below. After that event,
 * it ends only when the station has enough again: a station that is offline is not back to normal.
 * @param before the crossing at the first change; undefined: none
 * @param until events that are due by then are returned, unless a change prevents them
 */
export function followCrossing(
  threshold: Pick<Threshold, "count" | "fewer_than" | "for_minutes">,
  before: Crossing | undefined,
  changes: readonly StationState[],
  until: number,
): { readonly crossing: Crossing | undefined; readonly events: readonly CrossingEvent[] } {
  const events: CrossingEvent[] = [];
  let crossing = before;
  // Adds the `station.below_threshold` that is due by an instant, once.
  const addEventDueBy = (instant: number) => {
    if (crossing === undefined || crossing.dueAt === null || crossing.dueAt > instant) return;
    events.push({ name: "station.below_threshold", at: crossing.dueAt, belowSince: crossing.belowSince });
    crossing = { ...crossing, dueAt: null };
  };
  for (const change of changes) {
    addEventDueBy(change.at);
    const level = levelOf(threshold, change);
    if (level === "below") {
      crossing ??= { belowSince: change.at, dueAt: change.at + threshold.for_minutes * 60_000 };
    } else if (crossing !== undefined && crossing.dueAt !== null) {
      crossing = undefined;
    } else if (crossing !== undefined && level === "enough") {
      // A change that becomes known late may be earlier than the `station.below_threshold` that was recorded.
      const belowEventAt = crossing.belowSince + threshold.for_minutes * 60_000;
      events.push({
        name: "station.back_to_normal",
        at: Math.max(change.at, belowEventAt),
        belowSince: crossing.belowSince,
      });
      crossing = undefined;
    }
  }
  addEventDueBy(until);
  return { crossing, events };
}
