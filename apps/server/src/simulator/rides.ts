import type { RideEnd, RideStart } from "@bikeshare/contract";
import type { Agenda } from "./agenda.ts";
import type { CityStation } from "./city.ts";
import type { Command, OnAnswer } from "./commands.ts";
import type { Fleet } from "./fleet.ts";
import type { Happening } from "./plan.ts";

type RideWish = Extract<Happening, { readonly kind: "ride" }>;

/** The rides of a living city. */
export interface Rides {
  /** Begins a ride where a bike stands; nothing happens where none does. */
  begin(wish: RideWish, moment: number): void;
  answered: OnAnswer;
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

export interface RidesOptions {
  readonly run: string;
  readonly agenda: Agenda;
  readonly fleet: Fleet;
  /** The instant of something that happens to a bike at a moment, later than all before. */
  readonly stamp: (bikeId: string, moment: number) => string;
  readonly tell: (command: Command) => void;
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
  readonly start: RideStart & { readonly started_at: string };
  /** Tells the start where that has not been done yet. */
  tellStart(): void;
}

export function createRides({ run, agenda, fleet, stamp, tell }: RidesOptions): Rides {
  const underWay = new Map<string, RideUnderWay>();
  const last = new Map<string, LastRide>();
  /** Rides that the service would not start: their bikes are not where we believe. */
  const refused = new Set<string>();
  let begun = 0;

  /** Tells something, and again a while later where the plan says so. */
  const say = (command: Command, { isRepeated }: RideWish, moment: number) => {
    tell(command);
    if (isRepeated) agenda.at(moment + REPEATED_AFTER, () => tell(command));
  };

  const finish = (ride: RideUnderWay, moment: number, reason: RideEnd["end_reason"]) => {
    const { id, bikeId, wish } = ride;
    underWay.delete(id);
    if (refused.delete(id)) return;
    ride.tellStart();
    const ended_at = stamp(bikeId, moment);
    if (wish.end === "cancelled") {
      say({ path: "rides/cancel", about: bikeId, item: { id, cancelled_at: ended_at } }, wish, moment);
      fleet.put(bikeId, wish.from);
    } else {
      const item = { id, ended_at, distance_meters: wish.distanceMeters, ...placeOf(wish), ...reasonOf(reason) };
      say({ path: "rides/end", about: bikeId, item }, wish, moment);
      if (wish.end === "outside") collectLater(bikeId, wish.to, moment);
      else {
        fleet.put(bikeId, wish.to);
        last.set(bikeId, { startedAt: ride.start.started_at, from: wish.from });
      }
    }
  };

  const collectLater = (bikeId: string, station: CityStation, moment: number) => {
    const collected = moment + COLLECTED_AFTER;
    agenda.at(collected, () => {
      const item = { id: bikeId, at: stamp(bikeId, collected), station_id: station.id };
      tell({ path: "bikes/reports", about: bikeId, item });
      fleet.put(bikeId, station);
    });
  };

  return {
    begin(wish, moment) {
      const bikeId = fleet.take(wish.from);
      if (bikeId === undefined) return;
      const id = `ride-${run}-${String(++begun).padStart(5, "0")}`;
      const start = {
        id,
        bike_id: bikeId,
        started_at: stamp(bikeId, moment),
        start_station_id: wish.from.id,
        rider_category: wish.riderCategory,
      };
      let isTold = false;
      const tellStart = () => {
        if (!isTold) say({ path: "rides/start", about: bikeId, item: start }, wish, moment);
        isTold = true;
      };
      const ride = { id, bikeId, wish, start, tellStart };
      underWay.set(id, ride);
      if (!wish.isLate) tellStart();
      const over = moment + (wish.end === "cancelled" ? CANCELLED_AFTER : wish.seconds * 1000);
      agenda.at(over, () => underWay.has(id) && finish(ride, over, undefined));
    },
    answered(command, { outcome }) {
      if (command.path === "rides/start" && outcome === "failed") refused.add(command.item.id);
    },
    settle(moment) {
      for (const ride of underWay.values()) finish(ride, moment, "operator");
    },
    underWay: () => underWay.size,
    lastOf: (bikeId) => last.get(bikeId),
  };
}

function placeOf({ end, to }: RideWish): Pick<RideEnd, "end_station_id" | "lat" | "lon"> {
  // A stone's throw away, at no station.
  if (end === "outside") return { end_station_id: null, lat: to.lat + 0.001, lon: to.lon + 0.001 };
  return { end_station_id: to.id };
}

function reasonOf(reason: RideEnd["end_reason"]): Pick<RideEnd, "end_reason"> {
  return reason === undefined ? {} : { end_reason: reason };
}
