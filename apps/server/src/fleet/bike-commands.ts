import type { BatchItem, BatchResults, BikeReport, BikeUpsert, ItemError } from "@bikeshare/contract";
import type { CommandContext } from "../command-context.ts";
import { countRows, pickSlot } from "../counts/service.ts";
import type { Transaction } from "../db/database.ts";
import { type BatchNotes, type Indexed, runBatch } from "./batch.ts";
import { afterChange, type BikeChangeFacts, newBike, type Placed, reported, upserted } from "./bike-changes.ts";
import { insertBikes } from "./command-queries.ts";
import { type BikeChange, changeBikes, lockBikes, type LockedBike, shiftsOf, tellStates } from "./command.ts";
import { refreshCounters, shiftMirrored } from "./counter-queries.ts";
import { newPublicId } from "./public-id.ts";
import { cancelForBikes } from "./reservation-commands.ts";
import { isInFuture } from "./ride.ts";
import { stationPlaces } from "./station-location-queries.ts";

/** Makes bikes, or changes what the operator says of them. */
export function upsertBikes(
  { db, clock, ids }: CommandContext,
  systemId: string,
  items: readonly BatchItem<BikeUpsert>[],
): Promise<BatchResults> {
  return runBatch<BikeUpsert, ItemError<"bikes", "upsert">>(
    { db, clock },
    items,
    async (tx, { readable, notes, now }) => {
      const facts = await lockFacts(
        tx,
        systemId,
        readable.map(({ item }) => item),
      );
      const known = readable.filter((entry) => hasKnownStation(entry, facts, notes));
      const fresh = firstOfEach(known.filter(({ item }) => !facts.bikes.has(item.id)));
      const inserted = await insertBikes(
        tx,
        systemId,
        now,
        fresh.map(({ item }) => newBike(item, facts, now, newPublicId(ids))),
      );
      const wires = [...inserted.values()].filter((json) => json !== null);
      await tellStates(tx, { ids, systemId, now }, wires);
      const created = new Set(fresh.filter(({ item }) => inserted.has(item.id)).map(({ index }) => index));
      // What another command made meanwhile, and what an item before in this batch made, is changed like any other.
      const again = await lockBikes(
        tx,
        systemId,
        known.filter(({ index }) => !created.has(index)).map(({ item }) => item.id),
      );
      for (const { index, item } of known) if (created.has(index)) notes.done(index, item.id, "created");
      const changes = upsertedBikes(
        known.filter(({ index }) => !created.has(index)),
        again,
        facts,
        now,
        notes,
      );
      await changeOrRelease(
        tx,
        { ids, systemId, now },
        changes,
        fresh.flatMap(({ item }) => item.station_id ?? []),
      );
      const slot = pickSlot(() => ids.random());
      await countRows(tx, systemId, "bikes", slot, inserted.size);
    },
  );
}

/** What upserts change of bikes, each on what those before have left. */
function upsertedBikes(
  entries: readonly Indexed<BikeUpsert>[],
  bikes: ReadonlyMap<string, LockedBike>,
  facts: BikeChangeFacts,
  now: Date,
  notes: BatchNotes<"not_found">,
): BikeChange[] {
  const changed = new Map<string, BikeChange>();
  for (const { index, item } of entries) {
    const bike = bikes.get(item.id);
    if (bike === undefined) {
      notes.failed(index, item.id, "not_found", "deletedBike");
      continue;
    }
    const before = changed.get(bike.id);
    const change = upserted(before === undefined ? bike : afterChange(before), item, facts, now);
    notes.done(index, item.id, change === undefined ? "unchanged" : "updated");
    if (change !== undefined) changed.set(bike.id, { ...before, ...change });
  }
  return [...changed.values()];
}

/** Notes what bikes say of themselves: in whatever order reports come, and however often, the same holds in the end. */
export function reportBikes(
  { db, clock, ids }: CommandContext,
  systemId: string,
  items: readonly BatchItem<BikeReport>[],
): Promise<BatchResults> {
  return runBatch<BikeReport, ItemError<"bikes", "report">>(
    { db, clock },
    items,
    async (tx, { readable, notes, now }) => {
      const facts = await lockFacts(
        tx,
        systemId,
        readable.map(({ item }) => item),
      );
      const changes = new Map<string, BikeChange>();
      for (const entry of readable) {
        const { index, item } = entry;
        const at = new Date(item.at);
        const locked = facts.bikes.get(item.id);
        const bike = changes.get(item.id) ?? (locked && { bike: locked });
        if (isInFuture(at.getTime(), now.getTime()))
          notes.failed(index, item.id, "invalid_parameter", "inFuture", { field: "at" });
        else if (bike === undefined) notes.failed(index, item.id, "not_found", "bike");
        else if (hasKnownStation(entry, facts, notes)) {
          const change = reported(bike, item, at, facts);
          notes.done(index, item.id, change === bike ? "unchanged" : "updated");
          changes.set(item.id, change);
        }
      }
      const changed = [...changes.values()].filter((change) => Object.keys(change).length > 1);
      await changeOrRelease(tx, { ids, systemId, now }, changed, []);
    },
  );
}

async function lockFacts(tx: Transaction, systemId: string, items: readonly Placed[]): Promise<BikeChangeFacts> {
  const bikes = await lockBikes(
    tx,
    systemId,
    items.map((item) => item.id),
  );
  const stations = await stationPlaces(
    tx,
    systemId,
    items.flatMap((item) => item.station_id ?? []),
  );
  return { bikes, stations };
}

function hasKnownStation(
  { index, item }: Indexed<Placed>,
  { stations }: BikeChangeFacts,
  notes: BatchNotes<"not_found">,
): boolean {
  if (item.station_id === undefined || item.station_id === null || stations.has(item.station_id)) return true;
  notes.failed(index, item.id, "not_found", "namedStation", { id: item.station_id });
  return false;
}

function firstOfEach(entries: readonly Indexed<BikeUpsert>[]): Indexed<BikeUpsert>[] {
  const seen = new Set<string>();
  return entries.filter(({ item }) => !seen.has(item.id) && seen.add(item.id));
}

/**
 * Writes changes of bikes and the counters of their stations. A held bike that can no longer be ridden is held no
 * longer: its reservation is cancelled.
 * @param stationIds stations where bikes were made, whose counters change as well
 */
async function changeOrRelease(
  tx: Transaction,
  context: { readonly ids: CommandContext["ids"]; readonly systemId: string; readonly now: Date },
  changes: readonly BikeChange[],
  stationIds: readonly string[],
): Promise<void> {
  const isLost = ({ bike, reported_state: state }: BikeChange) =>
    bike.reservation_id !== null && (state ?? bike.reported_state) !== "available";
  const losses = changes.filter(isLost).flatMap(({ bike }) => bike.reservation_id ?? []);
  await cancelForBikes(
    tx,
    context,
    losses.map((reservationId) => ({ reservationId, reason: "bike_unavailable" })),
  );
  const written = changes.map((change) => (isLost(change) ? { ...change, reservation_id: null } : change));
  const touched = await changeBikes(tx, context, written);
  await refreshCounters(tx, context.systemId, [...touched, ...stationIds], context.now);
  await shiftMirrored(tx, context.systemId, shiftsOf(written), context.now);
}
