import type { EventName } from "@bikeshare/contract";
import { arrayOf, columnsOfTable, type RowOf } from "../storage/db/columns.ts";
import type { Queryable, QueryRunner, Transaction } from "../storage/db/database.ts";
import type { ReadPool } from "../storage/db/read-pool.ts";
import { oneRow, rowsOfSystem } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";
import { type FetchSize, fetchSize, joinRows } from "../storage/lists/page.ts";
import { insertDeliveries } from "../webhooks/queue/sql-fragments.ts";
import type { DayCount, EventPosition, EventViewer } from "./event.rules.ts";

/*
 * The statements on events: of the sequencer, of pages of the events list, of the history of one station or resource, and
 * of the outbox. An event without a `partner_id` is public. A viewer (`EventViewer`) sees the public events and its own
 * partner's events, of the names that its key allows.
 */

/** Selects the ids of events whose numbering failed. These events are numbered apart from the others. */
const apart = "select unit from work_failures where system_id = $1 and work = 'number-event'";

const isWaiting = statement(
  "sequencer.isWaiting",
  `select exists (select from event_outbox where system_id = $1 and id <> all(array(${apart}))) as waiting,
     exists (${apart} and due_at <= now()) as has_due`,
);

const listUnnumbered = statement(
  "sequencer.list",
  "select id from event_outbox where system_id = $1 and id <> all($3::text[]) order by id limit $2",
);

const begin = statement(
  "sequencer.begin",
  "insert into event_sequences (system_id, last_position) values ($1, 0) on conflict (system_id) do nothing",
);

const lock = statement("sequencer.lock", "select last_position from event_sequences where system_id = $1 for update");

/*
 * Selects the next events in the order of their ids, which an index provides. Locks the events, so that a statement
 * that removes a rider from an event runs either before or after the event is moved. The caller has locked the sequence
 * before, so the selected day takes into account what the previous holder of that lock wrote. The day is today ($2), or a
 * later one that is on record already. $4: the ids to select; null: the first $3 events, without those whose numbering failed.
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
 * Gives the events $4 the positions after $2, in the order in which they happened, on the day $3. No step of the statement
 * reads the result of another step: a distributed database would send such a result to every node, and would fail while one
 * node is unavailable. Every step reads the outbox as it was before the statement, although one step deletes the events
 * from it. The final `select` returns nothing: the steps are the statement's whole work.
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

/**
 * Looks for a system's committed events in the outbox. `waiting`: there are some whose numbering has not failed. `has_due`:
 * there are some whose numbering failed, and their retry is due.
 */
export async function findWhetherEventsWait(
  db: Queryable,
  systemId: string,
): Promise<{ readonly waiting: boolean; readonly has_due: boolean }> {
  return oneRow(await db.query<{ waiting: boolean; has_due: boolean }>(isWaiting, [systemId]));
}

