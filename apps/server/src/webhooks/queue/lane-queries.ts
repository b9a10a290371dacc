import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/** A lane under the token of one holder. */
export interface LaneToken {
  readonly endpointId: string;
  readonly token: number;
}

const healthColumns = columnsOfTable("webhook_lanes").only(
  "failing_since",
  "last_failed_at",
  "failures",
  "failed_deliveries",
  "gone_answers",
  "gone_since",
  "warned",
);
/** How an endpoint has answered lately. */
export type HealthRow = RowOf<typeof healthColumns>;

/** A lane as it was claimed. */
export interface LaneRow extends HealthRow {
  readonly endpoint_id: string;
  readonly token: number;
}

const heartbeat = statement(
  "lane.heartbeat",
  `insert into webhook_workers (system_id, worker, alive_until)
   values ($1, $2, now() + $3::bigint * interval '1 ms')
   on conflict (system_id, worker) do update set alive_until = excluded.alive_until`,
);
const membership = statement(
  "lane.membership",
  `select count(*) filter (where alive_until > now()) as workers,
     count(*) filter (where alive_until > now() and worker < $2) as before,
     count(*) filter (where alive_until < now() - interval '1 hour') as dead,
     (select count(*) from webhook_lanes where system_id = $1) as lanes
   from webhook_workers where system_id = $1`,
);
const deleteOne = statement("lane.deleteWorker", "delete from webhook_workers where system_id = $1 and worker = $2");
const deleteDead = statement(
  "lane.deleteDead",
  "delete from webhook_workers where system_id = $1 and alive_until < now() - interval '1 hour'",
);

/** How many workers are alive, and how many lanes they share. */
export interface Membership {
  readonly workers: number;
  /** Of them those whose names sort before the asking one's. */
  readonly before: number;
  readonly lanes: number;
}

/** Counts a worker as alive for `aliveMs`, and forgets those that were killed long ago. */
export async function updateHeartbeat(
  db: Queryable,
  systemId: string,
  worker: string,
  aliveMs: number,
): Promise<Membership> {
  await db.query(heartbeat, [systemId, worker, aliveMs]);
  const { dead, ...found } = oneRow(
    await db.query<Membership & { readonly dead: number }>(membership, [systemId, worker]),
  );
  if (dead > 0) await db.query(deleteDead, [systemId]);
  return found;
}

const countAlive = statement(
  "lane.countWorkers",
  "select count(*) as n from webhook_workers where system_id = $1 and alive_until > now()",
);

/** How many processes send a system's webhooks now. */
export async function countWorkers(db: Queryable, systemId: string): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countAlive, [systemId])).n;
}

/** Deletes a worker that has ended. */
export async function deleteWorker(db: Queryable, systemId: string, worker: string): Promise<void> {
  await db.query(deleteOne, [systemId, worker]);
}

const renew = statement(
  "lane.renew",
  `update webhook_lanes lane set leased_until = now() + $4::bigint * interval '1 ms'
   from unnest($3::text[], $5::bigint[]) as mine (endpoint_id, token)
   where lane.system_id = $1 and lane.endpoint_id = mine.endpoint_id and lane.worker = $2 and lane.token = mine.token
   returning lane.endpoint_id`,
);

/** Renews the leases of lanes. @returns those that are still the worker's */
export async function updateLeases(
  db: Queryable,
  systemId: string,
  worker: string,
  lanes: readonly LaneToken[],
  leaseMs: number,
): Promise<string[]> {
  const rows = await db.query<{ endpoint_id: string }>(renew, [
    systemId,
    worker,
    lanes.map(({ endpointId }) => endpointId),
    leaseMs,
    lanes.map(({ token }) => token),
  ]);
  return rows.map(({ endpoint_id: id }) => id);
}

/* A lane that is the worker's in the database, but that it does not know of, was claimed in a commit whose answer was lost. */
const claim = statement(
  "lane.claim",
  `with free as materialized (
     select endpoint_id from webhook_lanes
     where system_id = $1 and (worker is null or leased_until < now() or worker = $2)
       and endpoint_id <> all($3::text[])
     order by endpoint_id
     limit $4
     for update skip locked)
   update webhook_lanes lane
   set worker = $2, token = lane.token + 1, leased_until = now() + $5::bigint * interval '1 ms'
   from free
   where lane.system_id = $1 and lane.endpoint_id = free.endpoint_id
   returning lane.endpoint_id, lane.token, ${healthColumns.list("lane")}`,
);

/** Claims lanes that nobody leases, `limit` at most. @param leased the endpoints whose lanes the worker has already */
export function claimLanes(
  db: Queryable,
  systemId: string,
  worker: string,
  leased: readonly string[],
  limit: number,
  leaseMs: number,
): Promise<LaneRow[]> {
  return db.query<LaneRow>(claim, [systemId, worker, leased, limit, leaseMs]);
}

const release = statement(
  "lane.release",
  `update webhook_lanes lane set worker = null, leased_until = null
   from unnest($2::text[], $3::bigint[]) as mine (endpoint_id, token)
   where lane.system_id = $1 and lane.endpoint_id = mine.endpoint_id and lane.token = mine.token`,
);

/** Releases lanes, for others to claim at once. */
export async function updateLanesReleased(db: Queryable, systemId: string, lanes: readonly LaneToken[]): Promise<void> {
  await db.query(release, [systemId, lanes.map(({ endpointId }) => endpointId), lanes.map(({ token }) => token)]);
}

const writeHealth = statement(
  "lane.writeHealth",
  `update webhook_lanes lane set ${healthColumns.assignments("health")} from ${healthColumns.recordset(4, "health")}
   where lane.system_id = $1 and lane.endpoint_id = $2 and lane.token = $3`,
);

/** Writes how an endpoint has answered, if the lane is still the holder's. */
export async function updateLaneHealth(
  tx: Transaction,
  systemId: string,
  { endpointId, token }: LaneToken,
  health: HealthRow,
): Promise<void> {
  await tx.query(writeHealth, [systemId, endpointId, token, JSON.stringify([health])]);
}
