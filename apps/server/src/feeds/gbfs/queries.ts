import type { SnapshotTimes } from "../../city/fleet/station.rules.ts";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { Description } from "./descriptions.ts";

/** The `last_updated` of each applied feed of a source, in milliseconds since 1970. */
export interface SourceTimes {
  readonly information: SnapshotTimes | undefined;
  readonly status: SnapshotTimes | undefined;
  readonly vehiclesAt: number | undefined;
  /** The source's name for its system (GBFS's `system_id`); undefined: it has never given one. */
  readonly publishedId: string | undefined;
}

const insertSource = statement(
  "gbfs.insertSource",
  "insert into gbfs_sources (system_id, source) values ($1, $2) on conflict (system_id, source) do nothing",
);

const lockSource = statement(
  "gbfs.lockSource",
  `select information_at, status_at, previous_status_at, vehicles_at, published_id
   from gbfs_sources where system_id = $1 and source = $2 for update`,
);

const updateSource = statement(
  "gbfs.updateSource",
  `update gbfs_sources set information_at = $3::timestamptz, status_at = $4::timestamptz,
     previous_status_at = $5::timestamptz, vehicles_at = $6::timestamptz, published_id = $7
   where system_id = $1 and source = $2`,
);

/** Locks a source until the transaction ends, so that its snapshots are applied one after the other. */
export async function lockSourceTimes(tx: Transaction, systemId: string, source: string): Promise<SourceTimes> {
  type Row = Omit<Tables["gbfs_sources"], "system_id" | "source" | "first_at">;
  await tx.query(insertSource, [systemId, source]);
  const [row] = await tx.query<Row>(lockSource, [systemId, source]);
  const informationAt = row?.information_at?.getTime();
  const statusAt = row?.status_at?.getTime();
  return {
    // Nothing depends on the information's snapshot before the newest.
    information: informationAt === undefined ? undefined : { latest: informationAt, before: undefined },
    status: statusAt === undefined ? undefined : { latest: statusAt, before: row?.previous_status_at?.getTime() },
    vehiclesAt: row?.vehicles_at?.getTime(),
    publishedId: row?.published_id ?? undefined,
  };
}

export async function updateSourceTimes(
  tx: Transaction,
  systemId: string,
  source: string,
  { information, status, vehiclesAt, publishedId }: SourceTimes,
): Promise<void> {
  const instants = [information?.latest, status?.latest, status?.before, vehiclesAt];
  const times = instants.map((at) => (at === undefined ? null : new Date(at)));
  await tx.query(updateSource, [systemId, source, ...times, publishedId ?? null]);
}

// `held` is the table before the write; the source's row is locked, so no other transaction writes its descriptions.
const upsertDescriptions = statement(
  "gbfsDescriptions.upsert",
  `with held as (select feed, content from gbfs_descriptions where system_id = $1 and source = $2),
   written as (
     insert into gbfs_descriptions (system_id, source, feed, as_of, content)
     select $1, $2, feed, as_of, content
     from json_to_recordset($3::json) as given(feed text, as_of timestamptz, content jsonb)
     on conflict (system_id, source, feed) do update set as_of = excluded.as_of, content = excluded.content
     where (gbfs_descriptions.as_of, gbfs_descriptions.content) is distinct from (excluded.as_of, excluded.content)
       and gbfs_descriptions.as_of <= excluded.as_of
     returning feed, content)
   select count(*) filter (where held.content is distinct from written.content) as n
   from written left join held using (feed)`,
);

const listOfSystem = statement(
  "gbfsDescriptions.list",
  `select feed, content from gbfs_descriptions left join gbfs_sources using (system_id, source)
   where system_id = $1 order by first_at, source, feed`,
);

/** A feed's description by one source. */
export type SourceDescription = Description extends infer Each
  ? Each extends Description
    ? Pick<Each, "feed" | "content">
    : never
  : never;

/** Stores descriptions of a source whose row is locked; an older document changes nothing. */
export async function updateDescriptions(
  tx: Transaction,
  systemId: string,
  source: string,
  descriptions: readonly (SourceDescription & Pick<Description, "at">)[],
): Promise<void> {
  if (descriptions.length === 0) return;
  const rows = descriptions.map(({ feed, at, content }) => ({ feed, as_of: new Date(at).toISOString(), content }));
  const { n } = oneRow(await tx.query<{ n: number }>(upsertDescriptions, [systemId, source, JSON.stringify(rows)]));
  // Also clears the caches of documents that contain descriptions.
  if (n > 0) tx.notify("stations", systemId);
}

/** Returns the descriptions of a system, those of its first source first. */
export function listDescriptions(db: QueryRunner, systemId: string): Promise<SourceDescription[]> {
  return db.query<SourceDescription>(listOfSystem, [systemId]);
}
