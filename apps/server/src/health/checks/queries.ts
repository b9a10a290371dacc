import type { Expiry, RetryDelays } from "../../outbound/mail/outbox.ts";
import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/*
 * Statements about acknowledgements, stored findings of checks, and mails to the operator. The column `scope` holds what a
 * check examined, such as a machine or a system; the code calls it `of`. It is not the scope in check.ts.
 */

export type AcknowledgementRow = Tables["check_acknowledgements"];

const acknowledged = columnsOfTable("check_acknowledgements").without();

const listAcknowledged = statement(
  "checkAcknowledgements.list",
  `select ${acknowledged.list()} from check_acknowledgements order by name, scope, subject`,
);
const upsertAcknowledgement = statement(
  "checkAcknowledgements.upsert",
  `insert into check_acknowledgements (${acknowledged.list()}) select ${acknowledged.list()} from ${acknowledged.unnest(1, "row")}
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
// Needed besides `removeEnded`: one subject of a check may be resolved while others last, or no process may have found it
// after its acknowledgement.
const removeExpired = statement(
  "checkAcknowledgements.deleteExpired",
  "delete from check_acknowledgements where until <= $1 or until is null and found_at < $2",
);
const setFound = statement(
  "checkAcknowledgements.updateFound",
  "update check_acknowledgements set found_at = $4 where name = $1 and scope = $2 and subject = $3",
);

export function listAcknowledgements(db: Queryable): Promise<AcknowledgementRow[]> {
  return db.query<AcknowledgementRow>(listAcknowledged);
}

/** Stores an acknowledgement, in place of an earlier one of the same finding. */
export async function updateAcknowledgement(tx: Transaction, row: AcknowledgementRow): Promise<void> {
  await tx.query(upsertAcknowledgement, acknowledged.arrays([row]));
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

/** Sets when a process last found an acknowledged problem. */
export async function updateFoundAcknowledgement(
  tx: Transaction,
  { name, scope, subject }: Pick<AcknowledgementRow, "name" | "scope" | "subject">,
  now: Date,
): Promise<void> {
  await tx.query(setFound, [name, scope, subject, now]);
}

/**
 * Deletes expired acknowledgements, and those that last until the finding is resolved if no process has found it since
 * an instant.
 */
export async function deleteExpiredAcknowledgements(tx: Transaction, now: Date, foundBefore: Date): Promise<void> {
  await tx.query(removeExpired, [now, foundBefore]);
}

/** The stored state of a check that has found something. The table is called `alerts`, as in release 0.1.0. */
export type CheckRow = Tables["alerts"];

const stored = columnsOfTable("alerts").without();

// Lets one process write at a time: otherwise a check that two processes find at once would begin twice. Readers do not
// wait.
const lock = statement("alerts.lock", "lock table alerts in share row exclusive mode");
const list = statement("alerts.list", `select ${stored.list()} from alerts order by name, scope`);
const removeCheck = statement("alerts.delete", "delete from alerts where name = $1 and scope = $2");
const upsert = statement(
  "alerts.upsert",
  `insert into alerts (${stored.list()}) select ${stored.list()} from ${stored.unnest(1, "row")}
   on conflict (name, scope) do update set severity = excluded.severity, detail = excluded.detail, fix = excluded.fix,
     began_at = excluded.began_at, seen_at = excluded.seen_at, mailed_at = excluded.mailed_at,
     ended_at = excluded.ended_at, episodes = excluded.episodes, unmailed = excluded.unmailed, results = excluded.results`,
);

/** Returns all checks that have found something lately, and locks the whole table until the transaction ends. */
export async function lockCheckRows(tx: Transaction): Promise<CheckRow[]> {
  await tx.query(lock);
  return tx.query<CheckRow>(list);
}

export function listCheckRows(db: Queryable): Promise<CheckRow[]> {
  return db.query<CheckRow>(list);
}

/** Stores the states of checks, in place of earlier ones. */
export async function updateCheckRows(tx: Transaction, rows: readonly CheckRow[]): Promise<void> {
  if (rows.length > 0) await tx.query(upsert, stored.arrays(rows));
}

export async function deleteCheckRow(
  tx: Transaction,
  { name, scope }: Pick<CheckRow, "name" | "scope">,
): Promise<void> {
  await tx.query(removeCheck, [name, scope]);
}

const waitingEvents = statement(
  "checks.waitingEvents",
  `select min(id) as id from event_outbox
   where system_id = $1 and id <> all(array(
     select unit from work_failures where system_id = $1 and work = 'number-event'))`,
);

/**
 * Returns the id of a system's event that has waited longest for its number; null: none waits. Leaves out events whose
 * numbering failed, which another check reports.
 */
export async function findWaitingEvent(db: Queryable, systemId: string): Promise<string | null> {
  return oneRow(await db.query<{ id: string | null }>(waitingEvents, [systemId])).id;
}

/** A mail to the operator as it is recorded. */
type RecordedMail = Pick<Tables["operator_mails"], "id" | "address" | "subject" | "body">;

const recorded = columnsOfTable("operator_mails").only("id", "address", "subject", "body");

const insert = statement(
  "operatorMails.insert",
  `insert into operator_mails (${recorded.list()}, created_at, due_at)
   select ${recorded.list("mail")}, $1, $1 from ${recorded.unnest(2, "mail")}`,
);
// The claim postpones the next try before this one begins, by $2 ms, doubled with each try, up to $3 ms. So it needs no
// other lease: a process that dies has nothing to release, and a try that failed has nothing to write.
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
const removeMail = statement("operatorMails.delete", "delete from operator_mails where id = $1");
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
  await db.query(removeMail, [id]);
}

/** Deletes mails that nobody will try again. @returns these mails */
export function deleteExpiredOperatorMails(
  db: Queryable,
  { recordedBefore, leastAttempts, now }: Expiry,
): Promise<TriedMail[]> {
  return db.query<TriedMail>(expire, [recordedBefore, now, leastAttempts]);
}
