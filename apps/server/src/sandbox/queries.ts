import type { SandboxFault, SandboxWebhookFaults } from "@bikeshare/contract/sandbox";
import { columnsOfTable, type RowOf } from "../storage/db/columns.ts";
import type { Queryable, QueryRunner, Transaction } from "../storage/db/database.ts";
import { oneRow } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";
import type { Tables } from "../storage/db/tables.generated.ts";
import { MATCHES_STATION } from "../webhooks/queue/threshold-sql-fragments.ts";

/* Statements of sandboxes: their rows, faults and use, and the stations, bikes and rides of their cities. */

const kept = columnsOfTable("sandboxes");

/**
 * A partner's sandbox. `reset_at`: when its city was made. `used_at`: its latest recorded use. `rides_at`: when its next
 * ride starts. `advanced_seconds`: how much time was let pass since the city was made. The faults have the form of the
 * contract; null: none.
 */
export interface SandboxRow extends Omit<RowOf<typeof kept>, "faults" | "webhook_faults"> {
  readonly faults: readonly SandboxFault[] | null;
  readonly webhook_faults: SandboxWebhookFaults | null;
}

const insert = statement(
  "sandboxes.insert",
  `insert into sandboxes (${kept.list()}) values (${kept.names.map((_, index) => `$${index + 1}`).join(", ")})`,
);
const bySystem = statement("sandboxes.bySystem", `select ${kept.list()} from sandboxes where system_id = $1`);
const ofPartner = statement(
  "sandboxes.ofPartner",
  `select ${kept.list()} from sandboxes where live_system_id = $1 and partner_id = $2`,
);
// Locks a row of the system instead of the row in `sandboxes`: with Citus, a lock in that reference table is taken on every
// machine.
const lock = statement("sandboxes.lock", "select 1 as n from placed_systems where system_id = $1 for no key update");

/** Inserts a new sandbox, which has no faults. */
export async function insertSandbox(tx: Transaction, sandbox: SandboxRow): Promise<void> {
  await tx.query(
    insert,
    kept.names.map((name) => sandbox[name]),
  );
}

/** Returns the sandbox with this system id; undefined when the system is the operator's own. */
export async function findSandbox(db: QueryRunner, systemId: string): Promise<SandboxRow | undefined> {
  return (await db.query<SandboxRow>(bySystem, [systemId]))[0];
}

/** Returns the sandbox of a partner of the operator's system `liveSystemId`; undefined: it has none. */
export async function findSandboxOf(
  db: QueryRunner,
  liveSystemId: string,
  partnerId: string,
): Promise<SandboxRow | undefined> {
  return (await db.query<SandboxRow>(ofPartner, [liveSystemId, partnerId]))[0];
}

/** Locks a sandbox until the transaction ends, so that resets, advances of its clock and uses of its faults do not overlap. */
export async function lockSandboxCity(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(lock, [systemId]);
}

const updateCity = statement(
  "sandboxes.updateCity",
  `update sandboxes set seed = $2, reset_at = $3, has_city = $4, rides_at = $5, advanced_seconds = 0,
     faults = null, webhook_faults = null where system_id = $1`,
);

/** Records whether a sandbox has a city, its seed and its time. Ends all faults, and sets the advanced time to 0. */
export async function updateSandboxCity(
  tx: Transaction,
  {
    system_id,
    seed,
    reset_at,
    has_city,
    rides_at,
  }: Pick<SandboxRow, "system_id" | "seed" | "reset_at" | "has_city" | "rides_at">,
): Promise<void> {
  await tx.query(updateCity, [system_id, seed, reset_at, has_city, rides_at]);
}

const removeAnswers = statement("sandboxes.deleteAnswers", "delete from idempotency_keys where system_id = $1");

/** Deletes the stored answers to repeated requests, because no sweeper deletes them in an unused sandbox. */
export async function deleteAnswers(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(removeAnswers, [systemId]);
}

const updateUse = statement(
  "sandboxes.updateUse",
  "update sandboxes set used_at = $2 where system_id = $1 and used_at < $3",
);

/** Records that a sandbox is used now, unless a use at `since` or later is recorded already. */
export async function updateSandboxUse(db: Queryable, systemId: string, now: Date, since: Date): Promise<void> {
  await db.query(updateUse, [systemId, now, since]);
}

const claimRiding = statement(
  "sandboxes.claimRiding",
  `update sandboxes set rides_at = $1::timestamptz + $3::int * interval '1 ms' from partners live
   where sandboxes.used_at > $2 and sandboxes.rides_at <= $1 and live.system_id = sandboxes.live_system_id
     and live.id = sandboxes.partner_id and live.suspended_at is null and live.removed_at is null
   returning sandboxes.system_id, sandboxes.has_city`,
);

/**
 * Claims the sandboxes in which a ride is due: no other process claims them before an interval has passed. Leaves out those
 * of suspended and removed partners.
 * @param usedSince sandboxes that were not used since then have no rides
 */
export async function claimSandboxesToRide(
  db: Queryable,
  { now, usedSince, intervalMs }: { readonly now: Date; readonly usedSince: Date; readonly intervalMs: number },
): Promise<Pick<SandboxRow, "system_id" | "has_city">[]> {
  return db.query<Pick<SandboxRow, "system_id" | "has_city">>(claimRiding, [now, usedSince, intervalMs]);
}

const idle = statement(
  "sandboxes.idle",
  `select s.system_id from sandboxes s
   join partners live on live.system_id = s.live_system_id and live.id = s.partner_id
   where s.has_city and (s.used_at < $1 or live.removed_at is not null) order by s.system_id limit $2`,
);

