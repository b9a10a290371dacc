import type { EventName } from "@bikeshare/contract";
import type { Transaction } from "../db/database.ts";
import { recordEvents } from "../events/outbox.ts";
import type { Ids } from "../ids.ts";
import type { Position } from "./bike.ts";
import { edgeEvent } from "./edges.ts";
import { refuseTooMany } from "./station-bound.ts";
import { advance } from "./station-parts.ts";
import type { Part, KnownStationStatus, StationParts } from "./station-parts.ts";
import { stationWires } from "./station-queries.ts";
import { decideStation, type Decision, type FeedTimes, type SnapshotContext } from "./station-snapshot-decision.ts";
import {
  dropPendingParts,
  listStationsOfOtherSources,
  findPositions,
  findStations,
  findPendingParts,
  insertStationRows,
  lockAndFindStations,
  notifyStationsChanged,
  savePendingParts,
  updateStationRows,
  type StationRow,
  type WaitingRow,
} from "./station-snapshot-queries.ts";
import type { StationEdge, StationInformation, StationStatusReport } from "./station.ts";

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
  readonly status: StationFeed<StationStatusReport> | undefined;
  /** How far the feeds had been applied before. */
  readonly timesBefore: FeedTimes;
  /** Stations that the source may have in all; tests make it small. */
  readonly maxStations?: number | undefined;
}

/** Stations of a source that wait for one of their feeds to name them. */
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
  /** Stations that are not listed, because one feed names them and the other has not yet: without which they are. */
  readonly waiting: StationsWaiting;
  /** Ids that the snapshot names and that belong to another source. */
  readonly ownedByOthers: readonly string[];
  /** Each change of state of a station that partners knew before, in the order of their ids. */
  readonly edges: readonly StationEdge[];
  /** The events that the edges made, by name: those that leave `online` or come there. */
  readonly events: readonly EventName[];
  /** How far the feeds have now been applied. */
  readonly timesAfter: FeedTimes;
}

/** What a snapshot says of the stations, decided on rows that are not locked yet. */
export interface StationPlan {
  readonly snapshot: StationSnapshot;
  readonly context: SnapshotContext;
  readonly held: ReadonlyMap<string, StationRow>;
  readonly decisions: readonly Decision[];
}

/**
 * Decides what a snapshot does to the stations; locks and writes nothing, so that bikes can be written first. To be
 * called in the transaction that holds the source's row locked.
 * @throws TooManyStationsError
 */
export async function planStations(tx: Transaction, snapshot: StationSnapshot): Promise<StationPlan> {
  const { systemId, source, timesBefore } = snapshot;
  const isSilent = snapshot.information === undefined && snapshot.status === undefined;
  const waiting = waitingById(isSilent ? [] : await findPendingParts(tx, systemId, source));
  const incoming = incomingById(snapshot);
  const held = byId(isSilent ? [] : await findStations(tx, systemId, source));
  const unknown = [...new Set([...incoming.keys(), ...waiting.keys()])].filter((id) => !held.has(id));
  const otherRows = unknown.length ? await listStationsOfOtherSources(tx, systemId, source, unknown) : [];
  const others = new Set(otherRows.map(({ id }) => id));
  const added = unknown.filter((id) => !waiting.has(id) && !others.has(id)).length;
  refuseTooMany(source, { known: held.size + waiting.size, added, most: snapshot.maxStations });
  for (const row of otherRows) held.set(row.id, row);
  const context: SnapshotContext = { source, timesBefore, timesAfter: advanced(snapshot), incoming, waiting };
  return { snapshot, context, held, decisions: decideAll(context, held, new Set([...held.keys(), ...unknown])) };
}

/** Writes what was planned: only rows that differ, and an event for each edge. `countRows` is the caller's. */
export async function writeStations(tx: Transaction, ids: Ids, plan: StationPlan): Promise<StationChanges> {
  const { snapshot, context, decisions: first } = plan;
  const { systemId, source, now } = snapshot;
  // Decided on rows that were not locked; what is to be written is decided again on the rows as they are then.
  const toLock = first.filter((decision) => decision.kind === "update").map((decision) => decision.id);
  const creations = first.filter((decision) => decision.kind === "create").map((decision) => decision.row);
  const inserted = new Set(creations.length ? await insertStationRows(tx, systemId, source, now, creations) : []);
  for (const { id } of creations) if (!inserted.has(id)) toLock.push(id);
  const locked = toLock.length ? byId(await lockAndFindStations(tx, systemId, toLock)) : new Map<string, StationRow>();
  const second = decideAll(context, locked, new Set(toLock));
  const updates = second.filter((decision) => decision.kind === "update").map((decision) => decision.row);
  if (updates.length) await updateStationRows(tx, systemId, source, now, updates);

  const lockedIds = new Set(toLock);
  const decisions = [...first.filter((decision) => !lockedIds.has(decision.id)), ...second];
  await keepWaiting(tx, snapshot, decisions);
  if (inserted.size > 0 || updates.some(({ visible }) => visible)) await notifyStationsChanged(tx, systemId);
  const changes = { ...summary(decisions, context.incoming, inserted.size), timesAfter: context.timesAfter };
  return { ...changes, events: await recordEdges(tx, ids, snapshot, changes) };
}

