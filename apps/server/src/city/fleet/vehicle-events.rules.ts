import { type MdsEventType, type MdsVehicleState, mdsTransitions, mdsTripEventTypes } from "@bikeshare/contract";
import { uuidOfTime } from "../../uuids.ts";
import type { BikeState, ReportedLocation } from "./bike.rules.ts";

/*
 * Derives the vehicle events of the Mobility Data Specification (MDS) from the change that a command makes to a bike. The
 * log of these events is for agencies. MDS lists the states of a vehicle and the events that may lead from one to another.
 */

/** One change of a vehicle's state, as the log of vehicle events and the bike's own row keep it. */
export interface VehicleEvent {
  /** UUID version 7. */
  readonly id: string;
  /** Milliseconds since 1970, later than every earlier event of the vehicle. */
  readonly at: number;
  /** When it was recorded. */
  readonly recorded_at: number;
  readonly vehicle_state: MdsVehicleState;
  readonly event_type: MdsEventType;
  readonly ride_id: string | null;
  readonly station_id: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
  /** Null: unknown. */
  readonly battery_percent: number | null;
  /** State and location of the event before; left out of the first event and of one at the same location. */
  readonly from?: VehicleOrigin;
}

/** Where a vehicle was before it moved, and in which state. */
interface VehicleOrigin extends Pick<VehicleEvent, "station_id" | "lat" | "lon"> {
  readonly state: MdsVehicleState;
}

/** A position that a vehicle reported without an event, as the log keeps it. */
export interface VehiclePosition extends Omit<VehicleEvent, "event_type" | "from"> {
  readonly event_type: "position";
}

/** What a command did to a bike's ride or reservation, as far as the bike's own row does not show it. */
export interface EventCause {
  readonly type: "trip_start" | "trip_end" | "trip_cancel" | "reservation_cancel";
  /** When it happened. */
  readonly at: Date;
  /** Where it happened; undefined: where the bike is. */
  readonly location?: ReportedLocation | undefined;
}

/** A bike as a command found it, and as the command leaves it. */
interface BikeChange {
  readonly before: BikeState;
  readonly after: BikeState;
  readonly causes: readonly EventCause[];
}

/** The present time, and random values for the ids of events. */
interface EventSurroundings {
  readonly now: Date;
  readonly randomBytes: (bytes: number) => Uint8Array;
}

/** Returns a bike's newest event, as its row keeps it; undefined when its events are not logged. */
function lastEventOf({ last_event: json }: Pick<BikeState, "last_event">): VehicleEvent | undefined {
  return json === null ? undefined : (JSON.parse(json) as VehicleEvent); // only the logging statement writes it
}

/**
 * Returns the events of a bike's change, each with one type. MDS allows the transition from each event to the next. An event
 * that becomes known late gets a time after the newest known event. The first event of a bike is a drop-off.
 */
export function vehicleEvents({ before, after, causes }: BikeChange, surroundings: EventSurroundings): VehicleEvent[] {
  const log = new EventLog(lastEventOf(before), after, surroundings);
  const causeOf = (...types: EventCause["type"][]) => causes.find(({ type }) => types.includes(type));
  // A log that begins now does not have what ended before.
  const isLogged = before.last_event !== null;
  // First the end of a ride, then the end of a reservation without a ride, then the start of a ride, then all other
  // changes of the state.
  if (isLogged && before.ride_id !== null && before.ride_id !== after.ride_id) {
    const end = causeOf("trip_end", "trip_cancel");
    log.step("on_trip", end?.type ?? "trip_end", end, before.ride_id);
  }
  const start = after.ride_id !== null && after.ride_id !== before.ride_id ? causeOf("trip_start") : undefined;
  // The reservation stays, or the ride that starts fulfils it.
  const staysReserved = before.reservation_id === after.reservation_id || start !== undefined;
  if (isLogged && before.reservation_id !== null && !staysReserved && log.state === "reserved")
    log.step("reserved", "reservation_cancel", causeOf("reservation_cancel"));
  if (start !== undefined) {
    log.step(log.state === "reserved" ? "reserved" : "available", "trip_start", start, after.ride_id);
  }
  const isReported = after.vehicle_state === after.reported_state && after.reported_state !== before.reported_state;
  const at = (isReported ? after.reported_state_at : null) ?? surroundings.now;
  log.moveTo(after.vehicle_state, at, { rideId: after.ride_id, reason: reasonOf({ before, after, causes }) });
  return log.events;
}

