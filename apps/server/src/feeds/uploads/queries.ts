import type { ShownUpload, UploadResult } from "@bikeshare/contract/console";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/**
 * A trip file that a person uploads to import it. It is `receiving` its bytes; then each of its two steps, a trial and
 * the import, is `waiting` and `running`. After the trial it is `tried`, after the import `done`, after a failure
 * `failed`.
 */
export interface StoredUpload extends Pick<
  ShownUpload,
  "id" | "file_name" | "time_zone" | "state" | "step" | "bytes" | "asked_by" | "share" | "rows_done" | "problem"
> {
  /** When the current step was requested. While bytes arrive: when the latest did. */
  readonly asked_at: Date;
  /** How often a process has claimed the current step. */
  readonly attempts: number;
  /** The import that the upload began; null: none yet. */
  readonly import_id: string | null;
  /** The result of the latest trial, or of the import; null: there is none. */
  readonly result: UploadResult | null;
}

const listed = `id, file_name, time_zone, state, step, bytes::float8 as bytes, asked_at, asked_by, attempts, share,
  rows_done::float8 as rows_done, import_id, result, problem`;
/** The condition for an upload that has not ended. While a system has one, no other upload can begin. */
const isOpen = "state in ('receiving', 'waiting', 'running', 'tried')";

const insert = statement(
  "uploads.insert",
  `insert into trip_uploads (system_id, id, file_name, time_zone, state, step, asked_at, asked_by)
   select $1, $2, $3, $4, 'receiving', 'trial', $5::timestamptz, $6 on conflict do nothing returning id`,
);
// Deletes the uploads that have ended when a new one begins, because only the newest upload is shown.
const deleteEnded = statement(
  "uploads.deleteEnded",
  `delete from trip_uploads where system_id = $1 and not (${isOpen})`,
);
// Joins the person who asked: `asked_by` is `person:` and the person's id, which begins at the eighth character.
const findNewest = statement(
  "uploads.findNewest",
  `select u.*, people.name as asked_by_name from (
     select ${listed} from trip_uploads where system_id = $1 order by id desc limit 1) as u
   left join people on people.id = substr(u.asked_by, 8) and starts_with(u.asked_by, 'person:')`,
);
const find = statement("uploads.find", `select ${listed} from trip_uploads where system_id = $1 and id = $2`);
const lock = statement(
  "uploads.lock",
  `select ${listed} from trip_uploads where system_id = $1 and id = $2 for update`,
);
const insertPart = statement(
  "uploads.insertPart",
  "insert into trip_upload_parts (system_id, upload_id, start, content) select $1, $2, $3::bigint, $4::bytea",
);
const addBytes = statement(
  "uploads.addBytes",
  `update trip_uploads set bytes = bytes + $3::bigint, state = $4, changed_at = now(), asked_at = $5::timestamptz
   where system_id = $1 and id = $2`,
);
const begin = statement(
  "uploads.beginStep",
  `update trip_uploads set step = $3, state = 'waiting', time_zone = $4, asked_at = $5::timestamptz, asked_by = $6,
     changed_at = now(), attempts = 0, share = 0, rows_done = 0, result = null
   where system_id = $1 and id = $2`,
);
const remove = statement(
  "uploads.delete",
  `with gone as (delete from trip_uploads where system_id = $1 and id = $2)
   delete from trip_upload_parts where system_id = $1 and upload_id = $2`,
);
const nextPart = statement(
  "uploads.nextPart",
  `select content from trip_upload_parts where system_id = $1 and upload_id = $2 and start = $3::bigint`,
);

