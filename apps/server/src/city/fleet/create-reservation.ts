import type { ReservationRequest } from "@bikeshare/contract";
import {
  checkRents,
  checkTakeable,
  chooseBike,
  expiryOf,
  reservationLimit,
  ServiceError,
  serviceError,
  statusAt,
  type WantedBike,
} from "@bikeshare/rules";
import type { AnsweredIndexes, CommandContext } from "../../command-context.ts";
import type { CallOutcome } from "../../http/idempotency/service.ts";
import type { BikeState } from "./bike.rules.ts";
import { type FleetCommand, runCommand } from "./command.ts";
import type { ReservationOwner } from "./reservation-commands.ts";
import {
  findQuotaUse,
  findRentingStations,
  insertReservations,
  listCandidateBikes,
  listReservationsOfRiders,
  lockQuotas,
  type NewReservation,
  type QuotaUse,
  type RentingStation,
} from "./reservation-queries.ts";

/*
 * Creates reservations of partners. Most requests share a transaction (`createReservations`), which takes only those bikes
 * of a station that nobody else has locked. If these do not suffice, the request runs alone and waits for locks
 * (`createReservation`).
 */

/** A partner's request for a reservation, and its system. */
export interface CreateReservation extends ReservationOwner {
  readonly request: ReservationRequest;
}

/**
 * Maximum number of retries when other requests lock all free bikes of a station before this one. Too low: refuses a
 * request although bikes are free. Too high: keeps a connection waiting at a station that many riders use.
 */
const MAX_RETRIES = 5;

/**
 * Reserves a bike of a station, or one bike, for a partner's rider. The bike, the counters of its station, the
 * reservation and its event are written together.
 * @returns the reservation's JSON
 * @throws ServiceError `invalid_parameter`, `not_found`, `station_offline`, `no_bike_available`, `bike_not_available`,
 *   `rider_has_active_reservation`, `too_many_reservations`; `unauthorized` when the partner is not active
 */
export function createReservation(context: CommandContext, call: CreateReservation): Promise<string> {
  return runCommand(context, call.systemId, async (command) => {
    let waitFor: readonly string[] = [];
    for (let attempt = 0; attempt <= MAX_RETRIES; attempt++) {
      // `attempt` undoes a step that returns undefined, so the locks of this attempt do not last while it waits for others.
      const outcome = await command.attempt(async () => {
        const [reserved] = await reserve(command, [call], waitFor);
        return reserved === "run-alone" ? undefined : reserved;
      });
      if (outcome !== undefined && "error" in outcome) throw outcome.error;
      if (outcome !== undefined) return outcome.result;
      // Every free bike is locked at the moment, perhaps only for a report: wait for the locks, then look again.
      waitFor = await listCandidateBikes(command.tx, call.systemId, wantedBy(call.request), command.now);
    }
    throw serviceError("no_bike_available");
  });
}

/**
 * Creates reservations of any partners in one transaction. Each request sees the effects of the requests before it.
 * @returns for each request the reservation's JSON or its error; `run-alone` when the request has to wait for bikes that
 *   other transactions have locked
 */
export function createReservations(
  context: CommandContext,
  systemId: string,
  calls: readonly CreateReservation[],
): Promise<CallOutcome<string>[]> {
  return runCommand(context, systemId, (command) => reserve(command, calls, [], context.answered));
}

/**
 * Decides on requests in their order, and writes the reservations, bikes and events.
 * @param waitFor bikes to lock even if that means waiting for other transactions
 * @param answered the indexes of repeated requests, for which nothing is decided; undefined: there are none
 */
async function reserve(
  command: FleetCommand,
  calls: readonly CreateReservation[],
  waitFor: readonly string[],
  answered?: AnsweredIndexes,
): Promise<CallOutcome<string>[]> {
  const [facts, answeredIndexes] = await Promise.all([lockReservationFacts(command, calls, waitFor), answered]);
  const decisions = calls.map((call, index) =>
    answeredIndexes?.has(index) === true ? "answered" : decide(command, call, facts),
  );
  const reservations = decisions.flatMap((decision) =>
    decision !== "answered" && "reservation" in decision ? [decision.reservation] : [],
  );
  const [written, contended] = await Promise.all([
    insertReservations(command.tx, command.systemId, reservations),
    listContended(command, decisions),
    command.writeBikes(),
  ]);
  return decisions.map((decision): CallOutcome<string> => {
    // Any value will do: the outcome of a call that was answered before is ignored.
    if (decision === "answered") return "run-alone";
    if ("error" in decision) return decision;
    if ("noneFree" in decision) {
      return contended.has(keyOf(decision.noneFree)) ? "run-alone" : { error: serviceError("no_bike_available") };
    }
    const { reservation, bike } = decision;
    const json = written.get(reservation.id);
    // The insertion left the reservation out: its rider has an active one after all. The bike is written as reserved
    // already; the command's end undoes that.
    if (json === undefined) {
      command.setBike(bike);
      return { error: serviceError("rider_has_active_reservation") };
    }
    const { partner_id: partnerId, created_at: occurredAt } = reservation;
    command.record({ name: "reservation.created", occurredAt, partnerId, data: json });
    return { result: json };
  });
}