/** Returns the earliest `limit` ids of events that wait for their position. @param apartIds ids of events to leave out */
export async function listWaitingEvents(
  db: Queryable,
  systemId: string,
  limit: number,
  apartIds: readonly string[],
): Promise<string[]> {
  return (await db.query<{ id: string }>(listUnnumbered, [systemId, limit, apartIds])).map(({ id }) => id);
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
 * @param which how many events at most, or the ids of the events
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

/** The rows of a page, and the day and position of the last row that the page shows; both null when it is not full. */
interface EventRows {
  /** The events' JSON, joined by `joinRows`; null: the page is empty. */
  readonly rows: string | null;
  readonly last_day: string | null;
  readonly last_position: number | null;
}

const json = `'{"id":' || to_json(id) || ',"event":"' || name
  || '","occurred_at":"' || to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  || '","data":' || data || '}'`;

/** The condition for events that a viewer may see. $2: the names of these events; $3: the viewer's partner. */
const visible = "name = any($2::text[]) and (partner_id is null or partner_id = $3)";

/*
 * Reads, for each name, the public events (the owner '') and the partner's own events (the owner $3), from an index
 * that is made for this statement (events_visible of migrations/0003_events.sql). The first events of all these are the
 * page. So the statement never reads events that the viewer may not see: skipping them takes 900 ms for one rare name
 * among 3 million events. The statement sorts by the position alone. If it sorted by day and position, PostgreSQL would
 * use the primary key while it has few statistics of a new day, and would have to skip events after all. `last` is the
 * $6th row of the page; there is none if the page is not full. $4 and $5: the day and the number of the position after which
 * it reads.
 */
const list = (size: FetchSize) =>
  statement(
    `events.list.${size}`,
    `with page as materialized (
       select found.*
       from unnest($2::text[]) as seen(name) cross join unnest(array['', $3]) as owner(id)
       cross join lateral (
         select e.recorded_on, e.position, e.id, e.name, e.occurred_at, e.data
         from events e
         where e.system_id = $1 and coalesce(e.partner_id, '') = owner.id and e.name = seen.name
           and e.recorded_on >= $4::date and e.position > $5::bigint
         order by e.position limit ${size}) as found
       order by position limit ${size}),
     last as (select recorded_on, position from page offset $6::bigint - 1 limit 1)
     select (${joinRows(`select ${json} as json from page`)}) as rows,
       (select recorded_on from last) as last_day, (select position from last) as last_position`,
  );

// Reads one day only, so that PostgreSQL gets the rows in order from the primary key, without a sort. $4 and $5: the day and
// the number of the position after which it reads, as in `between`.
const positionAfter = statement(
  "events.positionAfter",
  `select position from events
   where system_id = $1 and ${visible} and recorded_on = $4::date and position > $5::bigint
   order by position offset $6::bigint limit 1`,
);

const dayCounts = statement(
  "events.dayCounts",
  `select recorded_on as day, sum(n)::bigint as n from event_counts
   where system_id = $1 and name = any($2::text[]) and partner_id in ('', $3) and recorded_on > $4::date
   group by recorded_on order by recorded_on`,
);

const between = statement(
  "events.countBetween",
  `select count(*) as n from events
   where system_id = $1 and ${visible} and recorded_on = $4::date and position > $5::bigint and position <= $6::bigint`,
);

const bounds = statement(
  "events.boundsOfDay",
  `select (select position from events where system_id = $1 and recorded_on = $2::date order by position limit 1) as first,
     (select position from events where system_id = $1 and recorded_on = $2::date order by position desc limit 1) as last`,
);

const byBlock = statement(
  "events.countByBlock",
  `select (position - 1) / $6::bigint as block, name, count(*)::int as n
   from events
   where system_id = $1 and (partner_id is null or partner_id = $2) and recorded_on = $3::date
     and position > $4::bigint and position <= $5::bigint
   group by 1, 2`,
);

const positionById = statement(
  "events.positionById",
  `select recorded_on as day, position from events where system_id = $1 and id = $4 and ${visible} limit 1`,
);

// Reads, for each name, the public events and the partner's own events, like `list`, but only on the last day that has any.
const newest = statement(
  "events.newest",
  `select found.id
   from unnest($2::text[]) as seen(name) cross join unnest(array['', $3]) as owner(id)
   cross join lateral (
     select e.id, e.position from events e
     where e.system_id = $1 and coalesce(e.partner_id, '') = owner.id and e.name = seen.name
       and e.recorded_on = (select max(recorded_on) from event_counts
         where system_id = $1 and name = any($2::text[]) and partner_id in ('', $3))
     order by e.position desc limit 1) as found
   order by found.position desc limit 1`,
);

// Like `newest`, for all days from $4 on.
const latest = statement(
  "events.latest",
  `select found.id, found.name, found.occurred_at, found.data::jsonb ->> 'id' as resource_id
   from unnest($2::text[]) as seen(name) cross join unnest(array['', $3]) as owner(id)
   cross join lateral (
     select e.id, e.name, e.position, e.occurred_at, e.data from events e
     where e.system_id = $1 and coalesce(e.partner_id, '') = owner.id and e.name = seen.name and e.recorded_on >= $4::date
     order by e.position desc limit $5) as found
   order by found.position desc limit $5`,
);

const byId = statement(
  "events.byId",
  `select ${json} as json from events where system_id = $1 and id = $4 and ${visible} limit 1`,
);

/** Returns the first events after a position. @param limit how many of them the page shows */
export async function listEventRows(
  readPool: ReadPool,
  systemId: string,
  viewer: EventViewer,
  after: EventPosition,
  limit: number,
): Promise<EventRows> {
  const values = [systemId, viewer.names, viewer.partnerId, after.day, after.position, limit];
  return oneRow(await readPool.read<EventRows>(list(fetchSize(limit)), values));
}

/**
 * Skips `skip` visible events after a position, and returns the position of the next visible event of the same day.
 * Undefined when the day has none. Skipping 100,000 events takes 25 ms.
 */
export async function findPositionAfter(
  db: QueryRunner,
  systemId: string,
  viewer: EventViewer,
  after: EventPosition,
  skip: number,
): Promise<number | undefined> {
  const values = [systemId, viewer.names, viewer.partnerId, after.day, after.position, skip];
  return (await db.query<{ position: number }>(positionAfter, values))[0]?.position;
}

/** Returns the number of visible events on each day after `day`, in order, from the stored counts. */
export function countEventsByDay(
  readPool: ReadPool,
  systemId: string,
  viewer: EventViewer,
  day: string,
): Promise<DayCount[]> {
  return readPool.read<DayCount>(dayCounts, [systemId, viewer.names, viewer.partnerId, day]);
}

/** Counts the visible events of a day after a position up to and including the position `upto`, one by one. */
export async function countEventsBetween(
  db: QueryRunner,
  systemId: string,
  viewer: EventViewer,
  after: EventPosition,
  upto: number,
): Promise<number> {
  const values = [systemId, viewer.names, viewer.partnerId, after.day, after.position, upto];
  return oneRow(await db.query<{ n: number }>(between, values)).n;
}

/** Returns the first and the last position of a day; null when the day has no events. */
export async function findBoundsOfDay(
  db: QueryRunner,
  systemId: string,
  day: string,
): Promise<{ readonly first: number | null; readonly last: number | null }> {
  return oneRow(await db.query<{ first: number | null; last: number | null }>(bounds, [systemId, day]));
}

/** The number of events with one name in a block of consecutive positions; only events that the partner may see. */
interface BlockCount {
  readonly block: number;
  readonly name: EventName;
  readonly n: number;
}

/** Counts the events of a day after position `after` up to `upto`, by name and by block of `size` positions. */
export function countEventsByBlock(
  db: QueryRunner,
  whose: { readonly systemId: string; readonly partnerId: string },
  day: string,
  { after, upto, size }: { readonly after: number; readonly upto: number; readonly size: number },
): Promise<BlockCount[]> {
  return db.query<BlockCount>(byBlock, [whose.systemId, whose.partnerId, day, after, upto, size]);
}

/** Returns an event's position; undefined when there is no such event, or the viewer may not see it. */
export async function findPosition(
  readPool: ReadPool,
  systemId: string,
  viewer: EventViewer,
  id: string,
): Promise<EventPosition | undefined> {
  return (await readPool.read<EventPosition>(positionById, [systemId, viewer.names, viewer.partnerId, id]))[0];
}

/** Returns the id of the newest event that a viewer may see; undefined when there is none. */
export async function findNewestEvent(
  readPool: ReadPool,
  systemId: string,
  viewer: EventViewer,
): Promise<string | undefined> {
  const values = [systemId, viewer.names, viewer.partnerId];
  return (await readPool.read<{ id: string }>(newest, values))[0]?.id;
}

/** Returns an event's JSON; undefined when there is no such event, or the viewer may not see it. */
export async function findEvent(
  readPool: ReadPool,
  systemId: string,
  viewer: EventViewer,
  id: string,
): Promise<string | undefined> {
  return (await readPool.read<{ json: string }>(byId, [systemId, viewer.names, viewer.partnerId, id]))[0]?.json;
}

/** A station went offline or came back online. */
export interface StationEvent {
  readonly id: string;
  readonly name: string;
  readonly occurred_at: string;
  readonly offline_reason: string | null;
}

/** The events of one station that a search found, and how far the search went. */
interface StationEvents {
  readonly changes: readonly StationEvent[];
  /** The time back to which events of both names were searched; null: all events were searched. */
  readonly searched_to: string | null;
}

const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

// Events have no index by resource, because it would make every ride slower. So the statement uses the index by name, and
// searches the newest $3 events of each name. They are rare. A name with $3 of them may have older ones (`cut_off`).
const listHistory = statement(
  "events.ofStation",
  `with scanned as materialized (
     select found.*
     from unnest(array['station.offline', 'station.online']) as seen(name)
     cross join lateral (
       select e.id, e.name, e.position, e.occurred_at, e.data from events e
       where e.system_id = $1 and coalesce(e.partner_id, '') = '' and e.name = seen.name
       order by e.position desc limit $3) as found),
   changed as (
     select id, name, ${instant("occurred_at")} as occurred_at, data::json ->> 'offline_reason' as offline_reason, position
     from scanned where data::json ->> 'id' = $2 order by position desc limit $4)
   select (select ${instant("max(oldest_at)")}
      from (select min(occurred_at) as oldest_at from scanned group by name having count(*) >= $3) as cut_off
     ) as searched_to,
     coalesce((select json_agg(json_build_object('id', id, 'name', name, 'occurred_at', occurred_at,
       'offline_reason', offline_reason) order by position desc) from changed), '[]') as changes`,
);

/**
 * Returns when a station went offline and came back, the newest first.
 * @param scanLimit how many events of each name are searched, whichever station they are about
 */
export async function listStationEvents(
  db: Queryable,
  systemId: string,
  stationId: string,
  { scanLimit, limit }: { readonly scanLimit: number; readonly limit: number },
): Promise<StationEvents> {
  return oneRow(await db.query<StationEvents>(listHistory, [systemId, stationId, scanLimit, limit]));
}

// Event ids sort by the time at which the events were recorded, so a range of ids is a range of time. `recorded_on` is the
// day on which an event was numbered: the day of its id, or soon after. The data of an event begin with its resource's id.
const listBetween = statement(
  "events.listBetween",
  `with scanned as materialized (
     select id, name, occurred_at, data from events
     where system_id = $1 and id >= $2 and id < $3 and recorded_on between $4::date and $5::date
     order by id limit $6)
   select (select count(*)::int from scanned) as scanned,
     coalesce((select json_agg(json_build_object('id', id, 'name', name, 'at', ${instant("occurred_at")}))
               from scanned where starts_with(data, '{"id":' || to_json($7::text) || ',')), '[]') as events`,
);

const listByIds = statement(
  "events.listByIds",
  `select id, name, ${instant("occurred_at")} as at from events where system_id = $1 and id = any($2::text[])`,
);

/** An event about a resource, such as a ride. */
export interface ResourceEventRow {
  readonly id: string;
  readonly name: string;
  /** When it happened, RFC 3339. */
  readonly at: string;
}

/** Which events to search: ids from `first` to before `end`, numbered on the days from `firstDay` to `lastDay`. */
interface EventWindow {
  readonly first: string;
  readonly end: string;
  readonly firstDay: string;
  readonly lastDay: string;
}

/** The events of one resource that a search found, and how many events of all resources were searched. */
interface WindowEvents {
  readonly scanned: number;
  readonly events: readonly ResourceEventRow[];
}

/** Returns the events of a resource in a window. @param limit maximum number of events to search, of all resources */
export async function listEventsBetween(
  db: Queryable,
  systemId: string,
  resourceId: string,
  { first, end, firstDay, lastDay }: EventWindow,
  limit: number,
): Promise<WindowEvents> {
  const values = [systemId, first, end, firstDay, lastDay, limit, resourceId];
  return oneRow(await db.query<WindowEvents>(listBetween, values));
}

/** Returns the events with these ids, without those that have been deleted since. */
export function listEventsByIds(db: Queryable, systemId: string, ids: readonly string[]): Promise<ResourceEventRow[]> {
  return db.query<ResourceEventRow>(listByIds, [systemId, ids]);
}

const columns = columnsOfTable("event_outbox")
  .without("system_id")
  .and({
    is_listed: arrayOf<boolean>("boolean"),
    endpoint_id: arrayOf<string>("text"),
    station_ids: arrayOf<string>("text"),
    region_ids: arrayOf<string>("text"),
    lon: arrayOf<number>("float8"),
    lat: arrayOf<number>("float8"),
    is_everywhere: arrayOf<boolean>("boolean"),
  });

/**
 * Inserts events, and a delivery of each event for every endpoint that subscribes to it. `rowsOfSystem` joins rows from
 * parameters with `placed`, the row of the system; `insertDeliveries` returns further steps. The final `select` returns
 * nothing.
 */
const insert = statement(
  "outbox.insert",
  `with recorded as (
       insert into event_outbox (system_id, id, name, occurred_at, partner_id, data)
       select placed.system_id, id, name, occurred_at, partner_id, data
       from ${rowsOfSystem(columns.unnest(3, "event"), "is_listed")}),
     ${insertDeliveries(columns.unnest(3, "event"))}
     select`,
);

/** An event with its id and its place. `is_listed` is false for a notice, which is delivered but not listed. */
type OutboxRow = RowOf<typeof columns>;

/** Inserts events with their deliveries, and notifies listeners after the commit. */
export function insertEvents(tx: Transaction, systemId: string, now: Date, rows: readonly OutboxRow[]): void {
  tx.send(insert, [systemId, now, ...columns.arrays(rows)]);
  tx.notify("event_outbox", systemId);
}

/** An event, and the id of the resource that it is about. */
export interface LatestEvent {
  readonly id: string;
  readonly name: string;
  readonly occurred_at: Date;
  readonly resource_id: string | null;
}

/** Returns the newest `limit` events that a viewer may see, numbered on a day or later, the newest first. */
export function listLatestEvents(
  db: Queryable,
  systemId: string,
  viewer: EventViewer,
  { since, limit }: { readonly since: string; readonly limit: number },
): Promise<LatestEvent[]> {
  return db.query<LatestEvent>(latest, [systemId, viewer.names, viewer.partnerId, since, limit]);
}
