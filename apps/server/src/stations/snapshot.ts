import type { Transaction } from "../db/database.ts";
import { decideStation, type Decision, type FeedTimes, type SnapshotContext } from "./snapshot-decision.ts";
import {
  dropWaitingHalves,
  findPositions,
  findStations,
  findWaitingHalves,
  insertStationRows,
  lockAndFindStations,
  notifyStationsChanged,
  saveWaitingHalves,
  updateStationRows,
  type StationRow,
  type WaitingRow,
} from "./snapshot-queries.ts";
import { advance } from "./station-halves.ts";
import type { Half, ReadingsSoFar, StationHalves } from "./station-halves.ts";
import type { StationEdge, StationInformation, StationReadings } from "./station.ts";

/** What one feed said at one moment, by station id. */
interface StationFeed<Content> {
  /** `last_updated`, milliseconds since 1970. */
  readonly at: number;
  readonly records: ReadonlyMap<string, Content>;
}

/** A snapshot of a source's stations: both feeds, or one of them. */
export interface StationSnapshot {
  readonly systemId: string;
  readonly source: string;
  /** When we apply it, milliseconds since 1970: becomes `updated_at`. */
  readonly now: number;
  readonly information: StationFeed<StationInformation> | undefined;
  readonly readings: StationFeed<StationReadings> | undefined;
  /** How far the feeds had been applied before. */
  readonly timesBefore: FeedTimes;
}

/** What a snapshot did to the stations of its source. */
export interface StationChanges {
  readonly created: number;
  readonly updated: number;
  /** Named by the snapshot, and as they were. */
  readonly unchanged: number;
  /** Taken offline because this was the second snapshot in a row without them. */
  readonly removed: number;
  /** Halves that wait for their other half. */
  readonly waiting: number;
  /** Ids that the snapshot names and that belong to another source. */
  readonly foreign: readonly string[];
  /** Each change of state of a station that this source had before, in the order of their ids. */
  readonly edges: readonly StationEdge[];
  /** How far the feeds have now been applied. */
  readonly timesAfter: FeedTimes;
}

/**
 * Applies a snapshot to the stations, writing only rows that differ. To be called in the transaction that holds
 * the source's row locked; `countRows` with `created` is the caller's.
 */
export async function applyStationSnapshot(tx: Transaction, snapshot: StationSnapshot): Promise<StationChanges> {
  const { systemId, source } = snapshot;
  const waiting = waitingById(await findWaitingHalves(tx, systemId, source));
  const incoming = incomingById(snapshot);
  const named = [...new Set([...incoming.keys(), ...waiting.keys()])];
  const held = byId(await findStations(tx, systemId, source, named));
  const { timesBefore } = snapshot;
  const timesAfter = advanced(snapshot);
  const context: SnapshotContext = { source, timesBefore, timesAfter, incoming, waiting };

  const first = decideAll(context, held, new Set([...held.keys(), ...named]));
  // Decided on rows that were not locked; what is to be written is decided again on the rows as they are then.
  const toLock = first.filter((decision) => decision.kind === "update").map((decision) => decision.id);
  const creations = first.filter((decision) => decision.kind === "create").map((decision) => decision.row);
  const inserted = new Set(
    creations.length ? await insertStationRows(tx, systemId, source, snapshot.now, creations) : [],
  );
  for (const { id } of creations) if (!inserted.has(id)) toLock.push(id);
  const locked = toLock.length ? byId(await lockAndFindStations(tx, systemId, toLock)) : new Map<string, StationRow>();
  const second = decideAll(context, locked, new Set(toLock));
  const updates = second.filter((decision) => decision.kind === "update");
  if (updates.length) {
    await updateStationRows(
      tx,
      systemId,
      source,
      snapshot.now,
      updates.map((decision) => decision.row),
    );
  }

  const lockedIds = new Set(toLock);
  const decisions = [...first.filter((decision) => !lockedIds.has(decision.id)), ...second];
  await keepWaiting(tx, snapshot, decisions);
  const visible = updates.some((decision) => decision.row.visible);
  if (visible || inserted.size > 0) await notifyStationsChanged(tx, systemId);
  return { ...summary(decisions, incoming, inserted.size), timesAfter };
}

/** Where stations stand, by id; without those that are not known. */
export function stationPositions(tx: Transaction, systemId: string, ids: readonly string[]) {
  return findPositions(tx, systemId, ids);
}

function decideAll(context: SnapshotContext, held: ReadonlyMap<string, StationRow>, ids: Iterable<string>): Decision[] {
  const decisions: Decision[] = [];
  for (const id of ids) decisions.push(decideStation(context, id, held.get(id)));
  return decisions;
}

async function keepWaiting(tx: Transaction, { systemId, source }: StationSnapshot, decisions: readonly Decision[]) {
  const saved = decisions.flatMap((decision) => (decision.kind === "wait" ? decision.save : []));
  const dropped = decisions.flatMap((decision) => decision.drop);
  if (saved.length) await saveWaitingHalves(tx, systemId, source, saved);
  if (dropped.length) await dropWaitingHalves(tx, systemId, source, dropped);
}

function summary(
  decisions: readonly Decision[],
  incoming: ReadonlyMap<string, StationHalves>,
  created: number,
): Omit<StationChanges, "timesAfter"> {
  const changes = { created, updated: 0, unchanged: 0, removed: 0, waiting: 0 };
  const foreign: string[] = [];
  const edges: StationEdge[] = [];
  for (const decision of decisions) {
    const named = incoming.has(decision.id);
    if (decision.kind === "wait") {
      if (!decision.foreign) changes.waiting += decision.halves;
      else if (named) foreign.push(decision.id);
    } else if (decision.kind === "update" && decision.row.visible) {
      if (decision.removed) changes.removed++;
      else changes.updated++;
      if (decision.edge) edges.push(decision.edge);
    } else if (decision.kind !== "create" && named) changes.unchanged++;
  }
  edges.sort((a, b) => (a.stationId < b.stationId ? -1 : 1));
  return { ...changes, foreign, edges };
}

function advanced({ information, readings, timesBefore }: StationSnapshot): FeedTimes {
  return {
    information: information ? advance(timesBefore.information, information.at) : timesBefore.information,
    readings: readings ? advance(timesBefore.readings, readings.at) : timesBefore.readings,
  };
}

function incomingById({ information, readings }: StationSnapshot): Map<string, StationHalves> {
  const halves = new Map<string, StationHalves>();
  for (const [id, content] of information?.records ?? []) {
    halves.set(id, { information: { content, asOf: information?.at ?? 0 } });
  }
  for (const [id, content] of readings?.records ?? []) {
    const half: Half<ReadingsSoFar> = {
      content: { ...content, was_installed: content.is_installed },
      asOf: readings?.at ?? 0,
    };
    halves.set(id, { ...halves.get(id), readings: half });
  }
  return halves;
}

function waitingById(rows: readonly WaitingRow[]): Map<string, WaitingRow[]> {
  const halves = new Map<string, WaitingRow[]>();
  for (const row of rows) halves.set(row.station_id, [...(halves.get(row.station_id) ?? []), row]);
  return halves;
}

function byId(rows: readonly StationRow[]): Map<string, StationRow> {
  return new Map(rows.map((row) => [row.id, row]));
}
