import type { exportFacts, ExportFormat, ExportKind, ExportPrivacy } from "@bikeshare/contract";
import type { z } from "zod";
import { columnsOfTable } from "../../storage/db/columns.ts";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Period } from "./months.rules.ts";

/*
 * The statements about exports, which are files with rides, stations or changes of stations. First the exports and the
 * schedules that request them each month, then the data from which the files are made.
 */

/** The facts about a finished file that partners see, such as its size and checksum. */
export type ExportFacts = { readonly [Name in keyof typeof exportFacts]: z.infer<(typeof exportFacts)[Name]> };

/** A row of the table `exports`: a file that waits to be made, is being made, is ready, or could not be made. */
export interface StoredExport {
  readonly id: string;
  readonly kind: ExportKind;
  /** The month of the content, such as `2026-10`; null: the kind of export does not depend on a month. */
  readonly month: string | null;
  readonly format: ExportFormat;
  readonly privacy: ExportPrivacy | null;
  readonly is_shared: boolean;
  readonly state: "waiting" | "running" | "ready" | "failed";
  readonly requested_at: Date;
  readonly requested_by: string;
  readonly schedule_id: string | null;
  /** The month for which the schedule requested the export; null: a person requested it. */
  readonly scheduled_month: string | null;
  readonly attempts: number;
  readonly rows_done: number;
  readonly problem: string | null;
  readonly finished_at: Date | null;
  readonly facts: ExportFacts | null;
}

/** A schedule: an export that the service makes for each month by itself. */
export interface ExportSchedule {
  readonly id: string;
  readonly kind: ExportKind;
  readonly format: ExportFormat;
  readonly privacy: ExportPrivacy | null;
  readonly is_shared: boolean;
  /** For how many months its files are kept. */
  readonly keep_months: number;
  readonly created_at: Date;
  readonly created_by: string;
}

const listed = `id, kind, month, format, privacy, is_shared, state, requested_at, requested_by, schedule_id, scheduled_month,
  attempts, rows_done::float8 as rows_done, problem, finished_at, facts`;

const insert = statement(
  "exports.insert",
  `insert into exports (system_id, id, kind, month, format, privacy, is_shared, state, requested_at, requested_by,
     schedule_id, scheduled_month)
   select $1, $2, $3, $4, $5, $6, $7, 'waiting', $8::timestamptz, $9, $10, $11
   on conflict do nothing`,
);
const countAll = statement(
  "exports.countAll",
  `select count(*) filter (where schedule_id is null)::int as own,
     count(*) filter (where state in ('waiting', 'running'))::int as open
   from exports where system_id = $1`,
);
// Locks a row that every system has, because exports that are not there yet have no row to lock.
const lock = statement("exports.lock", "select 1 as n from placed_systems where system_id = $1 for no key update");
const find = statement("exports.find", `select ${listed} from exports where system_id = $1 and id = $2`);
const list = statement(
  "exports.list",
  `select ${listed} from exports where system_id = $1 and ($2::text is null or id < $2) order by id desc limit $3`,
);
// A finished file that partners may have, of the kind $2, the month $3 and the format $4; null: of any.
const isSharedFile = `system_id = $1 and state = 'ready' and is_shared and ($2::text is null or kind = $2)
  and ($3::text is null or month = $3) and ($4::text is null or format = $4)`;
const listShared = statement(
  "exports.listShared",
  `select ${listed} from exports where ${isSharedFile} and ($5::text is null or id < $5) order by id desc limit $6 offset $7`,
);
const countShared = statement("exports.countShared", `select count(*)::int as n from exports where ${isSharedFile}`);
const isActivePartner = statement(
  "exports.isActivePartner",
  "select 1 from partners where system_id = $1 and id = $2 and suspended_at is null and removed_at is null",
);
const remove = statement("exports.delete", `delete from exports where system_id = $1 and id = $2 returning ${listed}`);
const share = statement(
  "exports.share",
  `update exports set is_shared = $3 where system_id = $1 and id = $2 and is_shared <> $3 returning id`,
);