/** The decision about a request. */
type Decision =
  /** The request repeats one that was answered before. */
  | "answered"
  | { readonly error: ServiceError }
  /** No bike that this command has locked fits. Another transaction may have locked one that does (`listContended`). */
  | { readonly noneFree: WantedBike }
  /** `bike` is the bike before the reservation. */
  | { readonly reservation: NewReservation; readonly bike: BikeState };

/** Decides on a request, and changes the bike, the quota and the riders so that later requests see the reservation. */
function decide(
  command: FleetCommand,
  call: CreateReservation,
  facts: ReservationFacts,
): Exclude<Decision, "answered"> {
  const { partnerId, request } = call;
  try {
    const wanted = wantedBy(request);
    const quota = quotaLeft(partnerId, facts);
    const rider = request.rider_ref === undefined ? undefined : riderKey(partnerId, request.rider_ref);
    if (rider !== undefined && facts.ridersWithBike.has(rider)) throw serviceError("rider_has_active_reservation");
    const bike = request.bike_id === undefined ? chosenAt(command, wanted, facts) : namedBike(command, call, facts);
    if (bike === undefined) return { noneFree: wanted };
    const reservation = newReservation(command, call, bike);
    command.changeBike(bike, { reservation_id: reservation.id });
    facts.quotaOf.set(partnerId, { ...quota, active: quota.active + 1 });
    if (rider !== undefined) facts.ridersWithBike.add(rider);
    return { reservation, bike };
  } catch (error) {
    if (error instanceof ServiceError) return { error };
    throw error;
  }
}

/**
 * Returns the station and vehicle type that a request names. The station is empty when the request names a bike.
 * @throws ServiceError when it names both a station and a bike, or neither
 */
function wantedBy({ station_id, bike_id, vehicle_type_id }: ReservationRequest): WantedBike {
  if ((station_id === undefined) === (bike_id === undefined)) throw serviceError("invalid_parameter", "stationAndBike");
  return { stationId: station_id ?? "", vehicleTypeId: vehicle_type_id ?? null };
}

/** Returns a partner's quota. @throws ServiceError when the quota is used up, or the partner is not active */
function quotaLeft(partnerId: string, { quotaOf }: ReservationFacts): QuotaUse {
  const quota = quotaOf.get(partnerId);
  if (quota === undefined) throw serviceError("unauthorized", "inactivePartner");
  const limit = reservationLimit(quota.max_reservations);
  if (quota.active >= limit) throw serviceError("too_many_reservations", "limit", { limit });
  return quota;
}

/**
 * Chooses a bike of the station that a request names; undefined when none is free.
 * @throws ServiceError when there is no such station, or it does not rent
 */
function chosenAt(command: FleetCommand, wanted: WantedBike, { stations }: ReservationFacts): BikeState | undefined {
  const station = stations.get(wanted.stationId);
  if (station === undefined) throw serviceError("not_found", "station");
  checkRents(station);
  return chooseBike(command.bikes.values(), wanted);
}

/** Returns the bike that a request names. @throws ServiceError when it may not be reserved */
function namedBike(command: FleetCommand, { request }: CreateReservation, { stations }: ReservationFacts): BikeState {
  const bike = command.bikes.get(request.bike_id ?? "");
  if (bike === undefined) throw serviceError("not_found", "bike");
  checkTakeable(bike, request.vehicle_type_id ?? null);
  // A bike outside a known station may be reserved: no station can refuse it.
  const station = stations.get(bike.station_id ?? "");
  if (station !== undefined) checkRents(station);
  return bike;
}

/** Returns the reservation of a bike for a request. It begins now. */
function newReservation(
  { now, ids }: FleetCommand,
  { partnerId, request }: CreateReservation,
  bike: BikeState,
): NewReservation {
  return {
    id: ids.next("reservation"),
    partner_id: partnerId,
    station_id: bike.station_id,
    bike_id: bike.id,
    vehicle_type_id: bike.vehicle_type_id,
    rider_ref: request.rider_ref ?? null,
    created_at: now,
    expires_at: expiryOf(now, request.hold_minutes),
  };
}

/**
 * Returns the keys (`keyOf`) of stations and vehicle types where no free bike was found, but where another transaction has
 * locked a candidate, which may become free.
 */
async function listContended(command: FleetCommand, decisions: readonly Decision[]): Promise<ReadonlySet<string>> {
  const { tx, systemId, now, bikes } = command;
  const wanted = new Map<string, WantedBike>();
  for (const decision of decisions) {
    if (decision !== "answered" && "noneFree" in decision) wanted.set(keyOf(decision.noneFree), decision.noneFree);
  }
  const contended = await Promise.all(
    [...wanted].map(async ([key, each]) => {
      const candidates = await listCandidateBikes(tx, systemId, each, now);
      // The decision has already considered the bikes that this command has locked.
      return candidates.some((id) => !bikes.has(id)) ? [key] : [];
    }),
  );
  return new Set(contended.flat());
}

