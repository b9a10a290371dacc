import { join } from "node:path";
import { type ExportFormat, exportFormats, type ExportKind, type ExportPrivacy } from "@bikeshare/contract";
import { type PageRequest, serviceError } from "@bikeshare/rules";
import { timeZoneOfSystem } from "../../city/descriptions/service.ts";
import type { ActorContext, CommandContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { type Page, startOf } from "../../storage/lists/page.ts";
import { monthOf, periodOfMonth } from "./months.rules.ts";
import {
  type Attempt,
  countExports,
  countSharedExports,
  deleteExport,
  deleteSchedule,
  type ExportFacts,
  type ExportSchedule,
  findExport,
  insertExport,
  insertSchedule,
  isPartnerActive,
  listSchedules,
  listSchedulesLacking,
  listSharedExports,
  lockExports,
  type NewExport,
  type SharedFilters,
  type StoredExport,
  updateAskedMonth,
  updateShared,
} from "./queries.ts";

export { type ExportSchedule, findExport, listExports, listSchedules, type StoredExport } from "./queries.ts";

/*
 * Exports are files with rides, stations or changes of stations. People request them, or a schedule requests one each month;
 * a worker makes the files (`work.ts`). Partners can download those that the operator shares.
 */

/** Most exports of a system that people requested and have not deleted. Too high: files fill the disk unnoticed. */
const MAX_EXPORTS = 200;
/**
 * Most exports of a system that wait or are being made. Then people can request no more, and schedules wait. Too low:
 * schedules wait for each other. Too high: those requested last wait for hours, as each process makes one at a time.
 */
const MAX_WAITING = 20;
/** Most schedules of a system. Too high: files fill the disk month by month. */
const MAX_SCHEDULES = 20;
/** Days after a month's end until schedules export it, because rides are reported late and corrected. */
const SETTLED_AFTER_DAYS = 3;
const DAY_MS = 86_400_000;

/** What a person or a schedule chooses for an export. */
export interface ExportChoice {
  readonly kind: ExportKind;
  readonly format: ExportFormat;
  /** Null: the export does not contain rides. */
  readonly privacy: ExportPrivacy | null;
  /** Whether partners may download the file. */
  readonly is_shared: boolean;
}

/** Returns the directory of finished files. */
export function exportsDirectory(config: {
  readonly exportsDir: string | undefined;
  readonly dataDir: string;
}): string {
  return config.exportsDir ?? join(config.dataDir, "exports");
}

/** Returns the name that an attempt's own file has in its directory, without its ending. */
export function storedNameOf({ id, attempts }: Pick<Attempt, "id" | "attempts">): string {
  return `${id}-${attempts}`;
}

/** Returns the path of a finished file. */
export function storedPathOf(directory: string, stored: StoredExport): string {
  return join(directory, `${storedNameOf(stored)}.${exportFormats[stored.format].ending}`);
}

/** Rejects a month that has not begun in the system's time zone. @throws ServiceError */
export async function requireBegunMonth(
  { db, clock }: { readonly db: QueryRunner; readonly clock: () => number },
  systemId: string,
  month: string | null,
): Promise<void> {
  const present = await monthInSystem(db, systemId, clock());
  if (month !== null && month > present) throw serviceError("invalid_parameter", "futureMonth", { month, present });
}

/** Returns the month of an instant in a system's time zone. @param offset months to add to it; negative: to subtract */
export async function monthInSystem(db: QueryRunner, systemId: string, instant: number, offset = 0): Promise<string> {
  return monthOf(instant, await timeZoneOfSystem(db, systemId), offset);
}

/** Requires a privacy level for rides, and none for other kinds. @throws ServiceError */
function requireFittingPrivacy({ kind, privacy }: ExportChoice): void {
  const needsPrivacy = kind === "rides";
  const hasPrivacy = privacy !== null;
  if (needsPrivacy !== hasPrivacy) throw serviceError("invalid_parameter", "exportPrivacy");
}

/**
 * Requests an exported file. A worker makes it later.
 * @throws ServiceError when the month or the privacy level does not fit the kind, the month has not begun, or the system has
 *   too many exports
 */
export async function requestExport(
  context: ActorContext,
  systemId: string,
  { month, ...choice }: ExportChoice & { readonly month: string | null },
): Promise<StoredExport> {
  requireFittingPrivacy(choice);
  const needsMonth = choice.kind !== "stations";
  const hasMonth = month !== null;
  if (needsMonth !== hasMonth) throw serviceError("invalid_parameter", "exportMonth");
  const id = context.ids.next("export");
  return context.db.transaction(async (tx) => {
    await requireBegunMonth({ ...context, db: tx }, systemId, month);
    await lockExports(tx, systemId);
    const { own, open } = await countExports(tx, systemId);
    if (own >= MAX_EXPORTS) throw commandError("conflict", "exportsFull", { limit: MAX_EXPORTS });
    if (open >= MAX_WAITING) throw commandError("conflict", "exportsWaiting", { limit: MAX_WAITING });
    const asked = { requested_at: new Date(context.clock()), requested_by: context.actor };
    await insertExport(tx, systemId, { id, month, ...choice, ...asked, schedule_id: null, scheduled_month: null });
    await insertActOf(context, tx, { systemId, action: "export.requested", subject: id, detail: { month, ...choice } });
    return foundIn(tx, systemId, id);
  });
}

/** Returns an export. @throws ServiceError `not_found` */
async function foundIn(tx: Transaction, systemId: string, id: string): Promise<StoredExport> {
  const found = await findExport(tx, systemId, id);
  if (found === undefined) throw serviceError("not_found", "export");
  return found;
}

/** Sets whether partners may download a file. @throws ServiceError `not_found` */
export function shareExport(
  context: ActorContext,
  systemId: string,
  id: string,
  isShared: boolean,
): Promise<StoredExport> {
  return context.db.transaction(async (tx) => {
    const action = isShared ? "export.shared" : "export.unshared";
    if (await updateShared(tx, systemId, id, isShared))
      await insertActOf(context, tx, { systemId, action, subject: id, detail: {} });
    return foundIn(tx, systemId, id);
  });
}

/** Deletes an export. A worker then deletes its file, or stops making it. @throws ServiceError `not_found` */
export function removeExport(context: ActorContext, systemId: string, id: string): Promise<void> {
  return context.db.transaction(async (tx) => {
    const deleted = await deleteExport(tx, systemId, id);
    if (deleted === undefined) throw serviceError("not_found", "export");
    const { kind, month, format, privacy } = deleted;
    await insertActOf(context, tx, {
      systemId,
      action: "export.deleted",
      subject: id,
      detail: { kind, month, format, privacy },
    });
  });
}

/**
 * Adds a schedule: a worker makes a file for each month, some days after the month's end.
 * @throws ServiceError when the privacy level does not fit the kind, or the system has too many schedules
 */
export function addSchedule(
  context: ActorContext,
  systemId: string,
  choice: ExportChoice & { readonly keep_months: number },
): Promise<ExportSchedule> {
  requireFittingPrivacy(choice);
  const made = { id: context.ids.next("schedule"), created_at: new Date(context.clock()), created_by: context.actor };
  const schedule = { ...made, ...choice };
  return context.db.transaction(async (tx) => {
    await lockExports(tx, systemId);
    const present = await listSchedules(tx, systemId);
    if (present.length >= MAX_SCHEDULES) throw commandError("conflict", "exportSchedules", { limit: MAX_SCHEDULES });
    await insertSchedule(tx, systemId, schedule);
    const act = { systemId, action: "export_schedule.added", subject: schedule.id, detail: { ...choice } };
    await insertActOf(context, tx, act);
    return schedule;
  });
}

/** Returns the last month that is over; undefined until `SETTLED_AFTER_DAYS` after its end. */
async function settledMonth(db: QueryRunner, systemId: string, now: number): Promise<string | undefined> {
  const timezone = await timeZoneOfSystem(db, systemId);
  const month = monthOf(now, timezone, -1);
  return now >= periodOfMonth(month, timezone).to + SETTLED_AFTER_DAYS * DAY_MS ? month : undefined;
}

/**
 * Requests the export of each schedule for the last settled month. A schedule that finds too many exports waiting requests
 * nothing, and tries again at the next call.
 */
export async function requestScheduledExports({ db, clock, ids }: CommandContext, systemId: string): Promise<void> {
  const now = clock();
  const month = await settledMonth(db, systemId, now);
  if (month === undefined) return;
  for (const schedule of await listSchedulesLacking(db, systemId, month)) {
    const wanted = wantedBy(schedule, month, ids.next("export"), new Date(now));
    await db.transaction(async (tx) => {
      await lockExports(tx, systemId);
      if ((await countExports(tx, systemId)).open >= MAX_WAITING) return;
      if (await updateAskedMonth(tx, systemId, schedule.id, month)) await insertExport(tx, systemId, wanted);
    });
  }
}

/** Returns the export that a schedule requests for a month. */
function wantedBy(schedule: ExportSchedule, month: string, id: string, now: Date): NewExport {
  const { kind, format, privacy, is_shared } = schedule;
  return {
    id,
    kind,
    format,
    privacy,
    is_shared,
    month: kind === "stations" ? null : month,
    requested_at: now,
    requested_by: "server",
    schedule_id: schedule.id,
    scheduled_month: month,
  };
}

/** Schedules that cannot request their month, because too many exports wait. */
export interface WaitingSchedules {
  readonly schedules: number;
  readonly month: string;
  /** How many exports wait or are being made. */
  readonly open: number;
}

/** Finds the schedules that wait until other exports are made; undefined: none does. */
export async function findWaitingSchedules(
  { db, clock }: { readonly db: QueryRunner; readonly clock: () => number },
  systemId: string,
): Promise<WaitingSchedules | undefined> {
  const { open } = await countExports(db, systemId);
  const month = open < MAX_WAITING ? undefined : await settledMonth(db, systemId, clock());
  if (month === undefined) return undefined;
  const { length: schedules } = await listSchedulesLacking(db, systemId, month);
  return schedules === 0 ? undefined : { schedules, month, open };
}

/** Stops a schedule; its files stay. @throws ServiceError `not_found` */
export function removeSchedule(context: ActorContext, systemId: string, id: string): Promise<void> {
  return context.db.transaction(async (tx) => {
    const deleted = await deleteSchedule(tx, systemId, id);
    if (deleted === undefined) throw serviceError("not_found", "exportSchedule");
    const { kind, format, privacy } = deleted;
    const act = { systemId, action: "export_schedule.removed", subject: id, detail: { kind, format, privacy } };
    await insertActOf(context, tx, act);
  });
}

/** An export whose file is ready. */
export type FinishedExport = StoredExport & { readonly facts: ExportFacts; readonly finished_at: Date };

/** Tells whether an export's file is ready. */
export function isFinished(stored: StoredExport): stored is FinishedExport {
  return stored.state === "ready" && stored.facts !== null && stored.finished_at !== null;
}

/**
 * Returns a page of the files that partners may have, the newest first.
 * @param show returns the file as partners see it, with a download link
 */
export async function listPartnersExports(
  db: QueryRunner,
  systemId: string,
  filters: SharedFilters,
  request: PageRequest<string>,
  show: (stored: FinishedExport) => object,
): Promise<Page<string>> {
  // Reads one more file than the page has: with it, there is a next page.
  const rows = await listSharedExports(db, systemId, filters, { ...startOf(request), limit: request.limit + 1 });
  const shown = rows.slice(0, request.limit);
  return {
    items: shown
      .filter(isFinished)
      .map((stored) => JSON.stringify(show(stored)))
      .join(","),
    next: rows.length > request.limit ? shown.at(-1)?.id : undefined,
    total: request.kind === "cursor" ? undefined : await countSharedExports(db, systemId, filters),
  };
}

/** Returns a file that partners may have. @throws ServiceError `not_found` */
export async function findPartnersExport(db: QueryRunner, systemId: string, id: string): Promise<FinishedExport> {
  const found = await findExport(db, systemId, id);
  if (found === undefined || !found.is_shared || !isFinished(found)) throw serviceError("not_found", "export");
  return found;
}

/**
 * Returns the file of a partner's link.
 * @throws ServiceError `download_link_ended` when the export is deleted or not shared, or the partner is not active
 */
export async function findLinkedExport(
  db: QueryRunner,
  { systemId, partnerId, id }: { readonly systemId: string; readonly partnerId: string; readonly id: string },
): Promise<FinishedExport> {
  const found = await findExport(db, systemId, id);
  const isAllowed = found?.is_shared === true && (await isPartnerActive(db, systemId, partnerId));
  if (found === undefined || !isAllowed || !isFinished(found)) throw serviceError("download_link_ended");
  return found;
}
