import type { RideEnd } from "@bikeshare/contract";
import type { Backend } from "./backend.ts";
import type { CityStation } from "./city.ts";
import type { RideUnderWay } from "./history.ts";
import type { Command, OnAnswer } from "./operator-client.ts";
import type { CityEventOf } from "./plan.ts";

type PlannedRide = CityEventOf<"ride">;

const MINUTE_MS = 60_000;
/** Simulated times until a ride is cancelled, a bike outside a station is collected, and a command is repeated. */
const CANCEL_DELAY_MS = MINUTE_MS;
const COLLECT_DELAY_MS = 45 * MINUTE_MS;
const REPEAT_DELAY_MS = 2 * MINUTE_MS;

/** A ride that is under way. */
interface ActiveRide {
  readonly id: string;
  readonly bikeId: string;
  readonly plan: PlannedRide;
  readonly startedAt: string;
  isStartSent: boolean;
}

export type Rides = ReturnType<typeof createRides>;

/** Manages the rides of a simulated city. @param run makes the ride ids of this run differ from those of other runs */
export function createRides(backend: Backend, run: string) {
  const { schedule, fleet, timestamp } = backend;
  const underWay = new Map<string, ActiveRide>();
  /** Each bike's latest ride that ended at a station, by the bike's id. */
  const lastRides = new Map<string, { readonly startedAt: string; readonly from: CityStation }>();
  /** Rides that the service refused to start: their bikes are not where the simulator believes. Their end is not sent. */
  const refused = new Set<string>();
  let startedCount = 0;

  const finish = (ride: ActiveRide, time: number, reason: RideEnd["end_reason"]) => {
    const { id, bikeId, plan, startedAt } = ride;
    underWay.delete(id);
    if (refused.delete(id)) return;
    // Of a ride without reception the start is sent only now.
    sendStart(backend, ride, time);
    sendEnd(backend, ride, time, reason);
    if (plan.end === "outside") collectLater(backend, ride, time);
    else fleet.put(bikeId, plan.end === "cancelled" ? plan.from : plan.to);
    if (plan.end === "returned") lastRides.set(bikeId, { startedAt, from: plan.from });
  };
  /** Counts a ride as under way, and schedules its end. It may have been ended before, by `finishAll`. */
  const follow = (ride: ActiveRide, end: number) => {
    underWay.set(ride.id, ride);
    schedule.at(end, () => {
      if (underWay.has(ride.id)) finish(ride, end, undefined);
    });
  };
  const onAnswer: OnAnswer = ({ path, item }, { outcome }) => {
    if (path === "rides/start" && outcome === "failed") refused.add(item.id);
  };
  return {
    /** Starts a ride with a bike of the station `plan.from`; does nothing if the station has no bike. */
    start(plan: PlannedRide, time: number) {
      const bikeId = fleet.take(plan.from);
      if (bikeId === undefined) return;
      const id = `ride-${run}-${String(++startedCount).padStart(5, "0")}`;
      const ride = { id, bikeId, plan, startedAt: timestamp(bikeId, time), isStartSent: false };
      if (!plan.isDelayed) sendStart(backend, ride, time);
      follow(ride, time + (plan.end === "cancelled" ? CANCEL_DELAY_MS : plan.seconds * 1000));
    },
    /** Takes over a ride that the service has started already, and ends it at a simulated time. */
    goOn({ id, bike, startedAt, endedAt, ...trip }: RideUnderWay, end: number) {
      const seconds = Math.round((endedAt - startedAt) / 1000);
      const asUsual = { kind: "ride", offsetMs: 0, end: "returned", isDelayed: false, isRepeated: false } as const;
      const started = { startedAt: new Date(startedAt).toISOString(), isStartSent: true };
      follow({ id, bikeId: bike.id, plan: { ...trip, ...asUsual, seconds }, ...started }, end);
    },
    onAnswer,
    /** Ends every ride under way. */
    finishAll(time: number) {
      for (const ride of underWay.values()) finish(ride, time, "operator");
    },
    activeCount: () => underWay.size,
    /** Returns a bike's latest ride that ended at a station. */
    lastRideOf: (bikeId: string) => lastRides.get(bikeId),
  };
}

/** Sends a ride's start, unless it was sent already. */
function sendStart(backend: Backend, ride: ActiveRide, time: number): void {
  if (ride.isStartSent) return;
  ride.isStartSent = true;
  const { id, bikeId, plan, startedAt } = ride;
  const trip = { start_station_id: plan.from.id, rider_category: plan.riderCategory };
  const item = { id, bike_id: bikeId, started_at: startedAt, ...trip };
  sendAsPlanned(backend, { path: "rides/start", subjectId: bikeId, item }, plan, time);
}

/** Sends a ride's end, or its cancellation. @param reason undefined: the service finds it by the end station */
function sendEnd(backend: Backend, ride: ActiveRide, time: number, reason: RideEnd["end_reason"]): void {
  const { id, bikeId: subjectId, plan } = ride;
  const at = backend.timestamp(subjectId, time);
  if (plan.end === "cancelled") {
    sendAsPlanned(backend, { path: "rides/cancel", subjectId, item: { id, cancelled_at: at } }, plan, time);
    return;
  }
  const end = { id, ended_at: at, distance_meters: plan.distanceMeters, ...locationOf(plan), ...costsOf(plan) };
  const item = reason === undefined ? end : { ...end, end_reason: reason };
  sendAsPlanned(backend, { path: "rides/end", subjectId, item }, plan, time);
}

/** Sends a command, and sends it again a while later if the plan says so. */
function sendAsPlanned({ send, schedule }: Backend, command: Command, { isRepeated }: PlannedRide, time: number): void {
  send(command);
  if (isRepeated) schedule.at(time + REPEAT_DELAY_MS, () => send(command));
}

/** Schedules that a bike left outside a station is brought to the station where its rider was going. */
function collectLater({ schedule, fleet, timestamp, send }: Backend, { bikeId, plan }: ActiveRide, time: number): void {
  const collected = time + COLLECT_DELAY_MS;
  schedule.at(collected, () => {
    const item = { id: bikeId, at: timestamp(bikeId, collected), station_id: plan.to.id };
    send({ path: "bikes/reports", subjectId: bikeId, item });
    fleet.put(bikeId, plan.to);
  });
}

/**
 * Returns the cost of a ride, in cents: 1 euro, and 15 cents a minute. Members do not pay for the first half hour, which
 * costs 550 cents.
 */
function costsOf({ seconds, riderCategory }: PlannedRide): Pick<RideEnd, "standard_cost" | "actual_cost" | "currency"> {
  const standard = 100 + 15 * Math.ceil(seconds / 60);
  const paid = riderCategory === "member" ? Math.max(0, standard - 550) : standard;
  return { standard_cost: standard, actual_cost: paid, currency: "EUR" };
}

function locationOf({ end, to }: PlannedRide): Pick<RideEnd, "end_station_id" | "lat" | "lon"> {
  // This position is about 130 m from the station.
  if (end === "outside") return { end_station_id: null, lat: to.lat + 0.001, lon: to.lon + 0.001 };
  return { end_station_id: to.id };
}
