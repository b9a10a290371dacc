import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { ReportEntry, ReportSummary } from "./report.rules.ts";

const insert = statement(
  "importReports.insert",
  `insert into import_reports (system_id, import_id, reasons, first_entries) values ($1, $2, $3::jsonb, $4::jsonb)
   on conflict (system_id, import_id) do update set reasons = excluded.reasons, first_entries = excluded.first_entries`,
);

/** Reports that a system keeps: as many as there are files of them. */
const KEPT_REPORTS = 100;

const deletePast = statement(
  "importReports.deletePast",
  `delete from import_reports where system_id = $1 and import_id in (
     select r.import_id from import_reports r join imports i on i.system_id = $1 and i.id = r.import_id
     where r.system_id = $1 order by i.at desc, i.id desc offset ${KEPT_REPORTS})`,
);

const find = statement(
  "importReports.find",
  `select reasons, jsonb_array_length(first_entries) as kept from import_reports where system_id = $1 and import_id = $2`,
);

const list = statement(
  "importReports.list",
  `select coalesce(json_agg(json_build_object('number', number, 'entry', entry) order by number), '[]') as entries
   from (select number, entry
         from import_reports, jsonb_array_elements(first_entries) with ordinality as kept (entry, number)
         where system_id = $1 and import_id = $2 and number > $3 and ($4::text is null or entry ->> 'reason' = $4)
         order by number limit $5) as page`,
);

/** Keeps what an import left out or repaired, in place of the oldest such report. */
export async function insertImportReport(
  db: Queryable,
  systemId: string,
  importId: string,
  { reasons, first }: ReportSummary,
): Promise<void> {
  await db.query(insert, [systemId, importId, JSON.stringify(reasons), JSON.stringify(first)]);
  await db.query(deletePast, [systemId]);
}

/** What is known of an import's report. */
export interface KeptReport {
  readonly reasons: Readonly<Record<string, number>>;
  /** Entries that can be read. */
  readonly kept: number;
}

/** Undefined: nothing was wrong, or the import did not come to its end. */
export async function findImportReport(
  db: Queryable,
  systemId: string,
  importId: string,
): Promise<KeptReport | undefined> {
  return (await db.query<KeptReport>(find, [systemId, importId]))[0];
}

/** An entry with its place in the report. */
export interface NumberedEntry {
  readonly number: number;
  readonly entry: ReportEntry;
}

/** The entries that are kept, those of one reason or all, after a place in the report. */
export async function listReportEntries(
  db: Queryable,
  systemId: string,
  importId: string,
  { after, reason, limit }: { readonly after: number; readonly reason: string | undefined; readonly limit: number },
): Promise<readonly NumberedEntry[]> {
  const values = [systemId, importId, after, reason ?? null, limit];
  return oneRow(await db.query<{ entries: NumberedEntry[] }>(list, values)).entries;
}
