import type { EventName } from "@bikeshare/contract";
import { stationChangeEvent } from "@bikeshare/rules";
import { valueOf } from "../../storage/db/rows.ts";
import { markHoursOfStations } from "../history/sum-marks.ts";
import type { Position } from "./bike.rules.ts";
import type { FleetCommand } from "./command.ts";
import { decideStation, type Decision, type FeedTimes, type SnapshotContext } from "./snapshot-decision.rules.ts";
import { chunksOf } from "./snapshot-rows.ts";
import { listStationJson } from "./station-queries.ts";
import {
  countStations,
  deletePendingParts,
  findPositions,
  insertFeedStations,
  insertPendingParts,
  listPendingIds,
  listPendingParts,
  listStationIds,
  listStations,
  lockFeedStations,
  type StationOrigin,
  type StationRow,
  updateFeedStations,
  type WaitingKey,
} from "./station-snapshot-queries.ts";
import {
  advance,
  refuseTooMany,
  type StationChange,
  type StationInformation,
  type StationParts,
  type StationStatusReport,
} from "./station.rules.ts";

/*
 * Applies a snapshot of a source's stations: GBFS's information, status, or both. `planStations` decides on rows that are
 * not locked. `writeStations` locks the rows, decides again, and writes. A station is listed once both of its parts are
 * known; until then a part waits in a table of its own.
 */

/** The number of a source's stations of which one part has not arrived yet, by the missing part. */
export interface StationsWaiting {
  readonly withoutInformation: number;
  readonly withoutStatus: number;
}

/** The changes that a snapshot made to the stations of its source. */
export interface StationChanges {
  readonly created: number;
  readonly updated: number;
  /** Stations that the snapshot names and that did not change. */
  readonly unchanged: number;
  /** Stations that were taken offline because this was the second snapshot in a row without them. */
  readonly removed: number;
  /** Stations that are not listed, because one of their parts has not arrived yet. */
  readonly waiting: StationsWaiting;
  /** Ids that the snapshot names and that belong to another source. */
  readonly ownedByOthers: readonly string[];
  /** Each change of state of a station that partners knew before, in the order of their ids. */
  readonly stateChanges: readonly StationChange[];
  /** The names of the events of these changes. Only changes to or from `online` have one. */
  readonly events: readonly EventName[];
  /** The times of the feeds after this snapshot. */
  readonly timesAfter: FeedTimes;
}

/** The content of one feed at one time, by station id. */
interface StationFeed<Content> {
  /** `last_updated`, milliseconds since 1970. */
  readonly at: number;
  readonly records: ReadonlyMap<string, Content>;
}

/** A snapshot of a source's stations: both feeds, or one of them. */
interface StationSnapshot {
  readonly source: string;
  readonly information: StationFeed<StationInformation> | undefined;
  readonly status: StationFeed<StationStatusReport> | undefined;
  /** The times of the feeds that were applied before. */
  readonly timesBefore: FeedTimes;
  /** Maximum number of stations of the source; tests lower it. */
  readonly maxStations?: number | undefined;
  /** The time without a report of a station after which it is stale; undefined: it never is. */
  readonly stationStaleAfterMs?: number | undefined;
}

/**
 * The changes that a snapshot makes to the stations, decided on rows that are not locked yet. Holds only ids, because the
 * rows are read again before they are written.
 */
interface StationPlan {
  readonly snapshot: StationSnapshot;
  readonly timesAfter: FeedTimes;
  /** Stations of which one part waits for the other. */
  readonly waiting: ReadonlySet<string>;
  /** Stations to insert, in the order of ids. */
  readonly creations: readonly string[];
  /** Stations to update, in the order of ids. */
  readonly updates: readonly string[];
  /** Stations whose waiting parts alone are written or deleted, in the order of ids. */
  readonly parts: readonly string[];
  /** Counts the stations of which nothing is written. */
  readonly kept: Tally;
  /** Positions of the stations that `planStations` was asked for, as they are after the plan is written. */
  readonly positions: ReadonlyMap<string, Position>;
}

