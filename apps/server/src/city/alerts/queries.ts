import { columnsOfTable } from "../../storage/db/columns.ts";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { StoredAlert } from "./alert.rules.ts";

/*
 * The statements on alerts for riders. A closure is an alert that was opened by taking a station offline: `closes_station`
 * names the station. An alert past its `ends_at` is over; until a sweeper stores that, its `ended_at` is null, and the
 * statements that lock open alerts include it. `rowsOfSystem` joins rows from parameters (here `w`) with the row of the
 * system (`placed`), so that a distributed database knows their node.
 */

const columns = columnsOfTable("rider_alerts").without("system_id");

const select = `select ${columns.list()} from rider_alerts where system_id = $1`;

const lockById = statement("riderAlerts.lock", `${select} and id = any($2::text[]) order by id for update`);

const lockClosures = statement(
  "riderAlerts.lockClosures",
  `${select} and ended_at is null and closes_station = any($2::text[]) order by id for update`,
);

const lockOfStations = statement(
  "riderAlerts.lockOfStations",
  `${select} and ended_at is null and source = 'operator'
     and (closes_station = any($2::text[]) or content -> 'station_ids' ?| $2::text[])
   order by id for update`,
);

const lockOfSource = statement(
  "riderAlerts.lockOfSource",
  `${select} and (id = any($3::text[]) or ended_at is null and source = $2) order by id for update`,
);

// Finds few rows: ends that are not past yet, because another process with a clock ahead of this one's wrote them.
const laterEnds = statement(
  "riderAlerts.laterEnds",
  `select closes_station, max(ended_at) as ended_at from rider_alerts
   where system_id = $1 and closes_station = any($2::text[]) and ended_at >= $3::timestamptz group by closes_station`,
);

// Alerts that other transactions have locked wait for the next sweep.
const claimOverdue = statement(
  "riderAlerts.claimOverdue",
  `${select} and id = any($3::text[]) and ended_at is null and ends_at <= $2::timestamptz
   order by id for update skip locked`,
);

const listOverdue = statement(
  "riderAlerts.listOverdue",
  `select id from rider_alerts
   where system_id = $1 and ended_at is null and ends_at <= $2::timestamptz and not id = any($4::text[])
   order by ends_at, id limit $3`,
);

const insert = statement(
  "riderAlerts.insert",
  `insert into rider_alerts (system_id, ${columns.list()})
   select placed.system_id, ${columns.list("w")} from ${rowsOfSystem(columns.unnest(2, "w"))}
   on conflict do nothing returning id`,
);

const update = statement(
  "riderAlerts.update",
  `update rider_alerts a set ${columns.without("id").assignments("w")}
   from ${columns.unnest(2, "w")} where a.system_id = $1 and a.id = w.id`,
);

/** The condition that an alert is open at the instant $2. */
const isOpen = "ended_at is null and (ends_at is null or ends_at > $2::timestamptz)";

const countOpen = statement(
  "riderAlerts.countOpen",
  `select count(*)::int as n from rider_alerts where system_id = $1 and source = 'operator' and ${isOpen}`,
);

// "all" only uses $2, because every statement with one of these conditions gets $2.
const conditions = { open: isOpen, ended: `not (${isOpen})`, all: "$2::timestamptz is not null" } as const;

const countOpened = statement(
  "riderAlerts.countOpenedOfSource",
  "select count(*)::int as n from rider_alerts where system_id = $1 and source = $2 and opened_at > $3::timestamptz",
);

const pageOf = (status: AlertStatus) => ({
  after: statement(
    `riderAlerts.page.${status}`,
    `${select} and ${conditions[status]} and ($3::text is null or id > $3) order by id limit $4 offset $5`,
  ),
  count: statement(
    `riderAlerts.count.${status}`,
    `select count(*)::int as n from rider_alerts where system_id = $1 and ${conditions[status]}`,
  ),
});

/** The status by which alerts are filtered. */
export type AlertStatus = keyof typeof conditions;

const pages = { open: pageOf("open"), ended: pageOf("ended"), all: pageOf("all") } as const;

const find = statement("riderAlerts.find", `${select} and id = $2`);

const findStanding = statement(
  "riderAlerts.standingStations",
  "select id from stations where system_id = $1 and id = any($2::text[]) and status <> 'removed'",
);

// The deletion repeats the condition, because an alert may have opened again since `past` was read.
const deletePast = statement(
  "riderAlerts.deletePast",
  `with past as (
     select id from rider_alerts where system_id = $1 and ended_at < $2::timestamptz order by ended_at limit $3),
   deleted as (
     delete from rider_alerts where system_id = $1 and id = any(array(select id from past))
       and ended_at < $2::timestamptz returning 1)
   select count(*)::int as n from deleted`,
);

/** Counts the alerts of a source that opened after an instant, ended ones too. */
export async function countOpenedOfSource(
  tx: Transaction,
  systemId: string,
  source: string,
  after: Date,
): Promise<number> {
  return oneRow(await tx.query<{ n: number }>(countOpened, [systemId, source, after])).n;
}

