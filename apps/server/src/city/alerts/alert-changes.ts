import type { Command } from "../../command-context.ts";
import type { NewEvent } from "../../events/outbox.ts";
import { TransactionConflict } from "../../storage/db/errors.ts";
import { mainLanguageOf } from "../descriptions/service.ts";
import {
  alertAt,
  type AlertRecord,
  canonicalTexts,
  changedAlert,
  endedAlert,
  feedAlert,
  MAX_NEW_ALERTS_A_DAY,
  MAX_SOURCE_ALERTS,
  newAlert,
  partnersAlert,
  type StoredAlert,
  withdrawnAlert,
} from "./alert.rules.ts";
import {
  countOpenedOfSource,
  findLaterEnds,
  findStandingStations,
  insertAlerts,
  lockAlertsOfSource,
  lockAlertsOfStations,
  lockClosuresOf,
  updateAlerts,
} from "./queries.ts";

/*
 * Changes of alerts by commands on the fleet (stations that go offline) and by feeds. Stations are locked before alerts.
 *
 * A closure is the alert that opens when a station goes offline. An alert whose times have passed is over by the clock:
 * `alertAt` shows it as ended, although its end may not be stored yet.
 */

/** The command that changes alerts: the part of a `FleetCommand` that is needed here. */
export interface AlertCommand extends Command {
  /** Notes that alerts are about to be locked. Throws if that breaks the order in which all commands lock rows. */
  locks(kind: "alerts"): void;
  /** Records an event in the command's transaction. */
  record(event: NewEvent): void;
  /** Notifies the processes that cache stations, when the transaction commits. */
  notify(channel: "stations"): void;
}

/** A locked alert before and after a change. `before` is undefined for a new alert. */
export interface AlertChange {
  readonly before: StoredAlert | undefined;
  readonly after: StoredAlert;
}

/**
 * Writes locked or new alerts, and an event for each that opens or ends. When the clock has ended an alert, the event of
 * that end comes before the events of the change.
 * @throws TransactionConflict when another command has opened one of the new alerts
 */
export async function writeAlerts(command: AlertCommand, changes: readonly AlertChange[]): Promise<void> {
  const written = changes.filter(({ before, after }) => before !== after);
  if (written.length === 0) return;
  const { tx, systemId, now } = command;
  const language = await mainLanguageOf(tx, systemId);
  const record = (name: "alert.opened" | "alert.ended", alert: StoredAlert, occurredAt: Date) =>
    command.record({ name, occurredAt, partnerId: null, data: JSON.stringify(partnersAlert(alert, language)) });
  for (const { before, after } of written) {
    // The alert as readers see it before the change.
    const shown = before && alertAt(before, now);
    const isEndUnstored = shown !== undefined && shown.ended_at !== null && before?.ended_at === null;
    if (isEndUnstored) record("alert.ended", shown, shown.ended_at);
    const wasOpen = shown !== undefined && shown.ended_at === null;
    if (wasOpen && after.ended_at !== null) record("alert.ended", after, after.ended_at);
    if (!wasOpen && after.ended_at === null) record("alert.opened", after, after.opened_at);
  }
  // Existing alerts come first: a closure's end must be stored before a new closure of its station is inserted.
  await updateAlerts(
    tx,
    systemId,
    written.flatMap(({ before, after }) => (before === undefined ? [] : [after])),
  );
  const made = written.flatMap(({ before, after }) => (before === undefined ? [after] : []));
  if ((await insertAlerts(tx, systemId, made)) < made.length) throw new TransactionConflict();
  command.notify("stations");
}

/** A station that goes offline, with the summary for riders. */
export interface StationClosure {
  readonly stationId: string;
  readonly summary: Parameters<typeof canonicalTexts>[0];
}

/**
 * Opens an alert for each of the locked stations, or changes the summary of its open alert.
 * @returns the stations whose alerts were opened or changed
 */
