import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** How far an import is. */
export type ProgressRow = Pick<Tables["running_imports"], "share" | "rows_read" | "created" | "unchanged" | "rejected">;

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

const deleteDead = statement(
  "runningImports.deleteDead",
  "delete from running_imports where system_id = $1 and alive_until < now() - interval '1 hour'",
);

const sums = statement(
  "runningImports.listByKind",
  `select kind, count(*) as imports, extract(epoch from now() - min(began_at))::double precision as seconds,
     extract(epoch from now() - min(progressed_at))::double precision as idle_seconds,
     min(share) as share, sum(rows_read)::bigint as rows_read, sum(created)::bigint as created,
     sum(unchanged)::bigint as unchanged, sum(rejected)::bigint as rejected
   from running_imports where system_id = $1 and alive_until > now() group by kind`,
);

/**
 * Writes how far an import is, and forgets those that were killed long ago.
 * @param aliveMs for how long the import counts as running unless it is written again
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

/** Deletes an import that has ended. */
export async function deleteRunningImport(db: Queryable, systemId: string, id: string): Promise<void> {
  await db.query(deleteOne, [systemId, id]);
}

/** The imports of one kind that run now. */
export interface RunningImportsRow extends ProgressRow {
  readonly kind: string;
  readonly imports: number;
  /** Since the first of them began. */
  readonly seconds: number;
  /** Since the one of them that has not got on for longest last did. */
  readonly idle_seconds: number;
}

export function listRunningImports(db: Queryable, systemId: string): Promise<RunningImportsRow[]> {
  return db.query<RunningImportsRow>(sums, [systemId]);
}
