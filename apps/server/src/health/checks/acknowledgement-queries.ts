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
     acknowledged_at = excluded.acknowledged_at, until = excluded.until`,
);
const remove = statement(
  "checkAcknowledgements.delete",
  "delete from check_acknowledgements where name = $1 and scope = $2 and subject = $3 returning subject",
);
const removeEnded = statement(
  "checkAcknowledgements.deleteEnded",
  "delete from check_acknowledgements where name = $1 and scope = $2 and until is null",
);
// What was never found again after it was acknowledged has no row that could end.
const removeExpired = statement(
  "checkAcknowledgements.deleteExpired",
  `delete from check_acknowledgements
   where until <= $1 or until is null and acknowledged_at < $2
     and not exists (select from alerts
       where alerts.name = check_acknowledgements.name and alerts.scope = check_acknowledgements.scope and ended_at is null)`,
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

/** Deletes those that last until what was found is over. */
export async function deleteEndedAcknowledgements(tx: Transaction, name: string, scope: string): Promise<void> {
  await tx.query(removeEnded, [name, scope]);
}

/** Deletes those whose time is over, and those made before an instant of what nobody finds. */
export async function deleteExpiredAcknowledgements(tx: Transaction, now: Date, madeBefore: Date): Promise<void> {
  await tx.query(removeExpired, [now, madeBefore]);
}
