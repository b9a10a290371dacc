import type { Expiry, RetryDelays } from "../../outbound/mail/outbox.ts";
import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** A mail to the operator as it is recorded. */
type RecordedMail = Pick<Tables["operator_mails"], "id" | "address" | "subject" | "body">;

const recorded = columnsOfTable("operator_mails").only("id", "address", "subject", "body");

const insert = statement(
  "operatorMails.insert",
  `insert into operator_mails (${recorded.list()}, created_at, due_at)
   select ${recorded.list("mail")}, $1, $1 from ${recorded.unnest(2, "mail")}`,
);
// As of partners' mails, the claim is the lease: see webhooks/warnings/failure-mail-queries.ts.
const claim = statement(
  "operatorMails.claim",
  `with next as materialized (
     select id, $1::timestamptz + least($3::float8, $2 * 2.0 ^ attempts) * interval '1 ms' as due_at
     from operator_mails where due_at <= $1
     order by operator_mails.due_at, id limit 1
     for update skip locked)
   update operator_mails mail
   set attempts = mail.attempts + 1, due_at = next.due_at
   from next where mail.id = next.id
   returning mail.id, mail.address, mail.subject, mail.body, mail.attempts`,
);
const remove = statement("operatorMails.delete", "delete from operator_mails where id = $1");
const expire = statement(
  "operatorMails.expire",
  `delete from operator_mails where created_at <= $1 and due_at <= $2 and attempts >= $3
   returning id, address, subject, body, attempts`,
);

type TriedMail = RecordedMail & { readonly attempts: number };

/** Records mails, to be sent once the transaction has committed. */
export async function insertOperatorMails(tx: Transaction, now: Date, mails: readonly RecordedMail[]): Promise<void> {
  if (mails.length > 0) await tx.query(insert, [now, ...recorded.arrays(mails)]);
}

/** Claims the mail that has been due for longest; undefined: none is due. */
export async function claimOperatorMail(
  db: Queryable,
  now: Date,
  { first, most }: RetryDelays,
): Promise<TriedMail | undefined> {
  return (await db.query<TriedMail>(claim, [now, first, most]))[0];
}

export async function deleteOperatorMail(db: Queryable, id: string): Promise<void> {
  await db.query(remove, [id]);
}

/** Deletes mails that nobody will try again. */
export function deleteExpiredOperatorMails(
  db: Queryable,
  { recordedBefore, leastAttempts, now }: Expiry,
): Promise<TriedMail[]> {
  return db.query<TriedMail>(expire, [recordedBefore, now, leastAttempts]);
}
