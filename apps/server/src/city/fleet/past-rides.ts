import type { BatchItem, BatchResults, ItemError, PastRideUpsert, RideCorrection } from "@bikeshare/contract";
import {
  correctedEndReason,
  doOverlap,
  isIssue,
  rideLength,
  storedEnd,
  type StoredTime,
  storedTime,
} from "@bikeshare/rules";
import type { CommandContext } from "../../command-context.ts";
import { TransactionConflict } from "../../storage/db/errors.ts";
import { valueOf } from "../../storage/db/rows.ts";
import { markHoursOfRides } from "../history/sum-marks.ts";
import {
  type BatchResultWriter,
  hasKnownStations,
  type Indexed,
  lockRideBatch,
  type RideBatch,
  rideFor,
  runBatch,
} from "./batch.ts";
import {
  availableAgain,
  BACK_FROM_RIDE,
  type BikeState,
  changedBike,
  type Dated,
  datedLocation,
  datedState,
  later,
  type NamedStations,
  presentStation,
  type ReportedLocation,
} from "./bike.rules.ts";
import type { FleetCommand } from "./command.ts";
import { insertPastRides, listOverlappingRides, type RideState, type RideTimes, updateRides } from "./ride-queries.ts";
import { COSTS, costsOf, describeRide, overlapIssue } from "./ride.rules.ts";

/*
 * Two commands of the operator's backend on rides that are over. `upsertPastRides` adds rides that the service has not
 * followed, or changes them; it moves no bike. `correctRides` corrects rides that have ended, and moves their bikes.
 */

/** Adds rides that are over, or changes them. Records no events and moves no bike. */
export function upsertPastRides(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<PastRideUpsert>[],
): Promise<BatchResults> {
  return runBatch<PastRideUpsert, ItemError<"rides", "upsertPast">>(
    context,
    systemId,
    items,
    async (command, { items: readable, results }) => {
      const { tx, now } = command;
      const wanted = wantedRides(readable, now, results);
      const facts = await lockFacts(command, wanted);
      const accepted = [...wanted.values()].filter((entry) => decideUpsert(entry, facts, results));
      const added = accepted.filter(({ item }) => !facts.stored.has(item.id)).map(({ item }) => item);
      const changed = accepted.filter(({ item }) => facts.stored.has(item.id)).map(({ item }) => item);
      const inserted = await insertPastRides(tx, systemId, now, added);
      // Another command has created one of these rides meanwhile: repeat the transaction, to decide on the new row.
      if (inserted.size < added.length) throw new TransactionConflict();
      await updateRides(tx, systemId, now, changed);
      command.countCorrectedRides(changed);
      markFormerEnds(command, changed, facts.stored);
      command.countRides(added.map((ride) => ride.started_at));
    },
  );
}

/** Marks the hours in which rides ended before they were changed, so that these hours are summed again. */
function markFormerEnds(
  { tx, systemId }: FleetCommand,
  rides: readonly RideState[],
  stored: ReadonlyMap<string, RideState>,
): void {
  const moved = rides.filter((ride) => ride.ended_at?.getTime() !== stored.get(ride.id)?.ended_at?.getTime());
  markHoursOfRides(
    tx,
    systemId,
    moved.map(({ id }) => ({ ended_at: stored.get(id)?.ended_at ?? null })),
  );
}

/** A ride that is over, as `upsertPastRides` is to store it. */
type PastRideState = RideState & { readonly ended_at: Date };

/** An item of `upsertPastRides` that is a valid ride. */
interface WantedRide extends Indexed<PastRideState> {
  /** Says that a time was ahead of the server's clock; undefined: none was. */
  readonly warning: StoredTime["warning"];
}

