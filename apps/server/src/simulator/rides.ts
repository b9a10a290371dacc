import type { RideEnd } from "@bikeshare/contract";
import type { Backend } from "./backend.ts";
import type { CityStation } from "./city.ts";
import type { Command, OnAnswer } from "./commands.ts";
import type { HappeningOf } from "./plan.ts";

type RideWish = HappeningOf<"ride">;

/** The rides of a living city. */
export interface Rides {
  /** Begins a ride where a bike stands; nothing happens where none does. */
  begin(wish: RideWish, moment: number): void;
  readonly answered: OnAnswer;
  /** Ends every ride under way. */
  settle(moment: number): void;
  underWay(): number;
  /** A bike's latest ride that ended at a station. */
  lastOf(bikeId: string): LastRide | undefined;
}

interface LastRide {
  readonly startedAt: string;
  readonly from: CityStation;
}

const MINUTE = 60_000;
/** Simulated milliseconds: a cancelled ride's, until a stray bike is collected, until a message is repeated. */
const CANCELLED_AFTER = MINUTE;
const COLLECTED_AFTER = 45 * MINUTE;
const REPEATED_AFTER = 2 * MINUTE;

interface RideUnderWay {
  readonly id: string;
  readonly bikeId: string;
  readonly wish: RideWish;
  readonly startedAt: string;
  isTold: boolean;
}

/** @param run distinguishes the rides of this run from those of others */
export function createRides(backend: Backend, run: string): Rides {
  const { agenda, fleet, stamp } = backend;
  const underWay = new Map<string, RideUnderWay>();
  const last = new Map<string, LastRide>();
  /** Rides that the service would not start: their bikes are not where we believe. */
  const refused = new Set<string>();
  let begun = 0;

  const finish = (ride: RideUnderWay, moment: number, reason: RideEnd["end_reason"]) => {
    const { id, bikeId, wish, startedAt } = ride;
    underWay.delete(id);
    if (refused.delete(id)) return;
    tellStart(backend, ride, moment);
    tellEnd(backend, ride, moment, reason);
    if (wish.end === "outside") collectLater(backend, ride, moment);
    else fleet.put(bikeId, wish.end === "cancelled" ? wish.from : wish.to);
    if (wish.end === "returned") last.set(bikeId, { startedAt, from: wish.from });
  };
  return {
    begin(wish, moment) {
      const bikeId = fleet.take(wish.from);
      if (bikeId === undefined) return;
      const id = `ride-${run}-${String(++begun).padStart(5, "0")}`;
      const ride = { id, bikeId, wish, startedAt: stamp(bikeId, moment), isTold: false };
      underWay.set(id, ride);
      if (!wish.isLate) tellStart(backend, ride, moment);
      const over = moment + (wish.end === "cancelled" ? CANCELLED_AFTER : wish.seconds * 1000);
      agenda.at(over, () => underWay.has(id) && finish(ride, over, undefined));
    },
    answered: ({ path, item }, { outcome }) => {
      if (path === "rides/start" && outcome === "failed") refused.add(item.id);
    },
    settle(moment) {
      for (const ride of underWay.values()) finish(ride, moment, "operator");
    },
    underWay: () => underWay.size,
    lastOf: (bikeId) => last.get(bikeId),
  };
}

/** Tells a ride's start where that has not been done yet. */
function tellStart(backend: Backend, ride: RideUnderWay, moment: number): void {
  if (ride.isTold) return;
  ride.isTold = true;
  const { id, bikeId, wish, startedAt } = ride;
  const item = {
    id,
    bike_id: bikeId,
    started_at: startedAt,
    start_station_id: wish.from.id,
    rider_category: wish.riderCategory,
  };
  say(backend, { path: "rides/start", about: bikeId, item }, wish, moment);
}

function tellEnd(backend: Backend, ride: RideUnderWay, moment: number, reason: RideEnd["end_reason"]): void {
  const { id, bikeId, wish } = ride;
  const instant = backend.stamp(bikeId, moment);
  if (wish.end === "cancelled") {
    say(backend, { path: "rides/cancel", about: bikeId, item: { id, cancelled_at: instant } }, wish, moment);
    return;
  }
  const item = {
    id,
    ended_at: instant,
    distance_meters: wish.distanceMeters,
    ...placeOf(wish),
    ...(reason === undefined ? {} : { end_reason: reason }),
  };
  say(backend, { path: "rides/end", about: bikeId, item }, wish, moment);
}

/** Tells something, and again a while later where the plan says so. */
function say({ tell, agenda }: Backend, command: Command, { isRepeated }: RideWish, moment: number): void {
  tell(command);
  if (isRepeated) agenda.at(moment + REPEATED_AFTER, () => tell(command));
}

/** A bike that was left outside is found, and brought to where its rider was going. */
function collectLater({ agenda, fleet, stamp, tell }: Backend, { bikeId, wish }: RideUnderWay, moment: number): void {
  const collected = moment + COLLECTED_AFTER;
  agenda.at(collected, () => {
    const item = { id: bikeId, at: stamp(bikeId, collected), station_id: wish.to.id };
    tell({ path: "bikes/reports", about: bikeId, item });
    fleet.put(bikeId, wish.to);
  });
}

function placeOf({ end, to }: RideWish): Pick<RideEnd, "end_station_id" | "lat" | "lon"> {
  // A stone's throw away, at no station.
  if (end === "outside") return { end_station_id: null, lat: to.lat + 0.001, lon: to.lon + 0.001 };
  return { end_station_id: to.id };
}
