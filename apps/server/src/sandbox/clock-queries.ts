import type { Transaction } from "../storage/db/database.ts";
import { CHANGED, updatedAt } from "../storage/db/sql-fragments.ts";
import { statement } from "../storage/db/statement.ts";
import { SETTLE_MS } from "../webhooks/thresholds.ts";

/** SQL for a due time that comes `$3` seconds sooner. A time that would be past becomes `$2`, the present. */
const nearer = (column: string) => `greatest(${column} - $3::int * interval '1 s', $2::timestamptz)`;

/**
 * Statements that let `$3` seconds pass in a system. They move due times nearer (`nearer`), and move back the past
 * times from which the service computes when something is due. Two have a condition with `$2` that always holds,
 * because PostgreSQL rejects a parameter that a statement does not use. A delivery with a `claim` is being sent now.
 * `updatedAt` and `CHANGED` show the change to callers that follow the list.
 */
const passTime = {
  reservations: `update reservations set expires_at = greatest(${nearer("expires_at")}, created_at + interval '1 ms'),
      ${updatedAt("reservations", "$2")}, ${CHANGED}
    where system_id = $1 and status = 'active' and expires_at > $2`,
  webhook_queue: `update webhook_queue set due_at = ${nearer("due_at")} where system_id = $1 and claim is null and due_at > $2`,
  webhook_secrets: `update webhook_secrets set expires_at = ${nearer("expires_at")} where system_id = $1 and expires_at > $2`,
  webhook_station_notices: `update webhook_station_notices set notified_at = notified_at - $3::int * interval '1 s'
    where system_id = $1 and notified_at <= $2::timestamptz + interval '1 day'`,
  rider_alerts: `update rider_alerts set ends_at = ${nearer("ends_at")} where system_id = $1 and ended_at is null and ends_at > $2`,
  idempotency_keys: `update idempotency_keys set created_at = created_at - $3::int * interval '1 s'
    where system_id = $1 and created_at <= $2::timestamptz + interval '1 day'`,
  // Each time alone: a key that was rotated may have no expiry, and an expired one stays so.
  keys: `update keys set expires_at = case when expires_at > $2 then ${nearer("expires_at")} else expires_at end,
      revoked_at = case when revoked_at > $2 then ${nearer("revoked_at")} else revoked_at end
    where system_id = $1 and (expires_at > $2 or revoked_at > $2)`,
  // `rides_at`: the next simulated ride is due now.
  sandboxes: "update sandboxes set advanced_seconds = advanced_seconds + $3::int, rides_at = $2 where system_id = $1",
};

/**
 * SQL: the new time at which the event of a crossing is due: `$2` seconds sooner, but at most SETTLE_MS ago. A crossing
 * is a station that is below a threshold; its event is due when the threshold's minutes are over.
 */
const crossingDueAt = `greatest(due_at - $2::int * interval '1 s', now() - interval '${SETTLE_MS} ms')`;

/** Like `passTime`, but `$2` is the number of seconds, for times that are compared with PostgreSQL's clock. */
const passDatabaseTime = {
  // Moves `below_since` by as much as `due_at`, so that the time between them stays.
  webhook_threshold_states: `update webhook_threshold_states
    set below_since = below_since - (due_at - ${crossingDueAt}), due_at = ${crossingDueAt} where system_id = $1 and due_at > now()`,
  // Locks lanes in the order in which dispatchers lock them (`inLockOrder`).
  webhook_lanes: `with counted as materialized (
      select endpoint_id from webhook_lanes where system_id = $1 and hour_ends_at > now()
      order by endpoint_id for no key update)
    update webhook_lanes lane set hour_ends_at = hour_ends_at - $2::int * interval '1 s'
    from counted where lane.system_id = $1 and lane.endpoint_id = counted.endpoint_id`,
};

const statements = Object.entries(passTime).map(([table, text]) => statement(`sandboxClock.${table}`, text));
const databaseStatements = Object.entries(passDatabaseTime).map(([table, text]) =>
  statement(`sandboxClock.${table}`, text),
);

/** Lets `seconds` pass for everything in a sandbox that is due by a stored time, except faults and rides. */
export async function updateTimePassed(tx: Transaction, systemId: string, now: Date, seconds: number): Promise<void> {
  for (const each of statements) await tx.query(each, [systemId, now, seconds]);
  for (const each of databaseStatements) await tx.query(each, [systemId, seconds]);
}
