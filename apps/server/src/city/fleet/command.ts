import { counterShifts, reservationOutcomeEvents } from "@bikeshare/rules";
import type { Command, CommandContext } from "../../command-context.ts";
import { type NewEvent, type NewNotice, recordEvents } from "../../events/outbox.ts";
import type { Ids } from "../../ids.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { TransactionConflict } from "../../storage/db/errors.ts";
import { countRides, countRows, pickSlot } from "../counts/service.ts";
import { type BikeState, changedBike, newPublicId } from "./bike.rules.ts";
import {
  type CounterShift,
  insertBikes,
  isLoggedSystem,
  lockBikes,
  lockBikesOfReservations,
  lockBikesOfRides,
  lockCountedStations,
  lockFreeBikes,
  retirePublicIds,
  updateBikes,
  updateCounters,
  updateCountersBy,
  type WantedFreeBikes,
} from "./command-queries.ts";
import {
  type ClosedReservation,
  type LockedReservation,
  lockReservations,
  type ReservationOutcome,
  updateClosedReservations,
  updateReservationStations,
} from "./reservation-queries.ts";
import { lockRides, lockUnknownBikes, type RideState } from "./ride-queries.ts";
import { type LockedStation, lockStations } from "./station-queries.ts";
import { OPERATOR } from "./station.rules.ts";
import {
  type EventCause,
  reportedPosition,
  type VehicleEvent,
  vehicleEvents,
  type VehiclePosition,
} from "./vehicle-events.rules.ts";

/*
 * Nearly all changes of a system's bikes, rides, reservations and stations run as a `FleetCommand` in one transaction. The
 * command locks rows and collects its effects. At its end it writes the bikes and whatever follows from them: counters of
 * stations, the log of vehicle events (MDS), events, notices and stored counts. Statements whose rows it does not need are
 * sent without waiting; if one fails, the commit fails.
 */

/** The effects of a command so far, and the rows to write at its end. */
interface Effects {
  /** The locked bikes by id, as they are stored: as they were locked, or as the last `writeBikes` left them. */
  readonly held: Map<string, BikeState>;
  /** The locked bikes by id, as the command has changed them. */
  readonly bikes: Map<string, BikeState>;
  /** What happened to bikes, for the log of vehicle events. */
  readonly causes: Map<string, EventCause[]>;
  /** Bikes whose events are logged from now on. */
  readonly logStarts: Set<string>;
  /** Stations whose counters (numbers of bikes and docks) are still to be written. */
  readonly stationIds: Set<string>;
  /** Stations at which bikes arrived. */
  readonly arrivals: Set<string>;
  /** Changes of mirrored counters (those that a feed gives) that are still to be written. */
  readonly shifts: CounterShift[];
  readonly events: (NewEvent | NewNotice)[];
  /** The channels whose listeners are notified of the commit. */
  readonly channels: Set<"bikes" | "stations">;
  /**
   * Changes of the stored counts (`city/counts`): differences of the lengths of lists, and the starts of added and of
   * corrected rides.
   */
  readonly counts: { bikes: number; stations: number; readonly rideStarts: Date[]; readonly correctedStarts: Date[] };
  /** The position in `LOCK_ORDER` that the command has reached. */
  locked: number;
}

function noEffects(): Effects {
  return {
    held: new Map(),
    bikes: new Map(),
    causes: new Map(),
    logStarts: new Set(),
    stationIds: new Set(),
    arrivals: new Set(),
    shifts: [],
    events: [],
    channels: new Set(),
    counts: { bikes: 0, stations: 0, rideStarts: [], correctedStarts: [] },
    locked: 0,
  };
}

/** The order in which all commands lock kinds of rows, and rows of one kind by id, so that two commands cannot deadlock. */
const LOCK_ORDER = ["quotas", "bikes", "rides", "reservations", "stations", "alerts"] as const;
type Lockable = (typeof LOCK_ORDER)[number];

