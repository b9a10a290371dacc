import type { DeliveryName } from "@bikeshare/contract";
import { rowsOfSystem } from "../../storage/db/rows.ts";

/* Parts of SQL that several statements about webhooks share: how rows are found, queued and matched with endpoints. */

/**
 * SQL that is true for rows of the system `$1`. For a statement that finds the rows it changes in another way, such as by
 * `ctid`: this condition tells a distributed database which node has them. The collation does not change the
 * meaning. It keeps PostgreSQL from using an index by system, which would read all queued rows.
 */
export function isOfSystem(table: string): string {
  return `${table}.system_id = $1 collate "POSIX"`;
}

/**
 * SQL that is true for the row of `table` that a row of `rows` names. `columns` has the columns of `table`, each with the
 * column of `rows` that it equals. The rows are of the system `$1`.
 *
 * A connection keeps the plan that PostgreSQL made first, most often while the queue was empty. For an empty table all plans
 * look equally good, also one that scans the whole table instead of looking up the few rows. With `=`, PostgreSQL could
 * choose such a plan. `any(array[…])` means the same, but PostgreSQL can only look it up in an index, and in one partition.
 * This holds as long as the statement has no other condition on indexed columns of the table. `columns` must have all
 * columns of each index that PostgreSQL could use, so that it does not matter which one it uses.
 */
export function indexedMatch(table: string, rows: string, columns: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(columns);
  const matches = pairs.map(([column, of]) => `${table}.${column} = any(array[${rows}.${of}])`);
  return [isOfSystem(table), ...matches].join(" and ");
}

/**
 * SQL that is true for the `delivery` that `rows` names by `system_id`, `created_on` and `delivery_id`. Does not compare the
 * endpoint: otherwise PostgreSQL could use an index of the log's search instead of the primary key, and would read all
 * deliveries of the endpoint's day.
 */
export function matchesDelivery(rows: string): string {
  return indexedMatch("delivery", rows, { system_id: "system_id", created_on: "created_on", id: "delivery_id" });
}

/** The order of the index by which one endpoint's queue is read. */
export const QUEUE_ORDER = "order by queued.replay, queued.due_at, queued.delivery_id";

/** The `latest_failure` of a held delivery that somebody has dropped. Attempts may have failed before it was held. */
export const DROPPED = "dropped";

/** The `latest_failure` of a delivery above the hourly limit of its endpoint. No attempt was made. */
export const SKIPPED = "skipped";

/**
 * SQL for the values of `latest_failure` that no attempt caused. `latest_code` may still have the code of an attempt
 * before the delivery was held.
 */
export const DROPPED_OR_SKIPPED = `('${DROPPED}', '${SKIPPED}')`;

/**
 * SQL that makes a finished delivery pending again. `insertIntoQueue` must follow. The failure of its latest attempt stays;
 * that it was dropped or skipped no longer holds.
 */
export const PENDING_AGAIN = `status = 'pending', finished_at = null,
     latest_failure = nullif(nullif(latest_failure, '${DROPPED}'), '${SKIPPED}')`;

/**
 * SQL that is true for a replay of held deliveries that is still running. Does not use `finished_at`: a process of the
 * previous release sets it, because that release finds no items of such a replay.
 */
export const IS_TAKING_HELD = "(next_held_at is not null and not is_stopped)";

/** SQL for the columns of a queued delivery that `insertIntoQueue` does not read from its rows. */
interface QueuedColumns {
  readonly dueAt: string;
  /** Attempts so far; 0 when left out. */
  readonly attempts?: string;
  /** Attempts of the present schedule; 0 when left out. */
  readonly tries?: string;
  /** Whether it is sent after regular deliveries; false when left out. */
  readonly replay?: boolean;
}

/**
 * SQL that queues deliveries of the system `$1`.
 * @param from SQL of the rows, with `delivery_id`, `endpoint_id`, `created_on` and `event_id`, and perhaps a condition
 */
export function insertIntoQueue(from: string, columns: QueuedColumns): string {
  const { dueAt, attempts = "0", tries = "0", replay = false } = columns;
  return `insert into webhook_queue
       (system_id, delivery_id, endpoint_id, created_on, event_id, replay, due_at, attempts, tries)
     select $1, delivery_id, endpoint_id, created_on, event_id, ${replay}, ${dueAt}, ${attempts}, ${tries} from ${from}`;
}

/** SQL to append to `insertIntoQueue` where a delivery may be queued already. */
export const UNLESS_QUEUED = "on conflict (system_id, delivery_id) do nothing";

/**
 * SQL that is true where an `endpoint` of the system `$1` subscribes to an `event`: by its name (or by all names of its
 * kind, such as `station.*`), its partner and its place.
 * The place of an event for one endpoint, such as a threshold's, is not compared. Only endpoints with places cost more.
 * Stations are compared as they are now.
 *
 * A place matches if the endpoint has none, or has a station, a region or the position of the event, or the present
 * region or position of one of the event's stations. `is_everywhere`: the event concerns all places.
 */
