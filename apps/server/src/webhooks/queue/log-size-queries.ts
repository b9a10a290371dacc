import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/*
 * Statements that store and read how many bytes of attempts the log has for each endpoint and day. The worker that holds an
 * endpoint's lane counts them (rules/log-budget.ts).
 */

/** The size of an endpoint's log of one day. */
interface LogSizeRow {
  readonly endpoint_id: string;
  readonly bytes: number;
  readonly answer_bytes: number;
}

// Each endpoint is looked up by the primary key: `limit 1` keeps PostgreSQL from joining the tables in another way.
const ofDay = statement(
  "logSizes.ofDay",
  `select size.endpoint_id, size.bytes, size.answer_bytes
   from unnest($2::text[]) as wanted (endpoint_id)
   cross join lateral (
     select endpoint_id, bytes, answer_bytes from webhook_log_sizes
     where system_id = $1 and endpoint_id = wanted.endpoint_id and day = $3
     limit 1) as size`,
);

/** Lists the stored log sizes of some endpoints on a day. */
export function listLogSizes(
  db: Queryable,
  systemId: string,
  endpointIds: readonly string[],
  day: string,
): Promise<LogSizeRow[]> {
  return db.query<LogSizeRow>(ofDay, [systemId, endpointIds, day]);
}

// Locks in the order of the keys, so that two workers never deadlock. A worker that has lost a lane, and with it the
// right to send the endpoint's deliveries, writes nothing: the lane's row has another token.
const write = statement(
  "logSizes.write",
  `insert into webhook_log_sizes as size (system_id, endpoint_id, day, bytes, answer_bytes)
   select $1, counted.endpoint_id, counted.day, counted.bytes, counted.answer_bytes
   from unnest($2::text[], $3::bigint[], $4::date[], $5::bigint[], $6::bigint[])
     as counted (endpoint_id, token, day, bytes, answer_bytes)
   cross join lateral (
     select endpoint_id from webhook_lanes
     where system_id = $1 and endpoint_id = counted.endpoint_id and token = counted.token
     limit 1) as lane
   on conflict (system_id, endpoint_id, day) do update
     set bytes = excluded.bytes, answer_bytes = excluded.answer_bytes`,
);

/** A log size as the holder of a lane has counted it. */
interface CountedSize {
  readonly endpointId: string;
  /** The holder's token. */
  readonly token: number;
  readonly day: string;
  readonly bytes: number;
  readonly answerBytes: number;
}

/** Stores the log sizes of lanes that the writer still holds. */
export async function insertLogSizes(db: Queryable, systemId: string, sizes: readonly CountedSize[]): Promise<void> {
  const sorted = sizes.toSorted((a, b) => (a.endpointId + a.day < b.endpointId + b.day ? -1 : 1));
  await db.query(write, [
    systemId,
    sorted.map(({ endpointId }) => endpointId),
    sorted.map(({ token }) => token),
    sorted.map(({ day }) => day),
    sorted.map(({ bytes }) => bytes),
    sorted.map(({ answerBytes }) => answerBytes),
  ]);
}

const deletePast = statement("logSizes.deletePast", "delete from webhook_log_sizes where system_id = $1 and day < $2");

/** Deletes the log sizes of dropped days. @param oldest the first day that is kept */
export async function deletePastLogSizes(db: Queryable, systemId: string, oldest: string): Promise<void> {
  await db.query(deletePast, [systemId, oldest]);
}

const byEndpoint = statement(
  "logSizes.byEndpoint",
  `select endpoint_id, sum(bytes)::bigint as bytes from webhook_log_sizes
   where system_id = $1 and day >= $2 group by endpoint_id`,
);

/** Lists the size of each endpoint's log, without those that have none. @param oldest the first day that is kept */
export function listEndpointLogs(
  db: Queryable,
  systemId: string,
  oldest: string,
): Promise<Pick<LogSizeRow, "endpoint_id" | "bytes">[]> {
  return db.query<Pick<LogSizeRow, "endpoint_id" | "bytes">>(byEndpoint, [systemId, oldest]);
}

/** The size of a partner's log. */
interface PartnerLogSize {
  readonly partner_id: string;
  readonly bytes: number;
}

const byPartner = statement(
  "logSizes.byPartner",
  `select endpoint.partner_id, sum(size.bytes)::bigint as bytes
   from webhook_log_sizes size
   join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = size.endpoint_id
   where size.system_id = $1 and size.day >= $2
   group by endpoint.partner_id
   order by bytes desc, endpoint.partner_id
   limit $3`,
);

/** Lists the partners with the largest logs. @param oldest the first day that is kept */
export function listLargestLogs(
  db: Queryable,
  systemId: string,
  { oldest, limit }: { readonly oldest: string; readonly limit: number },
): Promise<PartnerLogSize[]> {
  return db.query<PartnerLogSize>(byPartner, [systemId, oldest, limit]);
}
