import type { EventName } from "@bikeshare/contract";
import { stationChangeEvent } from "@bikeshare/rules";
import { valueOf } from "../db/rows.ts";
import type { Position } from "./bike.rules.ts";
import type { FleetCommand } from "./command.ts";
import { advance, type StationParts } from "./station-parts.rules.ts";
import { listStationJson } from "./station-queries.ts";
import {
  decideStation,
  type Decision,
  type FeedTimes,
  type SnapshotContext,
} from "./station-snapshot-decision.rules.ts";
import {
  countStations,
  deletePendingParts,
  findPositions,
  insertFeedStations,
  listPendingParts,
  listStationsOfOtherSources,
  listStationsOfSource,
  lockFeedStations,
  type StationRow,
  updateFeedStations,
  insertPendingParts,
} from "./station-snapshot-queries.ts";
import {
  refuseTooMany,
  type StationChange,
  type StationInformation,
  type StationStatusReport,
} from "./station.rules.ts";

/** What one feed says at one time, by station id. */
interface StationFeed<Content> {
  /** `last_updated`, milliseconds since 1970. */
  readonly at: number;
  readonly records: ReadonlyMap<string, Content>;
}

/** A snapshot of a source's stations: both feeds, or one of them. */
export interface StationSnapshot {
  readonly source: string;
  readonly information: StationFeed<StationInformation> | undefined;
  readonly status: StationFeed<StationStatusReport> | undefined;
  /** How far the feeds had been applied before. */
  readonly timesBefore: FeedTimes;
  /** Stations that the source may have in all; tests make it small. */
  readonly maxStations?: number | undefined;
}

/** Stations of a source of which one part has not arrived yet. */
export interface StationsWaiting {
  readonly withoutInformation: number;
  readonly withoutStatus: number;
}

/** What a snapshot did to the stations of its source. */
export interface StationChanges {
  readonly created: number;
  readonly updated: number;
  /** Named by the snapshot, and as they were. */
  readonly unchanged: number;
  /** Taken offline because this was the second snapshot in a row without them. */
  readonly removed: number;
  /** Stations that are not listed, because one of their parts has not arrived yet. */
  readonly waiting: StationsWaiting;
  /** Ids that the snapshot names and that belong to another source. */
  readonly ownedByOthers: readonly string[];
  /** Each change of state of a station that partners knew before, in the order of their ids. */
  readonly stateChanges: readonly StationChange[];
  /** The events that they made, by name: those that leave `online` or come there. */
  readonly events: readonly EventName[];
  /** How far the feeds have now been applied. */
  readonly timesAfter: FeedTimes;
}

/** What a snapshot does to the stations, decided on rows that are not locked yet. */
export interface StationPlan {
  readonly source: string;
  readonly context: SnapshotContext;
  readonly known: ReadonlyMap<string, StationRow>;
  readonly decisions: readonly Decision[];
}

/**
 * Decides what a snapshot does to the stations; locks and writes nothing, so that bikes can be written first. To be
 * called while the source's row is locked.
 * @throws TooManyStationsError
 */
export async function planStations(command: FleetCommand, snapshot: StationSnapshot): Promise<StationPlan> {
  const { source, timesBefore } = snapshot;
  const isSilent = snapshot.information === undefined && snapshot.status === undefined;
  const incoming = incomingById(snapshot);
  // Before anything is loaded: what is refused must not cost what is stored.
  const extent = isSilent ? undefined : await countStations(command, source, [...incoming.keys()]);
  if (extent) refuseTooMany(source, { ...extent, most: snapshot.maxStations });
  const waiting = Map.groupBy(isSilent ? [] : await listPendingParts(command, source), (row) => row.station_id);
  const known = byId(isSilent ? [] : await listStationsOfSource(command, source));
  const unknown = [...new Set([...incoming.keys(), ...waiting.keys()])].filter((id) => !known.has(id));
  const others = byId(await listStationsOfOtherSources(command, source, unknown));
  for (const row of others.values()) known.set(row.id, row);
  const context: SnapshotContext = { source, timesBefore, timesAfter: advanced(snapshot), incoming, waiting };
  return { source, context, known, decisions: decideAll(context, known, new Set([...known.keys(), ...unknown])) };
}

