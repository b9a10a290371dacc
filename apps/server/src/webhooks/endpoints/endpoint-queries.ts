import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { IS_FOR_ENDPOINT } from "../queue/sql-fragments.ts";

/* Statements about partners' endpoints: their settings, status, health and counts of deliveries. */

const endpointFields = columnsOfTable("webhook_endpoints").without("system_id");
const endpointColumns = endpointFields.list();

/** A stored endpoint. */
export type EndpointRow = RowOf<typeof endpointFields>;
/** The settings of an endpoint. */
export type EndpointColumns = Pick<
  EndpointRow,
  "name" | "url" | "events" | "email" | "signature" | "station_ids" | "region_ids" | "bbox" | "max_per_hour"
>;
type PauseReason = NonNullable<EndpointRow["pause_reason"]>;

const all = statement(
  "endpoints.all",
  `select ${endpointColumns} from webhook_endpoints where system_id = $1 order by id`,
);
const ofPartner = statement(
  "endpoints.ofPartner",
  `select ${endpointColumns} from webhook_endpoints where system_id = $1 and partner_id = $2 order by slot`,
);
const byId = statement(
  "endpoints.byId",
  `select ${endpointColumns} from webhook_endpoints where system_id = $1 and id = $2`,
);
const lock = statement(
  "endpoints.lock",
  `select ${endpointColumns} from webhook_endpoints where system_id = $1 and id = $2 for update`,
);

/** Lists every endpoint of a system. */
export function listEndpoints(db: Queryable, systemId: string): Promise<EndpointRow[]> {
  return db.query<EndpointRow>(all, [systemId]);
}

/** Lists a partner's endpoints, removed ones too, in the order of their slots. */
export function listEndpointsOf(db: Queryable, systemId: string, partnerId: string): Promise<EndpointRow[]> {
  return db.query<EndpointRow>(ofPartner, [systemId, partnerId]);
}

/** Returns an endpoint, also a removed one. */
export async function findEndpoint(db: Queryable, systemId: string, id: string): Promise<EndpointRow> {
  return oneRow(await db.query<EndpointRow>(byId, [systemId, id]));
}

/** Returns an endpoint, and locks its row until the transaction ends. */
export async function lockEndpoint(tx: Transaction, systemId: string, id: string): Promise<EndpointRow> {
  return oneRow(await tx.query<EndpointRow>(lock, [systemId, id]));
}

const newColumns = endpointFields.without("pause_reason", "paused_at");
const insertRow = statement(
  "endpoints.insert",
  `insert into webhook_endpoints (system_id, ${newColumns.list()})
   select $1, ${newColumns.list()} from ${newColumns.recordset(2, "made")}
   on conflict do nothing
   returning ${endpointColumns}`,
);
const insertLane = statement(
  "endpoints.insertLane",
  `insert into webhook_lanes (system_id, endpoint_id) values ($1, $2) on conflict (system_id, endpoint_id) do nothing`,
);

/**
 * Inserts an endpoint with its lane, the row by which one worker at a time sends its deliveries.
 * @returns undefined when its slot (its number among the partner's endpoints), its name, or its tag, which ends the ids
 * of its deliveries, is taken
 */
export async function insertEndpoint(
  tx: Transaction,
  systemId: string,
  made: RowOf<typeof newColumns>,
): Promise<EndpointRow | undefined> {
  const [row] = await tx.query<EndpointRow>(insertRow, [systemId, JSON.stringify([made])]);
  if (row !== undefined) await tx.query(insertLane, [systemId, row.id]);
  return row;
}

const update = statement(
  "endpoints.update",
  `update webhook_endpoints
   set url = $3, events = $4, email = $5, signature = $6, updated_at = $7, name = $8,
     station_ids = $9, region_ids = $10, bbox = $11, max_per_hour = $12,
     status = case when pause_reason = 'removed' then 'active' else status end,
     paused_at = case when pause_reason is distinct from 'removed' then paused_at end,
     pause_reason = nullif(pause_reason, 'removed')
   where system_id = $1 and id = $2 returning ${endpointColumns}`,
);

