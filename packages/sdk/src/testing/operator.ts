import type { Bike, Export, Region, Ride, Station, VehicleType } from "../json-types.generated.ts";
import { type AlertFields, endAlert, endClosure, endPastAlerts, openAlert, openClosure } from "./alerts.ts";
import {
  type BikeLocation,
  changeBike,
  countBikesAt,
  locationOf,
  moveBikesOut,
  withDocks,
  writeBike,
} from "./bikes.ts";
import { type City, type EventFields, instant, recordEvent, type StationRecord } from "./city.ts";
import { blank } from "./contract.generated.ts";
import { type DeliveryFields, putDelivery } from "./deliveries.ts";
import {
  expireReservations,
  fulfilReservation,
  putReservation,
  releaseLostBike,
  type ReservationFields,
  noteCancelledRide,
} from "./reservations.ts";
import {
  correctedEnd,
  endOf,
  hasEndedSince,
  newRide,
  type RideCorrection,
  type RideEnd,
  type RideFields,
  rideFor,
  type RideStart,
  startOf,
} from "./rides.ts";
import {
  correctedEndReason,
  DOWNLOAD_LINK_MINUTES,
  endReasonAt,
  stationChangeEvent,
  type StationState,
  stationState,
  timeOfChange,
} from "./rules.ts";

/** The fields of a station. Omitted fields of a new station get defaults; those of a known station stay as they were. */
export type StationFields = Partial<Station> & Pick<Station, "id">;

/** The fields of a finished export. Omitted fields get defaults. */
export type ExportFields = Partial<Export> & Pick<Export, "id">;

/** The fields of a bike. Omitted fields of a new bike get defaults; those of a known bike stay as they were. */
export type BikeFields = Partial<Bike> & Pick<Bike, "id">;

/** The fields of a vehicle type. Omitted fields stay as they were, or are unknown. */
export type VehicleTypeFields = Partial<VehicleType> & Pick<VehicleType, "id">;

/**
 * The operator's actions on a fake, the service in memory that partners test with: `fake.operator`. Each has the same
 * effects as in the service, such as events, unless its comment says otherwise.
 */
export class Operator {
  readonly #city: City;

  constructor(city: City) {
    this.#city = city;
  }

  /**
   * Creates or changes a station. Its status follows from its flags unless `status` is given. If the station goes offline or
   * comes online, an event is recorded. If `num_docks_available` is given, it follows the station's bikes from then on,
   * unless the station's counters were given when it was created.
   */
  putStation(fields: StationFields): void {
    const city = this.#cityNow();
    const stored = city.stations.get(fields.id);
    // Counters that a test gives with a new station are the start: later changes of bikes are added to them. A station
    // without them shows the count of its bikes.
    const areCountersGiven = stored?.areCountersGiven ?? fields.num_bikes_available !== undefined;
    const counters = stored !== undefined || areCountersGiven ? {} : countBikesAt(city, fields.id);
    const described = { ...(stored?.shown ?? newStation(fields.id)), ...counters, ...fields };
    const wasInstalled = described.is_installed || stored?.wasInstalled === true;
    const state = fields.status === undefined ? stateFromFlags(described, wasInstalled, stored?.shown) : {};
    const { docksBase = null } = stored ?? {};
    const station = { shown: { ...described, ...state }, areCountersGiven, docksBase, wasInstalled };
    writeStation(city, withDocks(city, station, fields.num_docks_available), fields.updated_at);
  }

