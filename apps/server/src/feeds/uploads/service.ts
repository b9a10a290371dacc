import type { ShownUpload } from "@bikeshare/contract/console";
import { MAX_UPLOAD_BYTES, MAX_UPLOAD_TEXT_BYTES } from "@bikeshare/contract/console";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { inBinaryUnits } from "../trips/inputs.ts";
import { openTimeZone, UnknownTimeZone } from "../trips/trip-times.rules.ts";
import {
  deleteUpload,
  findNewestUpload,
  findUpload,
  insertUpload,
  insertUploadPart,
  lockUpload,
  type StoredUpload,
  updateStep,
} from "./queries.ts";

export { findNewestUpload as newestUpload, type StoredUpload } from "./queries.ts";

/*
 * An upload is a trip file that a person sends from the dashboard in parts (`receiving`). A worker does each requested step
 * (`waiting`, then `running`). The first step is the trial, which stores no ride (`tried`). It is repeated if the person
 * chooses another time zone. The last step is the import (`done`). A trial or an import that fails ends the upload
 * (`failed`). A system has at most one upload that has not ended.
 */

/** A file that somebody wants to import. */
export interface UploadStart {
  readonly file_name: string;
  /** Bytes of the file on the person's disk. */
  readonly size: number;
  /** True: the file is compressed already, and is sent as it is. False: the browser compresses it. */
  readonly is_packed: boolean;
  readonly time_zone: string;
}

/**
 * Records a file that will be sent.
 * @throws ServiceError when the time zone is unknown, the file is too large, or the system has another upload that has not
 *   ended
 */
export async function beginUpload(context: ActorContext, systemId: string, start: UploadStart): Promise<StoredUpload> {
  const { file_name: name, time_zone: zone, size, is_packed: isPacked } = start;
  requireZone(zone);
  requireSize(size, isPacked ? MAX_UPLOAD_BYTES : MAX_UPLOAD_TEXT_BYTES);
  const id = context.ids.next("upload");
  return context.db.transaction(async (tx) => {
    const asked = { asked_at: new Date(context.clock()), asked_by: context.actor };
    if (!(await insertUpload(tx, systemId, { id, file_name: name, time_zone: zone, ...asked }))) {
      const present = await findNewestUpload(tx, systemId);
      const by = present?.asked_by_name ?? present?.asked_by ?? "";
      throw commandError("conflict", "uploadPresent", { file: present?.file_name ?? "", by });
    }
    const act = { systemId, action: "upload.begun", subject: id, detail: { file: name, time_zone: zone } };
    await insertActOf(context, tx, act);
    return found(await findUpload(tx, systemId, id), id);
  });
}

/** Requires the name of a time zone. @throws ServiceError */
function requireZone(zone: string): void {
  try {
    openTimeZone(zone);
  } catch (error) {
    if (!(error instanceof UnknownTimeZone)) throw error;
    throw commandError("invalid_parameter", "timeZone", { zone });
  }
}

/** Requires a file that is not too large. @throws ServiceError */
function requireSize(bytes: number, limit: number): void {
  if (bytes > limit) throw commandError("conflict", "uploadTooLarge", { limit: inBinaryUnits(limit) });
}

/** Returns an upload that was looked up. @throws ServiceError `not_found` when there was none */
function found(upload: StoredUpload | undefined, id: string): StoredUpload {
  if (upload === undefined) throw commandError("not_found", "upload", { id });
  return upload;
}

/**
 * Locks an upload and runs `work` on it.
 * @throws ServiceError when the upload does not exist, or its state is not one of `states`
 */
async function changeUpload(
  { db }: ActorContext,
  systemId: string,
  id: string,
  states: readonly ShownUpload["state"][],
  work: (tx: Transaction, upload: StoredUpload) => Promise<void>,
): Promise<StoredUpload> {
  return db.transaction(async (tx) => {
    const upload = found(await lockUpload(tx, systemId, id), id);
    if (!states.includes(upload.state)) throw commandError("conflict", "uploadState", { file: upload.file_name });
    await work(tx, upload);
    return (await findUpload(tx, systemId, id)) ?? upload;
  });
}

/**
 * Stores the next bytes of a file. The last bytes request its trial. Bytes that have been stored before change nothing, so
 * that a client can repeat a request whose response was lost, even when the upload is in a later state by then.
 * @throws ServiceError
 */
export function addUploadPart(
  context: ActorContext,
  systemId: string,
  id: string,
  part: { readonly start: number; readonly content: Uint8Array; readonly isLast: boolean },
): Promise<StoredUpload> {
  const { start, content, isLast } = part;
  return changeUpload(context, systemId, id, ["receiving", "waiting", "running", "tried"], async (tx, upload) => {
    const end = start + content.length;
    const isReceiving = upload.state === "receiving";
    // In the state `receiving`, an empty part is not a repetition: it says that all bytes have been sent.
    const isRepeated = end <= upload.bytes && (content.length > 0 || !isReceiving);
    if (isRepeated) return;
    if (!isReceiving || start !== upload.bytes)
      throw commandError("conflict", "uploadPlace", { start, expected: upload.bytes });
    requireSize(end, MAX_UPLOAD_BYTES);
    await insertUploadPart(tx, systemId, upload, content, { isLast, now: new Date(context.clock()) });
  });
}

/**
 * Requests another trial of a file, with another time zone. Makes no entry in the audit log, because a trial stores no
 * ride.
 * @throws ServiceError
 */
export function tryUpload(context: ActorContext, systemId: string, id: string, zone: string): Promise<StoredUpload> {
  requireZone(zone);
  return changeUpload(context, systemId, id, ["tried"], (tx) =>
    updateStep(tx, systemId, { id, step: "trial", time_zone: zone, ...asking(context) }),
  );
}

/** Requests the import of a file, after its trial. @throws ServiceError */
export function startUpload(context: ActorContext, systemId: string, id: string): Promise<StoredUpload> {
  return changeUpload(context, systemId, id, ["tried"], async (tx, { file_name: file, time_zone: zone, result }) => {
    // The trial found no ride that the import could store or has stored.
    if ((result?.created ?? 0) + (result?.unchanged ?? 0) === 0)
      throw commandError("conflict", "uploadEmpty", { file });
    await updateStep(tx, systemId, { id, step: "import", time_zone: zone, ...asking(context) });
    await insertActOf(context, tx, { systemId, action: "upload.started", subject: id, detail: { file } });
  });
}

/** Returns who requests a step, and when. */
const asking = ({ clock, actor }: ActorContext) => ({ asked_at: new Date(clock()), asked_by: actor });

/** Discards a file and its result. @throws ServiceError when it is being imported, or there is no such upload */
export async function discardUpload(context: ActorContext, systemId: string, id: string): Promise<void> {
  const all = ["receiving", "waiting", "running", "tried", "done", "failed"] as const;
  await changeUpload(context, systemId, id, all, async (tx, { file_name: file, state, step, import_id: importId }) => {
    // An upload that waits and has an `importId` was interrupted during its import. It cannot be discarded, because the next
    // process needs it to undo what that import wrote.
    const isBegun = state === "running" || (state === "waiting" && importId !== null);
    if (step === "import" && isBegun) throw commandError("conflict", "uploadImporting", { file });
    await deleteUpload(tx, systemId, id);
    // An upload that has ended has nothing more to discard than its result.
    if (state === "done" || state === "failed") return;
    await insertActOf(context, tx, { systemId, action: "upload.discarded", subject: id, detail: { file } });
  });
}