/** Changes an endpoint's settings. Activates a removed one; otherwise the status stays. */
export async function updateEndpoint(
  tx: Transaction,
  systemId: string,
  id: string,
  { name, url, events, email, signature, station_ids, region_ids, bbox, max_per_hour }: EndpointColumns,
  now: Date,
): Promise<EndpointRow> {
  const places = [station_ids, region_ids, bbox];
  const values = [systemId, id, url, events, email, signature, now, name, ...places, max_per_hour];
  return oneRow(await tx.query<EndpointRow>(update, values));
}

const remove = statement(
  "endpoints.remove",
  `update webhook_endpoints
   set status = 'paused', pause_reason = 'removed', paused_at = $4, updated_at = $4, url = $3, events = '{}', email = null,
     station_ids = null, region_ids = null, bbox = null, max_per_hour = null
   where system_id = $1 and id = $2 returning ${endpointColumns}`,
);
/**
 * Marks an endpoint as removed, and deletes the data that its log does not need.
 * @param url an address that leads nowhere
 */
export async function updateRemoved(
  tx: Transaction,
  systemId: string,
  id: string,
  url: string,
  now: Date,
): Promise<EndpointRow> {
  return oneRow(await tx.query<EndpointRow>(remove, [systemId, id, url, now]));
}

const pause = statement(
  "endpoints.pause",
  `update webhook_endpoints set status = 'paused', pause_reason = $3, paused_at = $4, updated_at = $4
   where system_id = $1 and id = $2 and status = any($5::text[]) returning ${endpointColumns}`,
);
const setStatus = statement(
  "endpoints.unpause",
  `update webhook_endpoints set status = $3, pause_reason = null, paused_at = null, updated_at = $4
   where system_id = $1 and id = $2 and status = $5 returning ${endpointColumns}`,
);

/** Pauses an endpoint whose status is one of `from`. @returns undefined when it has another status */
export async function updatePaused(
  tx: Transaction,
  systemId: string,
  id: string,
  change: { readonly from: readonly EndpointRow["status"][]; readonly reason: PauseReason; readonly now: Date },
): Promise<EndpointRow | undefined> {
  return (await tx.query<EndpointRow>(pause, [systemId, id, change.reason, change.now, change.from]))[0];
}

/** Changes an endpoint's status to `active` or `probing`. @returns undefined when it has another status by now */
export async function updateStatus(
  tx: Transaction,
  systemId: string,
  id: string,
  change: {
    readonly from: EndpointRow["status"];
    readonly to: Exclude<EndpointRow["status"], "paused">;
    readonly now: Date;
  },
): Promise<EndpointRow | undefined> {
  return (await tx.query<EndpointRow>(setStatus, [systemId, id, change.to, change.now, change.from]))[0];
}

const unknownPlaces = statement(
  "endpoints.unknownPlaces",
  `(select 'station' as kind, id from unnest($2::text[]) as wanted (id)
    where not exists (select from stations where system_id = $1 and stations.id = wanted.id) limit 1)
   union all
   (select 'region' as kind, id from unnest($3::text[]) as wanted (id)
    where not exists (select from regions where system_id = $1 and regions.id = wanted.id) limit 1)`,
);

/** Returns one of the station ids and one of the region ids that do not exist, as far as there are any. */
export function listUnknownPlaces(
  db: Queryable,
  systemId: string,
  {
    station_ids: stations,
    region_ids: regions,
  }: { readonly [Name in "station_ids" | "region_ids"]: readonly string[] },
): Promise<{ readonly kind: "station" | "region"; readonly id: string }[]> {
  return db.query(unknownPlaces, [systemId, stations, regions]);
}

/**
 * SQL for the past events of the step `looked`, with the columns of `EventPlace` (events/event-place.rules.ts), which it
 * reads from the event's data. `kind` is the event's name up to the dot, such as `ride`. `offset 0` makes PostgreSQL read
 * the JSON once for each event, rather than once for each condition that uses it.
 */