export async function openClosures(
  command: AlertCommand,
  closures: readonly StationClosure[],
): Promise<ReadonlySet<string>> {
  if (closures.length === 0) return new Set();
  const { tx, systemId, now, ids } = command;
  command.locks("alerts");
  // The last of several closures of a station counts.
  const wanted = new Map(closures.map((closure) => [closure.stationId, closure.summary]));
  const held = await lockClosuresOf(tx, systemId, [...wanted.keys()]);
  const open = new Map(held.map((alert) => [alert.closes_station, alert]));
  // Ends after `now`, stored by a process whose clock is ahead of this one's. A new closure opens after them.
  const ends = await findLaterEnds(tx, systemId, [...wanted.keys()], now);
  const language = await mainLanguageOf(tx, systemId);
  const changes = [...wanted].flatMap(([stationId, given]): AlertChange[] => {
    const before = open.get(stationId);
    const end = before && alertAt(before, now).ended_at;
    const isOver = end !== undefined && end !== null;
    const summary = canonicalTexts(given, language);
    if (before !== undefined && !isOver) {
      const after = changedAlert(before, before.type, { ...before.content, summary }, now);
      return [{ before, after }];
    }
    // There is no closure, or it is over by the clock: then its end is stored, and a new closure opens after that.
    const content = { summary, station_ids: [stationId] };
    const base = { id: ids.next("alert"), source: "operator", type: "station_closure", content } as const;
    const after = newAlert({ ...base, closes_station: stationId }, now, end ?? ends.get(stationId));
    const opened: AlertChange = { before: undefined, after };
    return before === undefined ? [opened] : [{ before, after: alertAt(before, now) }, opened];
  });
  await writeAlerts(command, changes);
  // Every changed alert closes a station here, so the empty id does not occur.
  return new Set(changes.flatMap(({ before, after }) => (before === after ? [] : [after.closes_station ?? ""])));
}

/** Ends the alerts that were opened when the locked stations went offline. @returns the stations that had one */
export async function endClosures(command: AlertCommand, stationIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (stationIds.length === 0) return new Set();
  command.locks("alerts");
  const held = await lockClosuresOf(command.tx, command.systemId, stationIds);
  await writeAlerts(command, endingOf(held, command.now));
  return new Set(held.flatMap(({ closes_station: stationId }) => stationId ?? []));
}

/**
 * Ends the operator's alerts that close these stations, which are locked and about to be removed, or that concern no other
 * present place. The other alerts keep naming the stations, because a removed station can still be read.
 * @returns an empty set, where `endClosures` returns stations: a removed station counts as changed anyway
 */
export async function endAlertsOfRemoved(
  command: AlertCommand,
  stationIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { pointless } = await lockAlertsAbout(command, stationIds);
  await writeAlerts(command, endingOf(pointless, command.now));
  return new Set();
}

/**
 * Ends the operator's alerts that close these stations, which are locked and deleted without a trace, or that concern no
 * other present place. Removes the stations from the other alerts.
 */
export async function endAlertsOfDeleted(command: AlertCommand, stationIds: readonly string[]): Promise<void> {
  const { pointless, others } = await lockAlertsAbout(command, stationIds);
  const deleted = new Set(stationIds);
  const narrowed = others.map((before): AlertChange => {
    const { content, type } = before;
    const station_ids = (content.station_ids ?? []).filter((id) => !deleted.has(id));
    return { before, after: changedAlert(before, type, { ...content, station_ids }, command.now) };
  });
  await writeAlerts(command, [...endingOf(pointless, command.now), ...narrowed]);
}

/**
 * Locks the operator's alerts about stations, except alerts whose end is stored.
 * @returns `pointless`: alerts that are over by the clock, that close one of these stations, or that concern no region and
 *   no other present station; `others`: the rest
 */
async function lockAlertsAbout(
  command: AlertCommand,
  stationIds: readonly string[],
): Promise<{ readonly pointless: readonly StoredAlert[]; readonly others: readonly StoredAlert[] }> {
  if (stationIds.length === 0) return { pointless: [], others: [] };
  const { tx, systemId, now } = command;
  command.locks("alerts");
  const removed = new Set(stationIds);
  const held = await lockAlertsOfStations(tx, systemId, stationIds);
  const others = held.flatMap(({ content }) => content.station_ids ?? []).filter((id) => !removed.has(id));
  const standing = await findStandingStations(tx, systemId, [...new Set(others)]);
  const isPointless = (alert: StoredAlert) => {
    const { closes_station: closed, content } = alert;
    if (alertAt(alert, now).ended_at !== null) return true;
    if (closed !== null && removed.has(closed)) return true;
    const { station_ids: stations = [], region_ids: regions = [] } = content;
    return regions.length === 0 && stations.every((id) => removed.has(id) || !standing.has(id));
  };
  const pointless = new Set(held.filter(isPointless));
  return { pointless: [...pointless], others: held.filter((alert) => !pointless.has(alert)) };
}