/** Writes what was planned: only rows that differ, and an event for each change of state. */
export async function writeStations(command: FleetCommand, plan: StationPlan): Promise<StationChanges> {
  const { source, context, decisions: first } = plan;
  command.locks("stations");
  // Decided on rows that were not locked; what is to be written is decided again on the rows as they are then.
  const creations = first.filter((decision) => decision.kind === "create").map((decision) => decision.row);
  const inserted = new Set(await insertFeedStations(command, source, creations));
  const updated = first.filter((decision) => decision.kind === "update");
  const taken = creations.filter(({ id }) => !inserted.has(id));
  const toLock = new Set([...updated, ...taken].map(({ id }) => id));
  const second = decideAll(context, byId(await lockFeedStations(command, [...toLock])), toLock);
  const updates = second.filter((decision) => decision.kind === "update").map((decision) => decision.row);
  await updateFeedStations(command, source, updates);
  command.count("stations", inserted.size);

  const decisions = [...first.filter(({ id }) => !toLock.has(id)), ...second];
  const saved = decisions.flatMap((decision) => (decision.kind === "wait" ? decision.save : []));
  await insertPendingParts(command, source, saved);
  await deletePendingParts(
    command,
    source,
    decisions.flatMap(({ drop }) => drop),
  );
  if (inserted.size > 0 || updates.some(({ visible }) => visible)) command.notify("stations");
  const changes = { ...summary(decisions, context.incoming, inserted.size), timesAfter: context.timesAfter };
  return { ...changes, events: await recordChanges(command, changes) };
}

/** Positions of stations once the plan is written, by id; without those that are not known. */
export async function plannedPositions(
  command: FleetCommand,
  { known, decisions }: StationPlan,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Position>> {
  const positions = new Map<string, Position>(known);
  for (const decision of decisions) {
    if (decision.kind === "create" || decision.kind === "update") positions.set(decision.id, decision.row);
  }
  const others = [...ids].filter((id) => !positions.has(id));
  return others.length ? new Map([...positions, ...(await findPositions(command, others))]) : positions;
}

/**
 * Events have the feed's time. For a snapshot that arrived late that is the newest one's: its additions are visible only
 * together with the snapshots that arrived before it.
 */
async function recordChanges(
  command: FleetCommand,
  { stateChanges, timesAfter }: Pick<StationChanges, "stateChanges" | "timesAfter">,
): Promise<EventName[]> {
  if (stateChanges.length === 0) return [];
  const at = timesAfter.status?.latest;
  const occurredAt = at === undefined ? command.now : new Date(at);
  const ids = stateChanges.map(({ stationId }) => stationId);
  const json = await listStationJson(command.tx, command.systemId, ids);
  return stateChanges.flatMap(({ stationId, from, to }) => {
    const name = stationChangeEvent(from, to);
    if (name === undefined) return [];
    command.record({ name, occurredAt, partnerId: null, data: valueOf(json, stationId) });
    return [name];
  });
}

function decideAll(context: SnapshotContext, rows: ReadonlyMap<string, StationRow>, ids: ReadonlySet<string>) {
  return [...ids].map((id) => decideStation(context, id, rows.get(id)));
}

function summary(
  decisions: readonly Decision[],
  incoming: ReadonlyMap<string, StationParts>,
  created: number,
): Omit<StationChanges, "timesAfter" | "events"> {
  const changes = { created, updated: 0, unchanged: 0, removed: 0 };
  const waiting = { withoutInformation: 0, withoutStatus: 0 };
  const ownedByOthers: string[] = [];
  const stateChanges: StationChange[] = [];
  for (const decision of decisions) {
    const named = incoming.has(decision.id);
    if (decision.kind === "wait") {
      if (!decision.isOwnedByOther) waiting[decision.parts[0] === "status" ? "withoutInformation" : "withoutStatus"]++;
      else if (named) ownedByOthers.push(decision.id);
    } else if (decision.kind === "update" && decision.row.visible) {
      if (decision.removed) changes.removed++;
      else changes.updated++;
      if (decision.change) stateChanges.push(decision.change);
    } else if (decision.kind !== "create" && named) changes.unchanged++;
  }
  stateChanges.sort((a, b) => (a.stationId < b.stationId ? -1 : 1));
  return { ...changes, waiting, ownedByOthers, stateChanges };
}

function advanced({ information, status, timesBefore }: StationSnapshot): FeedTimes {
  return {
    information: information ? advance(timesBefore.information, information.at) : timesBefore.information,
    status: status ? advance(timesBefore.status, status.at) : timesBefore.status,
  };
}

function incomingById({ information, status }: StationSnapshot): Map<string, StationParts> {
  const parts = new Map<string, StationParts>();
  for (const [id, content] of information?.records ?? []) {
    parts.set(id, { information: { content, asOf: information?.at ?? 0 } });
  }
  for (const [id, report] of status?.records ?? []) {
    const content = { ...report, was_installed: report.is_installed };
    parts.set(id, { ...parts.get(id), status: { content, asOf: status?.at ?? 0 } });
  }
  return parts;
}

function byId(rows: readonly StationRow[]): Map<string, StationRow> {
  return new Map(rows.map((row) => [row.id, row]));
}
