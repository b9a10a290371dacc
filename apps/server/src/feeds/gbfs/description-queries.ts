import type { Queryable, Transaction } from "../../db/database.ts";
import { oneRow } from "../../db/rows.ts";
import { statement } from "../../db/statement.ts";
import type { Description } from "./descriptions.ts";

// `held` is as the table was before; the source's row is locked, so nobody else writes its descriptions.
const save = statement(
  "gbfsDescriptions.save",
  `with held as (select feed, content from gbfs_descriptions where system_id = $1 and source = $2),
   written as (
     insert into gbfs_descriptions (system_id, source, feed, as_of, content)
     select $1, $2, feed, as_of, content
     from json_to_recordset($3::json) as said(feed text, as_of timestamptz, content jsonb)
     on conflict (system_id, source, feed) do update set as_of = excluded.as_of, content = excluded.content
     where (gbfs_descriptions.as_of, gbfs_descriptions.content) is distinct from (excluded.as_of, excluded.content)
       and gbfs_descriptions.as_of <= excluded.as_of
     returning feed, content)
   select count(*) filter (where held.content is distinct from written.content) as n
   from written left join held using (feed)`,
);

const all = statement(
  "gbfsDescriptions.all",
  "select feed, content from gbfs_descriptions where system_id = $1 order by source, feed",
);

// Whoever keeps something made of descriptions listens for stations already.
const tell = statement("gbfsDescriptions.tell", "select pg_notify('stations', $1)");

/** What one source says, of one feed. */
export type SourceDescription = Description extends infer Each
  ? Each extends Description
    ? Pick<Each, "feed" | "content">
    : never
  : never;

/** Keeps what a source, whose row is locked, says of its system; an older document changes nothing. */
export async function saveDescriptions(
  tx: Transaction,
  systemId: string,
  source: string,
  descriptions: readonly (SourceDescription & Pick<Description, "at">)[],
): Promise<void> {
  if (descriptions.length === 0) return;
  const said = descriptions.map(({ feed, at, content }) => ({ feed, as_of: new Date(at).toISOString(), content }));
  const { n } = oneRow(await tx.query<{ n: number }>(save, [systemId, source, JSON.stringify(said)]));
  if (n > 0) await tx.query(tell, [systemId]);
}

/** What all sources say of a system, by the sources' names. */
export function findDescriptions(db: Queryable, systemId: string): Promise<SourceDescription[]> {
  return db.query<SourceDescription>(all, [systemId]);
}