/** The inputs of `upsertPastRides`' decisions. */
interface Facts {
  readonly stored: ReadonlyMap<string, RideState>;
  /** Stored rides of the same bikes that would newly overlap, by the id of the wanted ride. */
  readonly others: ReadonlyMap<string, readonly RideState[]>;
  /** The rides that this batch writes, by id. */
  readonly written: Map<string, PastRideState>;
  /** The rides that this batch writes, by bike id. */
  readonly writtenOfBike: Map<string, PastRideState[]>;
}

/** Locks the rides and their bikes: with its bike locked, no other command writes a ride that overlaps. */
async function lockFacts(command: FleetCommand, wanted: ReadonlyMap<string, WantedRide>): Promise<Facts> {
  const rides = [...wanted.values()].map(({ item }) => item);
  const bikeIds = rides.map((ride) => ride.bike_id);
  await command.lockBikes(bikeIds);
  const stored = await command.lockRides(rides.map(({ id }) => id));
  await command.lockUnknownBikes(bikeIds);
  const times = rides.flatMap((ride) => newTimes(ride, stored.get(ride.id)));
  const others = await listOverlappingRides(command.tx, command.systemId, times);
  return { stored, others, written: new Map(), writtenOfBike: new Map() };
}

/** Returns the time in which a ride may newly overlap: all of it, or that by which it becomes longer than it is stored. */
function newTimes({ id, bike_id, started_at, ended_at }: PastRideState, before: RideState | undefined): RideTimes[] {
  if (before === undefined) return [{ id, bike_id, started_at, ended_at, is_rest: false }];
  const { ended_at: from } = before;
  return from !== null && ended_at > from ? [{ id, bike_id, started_at: from, ended_at, is_rest: true }] : [];
}

/**
 * Decides one ride after the effects of the items before. Records its result, and adds it to the written rides of the batch
 * if it is to be written.
 * @returns whether to write the ride
 */
function decideUpsert(
  { index, item, warning }: WantedRide,
  { stored, others, written, writtenOfBike }: Facts,
  results: BatchResultWriter<ItemError<"rides", "upsertPast">>,
): boolean {
  const before = stored.get(item.id);
  if (before !== undefined && !isSameRide(before, item)) {
    results.failed(index, item.id, "ride_conflict", "otherRideStored", { stored: describeRide(before) });
    return false;
  }
  if (before !== undefined && needsNoChange(before, item)) {
    results.done(index, item.id, "unchanged", warning);
    return false;
  }
  const ofBike = writtenOfBike.get(item.bike_id) ?? [];
  // The rides that this batch has changed are compared as it has changed them (`ofBike`), not as they are stored.
  const storedOthers = (others.get(item.id) ?? []).filter(({ id }) => !written.has(id));
  // Rides that overlap already, because an import wrote them, may still be changed.
  const other = [...storedOthers, ...ofBike].find(
    (ride) => doOverlap(ride, item) && (before === undefined || !doOverlap(ride, before)),
  );
  if (other !== undefined) {
    results.failed(index, item.id, "ride_conflict", ...overlapIssue(other));
    return false;
  }
  results.done(index, item.id, before === undefined ? "created" : "updated", warning);
  written.set(item.id, item);
  writtenOfBike.set(item.bike_id, [...ofBike, item]);
  return true;
}

/** Returns the rides to write, by id. Records a failure for each item that is no valid ride. */
function wantedRides(
  items: readonly Indexed<PastRideUpsert>[],
  now: Date,
  results: BatchResultWriter<"invalid_parameter">,
): ReadonlyMap<string, WantedRide> {
  const wanted = new Map<string, WantedRide>();
  for (const { index, item } of items) {
    const start = storedTime("started_at", item.started_at, now);
    const end = isIssue(start) ? start : storedEnd(start.at, "ended_at", item.ended_at, now);
    if (isIssue(start)) results.failed(index, item.id, "invalid_parameter", ...start);
    else if (isIssue(end)) results.failed(index, item.id, "invalid_parameter", ...end);
    else if (wanted.has(item.id)) results.failed(index, item.id, "invalid_parameter", "repeatedId");
    else wanted.set(item.id, { index, item: pastRide(item, start.at, end.at), warning: start.warning ?? end.warning });
  }
  return wanted;
}

