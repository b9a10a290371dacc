import type { Transaction } from "../../db/database.ts";
import { oneRow } from "../../db/rows.ts";
import { statement } from "../../db/statement.ts";

/** What was last published of a feed. */
export interface Publication {
  /** Of the content. */
  readonly digest: Uint8Array;
  /** Whole seconds. */
  readonly last_updated: Date;
  /** Whether another content was published in the same second. */
  readonly shares_second: boolean;
}

const add = statement(
  "gbfsPublications.add",
  `insert into gbfs_publications (system_id, version, feed, digest, last_updated, shares_second)
   values ($1, $2, $3, '', 'epoch', false) on conflict (system_id, version, feed) do nothing`,
);

const lock = statement(
  "gbfsPublications.lock",
  `select digest, last_updated, shares_second from gbfs_publications
   where system_id = $1 and version = $2 and feed = $3 for update`,
);

const save = statement(
  "gbfsPublications.save",
  `update gbfs_publications set digest = $4, last_updated = $5, shares_second = $6
   where system_id = $1 and version = $2 and feed = $3`,
);

/** The name of a feed of a system in a version of GBFS. */
export type FeedKey = readonly [systemId: string, version: string, feed: string];

/** Locks a feed's publication until the transaction ends; one that was never published has an empty digest. */
export async function lockPublication(tx: Transaction, key: FeedKey): Promise<Publication> {
  const held = await tx.query<Publication>(lock, key);
  if (held.length === 1) return oneRow(held);
  await tx.query(add, key);
  return oneRow(await tx.query<Publication>(lock, key));
}

export async function savePublication(tx: Transaction, key: FeedKey, publication: Publication): Promise<void> {
  await tx.query(save, [...key, publication.digest, publication.last_updated, publication.shares_second]);
}
