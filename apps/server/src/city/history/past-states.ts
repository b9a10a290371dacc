import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { FLAG_UNITS, OFFLINE_REASONS, STATUSES } from "./changes-state.rules.ts";
import { insertMarksBetween } from "./sums-queries.ts";

const columns = columnsOfTable("station_changes").without("system_id", "changed_on");

const insert = statement(
  "history.insertPast",
  `insert into station_changes (system_id, changed_on, ${columns.list()})
   select $1, (w.at at time zone 'UTC')::date, ${columns.list("w")} from ${columns.unnest(2, "w")}
   order by w.station_id, w.at`,
);

const extend = statement(
  "history.extendPast",
  "update stations set known_since = least(known_since, $2::timestamptz) where system_id = $1",
);

const deleteCreationRows = statement(
  "history.deleteCreation",
  `delete from station_changes using stations
   where station_changes.system_id = $1 and stations.system_id = $1 and stations.id = station_changes.station_id
     and station_changes.at >= $2::timestamptz and station_changes.at < stations.state_since`,
);

/** How a station with docks was from an instant on, before it was created here. */
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
 * Records how a system's stations were in a period before they were created here. Later periods come first, and leave no
 * gap between one another.
 * @param states of the period, with every station's state at its beginning
 */
export async function recordPastStates(
  tx: Transaction,
  systemId: string,
  states: readonly PastState[],
  { since, until }: { readonly since: Date; readonly until: Date },
): Promise<void> {
  const rows = withMonths(states).map(
    ({
      stationId,
      at,
      bikes,
      docks,
      byType,
      isOffline,
    }): Omit<Tables["station_changes"], "system_id" | "changed_on"> => ({
      ...{ station_id: stationId, at: new Date(at), bikes, docks, by_type: JSON.stringify(byType) },
      ...{ reserved: 0, disabled: 0, docks_disabled: null, flags: isOffline ? OFFLINE_FLAGS : ONLINE_FLAGS },
    }),
  );
  await tx.query(insert, [systemId, ...columns.arrays(rows)]);
  await tx.query(extend, [systemId, since]);
  await insertMarksBetween(tx, systemId, since, until);
}

/** Adds each station's state at the beginning of each month in the period: a read looks no further back. */
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
  // Of two at the same instant the later one stays.
  return [...new Map(all.map((state) => [`${state.at} ${state.stationId}`, state])).values()];
}

function monthAfter(instant: number): number {
  const date = new Date(instant);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** Deletes how a system's stations were created since an instant, except for the state that this led to: their past leads up to it. */
export async function deleteCreation(tx: Transaction, systemId: string, since: Date): Promise<void> {
  await tx.query(deleteCreationRows, [systemId, since]);
}
