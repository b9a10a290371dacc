import type { BatchItem, BatchResults, ItemError, MessageArguments, PastRideUpsert } from "@bikeshare/contract";
import { rideLength } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import { countRides, pickSlot } from "../counts/service.ts";
import { type BatchNotes, type Indexed, runBatch } from "./batch.ts";
import {
  findPastRides,
  insertPastRides,
  type PastRideRow,
  type StoredPastRide,
  updatePastRides,
} from "./past-ride-queries.ts";
import { describeRide } from "./repeat.ts";
import { rideTimesIssue } from "./ride.ts";

/** Adds rides that are over, or corrects them. Makes no events and moves no bike. */
export function upsertPastRides(
  { db, clock, ids }: CommandContext,
  systemId: string,
  items: readonly BatchItem<PastRideUpsert>[],
): Promise<BatchResults> {
  return runBatch<PastRideUpsert, ItemError<"rides", "upsertPast">>(
    { db, clock },
    items,
    async (tx, { readable, notes, now }) => {
      const wanted = wantedRides(readable, now, notes);
      const rows = [...wanted.values()].map((entry) => entry.item);
      const inserted = new Set(await insertPastRides(tx, systemId, now, rows));
      const held = await findPastRides(
        tx,
        systemId,
        rows.filter((row) => !inserted.has(row.id)).map((row) => row.id),
      );
      const changed: PastRideRow[] = [];
      for (const { index, item } of wanted.values()) {
        const before = held.get(item.id);
        if (inserted.has(item.id)) notes.done(index, item.id, "created");
        else if (!isSameRide(before, item)) {
          notes.failed(index, item.id, "ride_conflict", ...otherRide(before));
        } else if (isSame(before, item)) notes.done(index, item.id, "unchanged");
        else {
          notes.done(index, item.id, "updated");
          changed.push(item);
        }
      }
      await updatePastRides(tx, systemId, now, changed);
      await countRides(
        tx,
        systemId,
        pickSlot(() => ids.random()),
        rows.filter((row) => inserted.has(row.id)).map((row) => row.started_at),
      );
    },
  );
}

function otherRide(stored: StoredPastRide | undefined): MessageArguments<"ride_conflict"> {
  if (stored === undefined) return ["otherRide"];
  return ["otherRideStored", { stored: describeRide({ ...stored, reservation_id: null }) }];
}

/** The rides to be written, by id; notes those that cannot be. */
function wantedRides(
  items: readonly Indexed<PastRideUpsert>[],
  now: Date,
  notes: BatchNotes<"invalid_parameter">,
): Map<string, Indexed<PastRideRow>> {
  const wanted = new Map<string, Indexed<PastRideRow>>();
  for (const { index, item } of items) {
    const issue = rideTimesIssue(Date.parse(item.started_at), Date.parse(item.ended_at), now.getTime(), "ended_at");
    if (issue !== undefined) notes.failed(index, item.id, "invalid_parameter", ...issue);
    else if (wanted.has(item.id)) notes.failed(index, item.id, "invalid_parameter", "repeatedId");
    else wanted.set(item.id, { index, item: rowOf(item) });
  }
  return wanted;
}

function isSameRide(held: StoredPastRide | undefined, wanted: PastRideRow): held is StoredPastRide {
  return (
    held?.status === "completed" &&
    held.bike_id === wanted.bike_id &&
    held.started_at.getTime() === wanted.started_at.getTime()
  );
}

function rowOf(item: PastRideUpsert): PastRideRow {
  const startedAt = new Date(item.started_at);
  const endedAt = new Date(item.ended_at);
  const endStation = item.end_station_id ?? null;
  return {
    id: item.id,
    bike_id: item.bike_id,
    start_station_id: item.start_station_id ?? null,
    end_station_id: endStation,
    started_at: startedAt,
    ended_at: endedAt,
    distance_meters: item.distance_meters ?? null,
    vehicle_type_id: item.vehicle_type_id ?? null,
    rider_category: item.rider_category ?? null,
    end_reason: item.end_reason ?? (endStation === null ? null : "returned"),
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

function isSame(held: PastRideRow, wanted: PastRideRow): boolean {
  return (
    held.ended_at.getTime() === wanted.ended_at.getTime() && compared.every((field) => held[field] === wanted[field])
  );
}