// Claims a waiting upload, or a running one whose process has not updated `seen_at` for $2 ms and so has probably ended.
// Uses PostgreSQL's clock, because the clocks of processes may differ.
const claim = statement(
  "uploads.claim",
  `with next as (
     select id from trip_uploads
     where system_id = $1 and (state = 'waiting' or state = 'running' and seen_at < now() - $2::bigint * interval '1 ms')
     order by id limit 1 for update skip locked)
   update trip_uploads u set state = 'running', attempts = attempts + 1, seen_at = now(), share = 0, rows_done = 0
   from next where u.system_id = $1 and u.id = next.id returning u.id`,
);
// The condition that no other process has claimed the upload since the attempt $3 did: each claim increases `attempts`.
const isMine = "system_id = $1 and id = $2 and state = 'running' and attempts = $3";
const progress = statement(
  "uploads.progress",
  `update trip_uploads set seen_at = now(), share = $4, rows_done = $5 where ${isMine} returning id`,
);
const setImport = statement("uploads.setImport", `update trip_uploads set import_id = $4 where ${isMine} returning id`);
const setTried = statement(
  "uploads.setTried",
  `update trip_uploads set state = 'tried', result = $4::jsonb, changed_at = now() where ${isMine} returning id`,
);
// Deletes the bytes of an upload that ends, because nothing reads them any more.
const end = statement(
  "uploads.end",
  `with ended as (
     update trip_uploads set state = $4, import_id = $5, result = $6::jsonb, problem = $7, changed_at = now()
     where ${isMine} returning id)
   delete from trip_upload_parts where system_id = $1 and upload_id in (select id from ended)`,
);
const release = statement(
  "uploads.release",
  `update trip_uploads set state = 'waiting', attempts = attempts - 1, seen_at = null where ${isMine}`,
);
const deletePast = statement(
  "uploads.deletePast",
  `with past as (
     delete from trip_uploads where system_id = $1 and (
       state = 'receiving' and changed_at < now() - $2::bigint * interval '1 ms'
       or state = 'tried' and changed_at < now() - $3::bigint * interval '1 ms'
       or state in ('done', 'failed') and changed_at < now() - interval '1 day')
     returning id)
   delete from trip_upload_parts where system_id = $1 and upload_id in (select id from past)`,
);

/** Records an upload. @returns false when the system has another upload that has not ended */
export async function insertUpload(
  tx: Transaction,
  systemId: string,
  upload: Pick<StoredUpload, "id" | "file_name" | "time_zone" | "asked_at" | "asked_by">,
): Promise<boolean> {
  const { id, file_name: name, time_zone: zone, asked_at: at, asked_by: by } = upload;
  await tx.query(deleteEnded, [systemId]);
  return (await tx.query(insert, [systemId, id, name, zone, at, by])).length > 0;
}

/**
 * Returns the newest upload, with the name of the person who requested its current step; the name is null when no person
 * requested the step, or the person gave no name.
 */
export async function findNewestUpload(
  db: QueryRunner,
  systemId: string,
): Promise<(StoredUpload & { readonly asked_by_name: string | null }) | undefined> {
  return (await db.query<StoredUpload & { asked_by_name: string | null }>(findNewest, [systemId]))[0];
}

/** Returns an upload; undefined: there is none with this id. */
export async function findUpload(db: QueryRunner, systemId: string, id: string): Promise<StoredUpload | undefined> {
  return (await db.query<StoredUpload>(find, [systemId, id]))[0];
}

/** Returns an upload, locked until the transaction ends. */
export async function lockUpload(tx: Transaction, systemId: string, id: string): Promise<StoredUpload | undefined> {
  return (await tx.query<StoredUpload>(lock, [systemId, id]))[0];
}

/** Adds the next bytes of an upload. The last bytes set it to `waiting` for its trial. @param now when the bytes arrived */
export async function insertUploadPart(
  tx: Transaction,
  systemId: string,
  { id, bytes }: Pick<StoredUpload, "id" | "bytes">,
  content: Uint8Array,
  { isLast, now }: { readonly isLast: boolean; readonly now: Date },
): Promise<void> {
  if (content.length > 0) await tx.query(insertPart, [systemId, id, bytes, content]);
  await tx.query(addBytes, [systemId, id, content.length, isLast ? "waiting" : "receiving", now]);
}