/**
 * Runs a command on a system's fleet in one transaction. `work` locks rows in the order of `LOCK_ORDER`, decides, changes
 * bikes and writes other rows. Then `runCommand` writes the bikes, their stations' counters, events and stored counts, so
 * that no command can forget them.
 */
export function runCommand<Result>(
  { db, clock, ids }: CommandContext,
  systemId: string,
  work: (command: FleetCommand) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    const command = new FleetCommand({ tx, systemId, now: new Date(clock()), ids });
    const result = await work(command);
    await command.finish();
    return result;
  });
}

/** A command on a system's fleet, inside its transaction. */
export class FleetCommand implements Command {
  readonly tx: Transaction;
  readonly systemId: string;
  readonly now: Date;
  readonly ids: Ids;
  #effects = noEffects();

  constructor({ tx, systemId, now, ids }: Command) {
    this.tx = tx;
    this.systemId = systemId;
    this.now = now;
    this.ids = ids;
  }

  /**
   * The locked bikes by id, as the command has changed them so far. The map grows and changes with the command; after an
   * undone `attempt` there is another map.
   */
  get bikes(): ReadonlyMap<string, BikeState> {
    return this.#effects.bikes;
  }

  /** Records that rows of a kind are about to be locked. @throws Error when that breaks `LOCK_ORDER` */
  locks(kind: Lockable): void {
    const position = LOCK_ORDER.indexOf(kind);
    if (position < this.#effects.locked)
      throw new Error(`${kind} must be locked before ${LOCK_ORDER[this.#effects.locked]}`);
    this.#effects.locked = position;
  }

  /** Locks bikes that exist. @returns all bikes that the command has locked so far (`bikes`), by id */
  async lockBikes(ids: readonly string[]): Promise<ReadonlyMap<string, BikeState>> {
    this.locks("bikes");
    const missing = ids.filter((id) => !this.bikes.has(id));
    await this.#lockBikesBy(missing, lockBikes);
    return this.bikes;
  }

  /** Keeps other commands from writing past rides of bikes that do not exist: such a bike has no row to lock. */
  async lockUnknownBikes(ids: readonly string[]): Promise<void> {
    if (ids.some((id) => !this.bikes.has(id))) await lockUnknownBikes(this.tx, this.systemId);
  }

  /** Locks the bikes of rides. */
  lockBikesOfRides(rideIds: readonly string[]): Promise<void> {
    return this.#lockBikesBy(rideIds, lockBikesOfRides);
  }

  /** Locks the bikes of reservations. */
  lockBikesOfReservations(reservationIds: readonly string[]): Promise<void> {
    return this.#lockBikesBy(reservationIds, lockBikesOfReservations);
  }

  /** Locks the free bikes of stations with the longest range. Skips bikes that another transaction has locked. */
  lockFreeBikes(wanted: readonly WantedFreeBikes[]): Promise<void> {
    return this.#lockBikesBy(wanted, lockFreeBikes);
  }

  /**
   * Locks bikes. A bike that is locked already keeps the command's changes.
   * @param wanted names the bikes in the form that `lock` takes, such as ids of rides
   */
  async #lockBikesBy<Wanted>(
    wanted: readonly Wanted[],
    lock: (tx: Transaction, systemId: string, wanted: readonly Wanted[]) => Promise<BikeState[]>,
  ): Promise<void> {
    if (wanted.length === 0) return;
    this.locks("bikes");
    const locked = await lock(this.tx, this.systemId, [...new Set(wanted)]);
    for (const bike of locked) if (!this.bikes.has(bike.id)) this.#hold(bike);
  }

