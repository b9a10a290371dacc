import { arrayOf, columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { TimePosition } from "../../storage/lists/page.ts";

/** An import as it is kept. */
export type ImportRow = Omit<Tables["imports"], "system_id">;

/** What one transaction of an import adds to its record. */
export interface ImportProgress {
  readonly created: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly stationsCreated: number;
  /** When the first and the last of the created rides started; null: none was created. */
  readonly starts: { readonly first: Date; readonly last: Date } | null;
}

const stored = columnsOfTable("imports").without("system_id");
const written = stored
  .without("first_at", "last_at", "undone_at", "removed")
  .and<{ readonly detail: string }>({ detail: arrayOf("jsonb") });
const columns = stored.list();

const insert = statement(
  "imports.insert",
  `insert into imports (system_id, ${written.list()}) select $1, ${written.list()} from ${written.unnest(2, "row")}`,
);

/** Sorts behind every import. */
const BEHIND_ALL = "'infinity'";

const listPage = statement(
  "imports.listPage",
  `select ${columns} from imports
   where system_id = $1 and (at, id) < (coalesce($2::timestamptz, ${BEHIND_ALL}), coalesce($3, ''))
   order by at desc, id desc limit $4`,
);

const list = statement("imports.list", `select ${columns} from imports where system_id = $1 order by at desc, id desc`);

const find = statement("imports.find", `select ${columns} from imports where system_id = $1 and id = $2`);

const lock = statement("imports.lock", `select ${columns} from imports where system_id = $1 and id = $2 for update`);

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

// The lock prevents an undo until the overlap is committed.
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

export async function insertImport(
  db: Queryable,
  systemId: string,
  row: Omit<ImportRow, "first_at" | "last_at" | "undone_at" | "removed">,
): Promise<void> {
  await db.query(insert, [systemId, ...written.arrays([{ ...row, detail: JSON.stringify(row.detail) }])]);
}

/** A system's imports, the newest first. */
export function listImports(db: Queryable, systemId: string): Promise<ImportRow[]> {
  return db.query<ImportRow>(list, [systemId]);
}

/** The imports before a position in that order, or the newest. */
export function listImportPage(
  db: Queryable,
  systemId: string,
  after: TimePosition | undefined,
  limit: number,
): Promise<ImportRow[]> {
  return db.query<ImportRow>(listPage, [systemId, after?.at ?? null, after?.id ?? null, limit]);
}

export async function findImport(db: Queryable, systemId: string, id: string): Promise<ImportRow | undefined> {
  return (await db.query<ImportRow>(find, [systemId, id]))[0];
}

/** The import, locked until the transaction ends. */
export async function lockImport(tx: Transaction, systemId: string, id: string): Promise<ImportRow | undefined> {
  return (await tx.query<ImportRow>(lock, [systemId, id]))[0];
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

export async function updateImportFinished(
  db: Queryable,
  systemId: string,
  id: string,
  report: string | null,
): Promise<void> {
  await db.query(finish, [systemId, id, report]);
}

/** Locks those of the imports that are not undone or being undone, so that none is undone before the transaction ends. */
export async function lockStandingImports(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<string[]> {
  return (await tx.query<Pick<ImportRow, "id">>(lockStanding, [systemId, ids])).map(({ id }) => id);
}

/** Records that an import found rides of earlier ones. */
export async function insertImportOverlaps(
  tx: Transaction,
  systemId: string,
  id: string,
  earlierIds: readonly string[],
): Promise<void> {
  await tx.query(insertOverlaps, [systemId, id, earlierIds]);
}

/** The imports that found rides of this one and are not undone, the newest first. */
export async function listOverlappingImports(db: Queryable, systemId: string, id: string): Promise<string[]> {
  return (await db.query<Pick<ImportRow, "id">>(overlapping, [systemId, id])).map((row) => row.id);
}

/** Later imports of the same feed that are not undone, the newest first. */
export async function listLaterImports(
  db: Queryable,
  systemId: string,
  { id, source, at }: Pick<ImportRow, "id" | "source" | "at">,
): Promise<string[]> {
  return (await db.query<Pick<ImportRow, "id">>(laterOfSource, [systemId, source, at, id])).map((row) => row.id);
}

/** From now on nothing is added to the import. */
export async function updateImportUndoing(tx: Transaction, systemId: string, id: string): Promise<void> {
  await tx.query(setUndoing, [systemId, id]);
}

/** Adds to the number of rides that undoing the import has removed. */
export async function updateImportRemoved(tx: Transaction, systemId: string, id: string, rides: number): Promise<void> {
  await tx.query(addRemoved, [systemId, id, rides]);
}

export async function updateImportUndone(tx: Transaction, systemId: string, id: string, at: Date): Promise<void> {
  await tx.query(setUndone, [systemId, id, at]);
}