// Claims a waiting export, or a running one whose process has not updated `seen_at` for $2 ms and so has probably ended.
// Uses PostgreSQL's clock, because the clocks of processes may differ.
const claim = statement(
  "exports.claim",
  `with next as (
     select id from exports
     where system_id = $1 and (state = 'waiting' or state = 'running' and seen_at < now() - $2::bigint * interval '1 ms')
     order by requested_at, id limit 1 for update skip locked)
   update exports e set state = 'running', attempts = attempts + 1, seen_at = now(), rows_done = 0
   from next where e.system_id = $1 and e.id = next.id returning e.id`,
);
// True for the attempt that claimed the export last, so that the export is still its own. A later claim has increased
// `attempts`.
const isMine = "system_id = $1 and id = $2 and state = 'running' and attempts = $3";
const progress = statement(
  "exports.progress",
  `update exports set seen_at = now(), rows_done = $4 where ${isMine} returning id`,
);
const finish = statement(
  "exports.finish",
  `update exports set state = 'ready', facts = $4::jsonb, finished_at = $5::timestamptz, rows_done = $6 where ${isMine} returning id`,
);
const fail = statement(
  "exports.fail",
  `update exports set state = 'failed', problem = $4, finished_at = $5::timestamptz where ${isMine} returning id`,
);
const release = statement(
  "exports.release",
  `update exports set state = 'waiting', attempts = attempts - 1, seen_at = null where ${isMine} returning id`,
);
const filesOf = statement(
  "exports.files",
  "select id, attempts, state from exports where system_id = $1 and id = any($2::text[])",
);
// A schedule that was removed has no `keep_months`. Its files stay for 600 months, that is practically for ever.
const deleteOld = statement(
  "exports.deletePast",
  `with past as (
     select e.id from exports e left join export_schedules s on s.system_id = $1 and s.id = e.schedule_id
     where e.system_id = $1 and (
       e.state = 'failed' and e.finished_at < $2::timestamptz
       or e.state = 'ready' and e.schedule_id is not null
         and e.scheduled_month < to_char($3::date - coalesce(s.keep_months, 600) * interval '1 month', 'YYYY-MM'))
     order by e.id limit $4),
   deleted as (delete from exports where system_id = $1 and id = any(array(select id from past)) returning 1)
   select count(*)::int as n from deleted`,
);