/** Locks the alerts with these ids, in the order of the ids. */
export function lockAlerts(tx: Transaction, systemId: string, ids: readonly string[]): Promise<StoredAlert[]> {
  return tx.query<StoredAlert>(lockById, [systemId, ids]);
}

/** Locks the stations' closures without a stored end. */
export function lockClosuresOf(
  tx: Transaction,
  systemId: string,
  stationIds: readonly string[],
): Promise<StoredAlert[]> {
  return tx.query<StoredAlert>(lockClosures, [systemId, stationIds]);
}

/** Finds for each station the latest end of its closures, if it is not before an instant. */
export async function findLaterEnds(
  tx: Transaction,
  systemId: string,
  stationIds: readonly string[],
  at: Date,
): Promise<ReadonlyMap<string, Date>> {
  const rows = await tx.query<{ closes_station: string; ended_at: Date }>(laterEnds, [systemId, stationIds, at]);
  return new Map(rows.map((row) => [row.closes_station, row.ended_at]));
}

/** Locks the operator's alerts without a stored end that concern any of the stations. */
export function lockAlertsOfStations(
  tx: Transaction,
  systemId: string,
  stationIds: readonly string[],
): Promise<StoredAlert[]> {
  return tx.query<StoredAlert>(lockOfStations, [systemId, stationIds]);
}

/** Locks a source's alerts without a stored end, and the alerts of any source with the given ids, ended ones too. */
export function lockAlertsOfSource(
  tx: Transaction,
  systemId: string,
  source: string,
  ids: readonly string[],
): Promise<StoredAlert[]> {
  return tx.query<StoredAlert>(lockOfSource, [systemId, source, ids]);
}

/** Locks the alerts with `ids` whose times are over and whose end is not stored. Skips alerts that others have locked. */
export function claimOverdueAlerts(
  tx: Transaction,
  systemId: string,
  now: Date,
  ids: readonly string[],
): Promise<StoredAlert[]> {
  return tx.query<StoredAlert>(claimOverdue, [systemId, now, ids]);
}

/**
 * Returns the ids of alerts whose times are over and whose end is not stored, oldest first.
 * @param apart ids to omit, because they may not share a batch (`UnitStates.apart`)
 */
export async function listOverdueAlerts(
  db: QueryRunner,
  systemId: string,
  { now, limit, apart }: { readonly now: Date; readonly limit: number; readonly apart: readonly string[] },
): Promise<string[]> {
  return (await db.query<{ id: string }>(listOverdue, [systemId, now, limit, apart])).map(({ id }) => id);
}

/** Inserts the alerts whose ids are free. @returns how many */
export async function insertAlerts(tx: Transaction, systemId: string, alerts: readonly StoredAlert[]): Promise<number> {
  if (alerts.length === 0) return 0;
  return (await tx.query(insert, [systemId, ...columns.arrays(alerts)])).length;
}

/** Updates locked alerts. */
export async function updateAlerts(tx: Transaction, systemId: string, alerts: readonly StoredAlert[]): Promise<void> {
  if (alerts.length > 0) await tx.query(update, [systemId, ...columns.arrays(alerts)]);
}

/** Counts the operator's open alerts. */
export async function countOpenAlerts(db: QueryRunner, systemId: string, now: Date): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countOpen, [systemId, now])).n;
}

/** The range of a page of alerts. */
interface AlertRange {
  /** The id after which the page begins; undefined: it begins with the first alert. */
  readonly after?: string | undefined;
  /** How many alerts are skipped. Default: none. */
  readonly skip?: number;
  /** Null: no limit. */
  readonly limit: number | null;
}

/** Returns alerts with a status at `now`, ordered by id. */
export function listAlertRows(
  db: QueryRunner,
  systemId: string,
  status: AlertStatus,
  now: Date,
  { after, skip = 0, limit }: AlertRange,
): Promise<StoredAlert[]> {
  return db.query<StoredAlert>(pages[status].after, [systemId, now, after ?? null, limit, skip]);
}

/** Counts the alerts with a status at `now`. */
export async function countAlerts(db: QueryRunner, systemId: string, status: AlertStatus, now: Date): Promise<number> {
  return oneRow(await db.query<{ n: number }>(pages[status].count, [systemId, now])).n;
}

/** Finds an alert. */
export async function findAlert(db: QueryRunner, systemId: string, id: string): Promise<StoredAlert | undefined> {
  return (await db.query<StoredAlert>(find, [systemId, id]))[0];
}

/** Returns the ids of those stations that exist and are not removed. */
export async function findStandingStations(
  db: QueryRunner,
  systemId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await db.query<{ id: string }>(findStanding, [systemId, ids])).map(({ id }) => id));
}

/** Deletes up to `limit` alerts that ended before an instant, the oldest first. @returns how many */
export async function deletePastAlerts(
  db: QueryRunner,
  systemId: string,
  before: Date,
  limit: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(deletePast, [systemId, before, limit])).n;
}