/**
 * Decides the effect of a snapshot on the stations. Locks and writes nothing, so that bikes can be written first. The
 * source's row must be locked.
 * @param positionsOf stations whose positions the plan contains
 * @throws TooManyStationsError
 */
export async function planStations(
  command: FleetCommand,
  snapshot: StationSnapshot,
  positionsOf: ReadonlySet<string>,
): Promise<StationPlan> {
  const { source, information, status } = snapshot;
  const timesAfter = advanced(snapshot);
  const plan: Record<"creations" | "updates" | "parts", string[]> = { creations: [], updates: [], parts: [] };
  const kept = new Tally();
  const positions = new Map<string, Position>();
  if (information === undefined && status === undefined) {
    return { snapshot, timesAfter, waiting: new Set(), ...plan, kept, positions };
  }
  const named = new Set([...(information?.records.keys() ?? []), ...(status?.records.keys() ?? [])]);
  // Comes before anything is loaded: a rejected snapshot must not cost a read of all stations.
  const extent = await countStations(command, source, [...named]);
  refuseTooMany(source, { ...extent, most: snapshot.maxStations });
  const waiting = new Set(await listPendingIds(command, source));
  for (const id of await listStationIds(command, source)) named.add(id);
  for (const id of waiting) named.add(id);
  for (const ids of chunksOf([...named].toSorted())) {
    const rows = byId(await listStations(command, ids));
    for (const decision of await decide(command, { snapshot, timesAfter, waiting }, ids, rows)) {
      const { id, kind } = decision;
      const position = kind === "create" || kind === "update" ? decision.row : rows.get(id);
      if (position && positionsOf.has(id)) positions.set(id, { lat: position.lat, lon: position.lon });
      if (kind === "create") plan.creations.push(id);
      else if (kind === "update") plan.updates.push(id);
      else if (partsOf(decision).length > 0) plan.parts.push(id);
      else kept.add(decision, isNamed(snapshot, id));
    }
  }
  return { snapshot, timesAfter, waiting, ...plan, kept, positions };
}

/** Writes a plan: only rows that differ, and the events of the changes of state. */
export async function writeStations(command: FleetCommand, plan: StationPlan): Promise<StationChanges> {
  command.locks("stations");
  // The plan has counted the stations of which nothing is written. The others are added below.
  const tally = plan.kept;
  // The plan used rows that were not locked; each decision is repeated on the locked rows before it is written.
  const taken = await insertPlanned(command, plan, tally);
  // Rows that have changed since the plan, so that now the station itself is to be written.
  const changed: string[] = [];
  for (const ids of chunksOf(plan.parts)) {
    const decisions = await decide(command, plan, ids, byId(await listStations(command, ids)));
    await writeParts(command, plan, decisions.filter(isOfParts), tally);
    changed.push(...decisions.filter((decision) => !isOfParts(decision)).map(({ id }) => id));
  }
  // Locks all in the order of their ids, as every command does, so that no two wait for each other.
  await updateLocked(command, plan, [...plan.updates, ...taken, ...changed].toSorted(), tally);
  command.count("stations", tally.created);
  if (tally.created + tally.updated + tally.removed > 0) command.notify("stations");
  const changes = { ...tally.changes(), timesAfter: plan.timesAfter };
  return { ...changes, events: await recordChanges(command, changes.stateChanges, tally.since) };
}

