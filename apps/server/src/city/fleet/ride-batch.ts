import type { ItemError } from "@bikeshare/contract";
import { type RideCommand, rideTransitions } from "@bikeshare/rules";
import { TransactionConflict } from "../../storage/db/errors.ts";
import type { BatchResultWriter, Indexed } from "./batch.ts";
import { missingStation, type NamedStations, presentStation } from "./bike-changes.rules.ts";
import type { FleetCommand } from "./command.ts";
import { findBikesOfRides, type RideState } from "./ride-queries.ts";
import { describeRide } from "./ride.rules.ts";
import { findNamedStations } from "./station-queries.ts";

/** Ends, cancels and corrections fail alike. */
type RideError = ItemError<"rides", "end" | "cancel" | "correct">;

/** The rides of a batch, whose bikes are locked with them. */
export interface LockedRides {
  /** The rides after the effects of the items before. */
  readonly rides: Map<string, RideState>;
  readonly stations: NamedStations;
}

/** The inputs of a batch's decisions on rides that have started. */
export interface RideBatch extends LockedRides {
  readonly command: FleetCommand;
  readonly results: BatchResultWriter<RideError>;
}

/** An item that names a ride, and may name stations. */
export interface RideItem {
  readonly id: string;
  readonly start_station_id?: string | null | undefined;
  readonly end_station_id?: string | null | undefined;
}

/** Locks the bikes of rides and then the rides, and finds the stations that the items name. */
export async function lockRideBatch(
  command: FleetCommand,
  entries: readonly Indexed<RideItem>[],
): Promise<LockedRides> {
  const { tx, systemId } = command;
  const ids = entries.map(({ item }) => item.id);
  const named = entries.flatMap(({ item }) => [item.start_station_id ?? [], item.end_station_id ?? []].flat());
  const [bikesOfRides, , rides, locations] = await Promise.all([
    findBikesOfRides(tx, systemId, ids),
    command.lockBikesOfRides(ids),
    command.lockRides(ids),
    findNamedStations(tx, systemId, named),
  ]);
  // One started after its bike was looked up, so its bike is not locked: look again.
  if ([...rides.keys()].some((id) => !bikesOfRides.has(id))) throw new TransactionConflict();
  const stored = [...rides.values()].flatMap((ride) => ride.end_station_id ?? []);
  const more = stored.filter((id) => !locations.has(id));
  const stations = new Map([...locations, ...(await findNamedStations(tx, systemId, more))]);
  return { rides, stations };
}

/**
 * Returns the ride of a command; undefined when the transition table says that there is nothing to do, or that it is
 * impossible.
 * @param isSame whether a repeated command agrees with the stored ride
 */
export function rideFor<Item extends RideItem>(
  { index, item }: Indexed<Item>,
  rideCommand: Exclude<RideCommand, "start">,
  { rides, results }: RideBatch,
  isSame: (ride: RideState, item: Item) => boolean,
): RideState | undefined {
  const ride = rides.get(item.id);
  if (ride === undefined) return results.failed(index, item.id, "not_found", "notStarted");
  const next = rideTransitions[ride.status][rideCommand];
  if (next === "conflict" || (next === "same" && !isSame(ride, item))) {
    return results.failed(index, ride.id, "ride_conflict", ride.status, { stored: describeRide(ride) });
  }
  if (next !== "same") return ride;
  results.done(index, item.id, "unchanged");
  return undefined;
}

/** Tells whether every station that an item names exists; it fails otherwise. */
export function hasKnownStations({ index, item }: Indexed<RideItem>, { stations, results }: RideBatch): boolean {
  const unknown = [item.start_station_id, item.end_station_id].find(
    (id) => typeof id === "string" && presentStation(stations, id) === undefined,
  );
  if (typeof unknown !== "string") return true;
  results.failed(index, item.id, "not_found", ...missingStation(stations, unknown));
  return false;
}
