import { type RideCommand, rideTransitions } from "@bikeshare/rules";
import type { Transaction } from "../db/database.ts";
import { TransactionConflict } from "../db/errors.ts";
import type { BatchNotes, Indexed } from "./batch.ts";
import { type LiveBike, lockBikes } from "./command.ts";
import { describeRide } from "./repeat.ts";
import { findBikesOfRides, type LiveRide, lockRides } from "./ride-queries.ts";
import type { RideTimesIssue } from "./ride.ts";
import { type StationPlace, stationPlaces } from "./station-location-queries.ts";

/** What commands on rides that have started look at. */
export interface RideFacts {
  readonly bikes: ReadonlyMap<string, LiveBike>;
  /** As the items before have left them. */
  readonly rides: Map<string, LiveRide>;
  readonly stations: ReadonlyMap<string, StationPlace>;
  readonly now: Date;
}

/** An item that names a ride, and stations by whatever name. */
export interface RideItem {
  readonly id: string;
  readonly start_station_id?: string | null | undefined;
  readonly end_station_id?: string | null | undefined;
}

/** Locks the bikes of rides and then the rides, and finds the stations that the items name. */
export async function lockRideFacts(
  tx: Transaction,
  systemId: string,
  items: readonly RideItem[],
  now: Date,
): Promise<RideFacts> {
  const ids = items.map((item) => item.id);
  const bikesOfRides = await findBikesOfRides(tx, systemId, ids);
  const bikes = await lockBikes(tx, systemId, [...bikesOfRides.values()]);
  const rides = await lockRides(tx, systemId, ids);
  // One began after its bike was looked for, so the bike is not locked: look again.
  if ([...rides.keys()].some((id) => !bikesOfRides.has(id))) throw new TransactionConflict();
  const named = items.flatMap((item) => [item.start_station_id, item.end_station_id]);
  const stored = [...rides.values()].map((ride) => ride.end_station_id);
  const stations = await stationPlaces(
    tx,
    systemId,
    [...named, ...stored].flatMap((id) => id ?? []),
  );
  return { bikes, rides, stations, now };
}

/** Notes that a command contradicts what is stored of a ride, and what that is. */
function noteConflict(notes: BatchNotes<"ride_conflict">, index: number, ride: LiveRide): undefined {
  notes.failed(index, ride.id, "ride_conflict", ride.status, { stored: describeRide(ride) });
}

/**
 * The ride on which a command works; notes what else the transition table says.
 * @param isSame whether the command says what is stored, where it was done before
 */
export function rideFor<Item extends RideItem>(
  { index, item }: Indexed<Item>,
  command: Exclude<RideCommand, "start">,
  { rides }: RideFacts,
  notes: BatchNotes<"not_found" | "ride_conflict">,
  isSame: (ride: LiveRide, item: Item) => boolean,
): LiveRide | undefined {
  const ride = rides.get(item.id);
  if (ride === undefined) {
    notes.failed(index, item.id, "not_found", "notStarted");
    return undefined;
  }
  const next = rideTransitions[ride.status][command];
  if (next === "conflict" || (next === "same" && !isSame(ride, item))) return noteConflict(notes, index, ride);
  if (next !== "same") return ride;
  notes.done(index, item.id, "unchanged");
  return undefined;
}

/** Notes that an item is wrong in itself. */
export function noteIssue(
  notes: BatchNotes<"invalid_parameter">,
  index: number,
  id: string,
  issue: RideTimesIssue,
): undefined {
  notes.failed(index, id, "invalid_parameter", ...issue);
}

/** Notes that an item names a station that there is not. @returns whether it does */
export function noteUnknownStation(
  { index, item }: Indexed<RideItem>,
  { stations }: RideFacts,
  notes: BatchNotes<"not_found">,
): boolean {
  const unknown = [item.start_station_id, item.end_station_id].find(
    (id) => typeof id === "string" && !stations.has(id),
  );
  if (typeof unknown !== "string") return false;
  notes.failed(index, item.id, "not_found", "namedStation", { id: unknown });
  return true;
}
