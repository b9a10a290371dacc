import type { Queryable } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import type { Tables } from "../../db/tables.generated.ts";

/** Which key a system's secrets are sealed with. */
export type SealingRow = Pick<Tables["webhook_encryption_keys"], "fingerprint" | "recorded_at">;

const find = statement(
  "sealing.find",
  "select fingerprint, recorded_at from webhook_encryption_keys where system_id = $1",
);
// Looked at by every process again and again: written only where it says something new.
const note = statement(
  "sealing.note",
  `insert into webhook_encryption_keys as sealing (system_id, fingerprint, recorded_at) values ($1, $2, $3)
   on conflict (system_id) do update set fingerprint = excluded.fingerprint, recorded_at = excluded.recorded_at
   where sealing.fingerprint <> excluded.fingerprint`,
);

export async function findSealing(db: Queryable, systemId: string): Promise<SealingRow | undefined> {
  return (await db.query<SealingRow>(find, [systemId]))[0];
}

/** Notes with which key a system's secrets are sealed from now on. */
export async function noteSealing(db: Queryable, systemId: string, mark: string, now: Date): Promise<void> {
  await db.query(note, [systemId, mark, now]);
}