/** The result of applying a feed's alerts. */
export interface AppliedAlerts {
  readonly opened: number;
  readonly changed: number;
  readonly ended: number;
  /** Alerts without an id or a summary, with a repeated id or another source's, or beyond the limits of a feed. */
  readonly ignored: number;
}

/**
 * Makes a source's open alerts equal those of its feed: a new alert opens, a missing one ends, but not before it has
 * been open for MIN_OPEN_MS. The caller has locked the source's row.
 * @param records in canonical form
 */
export async function applyAlerts(
  command: AlertCommand,
  source: string,
  records: readonly AlertRecord[],
): Promise<AppliedAlerts> {
  const { tx, systemId, now } = command;
  command.locks("alerts");
  const readable = new Map(records.flatMap((record) => feedAlert(record) ?? []).map((alert) => [alert.id, alert]));
  // Sorting by id keeps the same alerts at each run.
  const kept = [...readable.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, MAX_SOURCE_ALERTS);
  const held = await lockAlertsOfSource(
    tx,
    systemId,
    source,
    kept.map(({ id }) => id),
  );
  const byId = new Map(held.map((alert) => [alert.id, alert]));
  const changes: AlertChange[] = [];
  const named = new Set<string>();
  const isAnyNew = kept.some(({ id }) => !byId.has(id));
  let left = isAnyNew ? await newAlertsLeft(command, source) : 0;
  let ignored = records.length - kept.length;
  for (const { id, type, content } of kept) {
    const before = byId.get(id);
    // `end` is undefined without an alert, and null while the alert is open.
    const end = before && alertAt(before, now).ended_at;
    const open = end === null ? before : undefined;
    if (open !== undefined && open.source !== source) {
      ignored++;
      continue;
    }
    const opened = newAlert({ id, source, type, content }, now, end);
    // A feed may still list an alert whose times are over. It counts as not listed.
    if (alertAt(opened, now).ended_at !== null) continue;
    // A known alert that opens again needs no further row, so it is not limited.
    if (before === undefined) {
      if (left <= 0) {
        ignored++;
        continue;
      }
      left--;
    }
    named.add(id);
    changes.push({ before, after: open === undefined ? opened : changedAlert(open, type, content, now) });
  }
  const gone = held
    .filter((alert) => alert.source === source && alert.ended_at === null && !named.has(alert.id))
    .map((before): AlertChange => ({ before, after: withdrawnAlert(before, now) }));
  changes.push(...gone);
  await writeAlerts(command, changes);
  return { ...countsOf(changes, now), ended: gone.filter(({ after }) => after.ended_at !== null).length, ignored };
}

/** Counts the changes that open an alert, and those that change an open one visibly. */
function countsOf(changes: readonly AlertChange[], now: Date): Pick<AppliedAlerts, "opened" | "changed"> {
  const isOpen = (alert: StoredAlert | undefined) => alert !== undefined && alertAt(alert, now).ended_at === null;
  const open = changes.filter(({ after }) => isOpen(after));
  const held = open.filter(({ before }) => isOpen(before));
  return {
    opened: open.length - held.length,
    // Compares the objects of the times: an alert that readers see unchanged keeps its object.
    changed: held.filter(({ before, after }) => before?.updated_at !== after.updated_at).length,
  };
}

/** Returns how many alerts a source may still add, after those that it added in the last 24 hours. */
async function newAlertsLeft({ tx, systemId, now }: AlertCommand, source: string): Promise<number> {
  const dayAgo = new Date(now.getTime() - 86_400_000);
  return MAX_NEW_ALERTS_A_DAY - (await countOpenedOfSource(tx, systemId, source, dayAgo));
}

/** Ends the alerts of a source whose import is undone. */
export async function endAlertsOfSource(command: AlertCommand, source: string): Promise<void> {
  command.locks("alerts");
  const held = await lockAlertsOfSource(command.tx, command.systemId, source, []);
  await writeAlerts(command, endingOf(held, command.now));
}

/** Returns the changes that end alerts at `now`, or earlier where their times ended earlier. */
export function endingOf(alerts: readonly StoredAlert[], now: Date): AlertChange[] {
  return alerts.map((before) => {
    const shown = alertAt(before, now);
    return { before, after: shown.ended_at === null ? endedAlert(before, now) : shown };
  });
}