const WITH_PLACES = `(
     select name, partner_id, null::text as endpoint_id, occurred_at, station_ids, region_ids, kind = 'alert' and cardinality(station_ids || region_ids) = 0 as is_everywhere,
       case when kind = 'bike' then (json ->> 'lon')::float8 end as lon,
       case when kind = 'bike' then (json ->> 'lat')::float8 end as lat
     from (
       select name, partner_id, occurred_at, kind, json,
         array(select json_array_elements_text(json -> 'region_ids')) as region_ids,
         array_remove(case when kind = 'station' then array[json ->> 'id']
           else array[json ->> 'start_station_id', json ->> 'end_station_id', json ->> 'station_id'] end, null)
           || array(select json_array_elements_text(json -> 'station_ids')) as station_ids
       from (select name, partner_id, occurred_at, split_part(name, '.', 1) as kind, data::json as json from looked) as read) as about
     offset 0)`;

// `IS_FOR_ENDPOINT` compares the row `event` with the row `endpoint`, here the settings that are previewed, in place of a row
// of `webhook_endpoints`. The row of the result without a name counts all events that were read.
const pastEvents = statement(
  "endpoints.pastEvents",
  `with looked as materialized (
     select name, partner_id, occurred_at, data from events
     where system_id = $1 and recorded_on >= $2::timestamptz::date and occurred_at >= $2
     order by recorded_on desc, position desc limit $3)
   select event.name as event, date_trunc('hour', event.occurred_at, 'UTC') as hour, count(*) as n
   from ${WITH_PLACES} as event
   cross join (select null::text as id, $4::text as partner_id, $5::text[] as events, $6::text[] as station_ids, $7::text[] as region_ids,
     $8::float8[] as bbox) as endpoint
   where ${IS_FOR_ENDPOINT}
   group by 1, 2
   union all select null, null, count(*) from looked`,
);

/** Events of one name in one hour (UTC). */
export interface HourCount {
  readonly event: string;
  readonly hour: Date;
  readonly deliveries: number;
}

/**
 * Counts the latest events since an instant that an endpoint of a partner would be sent, by name and hour.
 * @returns `looked`: the number of events that were read for it
 */
export async function countPastEvents(
  db: Queryable,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string },
  { events, station_ids, region_ids, bbox }: Pick<EndpointRow, "events" | "station_ids" | "region_ids" | "bbox">,
  { since, limit }: { readonly since: Date; readonly limit: number },
): Promise<{ readonly looked: number; readonly counts: readonly HourCount[] }> {
  const values = [systemId, since, limit, partnerId, events, station_ids, region_ids, bbox];
  const rows = await db.query<PastEventsRow>(pastEvents, values);
  return {
    looked: rows.find(({ event }) => event === null)?.n ?? 0,
    counts: rows.flatMap(({ event, hour, n }) =>
      event === null || hour === null ? [] : [{ event, hour, deliveries: n }],
    ),
  };
}

/** The number of events of one name in one hour; without a name: of all events that were read. */
interface PastEventsRow {
  readonly event: string | null;
  readonly hour: Date | null;
  readonly n: number;
}

const resetHealth = statement(
  "endpoints.resetHealth",
  `update webhook_lanes
   set failing_since = null, last_failed_at = null, failures = 0, failed_deliveries = '{}', gone_answers = 0,
     gone_since = null, warned = 0
   where system_id = $1 and endpoint_id = $2`,
);

/** Resets an endpoint's health. */
export async function updateHealthReset(tx: Transaction, systemId: string, id: string): Promise<void> {
  await tx.query(resetHealth, [systemId, id]);
}

const notify = statement("endpoints.notify", `select pg_notify('webhook_endpoints', $1)`);

/** Notifies every dispatcher, when the transaction commits, that an endpoint of the system changed. */
export async function notifyEndpointChanged(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(notify, [systemId]);
}

/** The counts of an endpoint's deliveries. */
export interface EndpointCounts {
  readonly failing_since: Date | null;
  readonly failures: number;
  /** Queued deliveries, and when the first of them is due. */
  readonly pending: number;
  readonly oldest_due: Date | null;
  /** Held deliveries, and when the first of them was created. */
  readonly held: number;
  readonly held_since: Date | null;
  /** Whether a replay is running, which may be about to send the held deliveries. */
  readonly is_replaying: boolean;
  /** Deliveries that `max_per_hour` let through and skipped in the hour that ends at `until`; null: it judged none. */
  readonly this_hour: { readonly sent: number; readonly skipped: number; readonly until: Date } | null;
}

type CountedHour = Pick<Tables["webhook_lanes"], "hour_sent" | "hour_skipped" | "hour_ends_at">;

