import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/** How much of the log an endpoint's attempts of a day take. */
export interface LogSizeRow {
  readonly endpoint_id: string;
  readonly bytes: number;
  readonly answer_bytes: number;
}

const ofDay = statement(
  "logSizes.ofDay",
  `select size.endpoint_id, size.bytes, size.answer_bytes
   from unnest($2::text[]) as wanted (endpoint_id)
   cross join lateral (
     select endpoint_id, bytes, answer_bytes from webhook_log_sizes
     where system_id = $1 and endpoint_id = wanted.endpoint_id and day = $3
     limit 1) as size`,
);

/** What is written of some endpoints' sizes on a day. */
export function listLogSizes(
  db: Queryable,
  systemId: string,
  endpointIds: readonly string[],
  day: string,
): Promise<LogSizeRow[]> {
  return db.query<LogSizeRow>(ofDay, [systemId, endpointIds, day]);
}

// In the order of the keys, so that two workers never wait for each other in a circle. Whoever lost a lane writes nothing.
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

/** A size as the holder of a lane has counted it. */
export interface CountedSize {
  readonly endpointId: string;
  /** The holder's token. */
  readonly token: number;
  readonly day: string;
  readonly bytes: number;
  readonly answerBytes: number;
}

/** Writes sizes, those of lanes that are still the holder's. */
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

/** Deletes the sizes of days whose log is dropped. @param oldest the first day that is kept */
export async function deletePastLogSizes(db: Queryable, systemId: string, oldest: string): Promise<void> {
  await db.query(deletePast, [systemId, oldest]);
}

/** How much of the log a partner's attempts take. */
export interface PartnerLogSize {
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

/** The partners whose log is largest, `limit` at most. @param oldest the first day that is kept */
export function listLargestLogs(
  db: Queryable,
  systemId: string,
  { oldest, limit }: { readonly oldest: string; readonly limit: number },
): Promise<PartnerLogSize[]> {
  return db.query<PartnerLogSize>(byPartner, [systemId, oldest, limit]);
}
