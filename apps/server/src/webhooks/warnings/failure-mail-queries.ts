import type { Queryable, Transaction } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import type { Tables } from "../../db/tables.generated.ts";

/** A mail as it is noted. */
export type NotedMail = Pick<Tables["webhook_mails"], "id" | "endpoint_id" | "subject" | "body">;

const insert = statement(
  "mails.insert",
  `insert into webhook_mails (system_id, id, endpoint_id, subject, body, created_at, due_at)
   select $1, mail.id, mail.endpoint_id, mail.subject, mail.body, $2, $2
   from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as mail (id, endpoint_id, subject, body)`,
);

/** Notes mails, to be sent once the transaction has committed. */
export async function insertMails(
  tx: Transaction,
  systemId: string,
  now: Date,
  mails: readonly NotedMail[],
): Promise<void> {
  if (mails.length === 0) return;
  await tx.query(insert, [
    systemId,
    now,
    mails.map(({ id }) => id),
    mails.map(({ endpoint_id: endpointId }) => endpointId),
    mails.map(({ subject }) => subject),
    mails.map(({ body }) => body),
  ]);
}

/** A mail whose turn it is. */
export interface ClaimedMail extends NotedMail {
  readonly partner_id: string;
  /** Tries, this one included. */
  readonly attempts: number;
  /** Null: nobody wants to hear any more. */
  readonly email: string | null;
}

/*
 * The claim puts the next try off before this one begins. So it needs no other lease: whoever dies has nothing to give
 * back, and a try that failed nothing to write down.
 */
const claim = statement(
  "mails.claim",
  `with next as materialized (
     select id from webhook_mails where system_id = $1 and due_at <= $2
     order by due_at, id limit 1
     for update skip locked)
   update webhook_mails mail
   set attempts = mail.attempts + 1,
     due_at = $2::timestamptz + least($4::float8, $3 * 2.0 ^ mail.attempts) * interval '1 ms'
   from next, webhook_endpoints endpoint
   where mail.system_id = $1 and mail.id = next.id
     and endpoint.system_id = $1 and endpoint.id = mail.endpoint_id
   returning mail.id, mail.endpoint_id, mail.subject, mail.body, mail.attempts, endpoint.partner_id,
     case when endpoint.pause_reason is distinct from 'removed' then endpoint.email end as email`,
);

/** Milliseconds from the beginning of a try to the next: twice as long each time, up to `most`. */
export interface RetryDelays {
  readonly first: number;
  readonly most: number;
}

/** Takes the mail that has been due for longest; undefined: none is due. */
export async function claimMail(
  db: Queryable,
  systemId: string,
  now: Date,
  { first, most }: RetryDelays,
): Promise<ClaimedMail | undefined> {
  return (await db.query<ClaimedMail>(claim, [systemId, now, first, most]))[0];
}

const remove = statement("mails.remove", "delete from webhook_mails where system_id = $1 and id = $2");

/** Forgets a mail that was sent, or that nobody can send. */
export async function deleteMail(db: Queryable, systemId: string, id: string): Promise<void> {
  await db.query(remove, [systemId, id]);
}

/** A mail that was given up. */
export interface ExpiredMail extends NotedMail {
  readonly attempts: number;
}

const expire = statement(
  "mails.expire",
  `delete from webhook_mails where system_id = $1 and created_at <= $2 and due_at <= $3 and attempts >= $4
   returning id, endpoint_id, subject, body, attempts`,
);

/** Which mails are given up: noted so long ago, tried so often, and not being sent now. */
export interface Expiry {
  readonly notedBefore: Date;
  readonly leastAttempts: number;
  readonly now: Date;
}

/** Forgets mails that nobody will try again. */
export function deleteExpiredMails(
  db: Queryable,
  systemId: string,
  { notedBefore, leastAttempts, now }: Expiry,
): Promise<ExpiredMail[]> {
  return db.query<ExpiredMail>(expire, [systemId, notedBefore, now, leastAttempts]);
}
