import type { BatchItem, BatchResults, ItemError, PastRideUpsert } from "@bikeshare/contract";
import { doOverlap, isIssue, rideLength, storedEnd, type StoredTime, storedTime } from "@bikeshare/rules";
import type { CommandContext } from "../../command-context.ts";
import { TransactionConflict } from "../../storage/db/errors.ts";
import { type BatchResultWriter, type Indexed, runBatch } from "./batch.ts";
import type { FleetCommand } from "./command.ts";
import { insertPastRides, listOverlappingRides, type RideState, updateRides } from "./ride-queries.ts";
import { describeRide, overlapIssue } from "./ride.rules.ts";

/** Adds rides that are over, or corrects them. Makes no events and moves no bike. */
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
      const accepted = [...wanted.values()].filter((entry) => isAccepted(entry, facts, results));
      const added = accepted.filter(({ item }) => !facts.stored.has(item.id)).map(({ item }) => item);
      const changed = accepted.filter(({ item }) => facts.stored.has(item.id)).map(({ item }) => item);
      const inserted = await insertPastRides(tx, systemId, now, added);
      // Another command has created one of them meanwhile: decide again on the new row.
      if (inserted.size < added.length) throw new TransactionConflict();
      await updateRides(tx, systemId, now, changed);
      command.countCorrectedRides(changed);
      command.countRides(added.map((ride) => ride.started_at));
    },
  );
}

/** The inputs of decisions on past rides. */
interface Facts {
  readonly stored: ReadonlyMap<string, RideState>;
  /** Stored rides of the same bikes that overlap, by the id of the wanted ride. */
  readonly others: ReadonlyMap<string, readonly RideState[]>;
  /** Rides as this batch writes them, and their bikes' rides among them. */
  readonly written: Map<string, PastRide>;
  readonly writtenOfBike: Map<string, PastRide[]>;
}

async function lockFacts(command: FleetCommand, wanted: ReadonlyMap<string, WantedRide>): Promise<Facts> {
  const rides = [...wanted.values()].map(({ item }) => item);
  const bikeIds = rides.map((ride) => ride.bike_id);
  await command.lockBikes(bikeIds);
  const stored = await command.lockRides(rides.map(({ id }) => id));
  await command.lockUnknownBikes(bikeIds);
  const others = await listOverlappingRides(command.tx, command.systemId, rides);
  return { stored, others, written: new Map(), writtenOfBike: new Map() };
}

/** Decides one ride after the effects of the items before. @returns whether to write it */
function isAccepted(
  { index, item, warning }: WantedRide,
  { stored, others, written, writtenOfBike }: Facts,
  results: BatchResultWriter<ItemError<"rides", "upsertPast">>,
): boolean {
  const before = stored.get(item.id);
  if (before !== undefined && !isSameRide(before, item)) {
    results.failed(index, item.id, "ride_conflict", "otherRideStored", { stored: describeRide(before) });
    return false;
  }
  if (before !== undefined && isSame(before, item)) {
    results.done(index, item.id, "unchanged", warning);
    return false;
  }
  const ofBike = writtenOfBike.get(item.bike_id) ?? [];
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

/** Returns the rides to be written, by id; the others have failed. */
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

interface WantedRide extends Indexed<PastRide> {
  readonly warning: StoredTime["warning"];
}

type PastRide = RideState & { readonly ended_at: Date };

function isSameRide(stored: RideState, wanted: PastRide): boolean {
  return (
    stored.status === "completed" &&
    stored.bike_id === wanted.bike_id &&
    stored.started_at.getTime() === wanted.started_at.getTime()
  );
}

function pastRide(item: PastRideUpsert, startedAt: Date, endedAt: Date): PastRide {
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
    reservation_id: null,
    ...rideLength(startedAt.getTime(), endedAt.getTime()),
  };
}

const compared = [
  "start_station_id",
  "end_station_id",
  "distance_meters",
  "vehicle_type_id",
  "rider_category",
  "end_reason",
] as const;

function isSame(stored: RideState, wanted: PastRide): boolean {
  return (
    stored.ended_at?.getTime() === wanted.ended_at.getTime() &&
    compared.every((field) => stored[field] === wanted[field])
  );
}
