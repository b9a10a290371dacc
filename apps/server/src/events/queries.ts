import type { Queryable } from "../db/database.ts";
import type { Reader } from "../db/pipeline.ts";
import { onlyRow } from "../db/rows.ts";
import { type Statement, statement } from "../db/statement.ts";
import { type FetchSize, joinRows } from "../lists/rows.ts";
import type { DayCount, EventPosition, EventViewer } from "./event.ts";

/** What runs a statement: the pipelined reader for what is quick, the pool for what may take long. */
type Run = <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>;

/** The statement on the pipelined reader. */
export function quickly(reader: Reader): Run {
  return (text, values) => reader.read(text, values);
}

/** The statement on the pool, where it holds up nobody else. */
export function patiently(db: Queryable): Run {
  return (text, values) => db.query(text, values);
}

/** Rows of a slice, and the position of the last that the page shows; null when the page is not full. */
export interface EventRows {
  readonly rows: string | null;
  readonly last_day: string | null;
  readonly last_position: number | null;
}

const wire = `'{"id":' || to_json(id) || ',"event":"' || name
  || '","occurred_at":"' || to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  || '","data":' || data || '}'`;

/** $2: the names that may be seen; $3: the partner who looks. */
const visible = "name = any($2::text[]) and (partner_id is null or partner_id = $3)";

// Wire forms are made outside the step that skips, or the skipped events' would be made too.
const slice = (size: FetchSize) =>
  statement(
    `events.slice.${size}`,
    `with page as materialized (
       select recorded_on, position, ${wire} as wire
       from (select * from events
             where system_id = $1 and ${visible}
               and recorded_on >= $4::date and (recorded_on, position) > ($4::date, $5::bigint)
             order by recorded_on, position offset $6::bigint limit ${size}) as found),
     last as (select recorded_on, position from page offset $7::bigint - 1 limit 1)
     select (${joinRows("select wire from page")}) as rows,
       (select recorded_on from last) as last_day, (select position from last) as last_position`,
  );

const dayCounts = statement(
  "events.dayCounts",
  `select recorded_on as day, sum(n)::bigint as n from event_counts
   where system_id = $1 and name = any($2::text[]) and partner_id in ('', $3) and recorded_on > $4::date
   group by recorded_on order by recorded_on`,
);

const restOfDay = statement(
  "events.restOfDay",
  `select count(*) as n from events where system_id = $1 and ${visible} and recorded_on = $4::date and position > $5::bigint`,
);

const positionById = statement(
  "events.positionById",
  `select recorded_on as day, position from events where system_id = $1 and id = $4 and ${visible} limit 1`,
);

const byId = statement(
  "events.byId",
  `select ${wire} as wire from events where system_id = $1 and id = $4 and ${visible} limit 1`,
);

/** Which events to read: those behind `after`, without the first `skip` of them. */
export interface EventRange {
  readonly after: EventPosition;
  readonly skip: number;
  /** Events that the page shows. */
  readonly limit: number;
  /** Events to fetch: more than the page shows. */
  readonly size: FetchSize;
}

/** Events in a range, in their order. */
export async function readEvents(run: Run, systemId: string, viewer: EventViewer, range: EventRange): Promise<EventRows> {
  const { after, skip, limit, size } = range;
  const values = [systemId, viewer.names, viewer.partnerId, after.day, after.position, skip, limit];
  return onlyRow(await run<EventRows>(slice(size), values));
}

/** How many events each day after `day` has, in their order: from the kept numbers. */
export function readDayCounts(reader: Reader, systemId: string, viewer: EventViewer, day: string): Promise<DayCount[]> {
  return reader.read<DayCount>(dayCounts, [systemId, viewer.names, viewer.partnerId, day]);
}

/** How many events follow a position on its day: counted one by one. */
export async function countRestOfDay(db: Queryable, systemId: string, viewer: EventViewer, after: EventPosition): Promise<number> {
  const values = [systemId, viewer.names, viewer.partnerId, after.day, after.position];
  return onlyRow(await db.query<{ n: number }>(restOfDay, values)).n;
}

/** Where an event stands; undefined when there is none, or none that the viewer may see. */
export async function findPosition(
  reader: Reader,
  systemId: string,
  viewer: EventViewer,
  id: string,
): Promise<EventPosition | undefined> {
  return (await reader.read<EventPosition>(positionById, [systemId, viewer.names, viewer.partnerId, id]))[0];
}

/** One event's wire form. */
export async function readEvent(reader: Reader, systemId: string, viewer: EventViewer, id: string): Promise<string | undefined> {
  return (await reader.read<{ wire: string }>(byId, [systemId, viewer.names, viewer.partnerId, id]))[0]?.wire;
}
