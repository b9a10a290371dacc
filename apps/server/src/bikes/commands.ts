import type { BatchItem, BatchResults, BikeReport, BikeUpsert } from "@bikeshare/contract";
import { type BatchNotes, createBatchNotes, type Indexed, readableItems } from "../batches.ts";
import { countRows, pickSlot } from "../counts/service.ts";
import type { Transaction } from "../db/database.ts";
import type { LiveContext } from "../live-context.ts";
import { cancelForBikes } from "../reservations/service.ts";
import { isInFuture } from "../rides/ride.ts";
import { refreshCounters, shiftMirrored } from "../stations/counters.ts";
import { type StationPlace, stationPlaces } from "../stations/places.ts";
import { later, type ReportedState, viewOf } from "./bike.ts";
import { newPublicId } from "./public-id.ts";
import { insertBikes, type LiveBikeWrite } from "./live-queries.ts";
import { type BikeChange, changeBikes, type LiveBike, lockBikes, type LockedBike, shiftsOf } from "./live.ts";

/** Makes bikes, or changes what the operator says of them. */
export async function upsertBikes(
  { db, clock, ids }: LiveContext,
  systemId: string,
  items: readonly BatchItem<BikeUpsert>[],
): Promise<BatchResults> {
  const notes = createBatchNotes();
  const readable = readableItems(items, notes);
  const now = new Date(clock());
  await db.transaction(async (tx) => {
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
    const created = new Set(fresh.filter(({ item }) => inserted.has(item.id)).map(({ index }) => index));
    // What another command made meanwhile, and what an item before in this batch made, is changed like any other.
    const again = await lockBikes(
      tx,
      systemId,
      known.filter(({ index }) => !created.has(index)).map(({ item }) => item.id),
    );
    const changed = new Map<string, BikeChange>();
    for (const { index, item } of known) {
      if (created.has(index)) notes.done(index, item.id, "created");
      else change(index, item, again.get(item.id));
    }
    const changes = [...changed.values()];
    await changeOrRelease(
      tx,
      { ids, systemId, now },
      changes,
      fresh.flatMap(({ item }) => item.station_id ?? []),
    );
    await countRows(
      tx,
      systemId,
      "bikes",
      pickSlot(() => ids.random()),
      inserted.size,
    );

    function change(index: number, item: BikeUpsert, bike: LiveBike | undefined): void {
      if (bike === undefined) {
        notes.failed(index, item.id, "not_found", "The bike was deleted at the same time.");
        return;
      }
      const before = changed.get(bike.id);
      const change = upserted(before === undefined ? bike : afterChange(before), item, facts, now);
      notes.done(index, item.id, change === undefined ? "unchanged" : "updated");
      if (change !== undefined) changed.set(bike.id, { ...before, ...change });
    }
  });
  return notes.results();
}

/** Notes what bikes say of themselves: in whatever order reports come, and however often, the same holds in the end. */
export async function reportBikes(
  { db, clock, ids }: LiveContext,
  systemId: string,
  items: readonly BatchItem<BikeReport>[],
): Promise<BatchResults> {
  const notes = createBatchNotes();
  const readable = readableItems(items, notes);
  const now = new Date(clock());
  await db.transaction(async (tx) => {
    const facts = await lockFacts(
      tx,
      systemId,
      readable.map(({ item }) => item),
    );
    const changes = new Map<string, BikeChange>();
    for (const entry of readable) {
      const { index, item } = entry;
      const at = new Date(item.at);
      const bike = changes.get(item.id) ?? startingFrom(facts.bikes.get(item.id));
      if (isInFuture(at.getTime(), now.getTime()))
        notes.failed(index, item.id, "invalid_parameter", "at lies in the future.");
      else if (bike === undefined) notes.failed(index, item.id, "not_found", "There is no bike with this id.");
      else if (hasKnownStation(entry, facts, notes)) {
        const change = reported(bike, item, at, facts);
        notes.done(index, item.id, change === bike ? "unchanged" : "updated");
        changes.set(item.id, change);
      }
    }
    const changed = [...changes.values()].filter((change) => Object.keys(change).length > 1);
    await changeOrRelease(tx, { ids, systemId, now }, changed, []);
  });
  return notes.results();
}

interface Facts {
  readonly bikes: ReadonlyMap<string, LockedBike>;
  readonly stations: ReadonlyMap<string, StationPlace>;
}

interface Placed {
  readonly id: string;
  readonly station_id?: string | null | undefined;
  readonly lat?: number | undefined;
  readonly lon?: number | undefined;
}

