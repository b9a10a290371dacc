import type { DeliveryName } from "@bikeshare/contract";
import { rowsOfSystem } from "../../storage/db/rows.ts";

/**
 * SQL that is true for rows of the system `$1`, for the changed table of a statement that finds its rows in another way,
 * such as by their addresses: from it a distributed database learns which machine has them. The collation leaves the
 * meaning as it is, and keeps PostgreSQL from beginning with an index by system, which would read all that waits.
 */
export function isOfSystem(table: string): string {
  return `${table}.system_id = $1 collate "POSIX"`;
}

/**
 * SQL that is true for the row of `table` that `rows` names: `column`s of the one that equal those of the other.
 *
 * PostgreSQL keeps the plan that a connection made first, most often while the queue was empty, and to an empty table
 * any way seems as good as another: such as beginning with the table, from end to end, instead of with the few rows. With
 * `=` it could. `any(array[…])` means the same, finds its row through an index and in its partition alone, and leaves no
 * other way, as long as nothing else is asked of the table's indexed columns. All columns of all indexes that come into
 * question are to be named, so that it does not matter which of them is taken. The rows are of the system `$1`.
 */
export function indexedMatch(table: string, rows: string, columns: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(columns);
  const matches = pairs.map(([column, of]) => `${table}.${column} = any(array[${rows}.${of}])`);
  return [isOfSystem(table), ...matches].join(" and ");
}

/**
 * SQL that is true for the `delivery` that `rows` names by `system_id`, `created_on` and `delivery_id`. Not by the endpoint as
 * well: with it the indexes that the log is searched by come into question, beside the primary key, and they are read
 * through all deliveries of the endpoint's day.
 */
export function matchesDelivery(rows: string): string {
  return indexedMatch("delivery", rows, { system_id: "system_id", created_on: "created_on", id: "delivery_id" });
}

/** The order of the index that gives an endpoint's queue without the others'. */
export const QUEUE_ORDER = "order by queued.replay, queued.due_at, queued.delivery_id";

/** Why a held delivery failed that somebody has dropped, as the log calls it: no attempt of it failed. */
export const DROPPED = "dropped";

/** Why a delivery failed that came after as many in its hour as its endpoint takes: no attempt of it was made. */
export const SKIPPED = "skipped";

/** SQL for the reasons of failed deliveries that nobody tried to send. */
export const UNTRIED = `('${DROPPED}', '${SKIPPED}')`;

/** SQL that makes a finished delivery pending again, for `insertIntoQueue` to follow. */
export const PENDING_AGAIN = `status = 'pending', finished_at = null,
     latest_failure = nullif(nullif(latest_failure, '${DROPPED}'), '${SKIPPED}')`;

/**
 * SQL that is true for a replay of held deliveries that goes on. Not by `finished_at`: the program of the release before
 * finishes it, because it finds no items of it.
 */
export const IS_TAKING_HELD = "(next_held_at is not null and not is_stopped)";

/** SQL for the columns of a queued delivery that `insertIntoQueue` does not read from its rows. */
interface QueuedColumns {
  readonly dueAt: string;
  /** Attempts so far; 0 when left out. */
  readonly attempts?: string;
  /** Attempts of the present schedule; 0 when left out. */
  readonly tries?: string;
  readonly replay?: boolean;
}

/**
 * SQL that queues deliveries of the system `$1`.
 * @param from rows with `delivery_id`, `endpoint_id`, `created_on` and `event_id`, and a condition
 */
export function insertIntoQueue(from: string, columns: QueuedColumns): string {
  const { dueAt, attempts = "0", tries = "0", replay = false } = columns;
  return `insert into webhook_queue
       (system_id, delivery_id, endpoint_id, created_on, event_id, replay, due_at, attempts, tries)
     select $1, delivery_id, endpoint_id, created_on, event_id, ${replay}, ${dueAt}, ${attempts}, ${tries} from ${from}`;
}

/** Goes behind `insertIntoQueue` where a delivery may be queued already. */
export const UNLESS_QUEUED = "on conflict (system_id, delivery_id) do nothing";

/**
 * SQL that is true where an `endpoint` of the system `$1` subscribes to an `event`: by its name, its partner and its place.
 * An event for one endpoint, such as its own threshold's, has no place. Only endpoints that ask for places cost more.
 * Stations are those of the system as they are now.
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
 * SQL that is true where an `endpoint` of the system `$1` may be told of an `event`: the one that the event names, or any if
 * it names none. Both are a range of the primary key (`~` comes after every id), so that the one is found by its id, not
 * compared with all others.
 */
const IS_NAMED_ENDPOINT = `endpoint.system_id = $1
         and endpoint.id between coalesce(event.endpoint_id, '') and coalesce(event.endpoint_id, '~')`;

/** SQL that is true where a position is in the box of an `endpoint`; null where it has none. */
function isInBox(lon: string, lat: string): string {
  return `(${lat} between endpoint.bbox[2] and endpoint.bbox[4]
             and case when endpoint.bbox[1] <= endpoint.bbox[3] then ${lon} between endpoint.bbox[1] and endpoint.bbox[3]
               else ${lon} >= endpoint.bbox[1] or ${lon} <= endpoint.bbox[3] end)`;
}

/**
 * SQL, steps of a `with` statement, that makes a delivery of each event to each endpoint of the system `$1` that subscribes
 * to it: queued and due at `$2`, or held while the endpoint is paused. A delivery's id is made of its event's and its
 * endpoint's, because only the statement knows the endpoints.
 *
 * Each step finds the endpoints by itself. If one read what another found, a distributed database would send that to every
 * machine, and none could write while one is away. For the same reason the statement itself is to be a `select`.
 * @param events rows from parameters, called `event`, with `id`, `name`, `occurred_at`, `partner_id` (null: every partner's),
 *   `endpoint_id` (null: every endpoint's) and `data`, JSON whose `id` is the resource's, and with the columns of `EventPlace`
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
 * SQL that is true where an endpoint of the system `$1` subscribes to an event: for statements that change what the event
 * tells of, so that they return nothing more as long as nobody does.
 */
export function isSubscribed(event: DeliveryName): string {
  return `exists (select from webhook_endpoints
    where system_id = $1 and events && array['${event}', '${event.replace(/\..*/, ".*")}'])`;
}

/**
 * Ends the id of every test delivery, by which receivers, too, recognise it. At the end, because ids sort by the time in
 * their beginning.
 */
export const TEST_SUFFIX = "_test";

/** Whether a delivery is a test: somebody asked for it, and it tells of no event. */
export function isTestDelivery(id: string): boolean {
  return id.endsWith(TEST_SUFFIX);
}

/** SQL that is true of a test delivery. @param id the column with its id */
export function isTest(id: string): string {
  return `right(${id}, ${TEST_SUFFIX.length}) = '${TEST_SUFFIX}'`;
}
