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

/** A station as it is described. What is left out is filled in, or stays as it was. */
export type StationFields = Partial<Station> & Pick<Station, "id">;

/** A finished file as it is described. What is left out is filled in. */
export type ExportFields = Partial<Export> & Pick<Export, "id">;

/** A bike as it is described. What is left out is filled in, or stays as it was. */
export type BikeFields = Partial<Bike> & Pick<Bike, "id">;

/** A vehicle type as it is described. What is left out stays as it was, or is not known. */
export type VehicleTypeFields = Partial<VehicleType> & Pick<VehicleType, "id">;

/** What the operator does and partners only see, with everything that follows from it. */
export class Operator {
  readonly #city: City;

  constructor(city: City) {
    this.#city = city;
  }

  /**
   * Makes a station, or changes what is known of it. Its state follows from its flags unless it is given; where it goes
   * offline or comes online, that is an event. Free docks that are given follow its bikes from then on.
   */
  putStation(fields: StationFields): void {
    const city = this.#cityNow();
    const held = city.stations.get(fields.id);
    // Counters that a test gives stand, as those of a feed do; without them, the bikes are counted.
    const areCountersGiven = held?.areCountersGiven ?? fields.num_bikes_available !== undefined;
    const counters = held !== undefined || areCountersGiven ? {} : countBikesAt(city, fields.id);
    const described = { ...(held?.shown ?? newStation(fields.id)), ...counters, ...fields };
    const wasInstalled = described.is_installed || held?.wasInstalled === true;
    const state = fields.status === undefined ? stateFromFlags(described, wasInstalled, held?.shown) : {};
    const { docksBase = null } = held ?? {};
    const station = { shown: { ...described, ...state }, areCountersGiven, docksBase, wasInstalled };
    writeStation(city, withDocks(city, station, fields.num_docks_available), fields.updated_at);
  }

