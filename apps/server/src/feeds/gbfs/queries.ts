import type { SnapshotTimes } from "../../city/fleet/station.rules.ts";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { Description } from "./descriptions.ts";

/*
 * The statements about GBFS sources: the times of their applied feeds, and their descriptions, which are documents
 * about the system as a whole, such as its pricing plans.
 */

/** The `last_updated` of the latest applied feeds of a source, in milliseconds since 1970, and its `system_id`. */
export interface SourceTimes {
  readonly information: SnapshotTimes | undefined;
  readonly status: SnapshotTimes | undefined;
  readonly vehiclesAt: number | undefined;
  /** The `system_id` that the source publishes; undefined: it has never published one. */
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
    // `before`, the time of the snapshot before the latest, is needed for the status only: it shows whether one or two
    // snapshots lack a station.
    information: informationAt === undefined ? undefined : { latest: informationAt, before: undefined },
    status: statusAt === undefined ? undefined : { latest: statusAt, before: row?.previous_status_at?.getTime() },
    vehiclesAt: row?.vehicles_at?.getTime(),
    publishedId: row?.published_id ?? undefined,
  };
}

/** Stores the times of a source. The caller has locked them with `lockSourceTimes`. */
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

// Updates the time of descriptions whose content is unchanged, and returns the feeds whose content is new. The caller has
// locked the source's row, so no other transaction writes these descriptions. "C" is also the collation of the column `feed`.
const touchDescriptions = statement(
  "gbfsDocuments.touch",
  `with given as materialized (
     select feed, as_of, digest
     from json_to_recordset($3::json) as w(feed text collate "C", as_of timestamptz, digest text)),
   touched as (
     update gbfs_documents d set as_of = given.as_of from given
     where d.system_id = $1 and d.source = $2 and d.feed = given.feed and d.digest = given.digest
       and d.as_of < given.as_of)
   select given.feed from given
   left join gbfs_documents d on d.system_id = $1 and d.source = $2 and d.feed = given.feed
   where d.feed is null or (d.digest is distinct from given.digest and d.as_of <= given.as_of)`,
);

const upsertDescription = statement(
  "gbfsDocuments.upsert",
  `insert into gbfs_documents (system_id, source, feed, as_of, digest, content) values ($1, $2, $3, $4, $5, $6)
   on conflict (system_id, source, feed)
   do update set as_of = excluded.as_of, digest = excluded.digest, content = excluded.content`,
);

// Reads `gbfs_descriptions`, the table of an earlier release, for feeds that have no row in `gbfs_documents` yet.
const listOfSystem = statement(
  "gbfsDocuments.list",
  `select feed, content from (
     select system_id, source, feed, content from gbfs_documents where system_id = $1 and feed = any($2::text[])
     union all
     select system_id, source, feed, content::json from gbfs_descriptions d
     where system_id = $1 and feed = any($2::text[]) and not exists (
       select from gbfs_documents n where n.system_id = $1 and n.source = d.source and n.feed = d.feed)) as said
   left join gbfs_sources using (system_id, source)
   order by first_at, source, feed`,
);

/**
 * Stores descriptions of a source. The caller has locked the source's row. A document that is older than the stored one
 * changes nothing.
 * @returns the descriptions whose content is new
 */
export async function updateDescriptions<Each extends Pick<Description, "feed" | "at" | "json" | "digest">>(
  tx: Transaction,
  systemId: string,
  source: string,
  descriptions: readonly Each[],
): Promise<Each[]> {
  if (descriptions.length === 0) return [];
  const rows = descriptions.map(({ feed, at, digest }) => ({ feed, as_of: new Date(at).toISOString(), digest }));
  const changed = await tx.query<{ feed: string }>(touchDescriptions, [systemId, source, JSON.stringify(rows)]);
  const isNew = ({ feed }: Each) => changed.some((each) => each.feed === feed);
  for (const { feed, at, digest, json } of descriptions.filter(isNew)) {
    await tx.query(upsertDescription, [systemId, source, feed, new Date(at), digest, json]);
  }
  // This notification also clears the caches of documents that contain descriptions.
  if (changed.length > 0) tx.notify("stations", systemId);
  return descriptions.filter(isNew);
}

/** Returns the stored descriptions of a system from these feeds. Those of its earliest source come first. */
export function listDocuments(
  db: QueryRunner,
  systemId: string,
  feeds: readonly string[],
): Promise<{ feed: string; content: unknown }[]> {
  return db.query<{ feed: string; content: unknown }>(listOfSystem, [systemId, feeds]);
}