/** Requests a step of an upload: a worker will claim and run it. */
export async function updateStep(
  tx: Transaction,
  systemId: string,
  wanted: Pick<StoredUpload, "id" | "step" | "time_zone" | "asked_at" | "asked_by">,
): Promise<void> {
  const { id, step, time_zone: zone, asked_at: at, asked_by: by } = wanted;
  await tx.query(begin, [systemId, id, step, zone, at, by]);
}

/** Deletes an upload and its bytes. */
export async function deleteUpload(tx: Transaction, systemId: string, id: string): Promise<void> {
  await tx.query(remove, [systemId, id]);
}

/** Returns the part of an upload that begins at byte `start`; undefined: there is none. */
export async function findUploadPart(
  db: QueryRunner,
  systemId: string,
  id: string,
  start: number,
): Promise<Buffer | undefined> {
  return (await db.query<{ content: Buffer }>(nextPart, [systemId, id, start]))[0]?.content;
}

/**
 * Claims an upload that waits, or that runs but whose process has sent no sign of life for `silenceMs`. Returns its id;
 * undefined: there is none.
 */
export async function claimUpload(db: QueryRunner, systemId: string, silenceMs: number): Promise<string | undefined> {
  return (await db.query<{ id: string }>(claim, [systemId, silenceMs]))[0]?.id;
}

/** One process's attempt at a step. Statements with it do nothing once another process has claimed the upload. */
export interface UploadAttempt {
  readonly systemId: string;
  readonly id: string;
  readonly attempts: number;
}

const attemptValues = ({ systemId, id, attempts }: UploadAttempt) => [systemId, id, attempts];

/** Writes progress and a sign of life. @returns false: another process has claimed the upload, or somebody discarded it */
export async function updateUploadProgress(
  db: QueryRunner,
  attempt: UploadAttempt,
  { share, rows }: { readonly share: number; readonly rows: number },
): Promise<boolean> {
  return (await db.query(progress, [...attemptValues(attempt), share, rows])).length > 0;
}

/** Stores the id of the import before the import begins. @returns false: another process has claimed the upload */
export async function updateUploadImport(
  db: QueryRunner,
  attempt: UploadAttempt,
  importId: string | null,
): Promise<boolean> {
  return (await db.query(setImport, [...attemptValues(attempt), importId])).length > 0;
}

/** Stores the result of a trial. */
export async function updateTried(db: QueryRunner, attempt: UploadAttempt, result: UploadResult): Promise<void> {
  await db.query(setTried, [...attemptValues(attempt), JSON.stringify(result)]);
}

/** Ends an upload, and deletes its bytes. */
export async function updateEnded(
  db: QueryRunner,
  attempt: UploadAttempt,
  ended:
    | { readonly importId: string | null; readonly result: UploadResult | null }
    | { readonly importId: string | null; readonly problem: string },
): Promise<void> {
  const { state, result, problem } =
    "problem" in ended
      ? { state: "failed", result: null, problem: ended.problem }
      : { state: "done", result: ended.result && JSON.stringify(ended.result), problem: null };
  await db.query(end, [...attemptValues(attempt), state, ended.importId, result, problem]);
}

/** Sets an upload back to `waiting`, so that another process does the step. The attempt is not counted. */
export async function updateUploadReleased(db: QueryRunner, attempt: UploadAttempt): Promise<void> {
  await db.query(release, attemptValues(attempt));
}

/** Deletes uploads that were abandoned while sending or after the trial, and ended ones after a day. */
export async function deletePastUploads(
  db: QueryRunner,
  systemId: string,
  { silentMs, untouchedMs }: { readonly silentMs: number; readonly untouchedMs: number },
): Promise<void> {
  await db.query(deletePast, [systemId, silentMs, untouchedMs]);
}
