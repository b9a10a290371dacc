import type { Queryable, Transaction } from "../storage/db/database.ts";
import { oneRow } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";

/** Selects events whose numbering failed: they are numbered apart from the others. */
const apart = "select unit from work_failures where system_id = $1 and work = 'number-event'";

const isWaiting = statement(
  "sequencer.isWaiting",
  `select exists (select from event_outbox where system_id = $1 and id <> all(array(${apart}))) as waiting,
     exists (${apart} and due_at <= now()) as has_due`,
);

const list = statement(
  "sequencer.list",
  "select id from event_outbox where system_id = $1 and id <> all($3::text[]) order by id limit $2",
);

const begin = statement(
  "sequencer.begin",
  "insert into event_sequences (system_id, last_position) values ($1, 0) on conflict (system_id) do nothing",
);

const lock = statement("sequencer.lock", "select last_position from event_sequences where system_id = $1 for update");

/*
 * Takes events in the order of their ids, which the index has. It locks them, so that removing a rider from an event comes
 * before or after its move. It reads the day after it has the sequence's lock, so that it includes the last holder's
 * writes.
 */
const take = statement(
  "sequencer.take",
  `select id, greatest($2::date, (select max(recorded_on) from event_counts where system_id = $1))::text as recorded_on
   from event_outbox
   where system_id = $1 and id = any(coalesce($4::text[], array(
     select id from event_outbox where system_id = $1 and id <> all(array(${apart})) order by id limit $3)))
   order by id for update`,
);

/*
 * Places events in the order in which they happened. No step reads the result of another: a distributed database would send
 * that to every machine, and so fail while one is unavailable. It executes the steps in this order, so the outbox is
 * emptied last.
 */
const move = statement(
  "sequencer.move",
  `with placed as (
     insert into events (system_id, recorded_on, position, id, name, occurred_at, partner_id, data)
     select system_id, $3::date, $2::bigint + row_number() over (order by occurred_at, id),
       id, name, occurred_at, partner_id, data
     from event_outbox where system_id = $1 and id = any($4::text[])),
   counted as (
     insert into event_counts (system_id, recorded_on, name, partner_id, n)
     select system_id, $3::date, name, coalesce(partner_id, ''), count(*)
     from event_outbox where system_id = $1 and id = any($4::text[]) group by system_id, name, coalesce(partner_id, '')
     on conflict (system_id, recorded_on, name, partner_id) do update set n = event_counts.n + excluded.n),
   removed as (delete from event_outbox where system_id = $1 and id = any($4::text[])),
   advanced as (
     update event_sequences set last_position = $2::bigint + cardinality($4::text[]) where system_id = $1)
   select`,
);

/** Tells whether the outbox holds committed events of a system, and whether some that failed are to be tried again. */
export async function findWhetherEventsWait(
  db: Queryable,
  systemId: string,
): Promise<{ readonly waiting: boolean; readonly has_due: boolean }> {
  return oneRow(await db.query<{ waiting: boolean; has_due: boolean }>(isWaiting, [systemId]));
}

/** Events that wait for their position. @param apartIds those to leave out */
export async function listWaitingEvents(
  db: Queryable,
  systemId: string,
  limit: number,
  apartIds: readonly string[],
): Promise<string[]> {
  return (await db.query<{ id: string }>(list, [systemId, limit, apartIds])).map(({ id }) => id);
}

/** Locks a system's sequence. @returns its last position */
export async function lockSequence(tx: Transaction, systemId: string): Promise<number> {
  const [found] = await tx.query<{ last_position: number }>(lock, [systemId]);
  if (found !== undefined) return found.last_position;
  await tx.query(begin, [systemId]);
  return oneRow(await tx.query<{ last_position: number }>(lock, [systemId])).last_position;
}

/**
 * Moves committed events of a system from the outbox to the positions after `last`.
 * @param today the day to record them on, unless a later one is on record
 * @param which so many at most, or those of these ids
 * @returns the last position now
 */
export async function insertEventsFromOutbox(
  tx: Transaction,
  systemId: string,
  last: number,
  today: string,
  which: number | readonly string[],
): Promise<number> {
  const [limit, chosen] = typeof which === "number" ? [which, null] : [which.length, which];
  const taken = await tx.query<{ id: string; recorded_on: string }>(take, [systemId, today, limit, chosen]);
  const [first] = taken;
  if (first === undefined) return last;
  const ids = taken.map(({ id }) => id);
  await tx.query(move, [systemId, last, first.recorded_on, ids]);
  return last + ids.length;
}