/** Returns the reason for a bike's state after a command; undefined: that is not the reported state, or has no reason. */
function reasonOf({ before, after, causes }: BikeChange): MdsEventType | undefined {
  if (after.vehicle_state !== after.reported_state) return undefined;
  if (after.reported_reason !== null) return after.reported_reason as MdsEventType; // the contract takes no others
  // A bike that was in use when it was reported out of order waits to be repaired.
  const wasInUse = causes.length > 0 && (before.ride_id ?? before.reservation_id) !== null;
  return wasInUse && after.reported_state === "non_operational" ? "maintenance" : undefined;
}

/**
 * Returns the position that a command reported of a bike without an event; undefined when there is none to log. Positions
 * during rides are not logged, to protect riders. A position older than the newest event may belong to a ride, so it is not
 * logged either.
 */
export function reportedPosition(
  { before, after }: Omit<BikeChange, "causes">,
  events: readonly VehicleEvent[],
  { now, randomBytes }: EventSurroundings,
): VehiclePosition | undefined {
  const last = lastEventOf(before);
  const at = after.reported_position_at?.getTime();
  const isNew = at !== undefined && at !== before.reported_position_at?.getTime() && isLocated(after);
  if (last === undefined || !isNew || events.length > 0 || after.ride_id !== null || at <= last.at) return undefined;
  return {
    ...placeOf(after),
    battery_percent: after.battery_percent,
    id: uuidOfTime(now.getTime(), randomBytes),
    at,
    recorded_at: now.getTime(),
    vehicle_state: last.vehicle_state,
    event_type: "position",
    ride_id: null,
  };
}

function isLocated({ reported_station_id: stationId, reported_lat: lat }: ReportedLocation): boolean {
  return stationId !== null || lat !== null;
}

/** Returns a location as the log names it. */
function placeOf({ reported_station_id, reported_lat, reported_lon }: ReportedLocation) {
  return { station_id: reported_station_id, lat: reported_lat, lon: reported_lon };
}

/** A location in the log. */
type Place = Pick<VehicleEvent, "station_id" | "lat" | "lon">;

/** Returns the location of an event; without values when there is no event. */
function placeBefore(last: VehicleEvent | undefined): Place {
  return { station_id: last?.station_id ?? null, lat: last?.lat ?? null, lon: last?.lon ?? null };
}

function isSamePlace(a: Place, b: Place): boolean {
  return a.station_id === b.station_id && a.lat === b.lat && a.lon === b.lon;
}

/**
 * Minimum time between an event and an event before it at another location. It leaves room for the events, a
 * millisecond apart, that an agency gets in between when the vehicle left or entered its area.
 */
const MOVE_GAP_MS = 6;

/** Where an event happened, during which ride, and why. */
interface EventDetails {
  /** Only events of trips keep it. */
  readonly rideId?: string | null;
  /** Undefined: where the bike is. */
  readonly location?: ReportedLocation | undefined;
  /** Why the vehicle is in the state that it moves to. */
  readonly reason?: MdsEventType | undefined;
}

/** The events of one change. Each new event begins in the state, and follows the time, of the event before. */
class EventLog {
  readonly events: VehicleEvent[] = [];
  /** The state after the last event; `removed` before the first event of a vehicle. */
  state: MdsVehicleState;
  #last: VehicleEvent | undefined;
  readonly #bike: BikeState;
  readonly #surroundings: EventSurroundings;

  constructor(last: VehicleEvent | undefined, bike: BikeState, surroundings: EventSurroundings) {
    this.state = last?.vehicle_state ?? "removed";
    this.#last = last;
    this.#bike = bike;
    this.#surroundings = surroundings;
  }

  /**
   * Adds an event, after those that lead from the logged state to the one that the event's type needs.
   * @param needed the state from which MDS allows an event of this type
   * @param cause when and where it happened; undefined: now, where the bike is
   */
  step(needed: MdsVehicleState, type: MdsEventType, cause: EventCause | undefined, rideId: string | null = null): void {
    const at = cause?.at ?? this.#surroundings.now;
    const details = { rideId, location: cause?.location };
    this.moveTo(needed, at, details);
    const found = mdsTransitions.find(
      (each) => each.type === type && (each.from as readonly string[]).includes(needed),
    );
    if (found === undefined) throw new Error(`MDS has no ${type} from ${needed}`);
    this.#add(found.to, type, at, details);
  }

