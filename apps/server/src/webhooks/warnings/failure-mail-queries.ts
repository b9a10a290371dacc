import type { Expiry, RetryDelays } from "../../outbound/mail/outbox.ts";
import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/* Statements of the table of mails about failing endpoints: they record, claim and delete mails. */

/** A mail as it is recorded. */
export type RecordedMail = Pick<Tables["webhook_mails"], "id" | "endpoint_id" | "subject" | "body">;

const recorded = columnsOfTable("webhook_mails").only("id", "endpoint_id", "subject", "body");

const insert = statement(
  "mails.insert",
  `insert into webhook_mails (system_id, ${recorded.list()}, created_at, due_at)
   select $1, ${recorded.list("mail")}, $2, $2 from ${recorded.unnest(3, "mail")}`,
);

/** Records mails, to be sent once the transaction has committed. */
export async function insertMails(
  tx: Transaction,
  systemId: string,
  now: Date,
  mails: readonly RecordedMail[],
): Promise<void> {
  if (mails.length === 0) return;
  await tx.query(insert, [systemId, now, ...recorded.arrays(mails)]);
}

/** A mail that is due. */
export interface ClaimedMail extends RecordedMail {
  readonly partner_id: string;
  /** Tries, this one included. */
  readonly attempts: number;
  /** Null: the endpoint no longer has a mail address, or was removed. */
  readonly email: string | null;
}

/*
 * The claim postpones the next try before this one begins. So it needs no other lease: a process that dies has nothing to
 * release, and a try that failed has nothing to write. The wait is $3 ms after the first try, doubles with each further try,
 * and is $4 ms at most: `attempts` counts the tries before this one.
 */
const claim = statement(
  "mails.claim",
  `with next as materialized (
     select id, $2::timestamptz + least($4::float8, $3 * 2.0 ^ attempts) * interval '1 ms' as due_at
     from webhook_mails where system_id = $1 and due_at <= $2
     order by webhook_mails.due_at, id limit 1
     for update skip locked)
   update webhook_mails mail
   set attempts = mail.attempts + 1, due_at = next.due_at
   from next, webhook_endpoints endpoint
   where mail.system_id = $1 and mail.id = next.id
     and endpoint.system_id = $1 and endpoint.id = mail.endpoint_id
   returning mail.id, mail.endpoint_id, mail.subject, mail.body, mail.attempts, endpoint.partner_id,
     case when endpoint.pause_reason is distinct from 'removed' then endpoint.email end as email`,
);

/** Claims the mail that has been due for longest; undefined: none is due. */
export async function claimMail(
  db: Queryable,
  systemId: string,
  now: Date,
  { first, most }: RetryDelays,
): Promise<ClaimedMail | undefined> {
  return (await db.query<ClaimedMail>(claim, [systemId, now, first, most]))[0];
}

const remove = statement("mails.remove", "delete from webhook_mails where system_id = $1 and id = $2");

/** Deletes a mail that was sent or cannot be sent. */
export async function deleteMail(db: Queryable, systemId: string, id: string): Promise<void> {
  await db.query(remove, [systemId, id]);
}

/** A mail that was given up. */
export interface ExpiredMail extends RecordedMail {
  readonly attempts: number;
}

const expire = statement(
  "mails.expire",
  `delete from webhook_mails where system_id = $1 and created_at <= $2 and due_at <= $3 and attempts >= $4
   returning id, endpoint_id, subject, body, attempts`,
);

/**
 * Deletes mails that will not be tried again: recorded at `recordedBefore` or earlier, tried `leastAttempts` times or
 * more, and due, which means that no try is in progress. Returns them.
 */
export function deleteExpiredMails(
  db: Queryable,
  systemId: string,
  { recordedBefore, leastAttempts, now }: Expiry,
): Promise<ExpiredMail[]> {
  return db.query<ExpiredMail>(expire, [systemId, recordedBefore, now, leastAttempts]);
}
