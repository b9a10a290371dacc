import type { Queryable } from "../storage/db/database.ts";
import { oneRow } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";

const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

// Ids of events sort by the time at which they were recorded, so that the index of ids is one by time. An event is numbered
// on the day on which it was recorded, or soon after. The data begin with the resource's id.
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

/** An event of a resource. */
export interface ResourceEventRow {
  readonly id: string;
  readonly name: string;
  /** When it happened, RFC 3339. */
  readonly at: string;
}

/** Which events are looked at: those with ids from `first` to before `end`, numbered on certain days. */
export interface EventWindow {
  readonly first: string;
  readonly end: string;
  readonly firstDay: string;
  readonly lastDay: string;
}

/** How many events were looked at, and those of the resource. */
export interface WindowEvents {
  readonly scanned: number;
  readonly events: readonly ResourceEventRow[];
}

/** The events of a resource in a window. @param limit events that are looked at, whichever resource's */
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

/** The events with these ids that are kept. */
export function listEventsByIds(db: Queryable, systemId: string, ids: readonly string[]): Promise<ResourceEventRow[]> {
  return db.query<ResourceEventRow>(listByIds, [systemId, ids]);
}
