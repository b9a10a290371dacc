import { type BikeFacts, counterShifts, viewOf } from "@bikeshare/rules";
import type { Transaction } from "../db/database.ts";
import { recordNotices } from "../events/outbox.ts";
import type { Ids } from "../ids.ts";
import { type LiveBike, type LiveBikeWrite, lockBikes as lockRows, writeBikes } from "./command-queries.ts";
import type { MirroredShift } from "./counter-queries.ts";
import { newPublicId } from "./public-id.ts";

export type { LiveBike, LockedBike } from "./command-queries.ts";

/** Locks bikes, in the order of their ids, and gives them by id: the first step of every command that touches bikes. */
export const lockBikes = lockRows;

/** How a locked bike is changed. What is not named stays as it is. */
export interface BikeChange {
  readonly bike: LiveBike;
  readonly ride_id?: string | null;
  readonly reservation_id?: string | null;
  readonly reported_state?: LiveBike["reported_state"];
  readonly reported_state_at?: Date;
  readonly position?: { readonly station_id: string | null; readonly lat: number | null; readonly lon: number | null };
  readonly position_at?: Date;
  readonly current_range_meters?: number | null;
  readonly range_at?: Date;
  readonly last_reported?: Date;
}

/** A command on a system's bikes: all of it happens at one instant. */
interface Moment {
  readonly ids: Ids;
  readonly systemId: string;
  readonly now: Date;
}

/**
 * Writes changes of locked bikes, each with the state that follows for readers, and tells of the states that are new.
 * @returns the stations whose counters the changes touch
 */
export async function changeBikes(tx: Transaction, context: Moment, changes: readonly BikeChange[]): Promise<string[]> {
  const writes = changes.map((change) => applied(change, context.ids));
  await tellStates(tx, context, await writeBikes(tx, context.systemId, context.now, writes));
  const touched = changes.flatMap(({ bike }, index) => [bike.station_id, writes[index]?.station_id ?? null]);
  return [...new Set(touched.filter((station) => station !== null))];
}

/** Tells the endpoints that want it of bikes that have another state than before. @param wires the bikes as they are now */
export function tellStates(tx: Transaction, moment: Moment, wires: readonly string[]): Promise<void> {
  return recordNotices(
    tx,
    moment,
    wires.map((data) => ({ name: "bike.state_changed", occurredAt: moment.now, data })),
  );
}

/** What changes of bikes mean for the stations that they leave and come to. */
export function shiftsOf(changes: readonly BikeChange[]): MirroredShift[] {
  return changes.flatMap((change) => {
    const { bike } = change;
    const after = viewOf(factsAfter(change));
    return counterShifts(bike, after).map((shift) => ({ ...shift, vehicleTypeId: bike.vehicle_type_id }));
  });
}

/** What decides how a bike is shown after a change. */
function factsAfter({ bike, ...change }: BikeChange): BikeFacts<LiveBike["reported_state"]> {
  return {
    ride_id: change.ride_id === undefined ? bike.ride_id : change.ride_id,
    reservation_id: change.reservation_id === undefined ? bike.reservation_id : change.reservation_id,
    reported_state: change.reported_state ?? bike.reported_state,
    reported_station_id: change.position === undefined ? bike.reported_station_id : change.position.station_id,
    reported_lat: change.position === undefined ? bike.reported_lat : change.position.lat,
    reported_lon: change.position === undefined ? bike.reported_lon : change.position.lon,
  };
}

function applied(fullChange: BikeChange, ids: Ids): LiveBikeWrite {
  const { bike, ...change } = fullChange;
  const facts = factsAfter(fullChange);
  return {
    ...facts,
    ...viewOf(facts),
    id: bike.id,
    number: bike.number,
    vehicle_type_id: bike.vehicle_type_id,
    current_range_meters:
      change.current_range_meters === undefined ? bike.current_range_meters : change.current_range_meters,
    reported_state_at: change.reported_state_at ?? bike.reported_state_at,
    reported_position_at: change.position_at ?? bike.reported_position_at,
    reported_range_at: change.range_at ?? bike.reported_range_at,
    last_reported: change.last_reported ?? null,
    // A bike that comes back from a ride must not be known again by its public id.
    renew_public_id: bike.ride_id !== null && facts.ride_id === null,
    public_id: newPublicId(ids),
  };
}
