import type { Transaction } from "../../storage/db/database.ts";
import { FLAG_UNITS, OFFLINE_REASONS, STATUSES } from "./changes-state.rules.ts";
import { insertPastStates, type RecordedState } from "./past-states-queries.ts";
import { insertMarksBetween } from "./sums-queries.ts";

// Records the invented past of the demo's city, so that its history and sums do not begin empty.

/** The invented state of a station with docks from an instant on, before the station was created here. */
export interface PastState {
  readonly stationId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bikes: number;
  readonly docks: number;
  /** Vehicle types and how many bikes each has, in turn, in the order of the types. */
  readonly byType: readonly (string | number)[];
  readonly isOffline: boolean;
}

const ALL_SET = FLAG_UNITS.is_installed + FLAG_UNITS.is_renting + FLAG_UNITS.is_returning;
const positionOf = <Value>(values: readonly Value[], value: Value) => values.indexOf(value) + 1;
const ONLINE_FLAGS = ALL_SET + FLAG_UNITS.status * positionOf(STATUSES, "online");
const OFFLINE_FLAGS =
  ALL_SET +
  FLAG_UNITS.status * positionOf(STATUSES, "offline") +
  FLAG_UNITS.offline_reason * positionOf(OFFLINE_REASONS, "operator");

/**
 * Records the invented states of the demo city's stations in a period before they were created here. Each call moves
 * the beginning of the stations' history back to `since`. So call it for the latest period first, and leave no gap
 * between periods.
 * @param states of the period, with every station's state at its beginning
 */
export async function recordPastStates(
  tx: Transaction,
  systemId: string,
  states: readonly PastState[],
  { since, until }: { readonly since: Date; readonly until: Date },
): Promise<void> {
  const rows = withMonths(states).map(({ stationId, at, bikes, docks, byType, isOffline }): RecordedState => ({
    station_id: stationId,
    at: new Date(at),
    bikes,
    reserved: 0,
    disabled: 0,
    docks,
    docks_disabled: null,
    flags: isOffline ? OFFLINE_FLAGS : ONLINE_FLAGS,
    by_type: JSON.stringify(byType),
  }));
  await insertPastStates(tx, systemId, rows, since);
  // The sums of these hours, such as bikes by hour, are made from the states later.
  await insertMarksBetween(tx, systemId, { from: since, to: until, summedTo: null });
}

/** Adds each station's state at the beginning of each month in the period, because a read looks only into one month. */
function withMonths(states: readonly PastState[]): PastState[] {
  const ordered = states.toSorted((a, b) => a.at - b.at);
  const latest = new Map<string, PastState>();
  const all: PastState[] = [];
  let nextMonth = monthAfter(ordered[0]?.at ?? 0);
  for (const state of ordered) {
    for (; state.at >= nextMonth; nextMonth = monthAfter(nextMonth))
      for (const before of latest.values()) all.push({ ...before, at: nextMonth });
    latest.set(state.stationId, state);
    all.push(state);
  }
  // Of two states at the same instant, the last in the list stays.
  return [...new Map(all.map((state) => [`${state.at} ${state.stationId}`, state])).values()];
}

function monthAfter(instant: number): number {
  const date = new Date(instant);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

export { deleteStatesSinceButNewest } from "./past-states-queries.ts";