/** Tells whether two rides with one id are the same ride, which may then be changed. */
function isSameRide(stored: RideState, wanted: PastRideState): boolean {
  return (
    stored.status === "completed" &&
    stored.bike_id === wanted.bike_id &&
    stored.started_at.getTime() === wanted.started_at.getTime()
  );
}

/** Returns the ride that an item describes, as it is to be stored. */
function pastRide(item: PastRideUpsert, startedAt: Date, endedAt: Date): PastRideState {
  const endStation = item.end_station_id ?? null;
  return {
    id: item.id,
    bike_id: item.bike_id,
    status: "completed",
    start_station_id: item.start_station_id ?? null,
    end_station_id: endStation,
    started_at: startedAt,
    ended_at: endedAt,
    distance_meters: item.distance_meters ?? null,
    vehicle_type_id: item.vehicle_type_id ?? null,
    rider_category: item.rider_category ?? null,
    end_reason: item.end_reason ?? (endStation === null ? null : "returned"),
    special_group: item.special_group ?? null,
    ...costsOf(item),
    reservation_id: null,
    // Positions are not stored, because readers take those of the ride's stations.
    start_lat: null,
    start_lon: null,
    end_lat: null,
    end_lon: null,
    ...rideLength(startedAt.getTime(), endedAt.getTime()),
  };
}

/** The fields, besides `ended_at`, that `upsertPastRides` may change. */
const upsertableFields = [
  "start_station_id",
  "end_station_id",
  "distance_meters",
  "vehicle_type_id",
  "rider_category",
  "end_reason",
  "special_group",
  ...COSTS,
] as const;

/** Tells whether a stored ride needs no change. */
function needsNoChange(stored: RideState, wanted: PastRideState): boolean {
  return (
    stored.ended_at?.getTime() === wanted.ended_at.getTime() &&
    upsertableFields.every((field) => stored[field] === wanted[field])
  );
}

/**
 * Corrects rides that have ended. Moves their bikes and recounts the stations, unless a later report of a bike is known.
 * The start time cannot be corrected: it is the ride's position in the list, and clients that are paging would skip or
 * repeat the ride.
 */
export function correctRides(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<RideCorrection>[],
): Promise<BatchResults> {
  return runBatch<RideCorrection, ItemError<"rides", "correct">>(
    context,
    systemId,
    items,
    async (command, { items: readable, results }) => {
      const locked = await lockRideBatch(command, readable);
      // A copy, because each decision replaces its ride in `locked.rides`.
      const stored = new Map(locked.rides);
      const batch = { command, results, ...locked, others: await listNewOverlaps(command, locked.rides, readable) };
      const corrected = new Map<string, RideState>();
      for (const entry of readable) {
        const ride = decideCorrection(entry, batch);
        if (ride !== undefined) corrected.set(ride.id, ride);
      }
      const { tx, now } = command;
      const written = await updateRides(tx, systemId, now, [...corrected.values()]);
      command.countCorrectedRides([...corrected.values()]);
      markFormerEnds(command, [...corrected.values()], stored);
      for (const id of corrected.keys()) {
        command.record({ name: "ride.corrected", occurredAt: now, partnerId: null, data: valueOf(written, id) });
      }
    },
  );
}

/** The inputs of `correctRides`' decisions. */
interface CorrectionBatch extends RideBatch {
  /**
   * Rides of the same bikes that began at or after a ride's stored end and before the latest end that an item gives it, by
   * that ride's id.
   */
  readonly others: ReadonlyMap<string, readonly RideState[]>;
}

/**
 * Finds the rides with which corrected rides would newly overlap. Rides that overlap already, because both were imported,
 * are left out, so that they can still be corrected.
 */