/** Where stations stand once the plan is written, by id; without those that are not known. */
export async function plannedPositions(
  tx: Transaction,
  { snapshot, held, decisions }: StationPlan,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Position>> {
  const positions = new Map<string, Position>(held);
  for (const decision of decisions) {
    if (decision.kind === "create" || decision.kind === "update") positions.set(decision.id, decision.row);
  }
  const others = [...ids].filter((id) => !positions.has(id));
  const found = others.length ? await findPositions(tx, snapshot.systemId, others) : new Map<string, Position>();
  for (const [id, position] of found) positions.set(id, position);
  return positions;
}

/**
 * Events happen when the feed says so. For a snapshot that came late that is the newest one's time: what it adds
 * shows only together with those that came before it.
 */
async function recordEdges(
  tx: Transaction,
  ids: Ids,
  { systemId, now }: StationSnapshot,
  { edges, timesAfter }: Pick<StationChanges, "edges" | "timesAfter">,
): Promise<EventName[]> {
  if (edges.length === 0) return [];
  const at = new Date(timesAfter.status?.latest ?? now);
  const wires = await stationWires(
    tx,
    systemId,
    edges.map(({ stationId }) => stationId),
  );
  const events = edges.flatMap(({ stationId, from, to }) => edgeEvent(from, to, wires.get(stationId) ?? "", at));
  await recordEvents(tx, { ids, systemId, now: new Date(now) }, events);
  return events.map(({ name }) => name);
}

function decideAll(context: SnapshotContext, held: ReadonlyMap<string, StationRow>, ids: Iterable<string>): Decision[] {
  const decisions: Decision[] = [];
  for (const id of ids) decisions.push(decideStation(context, id, held.get(id)));
  return decisions;
}

async function keepWaiting(tx: Transaction, { systemId, source }: StationSnapshot, decisions: readonly Decision[]) {
  const saved = decisions.flatMap((decision) => (decision.kind === "wait" ? decision.save : []));
  const dropped = decisions.flatMap((decision) => decision.drop);
  if (saved.length) await savePendingParts(tx, systemId, source, saved);
  if (dropped.length) await dropPendingParts(tx, systemId, source, dropped);
}

function summary(
  decisions: readonly Decision[],
  incoming: ReadonlyMap<string, StationParts>,
  created: number,
): Omit<StationChanges, "timesAfter" | "events"> {
  const changes = { created, updated: 0, unchanged: 0, removed: 0 };
  const waiting = { withoutInformation: 0, withoutStatus: 0 };
  const ownedByOthers: string[] = [];
  const edges: StationEdge[] = [];
  for (const decision of decisions) {
    const named = incoming.has(decision.id);
    if (decision.kind === "wait") {
      if (!decision.isOwnedByOther) waiting[decision.parts[0] === "status" ? "withoutInformation" : "withoutStatus"]++;
      else if (named) ownedByOthers.push(decision.id);
    } else if (decision.kind === "update" && decision.row.visible) {
      if (decision.removed) changes.removed++;
      else changes.updated++;
      if (decision.edge) edges.push(decision.edge);
    } else if (decision.kind !== "create" && named) changes.unchanged++;
  }
  edges.sort((a, b) => (a.stationId < b.stationId ? -1 : 1));
  return { ...changes, waiting, ownedByOthers, edges };
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
  for (const [id, content] of status?.records ?? []) {
    const part: Part<KnownStationStatus> = {
      content: { ...content, was_installed: content.is_installed },
      asOf: status?.at ?? 0,
    };
    parts.set(id, { ...parts.get(id), status: part });
  }
  return parts;
}

function waitingById(rows: readonly WaitingRow[]): Map<string, WaitingRow[]> {
  const parts = new Map<string, WaitingRow[]>();
  for (const row of rows) parts.set(row.station_id, [...(parts.get(row.station_id) ?? []), row]);
  return parts;
}

function byId(rows: readonly StationRow[]): Map<string, StationRow> {
  return new Map(rows.map((row) => [row.id, row]));
}