const scheduleColumns = columnsOfTable("export_schedules").without("system_id", "asked_month");
const schedules = statement(
  "exports.schedules",
  `select ${scheduleColumns.list()} from export_schedules where system_id = $1 order by id`,
);
const schedulesLacking = statement(
  "exports.schedulesLacking",
  `select ${scheduleColumns.list()} from export_schedules
   where system_id = $1 and (asked_month is null or asked_month < $2) order by id`,
);
const insertScheduleRow = statement(
  "exports.insertSchedule",
  `insert into export_schedules (system_id, id, kind, format, privacy, is_shared, keep_months, created_at, created_by)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);
// The condition lets only one of several processes request a month, and prevents a second request for a month whose file
// somebody has deleted since.
const askForMonth = statement(
  "exports.askForMonth",
  `update export_schedules set asked_month = $3
   where system_id = $1 and id = $2 and (asked_month is null or asked_month < $3) returning id`,
);
const deleteScheduleRow = statement(
  "exports.deleteSchedule",
  `delete from export_schedules where system_id = $1 and id = $2 returning ${scheduleColumns.list()}`,
);

/** The columns of an export that are set when it is requested. */
export type NewExport = Pick<
  StoredExport,
  | "id"
  | "kind"
  | "month"
  | "format"
  | "privacy"
  | "is_shared"
  | "requested_at"
  | "requested_by"
  | "schedule_id"
  | "scheduled_month"
>;

/** Inserts an export that waits to be made. Changes nothing if its schedule has an export of this month already. */
export async function insertExport(db: QueryRunner, systemId: string, wanted: NewExport): Promise<void> {
  const { id, kind, month, format, privacy } = wanted;
  const asked = [wanted.requested_at, wanted.requested_by, wanted.schedule_id, wanted.scheduled_month];
  await db.query(insert, [systemId, id, kind, month, format, privacy, wanted.is_shared, ...asked]);
}

/** Lets one transaction at a time add exports or schedules to a system, so that its limits hold. Each calls this first. */
export async function lockExports(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(lock, [systemId]);
}

/** Counts the exports that people requested (`own`), and those that are waiting or running (`open`). */
export async function countExports(
  db: QueryRunner,
  systemId: string,
): Promise<{ readonly own: number; readonly open: number }> {
  return oneRow(await db.query<{ own: number; open: number }>(countAll, [systemId]));
}

/** Returns an export in any state, shared or not; undefined: there is none with this id. */
export async function findExport(db: QueryRunner, systemId: string, id: string): Promise<StoredExport | undefined> {
  return (await db.query<StoredExport>(find, [systemId, id]))[0];
}

/** Lists exports, the newest first. @param before the id of the last export of the previous page */
export function listExports(
  db: QueryRunner,
  systemId: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<StoredExport[]> {
  return db.query<StoredExport>(list, [systemId, before ?? null, limit]);
}

/** The filters of the list of exports that partners read. */
export interface SharedFilters {
  readonly kind?: ExportKind | undefined;
  readonly month?: string | undefined;
  readonly format?: ExportFormat | undefined;
}

/** Returns the parameters $2 to $4 of `isSharedFile`. */
const filterValues = ({ kind, month, format }: SharedFilters) => [kind ?? null, month ?? null, format ?? null];

/** Lists the finished files that partners may have, the newest first: after an id, or without the first `skip` files. */
export function listSharedExports(
  db: QueryRunner,
  systemId: string,
  filters: SharedFilters,
  { after, skip = 0, limit }: { readonly after?: string | undefined; readonly skip?: number; readonly limit: number },
): Promise<StoredExport[]> {
  return db.query<StoredExport>(listShared, [systemId, ...filterValues(filters), after ?? null, limit, skip]);
}

/** Counts the finished files that partners may have. */
export async function countSharedExports(db: QueryRunner, systemId: string, filters: SharedFilters): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countShared, [systemId, ...filterValues(filters)])).n;
}

/** Tells whether a partner is neither suspended nor removed. */
export async function isPartnerActive(db: QueryRunner, systemId: string, partnerId: string): Promise<boolean> {
  return (await db.query(isActivePartner, [systemId, partnerId])).length > 0;
}

/** Deletes an export. Returns it as it was; undefined: there was none. Its file is deleted later. */
export async function deleteExport(db: QueryRunner, systemId: string, id: string): Promise<StoredExport | undefined> {
  return (await db.query<StoredExport>(remove, [systemId, id]))[0];
}

/** Sets whether partners may have an export. @returns whether that changed anything */
export async function updateShared(db: QueryRunner, systemId: string, id: string, isShared: boolean): Promise<boolean> {
  return (await db.query(share, [systemId, id, isShared])).length > 0;
}

/**
 * Claims the earliest requested export among those that wait, and those that run but whose process has sent no sign of life
 * for `silenceMs`. Returns its id; undefined: there is none.
 */
export async function claimExport(db: QueryRunner, systemId: string, silenceMs: number): Promise<string | undefined> {
  return (await db.query<{ id: string }>(claim, [systemId, silenceMs]))[0]?.id;
}

/** One process's attempt at an export. Statements with it do nothing once another process has claimed the export. */
export interface Attempt {
  readonly systemId: string;
  readonly id: string;
  readonly attempts: number;
}

const attemptValues = ({ systemId, id, attempts }: Attempt) => [systemId, id, attempts];

/** Writes progress and a sign of life. @returns false: another process has claimed the export, or somebody deleted it */
export async function updateProgress(db: QueryRunner, attempt: Attempt, rows: number): Promise<boolean> {
  return (await db.query(progress, [...attemptValues(attempt), rows])).length > 0;
}

/** Marks an export as ready. @returns false: another process has claimed the export, or somebody deleted it */
export async function updateFinished(
  db: QueryRunner,
  attempt: Attempt,
  facts: ExportFacts,
  finishedAt: Date,
): Promise<boolean> {
  const values = [JSON.stringify(facts), finishedAt, facts.rows];
  return (await db.query(finish, [...attemptValues(attempt), ...values])).length > 0;
}

/** Marks an export as failed. @param problem the reason, and what to do about it, for people */
export async function updateFailed(db: QueryRunner, attempt: Attempt, problem: string, at: Date): Promise<void> {
  await db.query(fail, [...attemptValues(attempt), problem, at]);
}

/** Sets an export back to `waiting`, so that another process makes it. The attempt is not counted. */
export async function updateReleased(db: QueryRunner, attempt: Attempt): Promise<void> {
  await db.query(release, attemptValues(attempt));
}

/** Returns the exports with these ids, with the attempt and the state that determine which files belong to them. */
export function listFileOwners(
  db: QueryRunner,
  systemId: string,
  ids: readonly string[],
): Promise<Pick<StoredExport, "id" | "attempts" | "state">[]> {
  return db.query(filesOf, [systemId, ids]);
}

/**
 * Deletes old failed exports, and files that are older than their schedule keeps them.
 * @param month the current month in the city's local time, such as `2026-10`
 * @returns how many
 */
export async function deletePastExports(
  db: QueryRunner,
  systemId: string,
  { failedBefore, month, limit }: { readonly failedBefore: Date; readonly month: string; readonly limit: number },
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(deleteOld, [systemId, failedBefore, `${month}-01`, limit])).n;
}

/** Returns the schedules of a system, the oldest first. */
export function listSchedules(db: QueryRunner, systemId: string): Promise<ExportSchedule[]> {
  return db.query<ExportSchedule>(schedules, [systemId]);
}

/** Returns the schedules that have requested neither this month nor a later one, the oldest first. */
export function listSchedulesLacking(db: QueryRunner, systemId: string, month: string): Promise<ExportSchedule[]> {
  return db.query<ExportSchedule>(schedulesLacking, [systemId, month]);
}

/** Inserts a schedule, which has not requested a month yet. */
export async function insertSchedule(db: QueryRunner, systemId: string, schedule: ExportSchedule): Promise<void> {
  const { id, kind, format, privacy, is_shared: isShared, keep_months: months } = schedule;
  const made = [schedule.created_at, schedule.created_by];
  await db.query(insertScheduleRow, [systemId, id, kind, format, privacy, isShared, months, ...made]);
}

/** Records that a schedule requests a month. @returns false: it has requested this or a later month before, or is deleted */
export async function updateAskedMonth(db: QueryRunner, systemId: string, id: string, month: string): Promise<boolean> {
  return (await db.query(askForMonth, [systemId, id, month])).length > 0;
}

/** Deletes a schedule. Returns it as it was; undefined: there was none. */
export async function deleteSchedule(
  db: QueryRunner,
  systemId: string,
  id: string,
): Promise<ExportSchedule | undefined> {
  return (await db.query<ExportSchedule>(deleteScheduleRow, [systemId, id]))[0];
}

/** The facts about a ride from which exported files are made. */
export interface RideRecord {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Null: the ride has not ended. */
  readonly endedAt: number | null;
  readonly startStationId: string | null;
  readonly endStationId: string | null;
  readonly vehicleTypeId: string | null;
  readonly riderCategory: string | null;
  readonly status: string;
  readonly endReason: string | null;
  /** Whether the ride is long enough to count. If that is not stored: whether it took 60 seconds or more. */
  readonly isCountable: boolean;
}

/** A ride as the statement returns it, with times in seconds since 1970. */
interface RideRow extends Omit<RideRecord, "startedAt" | "endedAt"> {
  readonly started: number;
  readonly ended: number | null;
}

/** The facts about a station that exported files contain. */
export interface StationRecord {
  readonly id: string;
  readonly name: string;
  readonly short_name: string | null;
  readonly lat: number;
  readonly lon: number;
  readonly region_id: string | null;
  readonly capacity: number | null;
  readonly is_virtual_station: boolean;
  readonly status: string;
}

/**
 * Rows that one statement reads. Too low: more of the time goes to round trips. Too high: the rows take memory, and each
 * statement blocks the thread for longer.
 */
const BATCH_ROWS = 2_000;

const now = statement("exports.now", "select date_trunc('milliseconds', now()) as at");

// Reads times as numbers of seconds, because the driver takes longer to parse one date than the rest of a row. The columns
// have milliseconds, so rounding to milliseconds loses nothing.
const rides = statement(
  "exports.rides",
  `select id, extract(epoch from started_at)::float8 as started, extract(epoch from ended_at)::float8 as ended,
     start_station_id as "startStationId", end_station_id as "endStationId", vehicle_type_id as "vehicleTypeId",
     rider_category as "riderCategory", status, end_reason as "endReason",
     coalesce(is_countable, duration_seconds >= 60, false) as "isCountable"
   from rides
   where system_id = $1 and started_at >= $2::timestamptz and started_at < $3::timestamptz
     and (started_at, id) > ($4::timestamptz, $5::text)
   order by started_at, id limit ${BATCH_ROWS}`,
);

const stations = statement(
  "exports.stations",
  `select id, name, short_name, lat, lon, region_id, capacity, is_virtual_station, status
   from stations where system_id = $1 and id > $2 order by id limit ${BATCH_ROWS}`,
);

/** A change of a station's counters or status. */
export interface StationChangeRecord {
  readonly stationId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bikes: number;
  readonly disabled: number | null;
  readonly docks: number | null;
  readonly docksDisabled: number | null;
  /** The station's status and its flags, such as `is_renting`, in one number; `readFlags` reads them. */
  readonly flags: number;
}

// The condition on `changed_on` keeps PostgreSQL from reading the partitions of other months.
const stationChanges = statement(
  "exports.stationChanges",
  `select station_id as "stationId", extract(epoch from at)::float8 as seconds, bikes, disabled, docks,
     docks_disabled as "docksDisabled", flags
   from station_changes
   where system_id = $1 and changed_on >= ($2::timestamptz at time zone 'UTC')::date
     and changed_on <= ($3::timestamptz at time zone 'UTC')::date
     and at >= $2::timestamptz and at < $3::timestamptz and (station_id, at) > ($4::text, $5::timestamptz)
   order by station_id, at limit ${BATCH_ROWS}`,
);

/** Reads the changes of stations in a period, by station and then by time. */
export async function* readStationChanges(
  db: QueryRunner,
  systemId: string,
  { from, to }: Period,
): AsyncGenerator<StationChangeRecord[]> {
  let after = { stationId: "", at: from };
  for (;;) {
    const range = [new Date(from), new Date(to), after.stationId, new Date(after.at)];
    const rows = await db.query<StationChangeRecord & { readonly seconds: number }>(stationChanges, [
      systemId,
      ...range,
    ]);
    const records = rows.map(({ seconds, ...change }) => ({ ...change, at: Math.round(seconds * 1000) }));
    if (records.length > 0) yield records;
    const last = records.at(-1);
    if (last === undefined || records.length < BATCH_ROWS) return;
    after = last;
  }
}

/** Returns when the current transaction began, which is just before an export's snapshot. */
export async function findNow(db: QueryRunner): Promise<Date> {
  return oneRow(await db.query<{ at: Date }>(now)).at;
}

/** Reads the rides that started in a period, in the order of their start. */
export async function* readRides(
  db: QueryRunner,
  systemId: string,
  { from, to }: Period,
): AsyncGenerator<RideRecord[]> {
  let after = { startedAt: from, id: "" };
  for (;;) {
    const range = [new Date(from), new Date(to), new Date(after.startedAt), after.id];
    const rows = await db.query<RideRow>(rides, [systemId, ...range]);
    const records = rows.map(({ started, ended, ...ride }) => ({
      ...ride,
      startedAt: Math.round(started * 1000),
      endedAt: ended === null ? null : Math.round(ended * 1000),
    }));
    if (records.length > 0) yield records;
    const last = records.at(-1);
    if (last === undefined || records.length < BATCH_ROWS) return;
    after = last;
  }
}

/** Reads all stations in the order of their ids, including removed ones. */
export async function* readStations(db: QueryRunner, systemId: string): AsyncGenerator<StationRecord[]> {
  let after = "";
  for (;;) {
    const rows = await db.query<StationRecord>(stations, [systemId, after]);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH_ROWS) return;
    after = last.id;
  }
}