async function listNewOverlaps(
  command: FleetCommand,
  rides: ReadonlyMap<string, RideState>,
  entries: readonly Indexed<RideCorrection>[],
): Promise<CorrectionBatch["others"]> {
  // For each ride that gets a later end: the time from its stored end to the latest end that an item gives it.
  const longer = new Map<string, RideTimes>();
  for (const { item } of entries) {
    const ride = rides.get(item.id);
    if (item.ended_at === undefined || ride === undefined || ride.ended_at === null) continue;
    const ended_at = new Date(Math.max(Date.parse(item.ended_at), longer.get(ride.id)?.ended_at?.getTime() ?? 0));
    if (ended_at <= ride.ended_at) continue;
    longer.set(ride.id, { id: ride.id, bike_id: ride.bike_id, started_at: ride.ended_at, ended_at, is_rest: true });
  }
  await command.lockUnknownBikes([...longer.values()].map((ride) => ride.bike_id));
  return listOverlappingRides(command.tx, command.systemId, [...longer.values()]);
}

/** Returns the end of a ride after a correction, or what is wrong with it. @param before the stored end */
function correctedEnd(startedAt: Date, before: Date, { ended_at: given }: RideCorrection, now: Date) {
  return given === undefined
    ? { at: before, isNow: false, warning: undefined }
    : storedEnd(startedAt, "ended_at", given, now);
}

/** A stored ride that has ended, before or after its correction. */
type EndedRide = RideState & { readonly ended_at: Date };

/**
 * Decides one correction: records its result, and moves the bike. Returns the corrected ride; undefined when the ride
 * itself does not change, or cannot be corrected.
 */
function decideCorrection(entry: Indexed<RideCorrection>, batch: CorrectionBatch): RideState | undefined {
  const { index } = entry;
  const item = withEnd(entry.item);
  const { command, results, rides, stations } = batch;
  // `() => false` is never called, because the transition table never says `same` for a correction.
  const ride = rideFor(entry, "correct", batch, () => false);
  if (ride === undefined || ride.ended_at === null) return undefined; // a completed ride has ended
  const end = correctedEnd(ride.started_at, ride.ended_at, item, command.now);
  if (isIssue(end)) return results.failed(index, item.id, "invalid_parameter", ...end);
  const { at: endedAt, warning } = end;
  const other = batch.others.get(ride.id)?.find(({ started_at: startedAt }) => startedAt < endedAt);
  if (other !== undefined) return results.failed(index, item.id, "ride_conflict", ...overlapIssue(other));
  if (!hasKnownStations(entry, batch)) return undefined;
  const before = { ...ride, ended_at: ride.ended_at };
  const after = correctedRide(before, item, endedAt);
  const bike = command.bikes.get(ride.bike_id);
  const moved = bike && movedBike(bike, before, after, item, stations);
  if (moved !== undefined) command.setBike(moved);
  const isUnchanged = correctableFields.every((field) => timeOrValue(before[field]) === timeOrValue(after[field]));
  const warned = (bike && moved && availableAgain(bike, moved)) ?? warning;
  results.done(index, item.id, isUnchanged && moved === bike ? "unchanged" : "updated", warned);
  if (isUnchanged) return undefined;
  rides.set(ride.id, after);
  return after;
}

/** Returns a correction with an explicit end station: a position without a station means an end outside stations. */
function withEnd(item: RideCorrection): RideCorrection {
  return item.lat === undefined || item.end_station_id !== undefined ? item : { ...item, end_station_id: null };
}

/** The fields that are compared to tell whether a correction changes a ride. */
const correctableFields = [
  "ended_at",
  "start_station_id",
  "end_station_id",
  "end_lat",
  "end_lon",
  "distance_meters",
  "rider_category",
  "end_reason",
  ...COSTS,
] as const;

/** Returns a field in a form that `===` compares: a `Date` as its time. */
function timeOrValue(value: Date | string | number | null): string | number | null {
  return value instanceof Date ? value.getTime() : value;
}

