import type { Transaction } from "../../storage/db/database.ts";
import type { ReadPool } from "../../storage/db/read-pool.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";

/*
 * The statements with which clients follow the changes of a list. Each change of a row gives the row a new change position
 * (microseconds since 1970), which orders the changes. A client reads changes only up to a horizon (`Horizon`), because a
 * transaction that is still open may yet add changes at earlier positions. See docs/decisions/changes.md.
 */

/** The table of a list whose changes can be followed. */
export type FollowedTable = "stations" | "bikes" | "rides" | "reservations";

/** The position up to which the changes of a table are complete, for all systems. */
export interface Horizon {
  /** Every change before this position is committed and visible, or never will be. */
  readonly position: number;
  /** The database's clock, as a position. */
  readonly now: number;
  /** A transaction with an unknown start time is writing the table: `position` is meaningless. */
  readonly isUncertain: boolean;
  /** The id of the history of writes: it changes after a restore and after a failover. */
  readonly history: string;
}

/** The state of a list's changes. */
export interface ChangeState {
  /** The position of the newest change; null: none was recorded. */
  readonly newest: number | null;
  /** The number of times that rows were deleted without a trace. */
  readonly resets: number;
  /** The system's node has prepared transactions: their changes are not visible until they are committed. */
  readonly hasPrepared: boolean;
}

/**
 * Microseconds that a horizon stays behind the start of the oldest writing transaction, or behind the present if there is
 * none, in case the database's clock is set back or the clock of a new primary is behind.
 */
const CLOCK_MARGIN_US = 1_000_000;

const microseconds = (instant: string) => `(extract(epoch from ${instant}) * 1000000)::bigint`;

/**
 * The lock modes of writers. A transaction that writes a table holds such a lock from before it computes the position of a
 * change until the change is visible, also while it is prepared or waits for a synchronous replica. A transaction without
 * such a lock computes its positions later. Each holder's transaction began before its first position.
 */
const WRITING = "('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

/*
 * PostgreSQL reads locks and sessions one after the other, in either order, and not in one snapshot. A writer that ends
 * between the two is harmless: its changes are visible by then. A writer that begins between them begins after the
 * statement, whose time bounds the position. The start of a writer is unknown if its transaction is prepared (a lock
 * without a pid), if its session is another role's (without a state), or if its session does not track activities
 * (`disabled`): then the horizon is uncertain. A session with another state and without `xact_start` has ended its
 * transaction.
 *
 * The id of the history consists of the cluster's id, the database's id, and the timeline: the first 8 digits of the name of
 * a WAL file.
 */
const horizon = (table: FollowedTable): Statement =>
  statement(
    `changes.horizon.${table}`,
    `select ${microseconds("least(statement_timestamp(), min(session.xact_start))")} - ${CLOCK_MARGIN_US} as position,
       ${microseconds("statement_timestamp()")} as now,
       coalesce(bool_or(held.pid is null
         or (session.pid is not null and session.xact_start is null and coalesce(session.state, 'disabled') = 'disabled')),
         false) as "isUncertain",
       (select system_identifier from pg_control_system()) || '.' || (select oid from pg_database where datname = current_database())
         || '.' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as history
     from pg_locks held left join pg_stat_activity session on session.pid = held.pid
     where held.locktype = 'relation' and held.database = (select oid from pg_database where datname = current_database())
       and held.relation in (${writtenWith(table)
         .map((name) => `'${name}'::regclass`)
         .join(", ")})
       and held.mode in ${WRITING}`,
  );

/** Returns the tables that hold the changes of a list. */
function writtenWith(table: FollowedTable): readonly string[] {
  return table === "bikes" ? ["bikes", "removed_bikes"] : [table];
}

// Rows that have not changed since positions exist have position 0. The condition also selects the partial index.
const newestOf = (table: string, whose: string) =>
  `(select change_position from ${table} where system_id = $1${whose} and change_position > 0
    order by change_position desc limit 1)`;

// `placed_systems` sends the statement to the system's node. `$2 is not null` is always true: PostgreSQL cannot infer the
// type of a parameter that a statement does not use.
const state = (table: FollowedTable): Statement => {
  const newest = writtenWith(table).map((name) =>
    newestOf(name, table === "reservations" ? " and partner_id = $2" : ""),
  );
  return statement(
    `changes.state.${table}`,
    `select greatest(${newest.join(", ")}) as newest, has_prepared_transactions() as "hasPrepared",
       coalesce((select n from change_resets where system_id = $1 and list = '${table}'), 0) as resets
     from placed_systems where system_id = $1 and $2::text is not null`,
  );
};

// The default of `change_position` gives the new position, also when the row exists: `excluded` contains the default.
const insertRemoved = statement(
  "changes.insertRemovedBikes",
  `insert into removed_bikes (system_id, id)
   select placed.system_id, w.id from ${rowsOfSystem("unnest($2::text[]) as w (id)")}
   on conflict (system_id, id) do update set change_position = excluded.change_position`,
);

const deletePastRemoved = statement(
  "changes.deletePastRemovedBikes",
  `with past as (
     select id, change_position from removed_bikes where system_id = $1 and change_position < ${microseconds("$2::timestamptz")}
     order by change_position limit $3),
   deleted as (
     delete from removed_bikes where system_id = $1 and id = any(array(select id from past))
       and change_position < ${microseconds("$2::timestamptz")} returning 1)
   select count(*) as n from deleted`,
);

const reset = statement(
  "changes.reset",
  `insert into change_resets (system_id, list, n) values ($1, $2, 1)
   on conflict (system_id, list) do update set n = change_resets.n + 1`,
);

/** Returns the position up to which the changes of a table are complete. Call it before the rows are read. */
export async function findHorizon(primary: ReadPool, table: FollowedTable): Promise<Horizon> {
  return oneRow(await primary.read<Horizon>(horizon(table), []));
}

/** Returns the state of a list's changes. @param partnerId the owner of the reservations */
export async function findChangeState(
  primary: ReadPool,
  table: FollowedTable,
  systemId: string,
  partnerId: string,
): Promise<ChangeState> {
  return oneRow(await primary.read<ChangeState>(state(table), [systemId, partnerId]));
}

/** Records that bikes are about to be deleted, for clients that follow the bikes. */
export async function insertRemovedBikes(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(insertRemoved, [systemId, ids]);
}

/** Deletes the records of bikes that were deleted before an instant. @returns how many */
export async function deletePastRemovedBikes(
  db: Pick<Transaction, "query">,
  systemId: string,
  before: Date,
  limit: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(deletePastRemoved, [systemId, before, limit])).n;
}

/** Records that rows of a list were deleted without a trace, so that clients which follow the list begin anew. */
export async function updateResets(tx: Transaction, systemId: string, list: FollowedTable): Promise<void> {
  await tx.query(reset, [systemId, list]);
}