/** Inserts the planned stations. @returns the ids that other transactions have taken meanwhile */
async function insertPlanned(command: FleetCommand, plan: StationPlan, tally: Tally): Promise<string[]> {
  const { source } = plan.snapshot;
  const taken: string[] = [];
  for (const ids of chunksOf(plan.creations)) {
    // Without rows, because the plan found that none exists.
    const decisions = await decide(command, plan, ids, new Map());
    const rows = decisions.flatMap((decision) => (decision.kind === "create" ? [decision.row] : []));
    const origin = originOf(command, plan);
    const inserted = new Set(await insertFeedStations(command, origin, rows));
    if (inserted.size > 0) markHoursOfStations(command.tx, command.systemId, origin.stateAt, command.now);
    const done = decisions.filter(({ id }) => inserted.has(id));
    await deletePendingParts(
      command,
      source,
      done.flatMap(({ drop }) => drop),
    );
    tally.created += inserted.size;
    taken.push(...ids.filter((id) => !inserted.has(id)));
  }
  return taken;
}

/**
 * Returns the source of stations, and the time of the newest status feed as the time from which their states hold. A feed's
 * clock may be ahead. Then the time is `now`, because every later change must have a later time.
 */
function originOf({ now }: FleetCommand, { snapshot, timesAfter }: StationPlan): StationOrigin {
  const stateAt = new Date(Math.min(now.getTime(), timesAfter.status?.latest ?? Infinity));
  return { source: snapshot.source, stateAt };
}

/** Locks stations, decides again, and writes the result. */
async function updateLocked(
  command: FleetCommand,
  plan: StationPlan,
  all: readonly string[],
  tally: Tally,
): Promise<void> {
  for (const ids of chunksOf(all)) {
    const decisions = await decide(command, plan, ids, byId(await lockFeedStations(command, ids)));
    const rows = decisions.flatMap((decision) => (decision.kind === "update" ? [decision.row] : []));
    const origin = originOf(command, plan);
    for (const [id, since] of await updateFeedStations(command, origin, rows)) tally.since.set(id, since);
    if (rows.some(({ visible }) => visible)) {
      markHoursOfStations(command.tx, command.systemId, origin.stateAt, command.now);
    }
    // Leaves out stations that were deleted meanwhile (`create`): the next snapshot creates them.
    await writeParts(
      command,
      plan,
      decisions.filter(({ kind }) => kind !== "create"),
      tally,
    );
  }
}

/** Saves and drops waiting parts as decided, and counts the decisions. */
async function writeParts(
  command: FleetCommand,
  { snapshot }: StationPlan,
  decisions: readonly Decision[],
  tally: Tally,
): Promise<void> {
  const saved = decisions.flatMap((decision) => (decision.kind === "wait" ? decision.save : []));
  await insertPendingParts(command, snapshot.source, saved);
  await deletePendingParts(
    command,
    snapshot.source,
    decisions.flatMap(({ drop }) => drop),
  );
  for (const decision of decisions) tally.add(decision, isNamed(snapshot, decision.id));
}