/** Returns a ride after a correction. Omitted fields stay, but a replaced start or end loses its former position. */
function correctedRide(ride: EndedRide, item: RideCorrection, endedAt: Date): EndedRide {
  const startStation = item.start_station_id === undefined ? ride.start_station_id : item.start_station_id;
  const endStation = item.end_station_id === undefined ? ride.end_station_id : item.end_station_id;
  const isStartReplaced = startStation !== ride.start_station_id;
  const isEndReplaced = item.lat !== undefined || endStation !== ride.end_station_id;
  return {
    ...ride,
    ended_at: endedAt,
    start_station_id: startStation,
    start_lat: isStartReplaced ? null : ride.start_lat,
    start_lon: isStartReplaced ? null : ride.start_lon,
    end_station_id: endStation,
    end_lat: isEndReplaced ? (item.lat ?? null) : ride.end_lat,
    end_lon: isEndReplaced ? (item.lon ?? null) : ride.end_lon,
    distance_meters: item.distance_meters === undefined ? ride.distance_meters : item.distance_meters,
    rider_category: item.rider_category === undefined ? ride.rider_category : item.rider_category,
    end_reason: item.end_reason ?? correctedEndReason(ride, endStation),
    ...costsOf(item, ride),
    ...rideLength(ride.started_at.getTime(), endedAt.getTime()),
  };
}

/**
 * Returns the bike of a corrected ride at the place and time of the ride's end; the same object when nothing changes.
 * Values that the ride's original end wrote are replaced. Any other value stays if it is later than the corrected end.
 */
function movedBike(
  bike: BikeState,
  before: EndedRide,
  after: EndedRide,
  item: RideCorrection,
  stations: NamedStations,
): BikeState {
  if (item.ended_at === undefined && item.end_station_id === undefined && item.lat === undefined) return bike;
  const [from, to] = [before.ended_at.getTime(), after.ended_at.getTime()];
  const [knownState, knownLocation] = [datedState(bike), datedLocation(bike)];
  // Whether the ride's original end wrote the known location.
  const isLocationOfEnd =
    knownLocation.at === from && knownLocation.value.reported_station_id === before.end_station_id;
  const where = endLocation(after, item, stations) ?? (isLocationOfEnd ? knownLocation.value : undefined);
  const location =
    where === undefined ? knownLocation : replaced(knownLocation, { at: to, value: where }, isLocationOfEnd);
  // Whether the ride's original end wrote the known state.
  const isStateOfEnd = knownState.at === from && knownState.value.reported_state === "available";
  const state = replaced(knownState, { at: to, value: BACK_FROM_RIDE }, isStateOfEnd);
  if (JSON.stringify([state, location]) === JSON.stringify([knownState, knownLocation])) return bike;
  return changedBike(bike, {
    ...state.value,
    ...(state.at === null ? {} : { reported_state_at: new Date(state.at) }),
    ...location.value,
    ...(location.at === null ? {} : { reported_position_at: new Date(location.at) }),
  });
}

/**
 * Returns where a corrected ride ended; undefined when its end station is unknown or none, and the correction gives neither
 * a position nor an end station.
 */
function endLocation(
  { end_station_id: stationId }: RideState,
  { end_station_id, lat, lon }: RideCorrection,
  stations: NamedStations,
): ReportedLocation | undefined {
  const station = stationId === null ? undefined : presentStation(stations, stationId);
  if (station === undefined && lat === undefined && end_station_id === undefined) return undefined;
  return {
    reported_station_id: stationId,
    reported_lat: lat ?? station?.lat ?? null,
    reported_lon: lon ?? station?.lon ?? null,
  };
}

/** Returns a value after a correction. @param isCorrected whether the known value comes from the ride's original end */
function replaced<Value>(known: Dated<Value>, correction: Dated<Value>, isCorrected: boolean): Dated<Value> {
  return isCorrected ? correction : later(known, correction);
}