  /**
   * Takes a station offline until it is brought back.
   * @param summary what riders are told: an alert is open until then
   * @throws Error when there is no such station
   */
  takeOffline(stationId: string, summary?: string): void {
    this.#changeState(stationId, () => ({ status: "offline", offline_reason: "operator" }));
    if (summary !== undefined) openClosure(this.#city, stationId, summary);
  }

  /**
   * Brings back a station that was taken offline: it is online if its flags say that it works.
   * @throws Error when there is no such station
   */
  bringOnline(stationId: string): void {
    this.#changeState(stationId, ({ shown, wasInstalled }) => stateFromFlags(shown, wasInstalled, undefined));
    endClosure(this.#city, stationId);
  }

  /**
   * Removes a station for good. Its rides stay; its bikes are outside a station from then on.
   * @throws Error when there is no such station
   */
  removeStation(stationId: string): void {
    this.#changeState(stationId, () => ({ status: "removed", offline_reason: null }));
    endClosure(this.#city, stationId);
  }

  /**
   * Makes a bike, or changes what is known of it. A reservation of a bike that cannot be ridden any more is cancelled.
   * @throws Error for a station that is removed
   */
  putBike(fields: BikeFields): void {
    const city = this.#cityNow();
    const held = city.bikes.get(fields.id);
    // A bike that is put at a station is where the station is, unless something else is said.
    const location = fields.station_id === undefined ? {} : locationOf(city, fields.station_id);
    const updated_at = instant(city.now());
    const reported = { ...(held?.reported ?? blank.Bike), ...location, updated_at, ...fields };
    writeBike(city, { ride_id: null, reservation_id: null, ...held, reported });
    releaseLostBike(city, fields.id);
  }

  /** Says what a vehicle type is. */
  putVehicleType(fields: VehicleTypeFields): void {
    const { vehicleTypes } = this.#city;
    vehicleTypes.set(fields.id, { ...(vehicleTypes.get(fields.id) ?? blank.VehicleType), ...fields });
  }

  /** Says what a region is called. */
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

  /** Puts a finished file of open data there; its link leads nowhere unless you say where. */
  putExport(fields: ExportFields): void {
    const city = this.#cityNow();
    const now = instant(city.now());
    const file_name = `${fields.id}.csv.gz`;
    const download_url = `https://bikeshare.test/downloads/${fields.id}/${file_name}`;
    const made = { ...blank.Export, file_name, as_of: now, made_at: now, download_url, time_zone: "UTC" };
    const download_expires_at = instant(city.now() + DOWNLOAD_LINK_MINUTES * 60_000);
    city.exports.set(fields.id, { ...made, sha256: "0".repeat(64), download_expires_at, ...fields });
  }

  /** Puts a delivery of the first partner there as it is. Nothing is sent. */
  putDelivery(fields: DeliveryFields): void {
    const city = this.#cityNow();
    putDelivery(city, city.partner.id, fields);
  }

  /** Puts a ride there as it is. It makes no event and moves no bike, but for one that is on the ride now. */
  putRide(fields: RideFields): void {
    const city = this.#cityNow();
    const ride = newRide(city, fields);
    city.rides.set(ride.id, ride);
    const bike = city.bikes.get(ride.bike_id);
    if (ride.status === "started" && bike !== undefined) changeBike(city, bike, { ride_id: ride.id });
  }

  /** Starts a ride, which fulfils the reservation that holds its bike. @throws Error when the bike cannot be ridden */
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

  /** Ends a ride. @throws Error when it is not under way */
  endRide({ id, end_station_id = null, distance_meters = null, end_reason }: RideEnd): Ride {
    const end = { end_station_id, distance_meters, end_reason: end_reason ?? endReasonAt(end_station_id) };
    return this.#finishRide(id, "end", end, locationOf(this.#city, end_station_id));
  }

  /** Cancels a ride that did not come about: its bike is where it was. @throws Error when it is not under way */
  cancelRide(rideId: string): Ride {
    return this.#finishRide(rideId, "cancel", { end_reason: "cancelled" });
  }

  /**
   * Corrects a completed ride; makes the event `ride.corrected`. Its bike is where the ride ended, unless it has been
   * elsewhere since.
   * @throws Error when the ride is not completed
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
    if (bike !== undefined && isThere) changeBike(city, bike, {}, locationOf(city, end_station_id));
    return recordRide(city, "ride.corrected", ride);
  }

  /** Puts a reservation of the first partner there as it is, without events. An active one holds its bike. */
  putReservation(fields: ReservationFields): void {
    putReservation(this.#cityNow(), this.#city.partner.id, fields);
  }

  /** Puts an event at the end of the list. */
  putEvent(fields: EventFields): void {
    const partnerId = fields.event.startsWith("reservation.") ? this.#city.partner.id : null;
    recordEvent(this.#cityNow(), fields, partnerId);
  }

  /** The city as of now: reservations that are over hold no bike any more. */
  #cityNow(): City {
    expireReservations(this.#city);
    endPastAlerts(this.#city);
    return this.#city;
  }

  #changeState(stationId: string, change: (held: StationRecord) => Partial<Station>): void {
    const city = this.#cityNow();
    const held = city.stations.get(stationId);
    if (held === undefined) throw new Error(`there is no station ${stationId}`);
    writeStation(city, { ...held, shown: { ...held.shown, ...change(held) } });
  }

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

/** A station that works, in Zurich. */
function newStation(id: string): Station {
  const flags = { is_installed: true, is_renting: true, is_returning: true };
  return { ...blank.Station, id, name: `Station ${id}`, lat: 47.3769, lon: 8.5417, ...flags, status: "online" };
}

function stateFromFlags(flags: Station, was_installed: boolean, held: Station | undefined): StationState {
  // A test may give a station a state that this package does not know yet; the rule then treats it as no state.
  return stationState(held as StationState | undefined, { ...flags, was_installed, absent_snapshots: 0 });
}

/**
 * Writes a station. A change of its state is an event; a station that is new makes none.
 * @param updatedAt what the station says of its last change; default: the time of this one
 */
function writeStation(city: City, station: StationRecord, updatedAt?: string): void {
  const { id, status } = station.shown;
  const moved = status === "removed" ? countersWithoutBikes(city, station.shown) : {};
  const held = city.stations.get(id)?.shown;
  const changesState = held !== undefined && held.status !== status;
  const at = instant(timeOfChange(city.now(), held && Date.parse(held.updated_at), changesState));
  const shown = { ...station.shown, ...moved, updated_at: updatedAt ?? at };
  city.stations.set(id, { ...station, shown });
  const event = stationChangeEvent(held?.status ?? status, status);
  if (event !== undefined) recordEvent(city, { event, occurred_at: at, data: shown });
}

/** Moves a station's bikes out. @returns its counters then */
function countersWithoutBikes(city: City, station: Station): Partial<Station> {
  moveBikesOut(city, station);
  const held = city.stations.get(station.id)?.shown;
  if (held === undefined) return {};
  const { num_bikes_available, num_bikes_reserved, num_bikes_disabled, num_docks_available } = held;
  const { vehicle_types_available } = held;
  return { num_bikes_available, num_bikes_reserved, num_bikes_disabled, num_docks_available, vehicle_types_available };
}

function recordRide(city: City, event: string, ride: Ride): Ride {
  city.rides.set(ride.id, ride);
  recordEvent(city, { event, data: ride });
  return ride;
}
