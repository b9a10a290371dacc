import { forgetDeleted } from "../../city/history/changes-sql-fragments.ts";
import { arrayOf, columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { TimePosition } from "../../storage/lists/page.ts";
import type { ReportEntry, ReportSummary } from "./report.rules.ts";

/*
 * The statements about imports, in four parts: the records of imports, the progress of running imports, the reports of
 * rejected and repaired records, and the removal of a feed's source when its import is undone.
 *
 * The record of an import of trips is `running`, then `done`, and during and after its undo `undoing` and `undone`. That of a
 * feed's import is only `done` or `undone`. An import of trips that finds rides of an earlier import overlaps it
 * (`import_overlaps`): the earlier one can be undone only after it.
 */

/** A row of the table `imports`. */
export type ImportRow = Omit<Tables["imports"], "system_id">;

/** The changes that one transaction of an import makes to its record. */
export interface ImportProgress {
  readonly created: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly stationsCreated: number;
  /** When the first and the last of the created rides started; null: none was created. */
  readonly starts: { readonly first: Date; readonly last: Date } | null;
}

const stored = columnsOfTable("imports").without("system_id");
/** The columns that a new record sets. `detail` is JSON, which is passed as text. */
const written = stored
  .without("first_at", "last_at", "undone_at", "removed")
  .and<{ readonly detail: string }>({ detail: arrayOf("jsonb") });
const columns = stored.list();

const insert = statement(
  "imports.insert",
  `insert into imports (system_id, ${written.list()}) select $1, ${written.list()} from ${written.unnest(2, "row")}`,
);

/** A timestamp after that of every import. It stands for the missing position before the first page. */
const BEHIND_ALL = "'infinity'";

const listPage = statement(
  "imports.listPage",
  `select ${columns} from imports
   where system_id = $1 and (at, id) < (coalesce($2::timestamptz, ${BEHIND_ALL}), coalesce($3, ''))
   order by at desc, id desc limit $4`,
);

const list = statement("imports.list", `select ${columns} from imports where system_id = $1 order by at desc, id desc`);

const find = statement("imports.find", `select ${columns} from imports where system_id = $1 and id = $2`);

const lockOne = statement("imports.lock", `select ${columns} from imports where system_id = $1 and id = $2 for update`);

const updateProgress = statement(
  "imports.updateProgress",
  `update imports set created = created + $3::bigint, unchanged = unchanged + $4::bigint,
     rejected = rejected + $5::bigint, stations_created = stations_created + $6::bigint,
     first_at = least(first_at, $7::timestamptz), last_at = greatest(last_at, $8::timestamptz)
   where system_id = $1 and id = $2 and status = 'running' returning id`,
);

const finish = statement(
  "imports.finish",
  "update imports set status = 'done', report = $3 where system_id = $1 and id = $2 and status = 'running'",
);

// The lock prevents an undo of these imports until the transaction has committed its row in `import_overlaps`.
const lockStanding = statement(
  "imports.lockStanding",
  `select id from imports where system_id = $1 and id = any($2::text[]) and status in ('running', 'done')
   order by id for share`,
);

const insertOverlaps = statement(
  "imports.insertOverlaps",
  `insert into import_overlaps (system_id, earlier_id, import_id)
   select $1, earlier_id, $2 from unnest($3::text[]) as earlier (earlier_id) order by earlier_id
   on conflict (system_id, earlier_id, import_id) do nothing`,
);

const overlapping = statement(
  "imports.listOverlapping",
  `select imports.id from import_overlaps as overlap
   join imports on imports.system_id = $1 and imports.id = overlap.import_id
   where overlap.system_id = $1 and overlap.earlier_id = $2 and imports.status <> 'undone'
   order by imports.at desc, imports.id desc`,
);

const laterOfSource = statement(
  "imports.listLater",
  `select id from imports
   where system_id = $1 and kind = 'gbfs' and source = $2 and (at, id) > ($3::timestamptz, $4) and status <> 'undone'
   order by at desc, id desc`,
);

const undoing = statement(
  "imports.listUndoing",
  "select id from imports where system_id = $1 and status = 'undoing' order by at, id",
);

const setUndoing = statement(
  "imports.setUndoing",
  "update imports set status = 'undoing' where system_id = $1 and id = $2",
);

const addRemoved = statement(
  "imports.addRemoved",
  "update imports set removed = removed + $3::bigint where system_id = $1 and id = $2",
);

const setUndone = statement(
  "imports.setUndone",
  "update imports set status = 'undone', undone_at = $3 where system_id = $1 and id = $2",
);

/** Inserts the record of an import, without the columns that are set later: the times of its rides, and its undo. */
export async function insertImport(
  db: Queryable,
  systemId: string,
  row: Omit<ImportRow, "first_at" | "last_at" | "undone_at" | "removed">,
): Promise<void> {
  await db.query(insert, [systemId, ...written.arrays([{ ...row, detail: JSON.stringify(row.detail) }])]);
}

/** Returns a system's imports, the newest first. */
export function listImports(db: Queryable, systemId: string): Promise<ImportRow[]> {
  return db.query<ImportRow>(list, [systemId]);
}

/** Returns the imports after a position, the newest first. Without a position: the newest imports. */
export function listImportPage(
  db: Queryable,
  systemId: string,
  after: TimePosition | undefined,
  limit: number,
): Promise<ImportRow[]> {
  return db.query<ImportRow>(listPage, [systemId, after?.at ?? null, after?.id ?? null, limit]);
}

/** Returns the ids of the imports whose undo has begun and not ended, the earliest import first. */
export async function listUndoing(db: Queryable, systemId: string): Promise<string[]> {
  return (await db.query<Pick<ImportRow, "id">>(undoing, [systemId])).map(({ id }) => id);
}

/** Returns an import; undefined: there is no record with this id. */
export async function findImport(db: Queryable, systemId: string, id: string): Promise<ImportRow | undefined> {
  return (await db.query<ImportRow>(find, [systemId, id]))[0];
}

/** Like `findImport`, and locks the record until the transaction ends. */
export async function lockImport(tx: Transaction, systemId: string, id: string): Promise<ImportRow | undefined> {
  return (await tx.query<ImportRow>(lockOne, [systemId, id]))[0];
}

/** Adds to a running import. @returns false when it is not running any more, because it was undone meanwhile */
export async function updateImportProgress(
  tx: Transaction,
  systemId: string,
  id: string,
  { created, unchanged, rejected, stationsCreated, starts }: ImportProgress,
): Promise<boolean> {
  const values = [systemId, id, created, unchanged, rejected, stationsCreated, starts?.first, starts?.last];
  return (await tx.query(updateProgress, values)).length > 0;
}

/** Marks a running import as done. Changes nothing if it is being undone or was undone. */
export async function updateImportFinished(
  db: Queryable,
  systemId: string,
  id: string,
  report: string | null,
): Promise<void> {
  await db.query(finish, [systemId, id, report]);
}

/** Locks the imports that are running or done, so that no undo begins before the transaction ends. Returns their ids. */
export async function lockStandingImports(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<string[]> {
  return (await tx.query<Pick<ImportRow, "id">>(lockStanding, [systemId, ids])).map(({ id }) => id);
}

/** Records that an import found rides that earlier imports had created. */
export async function insertImportOverlaps(
  tx: Transaction,
  systemId: string,
  id: string,
  earlierIds: readonly string[],
): Promise<void> {
  await tx.query(insertOverlaps, [systemId, id, earlierIds]);
}

/** Returns the ids of imports that found rides of import `id` and are not undone, the newest first. */
export async function listOverlappingImports(db: Queryable, systemId: string, id: string): Promise<string[]> {
  return (await db.query<Pick<ImportRow, "id">>(overlapping, [systemId, id])).map((row) => row.id);
}

/** Returns the ids of later imports of the same feed that are not undone, the newest first. */
export async function listLaterImports(
  db: Queryable,
  systemId: string,
  { id, source, at }: Pick<ImportRow, "id" | "source" | "at">,
): Promise<string[]> {
  return (await db.query<Pick<ImportRow, "id">>(laterOfSource, [systemId, source, at, id])).map((row) => row.id);
}

/** Marks an import as being undone. From now on `updateImportProgress` adds nothing to it. */
export async function updateImportUndoing(tx: Transaction, systemId: string, id: string): Promise<void> {
  await tx.query(setUndoing, [systemId, id]);
}

/** Adds to the number of rides that undoing the import has removed. */
export async function updateImportRemoved(tx: Transaction, systemId: string, id: string, rides: number): Promise<void> {
  await tx.query(addRemoved, [systemId, id, rides]);
}

/** Marks an import as undone. @param at when its undo ended */
export async function updateImportUndone(tx: Transaction, systemId: string, id: string, at: Date): Promise<void> {
  await tx.query(setUndone, [systemId, id, at]);
}

/** The progress of a running import, which is stored in a table of its own. */
export type ProgressRow = Pick<Tables["running_imports"], "share" | "rows_read" | "created" | "unchanged" | "rejected">;

// `excluded.progressed_at` is the column's default, the present: the values leave the column out. It is taken over only if
// the numbers have changed.
const upsert = statement(
  "runningImports.upsert",
  `insert into running_imports as known
     (system_id, id, kind, began_at, alive_until, share, rows_read, created, unchanged, rejected)
   values ($1, $2, $3, now(), now() + $4::bigint * interval '1 ms', $5, $6, $7, $8, $9)
   on conflict (system_id, id) do update set alive_until = excluded.alive_until, share = excluded.share,
     rows_read = excluded.rows_read, created = excluded.created, unchanged = excluded.unchanged,
     rejected = excluded.rejected, progressed_at = case when
       row(known.share, known.rows_read, known.created, known.unchanged, known.rejected) is distinct from
         row(excluded.share, excluded.rows_read, excluded.created, excluded.unchanged, excluded.rejected)
       then excluded.progressed_at else known.progressed_at end`,
);

const deleteOne = statement("runningImports.delete", "delete from running_imports where system_id = $1 and id = $2");

// Deletes the progress of imports whose process was killed. All others delete their own progress when they end.
const deleteDead = statement(
  "runningImports.deleteDead",
  "delete from running_imports where system_id = $1 and alive_until < now() - interval '1 hour'",
);

const listByKind = statement(
  "runningImports.listByKind",
  `select kind, count(*) as imports, extract(epoch from now() - min(began_at))::double precision as seconds,
     extract(epoch from now() - min(progressed_at))::double precision as idle_seconds,
     min(share) as share, sum(rows_read)::bigint as rows_read, sum(created)::bigint as created,
     sum(unchanged)::bigint as unchanged, sum(rejected)::bigint as rejected
   from running_imports where system_id = $1 and alive_until > now() group by kind`,
);

/**
 * Writes the progress of an import, and deletes the progress of imports whose process was killed an hour ago or earlier.
 * @param aliveMs how long the import counts as running after this write
 */
export async function updateRunningImport(
  db: Queryable,
  { systemId, id, kind }: { readonly systemId: string; readonly id: string; readonly kind: string },
  aliveMs: number,
  { share, rows_read: read, created, unchanged, rejected }: ProgressRow,
): Promise<void> {
  await db.query(upsert, [systemId, id, kind, aliveMs, share, read, created, unchanged, rejected]);
  await db.query(deleteDead, [systemId]);
}

/** Deletes the progress of an import that has ended. */
export async function deleteRunningImport(db: Queryable, systemId: string, id: string): Promise<void> {
  await db.query(deleteOne, [systemId, id]);
}

/**
 * The imports of one kind that run now. Rows and rides are added up over them. `share` is that of the import that is least
 * complete; an import of unknown share does not count.
 */
export interface RunningImportsRow extends ProgressRow {
  readonly kind: string;
  readonly imports: number;
  /** Seconds since the earliest of these imports began. */
  readonly seconds: number;
  /** Seconds since the last progress of the import that has made none for longest. */
  readonly idle_seconds: number;
}

/** Returns the imports of a system that run now, summarised by kind. */
export function listRunningImports(db: Queryable, systemId: string): Promise<RunningImportsRow[]> {
  return db.query<RunningImportsRow>(listByKind, [systemId]);
}

const insertReport = statement(
  "importReports.insert",
  `insert into import_reports (system_id, import_id, reasons, first_entries) values ($1, $2, $3::jsonb, $4::jsonb)
   on conflict (system_id, import_id) do update set reasons = excluded.reasons, first_entries = excluded.first_entries`,
);

/** Most reports that a system stores. `feeds/report-files.ts` keeps as many files of each kind of report. */
const KEPT_REPORTS = 100;

const deletePast = statement(
  "importReports.deletePast",
  `delete from import_reports where system_id = $1 and import_id in (
     select r.import_id from import_reports r join imports i on i.system_id = $1 and i.id = r.import_id
     where r.system_id = $1 order by i.at desc, i.id desc offset ${KEPT_REPORTS})`,
);

const findReport = statement(
  "importReports.find",
  `select reasons, jsonb_array_length(first_entries) as kept from import_reports where system_id = $1 and import_id = $2`,
);

const listReport = statement(
  "importReports.list",
  `select coalesce(json_agg(json_build_object('number', number, 'entry', entry) order by number), '[]') as entries
   from (select number, entry
         from import_reports, jsonb_array_elements(first_entries) with ordinality as kept (entry, number)
         where system_id = $1 and import_id = $2 and number > $3 and ($4::text is null or entry ->> 'reason' = $4)
         order by number limit $5) as page`,
);

/** Stores the report of an import's rejected and repaired records. Deletes the oldest reports above the limit. */
export async function insertImportReport(
  db: Queryable,
  systemId: string,
  importId: string,
  { reasons, first }: ReportSummary,
): Promise<void> {
  await db.query(insertReport, [systemId, importId, JSON.stringify(reasons), JSON.stringify(first)]);
  await db.query(deletePast, [systemId]);
}

/** What the database stores of an import's report: the number of records for each reason, and how many can be read. */
interface KeptReport {
  readonly reasons: Readonly<Record<string, number>>;
  /** The number of stored entries. */
  readonly kept: number;
}

/** Returns an import's report; undefined: it had nothing to report, it did not finish, or its report was deleted as old. */
export async function findImportReport(
  db: Queryable,
  systemId: string,
  importId: string,
): Promise<KeptReport | undefined> {
  return (await db.query<KeptReport>(findReport, [systemId, importId]))[0];
}

/** An entry with its number in the report, counted from 1. */
interface NumberedEntry {
  readonly number: number;
  readonly entry: ReportEntry;
}

/** Returns the stored entries of a report after the entry with the number `after`: those with one reason, or all. */
export async function listReportEntries(
  db: Queryable,
  systemId: string,
  importId: string,
  { after, reason, limit }: { readonly after: number; readonly reason: string | undefined; readonly limit: number },
): Promise<readonly NumberedEntry[]> {
  const values = [systemId, importId, after, reason ?? null, limit];
  return oneRow(await db.query<{ entries: NumberedEntry[] }>(listReport, values)).entries;
}

/** How many stations and bikes a source has, and how many of these prevent an undo. */
interface SourceState {
  readonly stations: number;
  readonly bikes: number;
  /** Stations and bikes of the source that something has changed since the import wrote them (at `writtenAt`). */
  readonly changed: number;
  /** Stations and bikes of the source that a ride, a reservation or a bike of another source refers to. */
  readonly uses: number;
}

const lockSource = statement(
  "sourceRemoval.lockSource",
  "select source from gbfs_sources where system_id = $1 and source = $2 for update",
);

// Locks the source's stations, and the stations of other sources at which the source's bikes stand, because deleting these
// bikes changes their counters. Locks all of them in the order of their ids, to avoid deadlocks with other commands.
const lockStations = statement(
  "sourceRemoval.lockStations",
  `select id from stations
   where system_id = $1 and (source = $2 or id in (
     select station_id from bikes where system_id = $1 and source = $2 and station_id is not null))
   order by id for update`,
);

const lockBikes = statement(
  "sourceRemoval.lockBikes",
  "select id from bikes where system_id = $1 and source = $2 order by id for update",
);

// Finds rides through an index, one look-up for each station and bike. Reads the system's bikes and reservations as a whole.
const state = statement(
  "sourceRemoval.state",
  `with station as (select id, updated_at from stations where system_id = $1 and source = $2),
     bike as (select id, updated_at from bikes where system_id = $1 and source = $2),
     used_station as (
       select id from station where
         exists (select from rides where system_id = $1 and start_station_id = station.id)
         or exists (select from rides where system_id = $1 and end_station_id = station.id)
         or id in (select station_id from reservations where system_id = $1 and station_id is not null)
         or id in (select station_id from bikes where system_id = $1 and station_id is not null and source <> $2)
         or id in (select reported_station_id from bikes
                   where system_id = $1 and reported_station_id is not null and source <> $2)),
     used_bike as (
       select id from bike where
         exists (select from rides where system_id = $1 and bike_id = bike.id)
         or id in (select bike_id from reservations where system_id = $1))
   select (select count(*) from station) as stations, (select count(*) from bike) as bikes,
     (select count(*) from station where updated_at <> $3::timestamptz)
       + (select count(*) from bike where updated_at <> $3::timestamptz) as changed,
     (select count(*) from used_station) + (select count(*) from used_bike) as uses`,
);

// Also deletes the stations' history of changes (`forgetDeleted`).
const deleteStations = statement(
  "sourceRemoval.deleteStations",
  `with deleted as (delete from stations where system_id = $1 and source = $2 returning id),
   ${forgetDeleted("deleted")}
   select id from deleted`,
);

const deleteBikes = statement(
  "sourceRemoval.deleteBikes",
  "delete from bikes where system_id = $1 and source = $2 returning station_id",
);

// The tables that also describe a source: the station parts that wait for their other part, descriptions, health, and the
// times of applied feeds. `undo.ts` ends the source's alerts, which need events.
const deleteKnowledge = [
  "gbfs_pending_station_parts",
  "gbfs_descriptions",
  "gbfs_documents",
  "gbfs_feed_health",
  "gbfs_source_health",
  "gbfs_sources",
].map((table) =>
  statement(`sourceRemoval.delete.${table}`, `delete from ${table} where system_id = $1 and source = $2`),
);

/**
 * Locks a source, so that no snapshot of it is applied, and then its bikes and its stations. Bikes are locked before
 * stations, as in every command.
 */
export async function lockSourceRows(tx: Transaction, systemId: string, source: string): Promise<void> {
  for (const lock of [lockSource, lockBikes, lockStations]) await tx.query(lock, [systemId, source]);
}

/** Counts what a source has and what uses it. @param writtenAt `updated_at` of the rows that the import wrote */
export async function findSourceState(
  db: Queryable,
  systemId: string,
  source: string,
  writtenAt: Date,
): Promise<SourceState> {
  return oneRow(await db.query<SourceState>(state, [systemId, source, writtenAt]));
}

/** The stations and bikes that were deleted with a source. */
interface DeletedSource {
  /** The ids of the deleted stations. */
  readonly stations: readonly string[];
  /** For each deleted bike, the id of the station where it stood; null: it was not at a station. */
  readonly bikes: readonly (string | null)[];
}

/** Deletes a source with its stations and bikes, but not its alerts. The caller has locked them with `lockSourceRows`. */
export async function deleteSource(tx: Transaction, systemId: string, source: string): Promise<DeletedSource> {
  const bikes = await tx.query<Pick<Tables["bikes"], "station_id">>(deleteBikes, [systemId, source]);
  const stations = await tx.query<Pick<Tables["stations"], "id">>(deleteStations, [systemId, source]);
  for (const each of deleteKnowledge) await tx.query(each, [systemId, source]);
  return { stations: stations.map(({ id }) => id), bikes: bikes.map(({ station_id: stationId }) => stationId) };
}