/**
 * Joins an endpoint's counts, taken now. Finds the oldest due delivery for regular deliveries and for replays
 * (`replay`) separately, because the queue's index has `replay` before `due_at`.
 * @param endpointId the column with its id
 * @param most the parameter with the maximum count of each kind; null: unlimited
 */
const joinCounts = (endpointId: string, most: string) => `
   cross join lateral (
     select count(*) as pending from (
       select from webhook_queue where system_id = $1 and endpoint_id = ${endpointId} limit ${most}::bigint) as first) queued
   cross join lateral (
     select min(due.due_at) as oldest_due from (values (false), (true)) as kind (replay)
     cross join lateral (
       select due_at from webhook_queue
       where system_id = $1 and endpoint_id = ${endpointId} and replay = kind.replay order by due_at limit 1) as due) oldest
   cross join lateral (
     select count(*) as held from (
       select from webhook_deliveries
       where system_id = $1 and endpoint_id = ${endpointId} and problem = 'held' limit ${most}::bigint) as first) unsent
   cross join lateral (
     select exists (select from webhook_replays
       where system_id = $1 and endpoint_id = ${endpointId} and finished_at is null) as is_replaying) replaying`;

const counts = statement(
  "endpoints.counts",
  `select lane.failing_since, lane.failures, queued.pending, oldest.oldest_due, unsent.held, replaying.is_replaying,
     (select created_at from webhook_deliveries
      where system_id = $1 and endpoint_id = $2 and problem = 'held' order by created_at limit 1) as held_since,
     lane.hour_sent, lane.hour_skipped, case when lane.hour_ends_at > now() then lane.hour_ends_at end as hour_ends_at
   from webhook_lanes lane ${joinCounts("lane.endpoint_id", "$3")}
   where lane.system_id = $1 and lane.endpoint_id = $2`,
);

/** Counts an endpoint's deliveries. @param most maximum count of each kind; absent: unlimited */
export async function countEndpoint(
  db: Queryable,
  systemId: string,
  id: string,
  most?: number,
): Promise<EndpointCounts> {
  type Row = Omit<EndpointCounts, "this_hour"> & CountedHour;
  const {
    hour_sent: sent,
    hour_skipped: skipped,
    hour_ends_at: until,
    ...row
  } = oneRow(await db.query<Row>(counts, [systemId, id, most ?? null]));
  return { ...row, this_hour: until === null ? null : { sent, skipped, until } };
}

/** An endpoint in a list, with its counts. */
export interface SummaryRow
  extends
    Pick<EndpointRow, "id" | "partner_id" | "name" | "url" | "status" | "pause_reason" | "paused_at">,
    Pick<EndpointCounts, "failing_since" | "pending" | "oldest_due" | "held" | "is_replaying"> {
  readonly partner_name: string;
}

const summaries = statement(
  "endpoints.summaries",
  `select endpoint.id, endpoint.partner_id, partner.name as partner_name, endpoint.name, endpoint.url, endpoint.status,
     endpoint.pause_reason, endpoint.paused_at, lane.failing_since, queued.pending, oldest.oldest_due, unsent.held,
     replaying.is_replaying
   from webhook_endpoints endpoint
   join partners partner on partner.system_id = $1 and partner.id = endpoint.partner_id
   join webhook_lanes lane on lane.system_id = $1 and lane.endpoint_id = endpoint.id ${joinCounts("endpoint.id", "$3")}
   where endpoint.system_id = $1 and (endpoint.pause_reason is distinct from 'removed' or endpoint.paused_at > $2)
     and ($4::text is null or endpoint.partner_id = $4)
   order by partner.name, partner.id, endpoint.slot`,
);

/**
 * Lists every endpoint of a system with its counts, except those removed at `removedSince` or earlier.
 * @param more `most`: maximum count of each kind, absent: unlimited; `partnerId`: only this partner's
 */
export function listEndpointSummaries(
  db: Queryable,
  systemId: string,
  removedSince: Date,
  { most, partnerId }: { readonly most?: number | undefined; readonly partnerId?: string | undefined } = {},
): Promise<SummaryRow[]> {
  return db.query<SummaryRow>(summaries, [systemId, removedSince, most ?? null, partnerId ?? null]);
}
