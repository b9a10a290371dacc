import type { BatchItem, BatchResults, ItemError, MessageArguments, PastRideUpsert } from "@bikeshare/contract";
import { rideLength } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import { type BatchResultWriter, type Indexed, runBatch } from "./batch.ts";
import { insertPastRides, type RideState, updateRides } from "./ride-queries.ts";
import { describeRide, rideTimesIssue } from "./ride.rules.ts";

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
      const rides = [...wanted.values()].map((entry) => entry.item);
      const inserted = await insertPastRides(tx, systemId, now, rides);
      const stored = await command.lockRides(rides.filter(({ id }) => !inserted.has(id)).map(({ id }) => id));
      const changed: RideState[] = [];
      for (const { index, item } of wanted.values()) {
        const before = stored.get(item.id);
        if (inserted.has(item.id)) results.done(index, item.id, "created");
        else if (!isSameRide(before, item)) results.failed(index, item.id, "ride_conflict", ...otherRide(before));
        else if (isSame(before, item)) results.done(index, item.id, "unchanged");
        else {
          results.done(index, item.id, "updated");
          changed.push(item);
        }
      }
      await updateRides(tx, systemId, now, changed);
      command.countCorrectedRides(changed);
      command.countRides(rides.filter(({ id }) => inserted.has(id)).map((ride) => ride.started_at));
    },
  );
}

function otherRide(stored: RideState | undefined): MessageArguments<"ride_conflict"> {
  return stored === undefined ? ["otherRide"] : ["otherRideStored", { stored: describeRide(stored) }];
}

/** The rides to be written, by id; the others have failed. */
function wantedRides(
  items: readonly Indexed<PastRideUpsert>[],
  now: Date,
  results: BatchResultWriter<"invalid_parameter">,
): ReadonlyMap<string, Indexed<PastRide>> {
  const wanted = new Map<string, Indexed<PastRide>>();
  for (const { index, item } of items) {
    const issue = rideTimesIssue(Date.parse(item.started_at), Date.parse(item.ended_at), now.getTime(), "ended_at");
    if (issue !== undefined) results.failed(index, item.id, "invalid_parameter", ...issue);
    else if (wanted.has(item.id)) results.failed(index, item.id, "invalid_parameter", "repeatedId");
    else wanted.set(item.id, { index, item: pastRide(item) });
  }
  return wanted;
}

type PastRide = RideState & { readonly ended_at: Date };

function isSameRide(stored: RideState | undefined, wanted: PastRide): stored is RideState {
  return (
    stored?.status === "completed" &&
    stored.bike_id === wanted.bike_id &&
    stored.started_at.getTime() === wanted.started_at.getTime()
  );
}

function pastRide(item: PastRideUpsert): PastRide {
  const startedAt = new Date(item.started_at);
  const endedAt = new Date(item.ended_at);
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
