import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

export type AcknowledgementRow = Tables["check_acknowledgements"];

const columns = columnsOfTable("check_acknowledgements").without();

const list = statement(
  "checkAcknowledgements.list",
  `select ${columns.list()} from check_acknowledgements order by name, scope, subject`,
);
const upsert = statement(
  "checkAcknowledgements.upsert",
  `insert into check_acknowledgements (${columns.list()}) select ${columns.list()} from ${columns.unnest(1, "row")}
   on conflict (name, scope, subject) do update set severity = excluded.severity,
     acknowledged_at = excluded.acknowledged_at, until = excluded.until, found_at = excluded.found_at,
     found_count = excluded.found_count`,
);
const remove = statement(
  "checkAcknowledgements.delete",
  "delete from check_acknowledgements where name = $1 and scope = $2 and subject = $3 returning subject",
);
const removeEnded = statement(
  "checkAcknowledgements.deleteEnded",
  "delete from check_acknowledgements where name = $1 and scope = $2 and until is null",
);
// One subject of a check may be resolved while others last, or no process found it after its acknowledgement.
const removeExpired = statement(
  "checkAcknowledgements.deleteExpired",
  "delete from check_acknowledgements where until <= $1 or until is null and found_at < $2",
);
const find = statement(
  "checkAcknowledgements.updateFound",
  "update check_acknowledgements set found_at = $4 where name = $1 and scope = $2 and subject = $3",
);

export function listAcknowledgements(db: Queryable): Promise<AcknowledgementRow[]> {
  return db.query<AcknowledgementRow>(list);
}

export async function updateAcknowledgement(tx: Transaction, row: AcknowledgementRow): Promise<void> {
  await tx.query(upsert, columns.arrays([row]));
}

/** @returns whether there was one */
export async function deleteAcknowledgement(
  tx: Transaction,
  { name, scope, subject }: Pick<AcknowledgementRow, "name" | "scope" | "subject">,
): Promise<boolean> {
  return (await tx.query(remove, [name, scope, subject])).length > 0;
}

/** Deletes acknowledgements that end when the finding is resolved. */
export async function deleteEndedAcknowledgements(tx: Transaction, name: string, scope: string): Promise<void> {
  await tx.query(removeEnded, [name, scope]);
}

/** Records that a process still finds an acknowledged problem. */
export async function updateFoundAcknowledgement(
  tx: Transaction,
  { name, scope, subject }: Pick<AcknowledgementRow, "name" | "scope" | "subject">,
  now: Date,
): Promise<void> {
  await tx.query(find, [name, scope, subject, now]);
}

/**
 * Deletes expired acknowledgements, and those that last until the finding is resolved if no process has found it since
 * an instant.
 */
export async function deleteExpiredAcknowledgements(tx: Transaction, now: Date, foundBefore: Date): Promise<void> {
  await tx.query(removeExpired, [now, foundBefore]);
}