  /** Adds the events that lead from the logged state to another. */
  moveTo(state: MdsVehicleState, at: Date, details: EventDetails = { rideId: this.#bike.ride_id }): void {
    // The first event of a vehicle is a drop-off, whatever its state is afterwards.
    if (this.#last === undefined) {
      const isByAgency = details.reason === "agency_drop_off" && state === "available";
      this.#add("available", isByAgency ? details.reason : "provider_drop_off", at, details);
    }
    for (const { type, to } of pathTo(this.state, state, details.reason)) this.#add(to, type, at, details);
  }

  #add(
    state: MdsVehicleState,
    type: MdsEventType,
    at: Date,
    { rideId = null, location = this.#bike }: EventDetails,
  ): void {
    const { now, randomBytes } = this.#surroundings;
    const last = this.#last;
    // Without a location, the vehicle counts as still at the location of its last event.
    const place = isLocated(location) ? placeOf(location) : placeBefore(last);
    const from =
      last !== undefined && !isSamePlace(place, last) ? { ...placeBefore(last), state: this.state } : undefined;
    const gapMs = from === undefined ? 1 : MOVE_GAP_MS;
    const event: VehicleEvent = {
      id: uuidOfTime(now.getTime(), randomBytes),
      at: Math.max(at.getTime(), (last?.at ?? Number.NEGATIVE_INFINITY) + gapMs),
      recorded_at: now.getTime(),
      vehicle_state: state,
      event_type: type,
      ride_id: mdsTripEventTypes.has(type) ? rideId : null,
      ...place,
      battery_percent: this.#bike.battery_percent,
      ...(from !== undefined && { from }),
    };
    this.#last = event;
    this.state = state;
    this.events.push(event);
  }
}

/** The event types that are assumed when no cause is known, by the state before the event, the likeliest first. */
const assumedTypes: Readonly<Record<MdsVehicleState, readonly MdsEventType[]>> = {
  removed: ["provider_drop_off", "comms_lost"],
  available: ["unspecified", "reservation_start", "trip_start", "comms_lost"],
  non_operational: ["unspecified", "comms_lost"],
  reserved: ["trip_start", "comms_lost"],
  on_trip: ["comms_lost"],
  non_contactable: ["comms_restored", "not_located"],
  missing: ["located"],
};

/** An event on the way from one state to another. */
type Step = { readonly type: MdsEventType; readonly to: MdsVehicleState };

/** Returns the events that lead from one state to another. The last one has the type `reason`, if MDS has it for `to`. */
export function pathTo(from: MdsVehicleState, to: MdsVehicleState, reason: MdsEventType | undefined): readonly Step[] {
  if (from === to) return [];
  const last = mdsTransitions.find((each) => each.type === reason && each.to === to);
  if (last === undefined) return shortestPath(from, to);
  const states: readonly MdsVehicleState[] = last.from;
  // The last event begins in `from` if MDS allows that, and otherwise in the first state from which MDS allows it.
  const before = states.includes(from) ? from : (states[0] ?? from);
  return [...shortestPath(from, before), last];
}

/** The results of `shortestPath` so far, by both states. */
const paths = new Map<string, readonly Step[]>();

/** Returns the fewest events that lead from one state to another, through `non_contactable` if MDS has no other way. */
function shortestPath(from: MdsVehicleState, to: MdsVehicleState): readonly Step[] {
  const key = `${from} ${to}`;
  const known = paths.get(key);
  if (known !== undefined) return known;
  const found = findPath(from, to);
  paths.set(key, found);
  return found;
}

/** Computes `shortestPath`. */
function findPath(from: MdsVehicleState, to: MdsVehicleState): readonly Step[] {
  const reached = new Map<MdsVehicleState, readonly Step[]>([[from, []]]);
  // The loop below also visits the states that it adds, so it finds the shortest paths first.
  const waiting = [from];
  for (const state of waiting) {
    for (const { type, to: next } of assumedSteps(state)) {
      // A path to another state must not lead through an invented ride or reservation.
      const isPassed = next === to || (next !== "on_trip" && next !== "reserved");
      if (!isPassed || reached.has(next)) continue;
      reached.set(next, [...(reached.get(state) ?? []), { type, to: next }]);
      waiting.push(next);
    }
  }
  const path = reached.get(to);
  if (path === undefined) throw new Error(`MDS has no way from ${from} to ${to}`);
  return path;
}

/** Returns the events that may follow a state when no cause is known, the likeliest first. */
function assumedSteps(state: MdsVehicleState): Step[] {
  return assumedTypes[state].flatMap((type) =>
    mdsTransitions.filter((each) => each.type === type && (each.from as readonly string[]).includes(state)),
  );
}