/** Returns the positions of stations as they are after the plan is written, by id. Leaves out unknown stations. */
export async function plannedPositions(
  command: FleetCommand,
  { positions }: StationPlan,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Position>> {
  const others = [...ids].filter((id) => !positions.has(id));
  return others.length ? new Map([...positions, ...(await findPositions(command, others))]) : positions;
}

/**
 * Records the events of changes of state to or from `online`. Their time is that of the newest applied snapshot, because a
 * snapshot that arrives late becomes visible only together with newer ones. It is later when the station has changed since.
 * @returns the names of the events
 */
async function recordChanges(
  command: FleetCommand,
  stateChanges: readonly StationChange[],
  since: ReadonlyMap<string, Date>,
): Promise<EventName[]> {
  const names: EventName[] = [];
  for (const changes of chunksOf(stateChanges)) {
    const ids = changes.map(({ stationId }) => stationId);
    const json = await listStationJson(command.tx, command.systemId, ids);
    for (const { stationId, from, to } of changes) {
      const name = stationChangeEvent(from, to);
      if (name === undefined) continue;
      const occurredAt = valueOf(since, stationId);
      command.record({ name, occurredAt, partnerId: null, data: valueOf(json, stationId) });
      names.push(name);
    }
  }
  return names;
}

/** Decides about the stations with `ids`, from their rows, the parts in the snapshot and the waiting parts. */
async function decide(
  command: FleetCommand,
  { snapshot, timesAfter, waiting }: Pick<StationPlan, "snapshot" | "timesAfter" | "waiting">,
  ids: readonly string[],
  rows: ReadonlyMap<string, StationRow>,
): Promise<Decision[]> {
  const { source, timesBefore, stationStaleAfterMs } = snapshot;
  const waitingIds = ids.filter((id) => waiting.has(id));
  const context: SnapshotContext = {
    source,
    timesBefore,
    timesAfter,
    stationStaleAfterMs,
    incoming: new Map(ids.map((id) => [id, incomingParts(snapshot, id)])),
    waiting: Map.groupBy(await listPendingParts(command, source, waitingIds), (row) => row.station_id),
  };
  return ids.map((id) => decideStation(context, id, rows.get(id)));
}

/** Tells whether a decision writes no station: at most it saves or drops waiting parts. */
function isOfParts({ kind }: Decision): boolean {
  return kind === "wait" || kind === "keep";
}

/** Returns the parts that a decision saves or drops. */
function partsOf(decision: Decision): readonly WaitingKey[] {
  return decision.kind === "wait" ? decision.save : decision.drop;
}

/** Returns the times of the feeds after a snapshot. The time of a feed that the snapshot lacks stays. */
function advanced({ information, status, timesBefore }: StationSnapshot): FeedTimes {
  return {
    information: information ? advance(timesBefore.information, information.at) : timesBefore.information,
    status: status ? advance(timesBefore.status, status.at) : timesBefore.status,
  };
}

/** Tells whether a snapshot names a station, in either of its feeds. */
function isNamed({ information, status }: StationSnapshot, id: string): boolean {
  return information?.records.has(id) === true || status?.records.has(id) === true;
}

/** Returns the parts that a snapshot gives of a station. */
function incomingParts({ information, status }: StationSnapshot, id: string): StationParts {
  const described = information?.records.get(id);
  const report = status?.records.get(id);
  return {
    information: described && { content: described, asOf: information?.at ?? 0 },
    status: report && { content: { ...report, was_installed: report.is_installed }, asOf: status?.at ?? 0 },
  };
}

function byId(rows: readonly StationRow[]): Map<string, StationRow> {
  return new Map(rows.map((row) => [row.id, row]));
}

/** The effects of a snapshot. `insertPlanned` and `updateLocked` set `created` and `since`; `add` counts the others. */
class Tally {
  created = 0;
  updated = 0;
  removed = 0;
  /** The time from which the state of each updated station holds, by id. */
  readonly since = new Map<string, Date>();
  #unchanged = 0;
  readonly #waiting = { withoutInformation: 0, withoutStatus: 0 };
  readonly #ownedByOthers: string[] = [];
  readonly #stateChanges: StationChange[] = [];

  /** Counts a decision other than `create`. @param named whether the snapshot names the station */
  add(decision: Decision, named: boolean): void {
    if (decision.kind === "wait") {
      // A waiting station has only one part, unless it belongs to another source.
      if (!decision.isOwnedByOther) {
        this.#waiting[decision.parts[0] === "status" ? "withoutInformation" : "withoutStatus"]++;
      } else if (named) this.#ownedByOthers.push(decision.id);
    } else if (decision.kind === "update" && decision.row.visible) {
      if (decision.removed) this.removed++;
      else this.updated++;
      if (decision.change) this.#stateChanges.push(decision.change);
    } else if (decision.kind !== "create" && named) this.#unchanged++;
  }

  /** Returns the counts and the changes of state, in the order of the stations' ids. */
  changes(): Omit<StationChanges, "timesAfter" | "events"> {
    const { created, updated, removed } = this;
    const stateChanges = this.#stateChanges.toSorted((a, b) => (a.stationId < b.stationId ? -1 : 1));
    const others = { waiting: this.#waiting, ownedByOthers: this.#ownedByOthers, stateChanges };
    return { created, updated, unchanged: this.#unchanged, removed, ...others };
  }
}