export const IS_FOR_ENDPOINT = `(event.name = any(endpoint.events)
           or split_part(event.name, '.', 1) || '.*' = any(endpoint.events))
         and (event.partner_id is null or event.partner_id = endpoint.partner_id)
         and (num_nonnulls(endpoint.station_ids, endpoint.region_ids, endpoint.bbox) = 0 or event.is_everywhere or event.endpoint_id is not null
           or endpoint.station_ids && event.station_ids::text[] or endpoint.region_ids && event.region_ids::text[]
           or ${isInBox("event.lon", "event.lat")}
           or (num_nonnulls(endpoint.region_ids, endpoint.bbox) > 0 and exists (
             select from stations station where station.system_id = $1 and station.id = any(event.station_ids::text[])
               and (station.region_id = any(endpoint.region_ids) or ${isInBox("station.lon", "station.lat")}))))`;

/**
 * SQL that is true for the `endpoint` of the system `$1` that an `event` names, or for every endpoint if it names none. Both
 * are a range of the primary key (`~` sorts after every id), so that a named endpoint is found by its id.
 */
const IS_NAMED_ENDPOINT = `endpoint.system_id = $1
         and endpoint.id between coalesce(event.endpoint_id, '') and coalesce(event.endpoint_id, '~')`;

/**
 * SQL that is true where a position is in the box of an `endpoint`; null if the endpoint has no box, or the position is
 * null. A box is min_lon, min_lat, max_lon, max_lat. Its min_lon is greater than its max_lon if it crosses the 180th
 * meridian.
 */
function isInBox(lon: string, lat: string): string {
  return `(${lat} between endpoint.bbox[2] and endpoint.bbox[4]
             and case when endpoint.bbox[1] <= endpoint.bbox[3] then ${lon} between endpoint.bbox[1] and endpoint.bbox[3]
               else ${lon} >= endpoint.bbox[1] or ${lon} <= endpoint.bbox[3] end)`;
}

/**
 * Returns steps of a `with` statement. They insert a delivery of each event for each endpoint of the system `$1` that
 * subscribes to it: queued and due at `$2`, or held while the endpoint is paused. A delivery's id is made of the event's id
 * and the endpoint's tag, because only the statement knows the endpoints.
 *
 * Each step finds the endpoints by itself. If a step read the rows of another, a distributed database would send them to
 * every node, and could not write while a node is down. For the same reason the statement itself must be a `select`, and
 * each step joins `placed`, the row of the system that `rowsOfSystem` adds.
 * @param events rows from parameters, called `event`, with `id`, `name`, `occurred_at`, `partner_id` (null: every
 * partner's), `endpoint_id` (null: every endpoint's) and `data`, JSON whose `id` is the resource's, and with the columns of
 * `EventPlace` (events/event-place.rules.ts)
 */
export function insertDeliveries(events: string): string {
  const subscribes = `${IS_NAMED_ENDPOINT} and ${IS_FOR_ENDPOINT}`;
  const subscribed = `${events} join webhook_endpoints endpoint on ${subscribes}`;
  const deliveryId = "'delivery_' || substr(event.id, strpos(event.id, '_') + 1) || endpoint.tag";
  return `bodies as (
       insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
       select placed.system_id, $2::timestamptz::date, event.id, event.name, event.occurred_at, event.data
       from ${rowsOfSystem(events, `exists (select from webhook_endpoints endpoint where ${subscribes})`)}),
     deliveries as (
       insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, resource_id, created_at, status)
       select placed.system_id, $2::timestamptz::date, ${deliveryId}, endpoint.id, event.id, event.name,
         event.data::json ->> 'id', $2, case when endpoint.status = 'paused' then 'held' else 'pending' end
       from ${rowsOfSystem(subscribed)}),
     queued as (
       insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at, is_uncounted)
       select placed.system_id, ${deliveryId}, endpoint.id, $2::timestamptz::date, event.id, $2,
         endpoint.max_per_hour is not null
       from ${rowsOfSystem(subscribed, "endpoint.status <> 'paused'")})`;
}

/**
 * SQL that is true if an endpoint of the system `$1` subscribes to an event. Statements that change a resource use it, so
 * that they return data for the event only if somebody receives it.
 */
export function isSubscribed(event: DeliveryName): string {
  return `exists (select from webhook_endpoints
    where system_id = $1 and events && array['${event}', '${event.replace(/\..*/, ".*")}'])`;
}

/**
 * The end of every test delivery's id, by which the service and receivers recognise it. It is not at the beginning, because
 * ids sort by the time there.
 */
export const TEST_SUFFIX = "_test";

/** Tells whether a delivery is a test delivery, which a person requested and no event caused. */
export function isTestDelivery(id: string): boolean {
  return id.endsWith(TEST_SUFFIX);
}

/** SQL that is true of a test delivery. @param id the column with its id */
export function isTest(id: string): string {
  return `right(${id}, ${TEST_SUFFIX.length}) = '${TEST_SUFFIX}'`;
}
