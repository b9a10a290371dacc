import type { ExportFacts } from "../../src/feeds/exports/queries.ts";
import type { Database } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";

const insertReady = statement(
  "test.exports.insertReady",
  `insert into exports (system_id, id, kind, month, format, privacy, is_shared, state, requested_at, requested_by, finished_at, facts, attempts)
   select $1, $2, $5::jsonb ->> 'kind', $5::jsonb ->> 'month', $5::jsonb ->> 'format', $5::jsonb ->> 'privacy', $3, 'ready', $4, 'test',
     $4, $5::jsonb, 1`,
);

/**
 * Inserts a finished export into the database, without its file. @param given values that differ from those of an export of
 * rides
 */
export async function putReadyExport(
  { db, systemId, clock }: { readonly db: Database; readonly systemId: string; readonly clock: () => number },
  id: string,
  { isShared = true, ...given }: Partial<Record<keyof ExportFacts, unknown>> & { readonly isShared?: boolean } = {},
): Promise<void> {
  const facts = {
    ...{ kind: "rides", month: "2026-02", format: "csv", privacy: "coarse", licence: "CC-BY-4.0" },
    ...{ file_name: "main-rides-2026-02-coarse.csv.gz", bytes: 1, sha256: "0".repeat(64) },
    ...{ rows: 10, merged: 2, time_zone: "UTC" },
    left_out: { not_completed: 1, short: 2, ended_by_operator: 0, rare: 3 },
    as_of: "2026-03-04T00:00:00.000Z",
    ...given,
  };
  await db.query(insertReady, [systemId, id, isShared, new Date(clock()), JSON.stringify(facts)]);
}