/** Returns sandboxes with a city that were not used since an instant, or whose partners were removed. */
export async function listIdleSandboxes(db: Queryable, usedBefore: Date, limit: number): Promise<string[]> {
  return (await db.query<Pick<SandboxRow, "system_id">>(idle, [usedBefore, limit])).map((row) => row.system_id);
}

/** A free bike at a station. */
export interface FreeBike {
  readonly id: string;
  readonly station_id: string;
  /** The time of its latest report or change: a ride can start only after it. */
  readonly since: Date;
}

const freeBikes = statement(
  "sandboxes.freeBikes",
  `select b.id, b.station_id, greatest(b.reported_state_at, b.reported_position_at, b.updated_at) as since
   from bikes b join stations s on s.system_id = b.system_id and s.id = b.station_id
   where b.system_id = $1 and b.vehicle_state = 'available' and s.status = 'online' and ($2::text is null or b.station_id = $2)
   order by since, b.id limit $3`,
);

/**
 * Returns free bikes at online stations, first those that have stood still longest.
 * @param stationId null: at any station
 */
export function listFreeBikes(
  db: QueryRunner,
  systemId: string,
  stationId: string | null,
  limit: number,
): Promise<FreeBike[]> {
  return db.query<FreeBike>(freeBikes, [systemId, stationId, limit]);
}

const stationIds = statement(
  "sandboxes.stationIds",
  "select id from stations where system_id = $1 and status = $2 order by id",
);

/** Returns the ids of the stations that have a status. */
export async function listStationIds(
  db: QueryRunner,
  systemId: string,
  status: "online" | "offline",
): Promise<string[]> {
  return (await db.query<{ id: string }>(stationIds, [systemId, status])).map((row) => row.id);
}

/** A ride under way. */
export interface RideUnderWay {
  readonly id: string;
  readonly started_at: Date;
}

const ridesUnderWay = statement(
  "sandboxes.ridesUnderWay",
  "select id, started_at from rides where system_id = $1 and status = 'started' order by started_at, id",
);

/** Returns the rides under way in a sandbox, the oldest first. */
export function listRidesUnderWay(db: QueryRunner, systemId: string): Promise<RideUnderWay[]> {
  return db.query<RideUnderWay>(ridesUnderWay, [systemId]);
}

const bikeOfReservation = statement(
  "sandboxes.bikeOfReservation",
  "select bike_id from reservations where system_id = $1 and id = $2",
);

/** Returns the id of the bike that a reservation holds, or held. */
export async function findBikeOfReservation(db: QueryRunner, systemId: string, id: string): Promise<string> {
  return oneRow(await db.query<{ bike_id: string }>(bikeOfReservation, [systemId, id])).bike_id;
}

const updateFaultList = statement(
  "sandboxes.updateFaults",
  "update sandboxes set faults = $2::jsonb where system_id = $1",
);
const updateFaultsOfWebhooks = statement(
  "sandboxes.updateWebhookFaults",
  "update sandboxes set webhook_faults = $2::jsonb where system_id = $1",
);

/** Sets the faults of a sandbox's API. @param faults null: none */
export async function updateFaults(
  tx: Transaction,
  systemId: string,
  faults: readonly SandboxFault[] | null,
): Promise<void> {
  await tx.query(updateFaultList, [systemId, faults && JSON.stringify(faults)]);
}

/** Sets the faults of a sandbox's deliveries. @param faults null: none */
export async function updateWebhookFaults(
  tx: Transaction,
  systemId: string,
  faults: SandboxWebhookFaults | null,
): Promise<void> {
  await tx.query(updateFaultsOfWebhooks, [systemId, faults && JSON.stringify(faults)]);
}

// `threshold.since` null: the threshold is not watched yet. A `state` without `due_at`: the endpoint was notified.
// `MATCHES_STATION` is true where the `threshold` is for the `station`, by these aliases.
const watchedOf = statement(
  "sandboxes.watched",
  `select station.id as station_id, threshold.count_of, threshold.fewer_than, threshold.for_minutes,
     state.station_id is not null as was_notified
   from webhook_thresholds threshold
   join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = threshold.endpoint_id
     and endpoint.events && array[$2, 'station.*']
   join stations station on station.system_id = $1 and station.status = 'online' and ${MATCHES_STATION}
     and station.id = coalesce($3, station.id)
   left join webhook_threshold_states state on state.system_id = $1 and state.threshold_id = threshold.id
     and state.station_id = station.id and state.due_at is null
   where threshold.system_id = $1 and threshold.since is not null and (state.station_id is null or $4)
   order by was_notified desc, case when threshold.count_of = 'docks' then station.num_docks_available else station.num_bikes_available end,
     station.id
   limit 1`,
);

/** A threshold of an endpoint, and one of the online stations that it watches. */
interface WatchedRow extends Pick<Tables["webhook_thresholds"], "count_of" | "fewer_than" | "for_minutes"> {
  readonly station_id: string;
  /** Whether the endpoint was notified that the station is below the threshold. */
  readonly was_notified: boolean;
}

/**
 * Returns a threshold whose endpoint subscribes to an event, and an online station that it watches: of several, the one
 * with the fewest bikes or docks. With `mayBeNotified`, prefers a station that the endpoint was notified of; without
 * it, returns no such station.
 */
export async function findWatched(
  db: Queryable,
  systemId: string,
  asked: { readonly event: string; readonly stationId: string | undefined; readonly mayBeNotified: boolean },
): Promise<WatchedRow | undefined> {
  const { event, stationId, mayBeNotified } = asked;
  return (await db.query<WatchedRow>(watchedOf, [systemId, event, stationId ?? null, mayBeNotified]))[0];
}