async function lockFacts(tx: Transaction, systemId: string, items: readonly Placed[]): Promise<Facts> {
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

function hasKnownStation({ index, item }: Indexed<Placed>, { stations }: Facts, notes: BatchNotes): boolean {
  if (item.station_id == null || stations.has(item.station_id)) return true;
  notes.failed(index, item.id, "not_found", `There is no station ${item.station_id}.`);
  return false;
}

function firstOfEach(entries: readonly Indexed<BikeUpsert>[]): Indexed<BikeUpsert>[] {
  const seen = new Set<string>();
  return entries.filter(({ item }) => !seen.has(item.id) && seen.add(item.id));
}

/** The place that an item names; undefined when it names none. A station's place stands in where no other is given. */
function placeOf(item: Placed, { stations }: Facts): NonNullable<BikeChange["position"]> | undefined {
  if (item.station_id === undefined && item.lat === undefined) return undefined;
  const station = item.station_id == null ? undefined : stations.get(item.station_id);
  return {
    station_id: item.station_id ?? null,
    lat: item.lat ?? station?.lat ?? null,
    lon: item.lon ?? station?.lon ?? null,
  };
}

function newBike(item: BikeUpsert, facts: Facts, now: Date, publicId: string): LiveBikeWrite {
  const place = placeOf(item, facts) ?? { station_id: null, lat: null, lon: null };
  const known = {
    ride_id: null,
    reservation_id: null,
    reported_state: item.vehicle_state ?? "available",
    reported_station_id: place.station_id,
    reported_lat: place.lat,
    reported_lon: place.lon,
  } as const;
  return {
    ...known,
    ...viewOf(known),
    id: item.id,
    number: item.number ?? null,
    vehicle_type_id: item.vehicle_type_id ?? null,
    current_range_meters: item.current_range_meters ?? null,
    reported_state_at: now,
    reported_position_at: now,
    reported_range_at: now,
    last_reported: null,
    renew_public_id: true,
    public_id: publicId,
  };
}

/** What an upsert changes of a bike, as of now; undefined when it says nothing new. */
function upserted(bike: LiveBike, item: BikeUpsert, facts: Facts, now: Date): BikeChange | undefined {
  const described = {
    ...bike,
    number: item.number === undefined ? bike.number : item.number,
    vehicle_type_id: item.vehicle_type_id === undefined ? bike.vehicle_type_id : item.vehicle_type_id,
  };
  const place = placeOf(item, facts);
  const isPlaceNew = place !== undefined && JSON.stringify(place) !== JSON.stringify(placeHeld(bike));
  const isStateNew = item.vehicle_state !== undefined && item.vehicle_state !== bike.reported_state;
  const isRangeNew = item.current_range_meters !== undefined && item.current_range_meters !== bike.current_range_meters;
  const isDescriptionNew = described.number !== bike.number || described.vehicle_type_id !== bike.vehicle_type_id;
  if (!isPlaceNew && !isStateNew && !isRangeNew && !isDescriptionNew) return undefined;
  return {
    bike: described,
    ...(isStateNew && item.vehicle_state !== undefined
      ? { reported_state: item.vehicle_state, reported_state_at: now }
      : {}),
    ...(isPlaceNew ? { position: place, position_at: now } : {}),
    ...(isRangeNew ? { current_range_meters: item.current_range_meters ?? null, range_at: now } : {}),
  };
}

/** A bike as a change leaves it, as far as an upsert asks. */
function afterChange({ bike, ...change }: BikeChange): LiveBike {
  return {
    ...bike,
    reported_state: change.reported_state ?? bike.reported_state,
    reported_station_id: change.position === undefined ? bike.reported_station_id : change.position.station_id,
    reported_lat: change.position === undefined ? bike.reported_lat : change.position.lat,
    reported_lon: change.position === undefined ? bike.reported_lon : change.position.lon,
    current_range_meters:
      change.current_range_meters === undefined ? bike.current_range_meters : change.current_range_meters,
  };
}

function startingFrom(bike: LiveBike | undefined): BikeChange | undefined {
  return bike === undefined ? undefined : { bike };
}

function placeHeld(bike: LiveBike): NonNullable<BikeChange["position"]> {
  return { station_id: bike.reported_station_id, lat: bike.reported_lat, lon: bike.reported_lon };
}

/** What holds when a report comes to a bike and the changes before; the very same when it says nothing later. */
function reported(change: BikeChange, item: BikeReport, at: Date, facts: Facts): BikeChange {
  const { bike } = change;
  let next = change;
  const instant = at.getTime();
  if (item.vehicle_state !== undefined) {
    const held = {
      at: (change.reported_state_at ?? bike.reported_state_at)?.getTime() ?? null,
      value: change.reported_state ?? bike.reported_state,
    };
    const said = { at: instant, value: item.vehicle_state as ReportedState };
    if (later(held, said) === said) next = { ...next, reported_state: said.value, reported_state_at: at };
  }
  const place = placeOf(item, facts);
  if (place !== undefined) {
    const held = {
      at: (change.position_at ?? bike.reported_position_at)?.getTime() ?? null,
      value: change.position ?? placeHeld(bike),
    };
    const said = { at: instant, value: place };
    if (later(held, said) === said) next = { ...next, position: place, position_at: at };
  }
  if (item.current_range_meters !== undefined) {
    const range = change.current_range_meters === undefined ? bike.current_range_meters : change.current_range_meters;
    const held = { at: (change.range_at ?? bike.reported_range_at)?.getTime() ?? null, value: range };
    const said = { at: instant, value: item.current_range_meters };
    if (later(held, said) === said) next = { ...next, current_range_meters: said.value, range_at: at };
  }
  const lastReported = change.last_reported ?? facts.bikes.get(bike.id)?.last_reported;
  return lastReported == null || at > lastReported ? { ...next, last_reported: at } : next;
}

/**
 * Writes changes of bikes and the counters of their stations. A held bike that can no longer be ridden is held no
 * longer: its reservation is cancelled.
 * @param stationIds stations where bikes were made, whose counters change as well
 */
async function changeOrRelease(
  tx: Transaction,
  context: { readonly ids: LiveContext["ids"]; readonly systemId: string; readonly now: Date },
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