  /**
   * Takes a station offline until `bringOnline`.
   * @param summary a text for riders: opens an alert, which ends when the station comes back
   * @throws Error when there is no such station, or it is removed
   */
  takeOffline(stationId: string, summary?: string): void {
    this.#changeState(stationId, () => ({ status: "offline", offline_reason: "operator" }));
    if (summary !== undefined) openClosure(this.#city, stationId, summary);
  }

  /**
   * Ends `takeOffline`: the station's status follows from its flags again.
   * @throws Error when there is no such station, or it is removed
   */
  bringOnline(stationId: string): void {
    this.#changeState(stationId, ({ shown, wasInstalled }) => stateFromFlags(shown, wasInstalled, undefined));
    endClosure(this.#city, stationId);
  }

  /**
   * Removes a station for good. Its rides stay. Its bikes are outside a station from then on.
   * @throws Error when there is no such station
   */
  removeStation(stationId: string): void {
    this.#changeState(stationId, () => ({ status: "removed", offline_reason: null }));
    endClosure(this.#city, stationId);
  }

  /**
   * Creates or changes a bike. If the bike is not available any more, its reservation is cancelled.
   * @throws Error for a removed station
   */
  putBike(fields: BikeFields): void {
    const city = this.#cityNow();
    const stored = city.bikes.get(fields.id);
    // A bike at a station has the station's position, unless `fields` has another.
    const location = fields.station_id === undefined ? {} : locationOf(city, fields.station_id);
    const updated_at = instant(city.now());
    const reported = { ...(stored?.reported ?? blank.Bike), ...location, updated_at, ...fields };
    writeBike(city, { ride_id: null, reservation_id: null, ...stored, reported });
    releaseLostBike(city, fields.id);
  }

  /** Describes a vehicle type. */
  putVehicleType(fields: VehicleTypeFields): void {
    const { vehicleTypes } = this.#city;
    vehicleTypes.set(fields.id, { ...(vehicleTypes.get(fields.id) ?? blank.VehicleType), ...fields });
  }

  /** Describes a region. */
  putRegion(region: Region): void {
    this.#city.regions.set(region.id, region);
  }

  /** Opens an alert to riders, or changes one that is open. */
  openAlert(fields: AlertFields): void {
    openAlert(this.#cityNow(), fields);
  }

  /** Ends an alert. @throws Error when there is no such alert */
  endAlert(id: string): void {
    if (!this.#cityNow().alerts.has(id)) throw new Error(`there is no alert ${id}`);
    endAlert(this.#city, id);
  }

  /** Adds a finished export. Its link leads nowhere, unless you give `download_url`. */
  putExport(fields: ExportFields): void {
    const city = this.#cityNow();
    const now = instant(city.now());
    const file_name = `${fields.id}.csv.gz`;
    const download_url = `https://bikeshare.test/downloads/${fields.id}/${file_name}`;
    const made = { ...blank.Export, file_name, as_of: now, made_at: now, download_url, time_zone: "UTC" };
    const download_expires_at = instant(city.now() + DOWNLOAD_LINK_MINUTES * 60_000);
    city.exports.set(fields.id, { ...made, sha256: "0".repeat(64), download_expires_at, ...fields });
  }

  /** Adds a delivery of the first partner. Nothing is sent. */
  putDelivery(fields: DeliveryFields): void {
    const city = this.#cityNow();
    putDelivery(city, city.partner.id, fields);
  }

  /** Adds a ride without an event. A ride with the status `started` takes its bike; others do not move the bike. */
  putRide(fields: RideFields): void {
    const city = this.#cityNow();
    const ride = newRide(city, fields);
    city.rides.set(ride.id, ride);
    const bike = city.bikes.get(ride.bike_id);
    if (ride.status === "started" && bike !== undefined) changeBike(city, bike, { ride_id: ride.id });
  }

  /**
   * Starts a ride. It fulfils the reservation that holds the bike.
   * @throws Error when the bike cannot be ridden, or the ride is there already
   */
  startRide({ id = this.#city.nextId("ride"), bike_id, rider_category = null }: RideStart): Ride {
    const city = this.#cityNow();
    const bike = city.bikes.get(bike_id);
    if (bike === undefined) throw new Error(`there is no bike ${bike_id}`);
    if (bike.ride_id !== null) throw new Error(`bike ${bike_id} is on ride ${bike.ride_id}`);
    const { vehicle_state, station_id: start_station_id } = bike.reported;
    if (vehicle_state !== "available") throw new Error(`bike ${bike_id} is ${vehicle_state}`);
    if (city.rides.has(id)) throw new Error(`there is a ride ${id}`);
    const started_at = startOf(city, id, bike_id);
    if (bike.reservation_id !== null) fulfilReservation(city, bike.reservation_id, id);
    const ride = newRide(city, { id, bike_id, status: "started", started_at, start_station_id, rider_category });
    changeBike(city, bike, { ride_id: id, reservation_id: null });
    return recordRide(city, "ride.started", ride);
  }

  /** Ends a ride. @throws Error when it is not under way, or the end station is removed */
  endRide({ id, end_station_id = null, distance_meters = null, end_reason }: RideEnd): Ride {
    const end = { end_station_id, distance_meters, end_reason: end_reason ?? endReasonAt(end_station_id) };
    return this.#finishRide(id, "end", end, locationOf(this.#city, end_station_id));
  }

  /** Cancels a ride. Its bike is where it was before the ride. @throws Error when the ride is not under way */
  cancelRide(rideId: string): Ride {
    return this.#finishRide(rideId, "cancel", { end_reason: "cancelled" });
  }

  /**
   * Corrects a completed ride, and records the event `ride.corrected`. If the end station changes, the bike moves there,
   * unless it has been elsewhere since.
   * @throws Error when the ride is not completed, or the corrected end is not possible
   */
  correctRide({ id, ...correction }: RideCorrection): Ride {
    const city = this.#cityNow();
    const { ride: before, status } = rideFor(city, id, "correct");
    const updated_at = instant(city.now());
    const { ended_at: given } = correction;
    const ended_at = given === undefined ? (before.ended_at ?? updated_at) : correctedEnd(city, before, given);
    const end = endOf(before.started_at, ended_at);
    const { end_station_id = before.end_station_id } = correction;
    const end_reason = correctedEndReason(before, end_station_id);
    const ride = { ...before, ...correction, status, ...end, end_reason, updated_at };
    const bike = city.bikes.get(ride.bike_id);
    const isThere = bike?.reported.station_id === before.end_station_id && !hasEndedSince(city, before);
    const isMoved = end_station_id !== before.end_station_id;
    if (bike !== undefined && isMoved && isThere) changeBike(city, bike, {}, locationOf(city, end_station_id));
    return recordRide(city, "ride.corrected", ride);
  }

  /** Adds a reservation of the first partner, without events. An active one holds its bike. */
  putReservation(fields: ReservationFields): void {
    putReservation(this.#cityNow(), this.#city.partner.id, fields);
  }

  /** Adds an event at the end of the list. Only the first partner sees an event of a reservation. */
  putEvent(fields: EventFields): void {
    const partnerId = fields.event.startsWith("reservation.") ? this.#city.partner.id : null;
    recordEvent(this.#cityNow(), fields, partnerId);
  }

  /** Expires reservations and ends alerts whose time is over, and returns the city. */
  #cityNow(): City {
    expireReservations(this.#city);
    endPastAlerts(this.#city);
    return this.#city;
  }

  /**
   * Changes a station's status. @param change returns the new fields
   * @throws Error when there is no such station, or when it is removed and would not stay so
   */
  #changeState(stationId: string, change: (stored: StationRecord) => Partial<Station>): void {
    const city = this.#cityNow();
    const stored = city.stations.get(stationId);
    if (stored === undefined) throw new Error(`there is no station ${stationId}`);
    const after = change(stored);
    if (stored.shown.status === "removed" && after.status !== "removed")
      throw new Error(`station ${stationId} is removed`);
    writeStation(city, { ...stored, shown: { ...stored.shown, ...after } });
  }

  /** Ends or cancels a ride. @param location where its bike is then; undefined: where it was before the ride */
  #finishRide(id: string, command: "end" | "cancel", end: Partial<Ride>, location?: BikeLocation): Ride {
    const city = this.#cityNow();
    const { ride: started, status } = rideFor(city, id, command);
    const now = instant(city.now());
    const ride = { ...started, ...end, status, ...endOf(started.started_at, now), updated_at: now };
    const bike = city.bikes.get(ride.bike_id);
    if (bike?.ride_id === id) changeBike(city, bike, { ride_id: null }, location);
    if (status === "cancelled") noteCancelledRide(city, id, now);
    return recordRide(city, `ride.${status}`, ride);
  }
}

/** Returns a new station that is online, in Zurich. */
function newStation(id: string): Station {
  const flags = { is_installed: true, is_renting: true, is_returning: true };
  return { ...blank.Station, id, name: `Station ${id}`, lat: 47.3769, lon: 8.5417, ...flags, status: "online" };
}

/**
 * Returns a station's status as it follows from its flags.
 * @param stored the station so far; undefined: a new one, or one whose present status must not count
 */
function stateFromFlags(flags: Station, was_installed: boolean, stored: Station | undefined): StationState {
  // A test may give a station a status that this package does not know. The rule ignores such a status. A fake has no feed,
  // so no snapshot lacks the station.
  return stationState(stored as StationState | undefined, { ...flags, was_installed, absent_snapshots: 0 });
}

/**
 * Writes a station, and records the event of a status that has changed from or to `online`. A new station has no event.
 * @param updatedAt the station's `updated_at`; default: now
 */
function writeStation(city: City, station: StationRecord, updatedAt?: string): void {
  const { id, status } = station.shown;
  // The bikes are moved before `stored` is read, because moving them changes the stored station.
  const moved = status === "removed" ? countersWithoutBikes(city, station.shown) : {};
  const stored = city.stations.get(id)?.shown;
  const changesState = stored !== undefined && stored.status !== status;
  const at = instant(timeOfChange(city.now(), stored && Date.parse(stored.updated_at), changesState));
  const shown = { ...station.shown, ...moved, updated_at: updatedAt ?? at };
  city.stations.set(id, { ...station, shown });
  const event = stationChangeEvent(stored?.status ?? status, status);
  if (event !== undefined) recordEvent(city, { event, occurred_at: at, data: shown });
}

/** Moves a station's bikes out of it. @returns the station's counters after that; none for a new station */
function countersWithoutBikes(city: City, station: Station): Partial<Station> {
  moveBikesOut(city, station);
  const stored = city.stations.get(station.id)?.shown;
  if (stored === undefined) return {};
  const { num_bikes_available, num_bikes_reserved, num_bikes_disabled, num_docks_available } = stored;
  const { vehicle_types_available } = stored;
  return { num_bikes_available, num_bikes_reserved, num_bikes_disabled, num_docks_available, vehicle_types_available };
}

/** Stores a ride, and records its event. */
function recordRide(city: City, event: string, ride: Ride): Ride {
  city.rides.set(ride.id, ride);
  recordEvent(city, { event, data: ride });
  return ride;
}
