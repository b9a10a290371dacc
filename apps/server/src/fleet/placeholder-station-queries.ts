import type { Queryable, Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

const known = statement("stations.known", "select id from stations where system_id = $1 and id = any($2::text[])");

// A station that is being removed at this moment is not there: the lock waits for its end.
const lockKnown = statement(
  "stations.lockKnown",
  "select id from stations where system_id = $1 and id = any($2::text[]) order by id for key share",
);

// `was_installed`: bikes were taken and left there, so it is a station that is gone, not one still to come.
const insertPlaceholders = statement(
  "stations.insertPlaceholders",
  `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status,
     offline_reason, updated_at, source, counters, was_installed, import_id)
   select $1, id, name, lat, lon, false, false, false, 'offline', 'removed_from_source', $3::timestamptz, $2,
     'mirrored', true, $8
   from unnest($4::text[], $5::text[], $6::float8[], $7::float8[]) as placeholder(id, name, lat, lon)
   order by id
   on conflict (system_id, id) do nothing
   returning id`,
);

/** Which of these stations there are. */
export async function findStations(db: Queryable, systemId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<Pick<PlaceholderRow, "id">>(known, [systemId, ids]);
  return rows.map(({ id }) => id);
}

/** Which of these stations there are; they stay there until the transaction ends. */
export async function lockStations(tx: Transaction, systemId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<Pick<PlaceholderRow, "id">>(lockKnown, [systemId, ids]);
  return rows.map(({ id }) => id);
}

export type PlaceholderRow = Pick<Tables["stations"], "id" | "name" | "lat" | "lon">;

/** Makes placeholder stations; gives the ids of those that were not there. */
export async function insertPlaceholderStations(
  tx: Transaction,
  systemId: string,
  origin: { readonly source: string; readonly updatedAt: string; readonly importId: string },
  placeholders: readonly PlaceholderRow[],
): Promise<string[]> {
  const rows = await tx.query<Pick<PlaceholderRow, "id">>(insertPlaceholders, [
    systemId,
    origin.source,
    origin.updatedAt,
    placeholders.map(({ id }) => id),
    placeholders.map(({ name }) => name),
    placeholders.map(({ lat }) => lat),
    placeholders.map(({ lon }) => lon),
    origin.importId,
  ]);
  return rows.map(({ id }) => id);
}