  /** Notes a locked bike as it is stored: the command has not changed it, or has just written its changes. */
  #hold(bike: BikeState): void {
    this.#effects.held.set(bike.id, bike);
    this.#effects.bikes.set(bike.id, bike);
  }

  /** Locks rides. Lock their bikes before. @returns the rides that exist, by id */
  lockRides(ids: readonly string[]): Promise<Map<string, RideState>> {
    return this.#lockById("rides", ids, lockRides);
  }

  /** Locks reservations. Lock their bikes before. @returns the reservations that exist, by id */
  lockReservations(ids: readonly string[]): Promise<ReadonlyMap<string, LockedReservation>> {
    return this.#lockById("reservations", ids, lockReservations);
  }

  /** Locks stations. @returns the stations that exist, by id */
  lockStations(ids: readonly string[]): Promise<ReadonlyMap<string, LockedStation>> {
    return this.#lockById("stations", ids, lockStations);
  }

  /** Changes facts of a locked bike. The next `writeBikes` writes the bike, at the latest when the command ends. */
  changeBike(bike: BikeState, facts: Partial<BikeState>): void {
    this.setBike(changedBike(bike, facts));
  }

  /** Replaces the state of a locked bike. The next `writeBikes` writes the bike, at the latest when the command ends. */
  setBike(bike: BikeState): void {
    this.#effects.bikes.set(bike.id, bike);
  }

  /** Inserts the bikes whose ids are free. @returns the ids of the inserted bikes */
  async insertBikes(bikes: readonly BikeState[]): Promise<ReadonlySet<string>> {
    if (bikes.length === 0) return new Set();
    this.locks("bikes");
    const [inserted, isLogged] = await Promise.all([
      insertBikes(this.tx, this.systemId, this.now, bikes),
      isLoggedSystem(this.tx, this.systemId),
    ]);
    const stationIds = bikes.map(({ station_id: stationId }) => stationId);
    this.bikesWritten(
      stationIds,
      inserted.map(({ json }) => json),
    );
    this.count("bikes", inserted.length);
    const ids = new Set(inserted.map(({ id }) => id));
    // Only `beginLog` needs the inserted bikes among the locked ones.
    if (isLogged) {
      for (const bike of bikes) {
        if (!ids.has(bike.id)) continue;
        this.#hold(bike);
        this.beginLog(bike);
      }
    }
    return ids;
  }

  /**
   * Logs the events of a locked bike from now on, if they are not logged yet. Ignores bikes of feeds: their ids change, and
   * MDS needs lasting ids.
   */
  beginLog(bike: BikeState): void {
    if (bike.last_event !== null || (bike.source ?? OPERATOR) !== OPERATOR) return;
    this.#effects.logStarts.add(bike.id);
    // Changes nothing but the object, which makes the bike count as changed, so that `writeBikes` logs its first event.
    this.changeBike(bike, {});
  }

  /** Adds a reason why a bike changes, for the log of vehicle events. */
  noteCause(bikeId: string, cause: EventCause): void {
    this.#effects.causes.set(bikeId, [...(this.#effects.causes.get(bikeId) ?? []), cause]);
  }

  /**
   * Ends active reservations, and frees the locked bikes that they hold. A reservation past its end expires, whatever its
   * requested outcome, and a reservation before its end ignores the outcome `expired`. A reservation that has ended already
   * stays as it is.
   * @returns the reservations that ended
   */
  async endReservations(outcomes: readonly ReservationOutcome[]): Promise<ClosedReservation[]> {
    if (outcomes.length === 0) return [];
    this.locks("reservations");
    const ended = await updateClosedReservations(this.tx, this.systemId, this.now, outcomes);
    // When each outcome takes effect: `fulfilled` when the ride starts, a cancellation now. An expiry is dated below.
    const takesEffectAt = new Map(outcomes.map((outcome) => [outcome.id, "at" in outcome ? outcome.at : this.now]));
    for (const reservation of ended) {
      const {
        id,
        status,
        partner_id: partnerId,
        created_at: createdAt,
        expires_at: expiresAt,
        json: data,
      } = reservation;
      const endedAt = status === "expired" ? expiresAt : (takesEffectAt.get(id) ?? this.now);
      // By the operator's clock a ride may begin before its reservation is created. The event that ends the reservation
      // must not be dated before the event that creates it.
      const occurredAt = endedAt < createdAt ? createdAt : endedAt;
      this.record({ name: reservationOutcomeEvents[status], occurredAt, partnerId, data });
      const bike = this.bikes.get(reservation.bike_id);
      // MDS has one event for every end of a reservation. A ride that fulfils it has an event of its own instead.
      this.noteCause(reservation.bike_id, { type: "reservation_cancel", at: occurredAt });
      if (bike?.reservation_id === reservation.id) this.changeBike(bike, { reservation_id: null });
    }
    return ended;
  }

  /**
   * Records the consequences of bikes that the caller wrote with its own statement, as feed snapshots do.
   * @param stationIds the stations where these bikes were and are
   * @param json the JSON of bikes whose state changed; null when no webhook endpoint subscribes to `bike.state_changed`
   */
  bikesWritten(stationIds: readonly (string | null)[], json: readonly (string | null)[]): void {
    this.recountStations(stationIds.filter((id) => id !== null));
    for (const data of json) if (data !== null) this.record({ name: "bike.state_changed", occurredAt: this.now, data });
    this.notify("bikes");
  }

  /** Recounts the operated counters of stations in the next `writeBikes`, at the latest when the command ends. */
  recountStations(ids: Iterable<string>): void {
    for (const id of ids) this.#effects.stationIds.add(id);
  }

  /** Changes the mirrored counters of a station in the next `writeBikes`, at the latest when the command ends. */
  shiftCounters(shift: CounterShift): void {
    this.#effects.stationIds.add(shift.stationId);
    if (shift.available !== 0 || shift.reserved !== 0) this.#effects.shifts.push(shift);
  }

  /** Records an event or a notice when the command ends. */
  record(event: NewEvent | NewNotice): void {
    this.#effects.events.push(event);
  }

  /** Notifies the listeners for changed rows when the command is committed. */
  notify(channel: "bikes" | "stations"): void {
    this.#effects.channels.add(channel);
  }

  /** Adds `difference`, which may be negative, to the stored length of a list. */
  count(list: "bikes" | "stations", difference: number): void {
    this.#effects.counts[list] += difference;
  }

  /** Adds inserted rides to the stored counts. */
  countRides(startedAt: Iterable<Date>): void {
    this.#effects.counts.rideStarts.push(...startedAt);
  }

  /** Notes that completed rides were corrected, so that processes reload them into their memory of past rides. */
  countCorrectedRides(rides: readonly { readonly started_at: Date }[]): void {
    this.#effects.counts.correctedStarts.push(...rides.map((ride) => ride.started_at));
  }

  /** Runs a step. If it returns undefined, its locks, writes and changes are undone. */
  async attempt<Result>(step: () => Promise<Result | undefined>): Promise<Result | undefined> {
    // `structuredClone` keeps shared references: in the copy, too, an unchanged bike is one object in `held` and `bikes`,
    // which is how `changedBikes` recognises it.
    const before = structuredClone(this.#effects);
    await this.tx.run("savepoint before_step");
    const result = await step();
    if (result !== undefined) return result;
    await this.tx.run("rollback to savepoint before_step");
    this.#effects = before;
    return undefined;
  }

  /** Writes the bikes that were changed so far, and the counters of their stations. */
  async writeBikes(): Promise<void> {
    await this.#releaseUnrideable();
    this.#moveReservations();
    // Both send their statements, in this order, before either waits for a result. `#writeChangedBikes` collects the
    // stations before it waits for anything, because `#writeCounters` reads them at once.
    await Promise.all([this.#writeChangedBikes(), this.#writeCounters()]);
  }

  /** Moves the reservations of bikes that have moved to another station, so that riders see the new station. */
  #moveReservations(): void {
    const moved = changedBikes(this.#effects).filter(
      ({ before, after }) =>
        after.reservation_id !== null &&
        after.reservation_id === before.reservation_id &&
        after.station_id !== before.station_id,
    );
    if (moved.length === 0) return;
    this.locks("reservations");
    const rows = moved.map(({ after }) => ({ id: after.reservation_id, station_id: after.station_id }));
    updateReservationStations(this.tx, this.systemId, this.now, rows);
  }

  /**
   * Writes the bikes that were changed since the last write, logs their vehicle events, and collects what follows: the
   * stations to recount, the shifts of mirrored counters, and the notices.
   */
  async #writeChangedBikes(): Promise<void> {
    const changed = changedBikes(this.#effects);
    if (changed.length === 0) return;
    const logged = changed.map((change) => ({ ...change, ...this.#logOf(change) }));
    const writes = logged.map(({ before, after, events, positions }) => {
      const last = events.at(-1);
      const row = { ...withPublicId({ before, after }, this.ids), ...(last && { last_event: JSON.stringify(last) }) };
      return { before, row, entries: [...events, ...positions].map((entry) => ({ ...entry, bike_id: row.id })) };
    });
    const rows = writes.map(({ row }) => row);
    const entries = writes.flatMap((write) => write.entries);
    const stateChanges = updateBikes(this.tx, this.systemId, this.now, rows, entries);
    const retired = writes.flatMap(({ before: { id, public_id: publicId }, row }) =>
      publicId === null || publicId === row.public_id ? [] : [{ publicId, bikeId: id }],
    );
    if (retired.length > 0) retirePublicIds(this.tx, this.systemId, this.now, retired);
    for (const { before, after } of changed) {
      const vehicleTypeId = before.vehicle_type_id;
      for (const shift of counterShifts(before, after)) this.shiftCounters({ ...shift, vehicleTypeId });
    }
    for (const row of rows) this.#hold(row);
    this.#effects.causes.clear();
    for (const { before, after } of changed)
      if (after.station_id !== null && after.station_id !== before.station_id)
        this.#effects.arrivals.add(after.station_id);
    const touched = changed.flatMap(({ before, after }) => [before.station_id, after.station_id]);
    this.recountStations(touched.filter((id) => id !== null));
    // No stations: they are collected above, before anything waits (`writeBikes`).
    this.bikesWritten([], await stateChanges);
  }

  /** Returns the vehicle events and positions to log for a changed bike. */
  #logOf({ before, after }: ChangedBike): { events: VehicleEvent[]; positions: VehiclePosition[] } {
    const { causes, logStarts } = this.#effects;
    // Without a last event, the bike is logged only if `beginLog` has requested it.
    if (before.last_event === null && !logStarts.delete(before.id)) return { events: [], positions: [] };
    const surroundings = { now: this.now, randomBytes: (bytes: number) => this.ids.randomBytes(bytes) };
    const events = vehicleEvents({ before, after, causes: causes.get(before.id) ?? [] }, surroundings);
    const position = reportedPosition({ before, after }, events, surroundings);
    return { events, positions: position === undefined ? [] : [position] };
  }

  /** Writes the counters of the stations that were collected since the last write. */
  async #writeCounters(): Promise<void> {
    const { stationIds, shifts, arrivals } = this.#effects;
    if (stationIds.size === 0) return;
    this.locks("stations");
    const ids = [...stationIds].sort();
    // Empties the lists of stations and shifts, so that a later `writeBikes` does not apply them again.
    const shifted = shifts.splice(0);
    stationIds.clear();
    if (await writeCounters(this, ids, shifted, arrivals)) this.notify("stations");
  }

  /** Cancels the reservations of bikes that can no longer be ridden. */
  async #releaseUnrideable(): Promise<void> {
    const lost = changedBikes(this.#effects).flatMap(({ after: bike }) =>
      bike.reservation_id === null || bike.reported_state === "available" ? [] : [{ bike, id: bike.reservation_id }],
    );
    await this.endReservations(lost.map(({ id }) => ({ id, status: "cancelled", reason: "bike_unavailable" })));
    // Also where the reservation had ended already: `endReservations` leaves those out.
    for (const { bike } of lost) this.changeBike(bike, { reservation_id: null });
  }

  /**
   * Writes the consequences of the command: bikes, counters, events, then the counts. The counts come last, because other
   * commands may wait for their row locks.
   */
  async finish(): Promise<void> {
    await this.writeBikes();
    writeEffects(this, this.#effects);
  }

  /** Locks rows of a kind. @returns the rows that exist, by id */
  async #lockById<Row extends { readonly id: string }>(
    kind: Lockable,
    ids: readonly string[],
    lock: (tx: Transaction, systemId: string, ids: readonly string[]) => Promise<Row[]>,
  ): Promise<Map<string, Row>> {
    if (ids.length === 0) return new Map();
    this.locks(kind);
    const rows = await lock(this.tx, this.systemId, [...new Set(ids)]);
    return new Map(rows.map((row) => [row.id, row]));
  }
}

/**
 * Writes the counters of stations: recounts operated counters, and applies `shifts` to mirrored counters.
 * @returns whether there were any counters to recount or to shift
 * @throws TransactionConflict when a bike arrived at a removed station
 */
async function writeCounters(
  { tx, systemId, now }: Command,
  stationIds: readonly string[],
  shifts: readonly CounterShift[],
  arrivals: ReadonlySet<string>,
): Promise<boolean> {
  const shiftedIds = [...new Set(shifts.map(({ stationId }) => stationId))];
  const { operated, mirrored, removed } = await lockCountedStations(tx, systemId, stationIds, shiftedIds);
  // The station was removed after the command read it: repeat the transaction, so that it reads the station again.
  if (removed.some((id) => arrivals.has(id))) throw new TransactionConflict();
  if (operated.length > 0) updateCounters(tx, systemId, now, operated);
  const mirroredShifts = shifts.filter(({ stationId }) => mirrored.has(stationId));
  if (mirroredShifts.length > 0) updateCountersBy(tx, systemId, now, mirroredShifts);
  return operated.length + mirroredShifts.length > 0;
}

/**
 * Writes a command's events and notices, notifies listeners, and finally updates the stored counts (`city/counts`) in one
 * random slot.
 */
function writeEffects(command: Command, { events, channels, counts }: Effects): void {
  const { tx, systemId, ids } = command;
  recordEvents(tx, command, events);
  for (const channel of channels) tx.notify(channel, systemId);
  const { rideStarts, correctedStarts } = counts;
  if (counts.bikes === 0 && counts.stations === 0 && rideStarts.length + correctedStarts.length === 0) return;
  const slot = pickSlot(() => ids.random());
  countRows(tx, systemId, "bikes", slot, counts.bikes);
  countRides(tx, systemId, slot, { inserted: rideStarts, corrected: correctedStarts });
  countRows(tx, systemId, "stations", slot, counts.stations);
}

/** A bike as it is stored, and as the command has changed it since. */
interface ChangedBike {
  readonly before: BikeState;
  readonly after: BikeState;
}

/** Returns the bikes whose changes are still to be written. */
function changedBikes({ held, bikes }: Effects): ChangedBike[] {
  return [...held].flatMap(([id, before]) => {
    const after = bikes.get(id);
    return after === undefined || after === before ? [] : [{ before, after }];
  });
}

/**
 * Returns a changed bike with its public id. The bike gets a new one if it has none, and after each ride, so that nobody can
 * follow it from ride to ride.
 */
function withPublicId({ before, after }: ChangedBike, ids: Ids): BikeState {
  const isBack = before.ride_id !== null && after.ride_id === null;
  const publicId = isBack || before.public_id === null ? newPublicId(ids) : before.public_id;
  return { ...after, public_id: publicId };
}