/** Returns a key of a station and a vehicle type. */
function keyOf({ stationId, vehicleTypeId }: WantedBike): string {
  return JSON.stringify([stationId, vehicleTypeId]);
}

/** A request for a bike, and the partner that makes it. */
interface BikeRequest {
  readonly partnerId: string;
  readonly request: ReservationRequest;
}

/**
 * The inputs of decisions on requests for bikes, in addition to the bikes, which the command has locked. Each request sees
 * the effects of the ones before.
 */
interface ReservationFacts {
  /** The quotas of active partners. */
  readonly quotaOf: Map<string, QuotaUse>;
  /** The keys (`riderKey`) of riders who have an active reservation. */
  readonly ridersWithBike: Set<string>;
  readonly stations: ReadonlyMap<string, RentingStation>;
}

/** Returns a key of a partner's rider. The separator is NUL, which no id contains. */
function riderKey(partnerId: string, riderRef: string): string {
  return `${partnerId}\0${riderRef}`;
}

/**
 * Locks three things: the quotas of the requests' partners, so that each partner's requests count one at a time; the bikes
 * that the requests name, and those of riders whose reservation is overdue; and free bikes of the named stations. Expires
 * overdue reservations of those bikes.
 * @param waitFor more bikes to lock
 */
async function lockReservationFacts(
  command: FleetCommand,
  requests: readonly BikeRequest[],
  waitFor: readonly string[],
): Promise<ReservationFacts> {
  const { tx, systemId, now } = command;
  const partnerIds = [...new Set(requests.map(({ partnerId }) => partnerId))].sort();
  const riders = requests.flatMap(({ partnerId, request: { rider_ref: riderRef } }) =>
    riderRef === undefined ? [] : [{ partner_id: partnerId, rider_ref: riderRef }],
  );
  command.locks("quotas");
  // The lock must be the first statement: after it, no other transaction creates reservations of these partners.
  const [, quotaOf, ofRiders] = await Promise.all([
    lockQuotas(tx, systemId, partnerIds),
    findQuotaUse(tx, systemId, partnerIds, now),
    listReservationsOfRiders(tx, systemId, riders),
  ]);
  const isActive = (reservation: (typeof ofRiders)[number]) => statusAt(reservation, now) === "active";
  const ridersWithBike = new Set(
    ofRiders.filter(isActive).map(({ partner_id: partnerId, rider_ref: riderRef }) => riderKey(partnerId, riderRef)),
  );
  const overdue = ofRiders.filter((reservation) => !isActive(reservation));
  const namedBikes = requests.flatMap(({ request }) => request.bike_id ?? []);
  await command.lockBikes([...namedBikes, ...waitFor, ...overdue.map(({ bike_id: bikeId }) => bikeId)]);
  const stationIds = requests.flatMap(({ request }) => request.station_id ?? []);
  const stationsOfBikes = [...command.bikes.values()].flatMap((bike) => bike.station_id ?? []);
  const [stations] = await Promise.all([
    findRentingStations(tx, systemId, [...stationIds, ...stationsOfBikes]),
    lockFreeBikes(command, requests),
  ]);
  const holding = [...command.bikes.values()].flatMap((bike) => bike.reservation_id ?? []);
  const ids = new Set([...holding, ...overdue.map(({ id }) => id)]);
  // Reservations that are not overdue ignore the outcome `expired`.
  await command.endReservations([...ids].map((id) => ({ id, status: "expired" })));
  return { quotaOf, ridersWithBike, stations };
}

/** Locks as many free bikes of each station and type as may be wanted there, the best first. */
async function lockFreeBikes(command: FleetCommand, requests: readonly BikeRequest[]): Promise<void> {
  // Counts the bikes that are locked already, because the best bikes may be among them and an earlier request may take them.
  const bikesAt = new Map<string, number>();
  const count = (stationId: string) => bikesAt.set(stationId, (bikesAt.get(stationId) ?? 0) + 1);
  for (const { station_id: stationId } of command.bikes.values()) if (stationId !== null) count(stationId);
  for (const { request } of requests) if (request.station_id !== undefined) count(request.station_id);
  const wanted = requests.flatMap(({ request: { station_id: stationId, vehicle_type_id: typeId } }) =>
    stationId === undefined ? [] : [{ stationId, vehicleTypeId: typeId ?? null, limit: bikesAt.get(stationId) ?? 1 }],
  );
  const distinct = new Map(wanted.map((each) => [keyOf(each), each]));
  if (distinct.size > 0) await command.lockFreeBikes([...distinct.values()]);
}
