import {
  type Alert,
  ALERT_RETENTION_DAYS,
  type AlertEnd,
  type AlertUpsert,
  type BatchItem,
  type BatchResults,
  type ItemError,
  type MessageArguments,
  type OperatorAlert,
} from "@bikeshare/contract";
import { type PageRequest, ServiceError } from "@bikeshare/rules";
import type { ActorContext, CommandContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import type { Queryable, QueryRunner } from "../../storage/db/database.ts";
import { type Page, startOf } from "../../storage/lists/page.ts";
import { sweepUnits, type UnitWork } from "../../storage/set-aside/units.ts";
import { describedAll, mainLanguageOf } from "../descriptions/service.ts";
import { runBatch } from "../fleet/batch.ts";
import { type FleetCommand, runCommand } from "../fleet/command.ts";
import { endingOf, writeAlerts } from "./alert-changes.ts";
import {
  alertAt,
  type AlertRecord,
  changedAlert,
  gbfsAlert,
  MAX_OPEN_ALERTS,
  mergedContent,
  newAlert,
  operatorsAlert,
  partnersAlert,
  type StoredAlert,
} from "./alert.rules.ts";
import {
  type AlertStatus,
  claimOverdueAlerts,
  countAlerts,
  countOpenAlerts,
  deletePastAlerts,
  findAlert,
  listAlertRows,
  listOverdueAlerts,
  lockAlerts,
} from "./queries.ts";

/*
 * Alerts tell riders of disruptions, such as closed stations. This file has the operator's commands on alerts, the pages of
 * alerts for partners and the operator, and the background work that stores ends and deletes past alerts. An alert whose
 * times are over counts as ended at once (`alertAt`); its end is stored later, with an event.
 */

/** The source of alerts that the operator creates, as distinct from the name of a feed. */
const OPERATOR = "operator";

/** Opens alerts, or changes open ones. */
export function upsertAlerts(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<AlertUpsert>[],
): Promise<BatchResults> {
  return runBatch<AlertUpsert, ItemError<"alerts", "upsert">>(
    context,
    systemId,
    items,
    async (command, { items: readable, results }) => {
      const { tx, now } = command;
      const places = await findPlaces(
        command,
        readable.map(({ item }) => item),
      );
      const held = await lockById(command, readable);
      const language = await mainLanguageOf(tx, systemId);
      // The alerts as the items so far leave them: an alert may occur in several items.
      const decided = new Map(held);
      let open = await countOpenAlerts(tx, systemId, now);
      for (const { index, item } of readable) {
        const latest = decided.get(item.id);
        const before = latest !== undefined && alertAt(latest, now).ended_at === null ? latest : undefined;
        const after = decideUpsert(before, item, { places, language, now, open, latest }, (...error) =>
          results.failed(index, item.id, "invalid_parameter", ...error),
        );
        if (after === undefined) continue;
        if (before === undefined) open++;
        decided.set(item.id, after);
        if (before === undefined) results.done(index, item.id, "created");
        else results.done(index, item.id, after === before ? "unchanged" : "updated");
      }
      const changes = [...decided].map(([id, after]) => ({ before: held.get(id), after }));
      await writeAlerts(command, changes);
    },
  );
}

/** The facts, besides the alert itself, on which an item's outcome depends. */
interface UpsertFacts {
  readonly places: Places;
  readonly language: string;
  readonly now: Date;
  /** The number of the operator's open alerts. */
  readonly open: number;
  /** The alert with this id, open or ended, as earlier items leave it. */
  readonly latest: StoredAlert | undefined;
}

/**
 * Decides on an item of `upsertAlerts`.
 * @param before the open alert with this id; undefined: there is none, or it has ended and opens again
 * @param refuse records that the item failed
 * @returns the alert after the item, the same object when nothing changes; undefined when the item was refused
 */
function decideUpsert(
  before: StoredAlert | undefined,
  item: AlertUpsert,
  { places, language, now, open, latest }: UpsertFacts,
  refuse: (...error: MessageArguments<"invalid_parameter">) => undefined,
): StoredAlert | undefined {
  const { id } = item;
  if (before !== undefined && before.source !== OPERATOR) return refuse("feedAlert", { id, source: before.source });
  const stations = unknownOf(item.station_ids, places.stations);
  if (stations !== "") return refuse("alertStations", { ids: stations });
  const regions = unknownOf(item.region_ids, places.regions);
  if (regions !== "") return refuse("alertRegions", { ids: regions });
  const type = item.type ?? before?.type;
  const content = mergedContent(before?.content, item, language);
  if (type === undefined || content === undefined) return refuse("newAlert");
  const earlier = latest && alertAt(latest, now).ended_at;
  // For an open alert, `opened` only shows whether its new times are over already.
  const opened = newAlert({ id, source: OPERATOR, type, content }, now, earlier);
  if (alertAt(opened, now).ended_at !== null) return refuse("pastAlert");
  if (before !== undefined) return changedAlert(before, type, content, now);
  return open < MAX_OPEN_ALERTS ? opened : refuse("tooManyAlerts", { limit: MAX_OPEN_ALERTS });
}

/** Ends alerts. */
export function endAlerts(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<AlertEnd>[],
): Promise<BatchResults> {
  return runBatch<AlertEnd, ItemError<"alerts", "end">>(
    context,
    systemId,
    items,
    async (command, { items: readable, results }) => {
      const held = await lockById(command, readable);
      const ending = new Set<StoredAlert>();
      for (const { index, item } of readable) {
        const alert = held.get(item.id);
        if (alert === undefined) {
          results.failed(index, item.id, "not_found", "namedAlert", { id: item.id });
          continue;
        }
        // An alert that is over counts as unchanged. If its end is not stored yet, it is stored here.
        const isOver = alertAt(alert, command.now).ended_at !== null;
        if (!isOver && alert.source !== OPERATOR) {
          results.failed(index, item.id, "invalid_parameter", "feedAlert", { id: item.id, source: alert.source });
          continue;
        }
        results.done(index, item.id, isOver || ending.has(alert) ? "unchanged" : "updated");
        if (alert.ended_at === null) ending.add(alert);
      }
      await writeAlerts(command, endingOf([...ending], command.now));
    },
  );
}

/** Locks the alerts that items name. @returns those that exist, by id */
async function lockById(
  command: FleetCommand,
  entries: readonly { readonly item: { readonly id: string } }[],
): Promise<ReadonlyMap<string, StoredAlert>> {
  command.locks("alerts");
  const ids = [...new Set(entries.map(({ item }) => item.id))];
  const alerts = await lockAlerts(command.tx, command.systemId, ids);
  return new Map(alerts.map((alert) => [alert.id, alert]));
}

/** The stations and regions to which items may refer: of the stations only those that items name. */
interface Places {
  readonly stations: ReadonlySet<string>;
  readonly regions: ReadonlySet<string>;
}

/**
 * Finds the stations that items name and, if they name regions, all regions. Leaves out removed stations. Locks the
 * stations, so that nobody removes them meanwhile.
 */
async function findPlaces(command: FleetCommand, items: readonly AlertUpsert[]): Promise<Places> {
  const { tx, systemId } = command;
  const stations = await command.lockStations(items.flatMap(({ station_ids: ids }) => ids ?? []));
  const standing = [...stations.values()].filter(({ status }) => status !== "removed").map(({ id }) => id);
  const hasRegions = items.some(({ region_ids: ids = [] }) => ids.length > 0);
  const regions = hasRegions ? await describedAll(tx, systemId, "region") : [];
  return { stations: new Set(standing), regions: new Set(regions.map(({ id }) => id)) };
}

/** Maximum ids in one message. */
const MAX_SHOWN = 20;

/** Returns the unknown ids as a list for a message; empty: all are known. */
function unknownOf(ids: readonly string[] | undefined, known: ReadonlySet<string>): string {
  const unknown = (ids ?? []).filter((id) => !known.has(id));
  return unknown.slice(0, MAX_SHOWN).join(", ") + (unknown.length > MAX_SHOWN ? ", …" : "");
}

/**
 * Opens or changes one alert on behalf of an actor.
 * @throws ServiceError that says what is wrong; nothing has changed
 */
export function openAlert(context: ActorContext, systemId: string, item: AlertUpsert): Promise<OperatorAlert> {
  return act(context, systemId, "alert.opened", item.id, (inside) => upsertAlerts(inside, systemId, [{ item }]));
}

/** Ends one alert on behalf of an actor. @throws ServiceError `not_found`, or `invalid_parameter` for a feed's alert */
export function endAlert(context: ActorContext, systemId: string, id: string): Promise<OperatorAlert> {
  return act(context, systemId, "alert.ended", id, (inside) => endAlerts(inside, systemId, [{ item: { id } }]));
}

/** Runs a command on one alert, and records it in the audit log if it changes the alert. */
function act(
  context: ActorContext,
  systemId: string,
  action: "alert.opened" | "alert.ended",
  id: string,
  work: (inside: CommandContext) => Promise<BatchResults>,
): Promise<OperatorAlert> {
  return context.db.transaction(async (tx) => {
    const { results } = await work({ ...context, db: tx });
    const { error = null, outcome = "failed" } = results[0] ?? {};
    if (error !== null) throw new ServiceError(error.error, error.message);
    const alert = await findAlert(tx, systemId, id);
    if (alert === undefined) throw new Error("expected the alert that was just written");
    const detail = { summary: alert.content.summary[0]?.text ?? "" };
    if (outcome !== "unchanged") await insertActOf(context, tx, { systemId, action, subject: id, detail });
    return operatorsAlert(alertAt(alert, new Date(context.clock())));
  });
}

/** Returns a page of the open alerts as partners see them, ordered by id. */
export async function listPartnersAlerts(
  db: QueryRunner,
  systemId: string,
  now: Date,
  request: PageRequest<string>,
): Promise<Page<string>> {
  const language = await mainLanguageOf(db, systemId);
  return readPage(db, systemId, "open", now, request, (alert) => partnersAlert(alert, language));
}

/** Returns a page of the alerts as the operator sees them, ordered by id. */
export function listOperatorsAlerts(
  db: QueryRunner,
  systemId: string,
  { status, now }: { readonly status: AlertStatus; readonly now: Date },
  request: PageRequest<string>,
): Promise<Page<string>> {
  return readPage(db, systemId, status, now, request, operatorsAlert);
}

/** Returns the first alerts as the operator sees them, ordered by id, and the total. */
export async function listAllAlerts(
  db: QueryRunner,
  systemId: string,
  { status, limit, now }: { readonly status: AlertStatus; readonly limit: number; readonly now: Date },
): Promise<{ readonly alerts: OperatorAlert[]; readonly total: number }> {
  const rows = await listAlertRows(db, systemId, status, now, { limit });
  const alerts = rows.map((alert) => operatorsAlert(alertAt(alert, now)));
  return { alerts, total: await countAlerts(db, systemId, status, now) };
}

/** Reads a page of alerts, each as JSON. @param show converts an alert for the reader */
async function readPage(
  db: QueryRunner,
  systemId: string,
  status: AlertStatus,
  now: Date,
  request: PageRequest<string>,
  show: (alert: StoredAlert) => object,
): Promise<Page<string>> {
  const rows = await listAlertRows(db, systemId, status, now, { ...startOf(request), limit: request.limit + 1 });
  const shown = rows.slice(0, request.limit);
  return {
    items: shown.map((alert) => JSON.stringify(show(alertAt(alert, now)))).join(","),
    next: rows.length > request.limit ? shown.at(-1)?.id : undefined,
    total: request.kind === "cursor" ? undefined : await countAlerts(db, systemId, status, now),
  };
}

/** Returns an open or ended alert as partners see it; undefined: there is none. */
export async function getAlert(db: QueryRunner, systemId: string, id: string, now: Date): Promise<Alert | undefined> {
  const alert = await findAlert(db, systemId, id);
  return alert && partnersAlert(alertAt(alert, now), await mainLanguageOf(db, systemId));
}

/**
 * Returns the open alerts in GBFS's canonical form, ordered by id. They may name stations and regions that are not
 * published.
 */
export async function openAlerts(db: QueryRunner, systemId: string, now: Date): Promise<AlertRecord[]> {
  return (await listAlertRows(db, systemId, "open", now, { limit: null })).map(gbfsAlert);
}

/**
 * Returns the ids of alerts whose times are over and whose end is not stored.
 * @param apart ids to omit, because they may not share a batch (`UnitStates.apart`)
 */
export function overdueAlerts(
  { db, clock }: Pick<CommandContext, "db" | "clock">,
  systemId: string,
  limit: number,
  apart: readonly string[],
): Promise<string[]> {
  return listOverdueAlerts(db, systemId, { now: new Date(clock()), limit, apart });
}

/**
 * Stores the end of those alerts whose times are over. Processes may call it concurrently: each alert ends once.
 * @returns how many ended
 */
export function endOverdueAlerts(context: CommandContext, systemId: string, ids: readonly string[]): Promise<number> {
  return runCommand(context, systemId, async (command) => {
    command.locks("alerts");
    const overdue = await claimOverdueAlerts(command.tx, systemId, command.now, ids);
    await writeAlerts(command, endingOf(overdue, command.now));
    return overdue.length;
  });
}

/**
 * Interval between two sweeps. Readers see the end of an alert at once; its event waits for the sweep. Too low: most
 * sweeps find nothing. Too high: delays the event.
 */
const INTERVAL_MS = 2_000;
/** Alerts in one transaction. Too low: makes more transactions. Too high: locks them for longer. */
const BATCH_SIZE = 200;

/** Starts the sweeper that stores the end of alerts whose times are over. */
export function startAlertSweeper({
  systems,
  onError,
  watch,
  ...context
}: CommandContext & SweeperSurroundings): PeriodicWork<number> {
  const work: UnitWork = {
    db: context.db,
    work: "end-alert",
    // This process reads the alerts, so an alert with bad data could end it.
    canCrash: true,
    list: (systemId, limit, apart) => overdueAlerts(context, systemId, limit, apart),
    run: (systemId, ids) => endOverdueAlerts(context, systemId, ids),
    onError,
  };
  return startSweeper({
    intervalMs: INTERVAL_MS,
    batchSize: BATCH_SIZE,
    systems,
    sweep: (systemId, limit) => sweepUnits(work, systemId, limit),
    onError,
    watch,
  });
}

const DELETE_INTERVAL_MS = 10 * 60_000;
const DELETE_BATCH_SIZE = 1_000;

/** Starts the sweeper that deletes alerts long after their end. */
export function startPastAlertsSweeper({
  db,
  clock,
  ...options
}: SweeperSurroundings & { readonly db: Queryable; readonly clock: () => number }): PeriodicWork<number> {
  return startSweeper({
    ...options,
    intervalMs: DELETE_INTERVAL_MS,
    batchSize: DELETE_BATCH_SIZE,
    sweep: async (systemId, limit) => {
      const before = new Date(clock() - ALERT_RETENTION_DAYS * 86_400_000);
      const swept = await deletePastAlerts(db, systemId, before, limit);
      return { swept, isMore: swept === limit };
    },
  });
}
