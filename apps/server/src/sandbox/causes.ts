import type { DeliveryName } from "@bikeshare/contract";
import type { SandboxEvent } from "@bikeshare/contract/sandbox";
import { serviceError } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import { compareAllStations, SETTLE_MS } from "../webhooks/thresholds.ts";
import type { CityActs, RideOrReservation } from "./acts.ts";
import { letTimePass } from "./clock.ts";
import { findWatched } from "./queries.ts";

/* Causes an event in a sandbox's city, for a partner that tests how it receives the event. */

/** The resource that an event is about, and its station. */
interface Caused {
  readonly resource_id: string;
  readonly station_id: string | null;
}

/** The commands that cause each event. */
const causes: Readonly<
  Record<DeliveryName, (acts: CityActs, stationId: string | undefined, context: CommandContext) => Promise<Caused>>
> = {
  "ride.started": async (acts, stationId) => ofRideOrReservation(await acts.startRide(stationId)),
  "ride.completed": async (acts, stationId) => ofRideOrReservation(await acts.ride(stationId)),
  "ride.cancelled": async (acts, stationId) => {
    const ride = await acts.startRide(stationId);
    await acts.cancelRide(ride.id);
    return ofRideOrReservation(ride);
  },
  "ride.corrected": async (acts, stationId) => {
    const ride = await acts.ride(stationId);
    await acts.correctRide(ride.id, ride.endStationId);
    return ofRideOrReservation(ride);
  },
  "station.offline": async (acts, stationId) => {
    const id = stationId ?? (await acts.otherStation());
    await acts.takeOffline(id);
    return ofStation(id);
  },
  "station.online": async (acts, stationId) => {
    const id = await acts.offlineStation(stationId);
    await acts.bringOnline(id);
    return ofStation(id);
  },
  "reservation.created": async (acts, stationId) => ofRideOrReservation(await acts.reserve(stationId)),
  "reservation.cancelled": async (acts, stationId) => {
    const reservation = await acts.reserve(stationId);
    await acts.cancelReservation(reservation.id);
    return ofRideOrReservation(reservation);
  },
  "reservation.expired": async (acts, stationId) => {
    // A minute's hold, made 61 s ago, has ended.
    const reservation = await acts.reserve(stationId, { ago: 61_000, minutes: 1 });
    await acts.expireReservation(reservation.id);
    return ofRideOrReservation(reservation);
  },
  "reservation.fulfilled": async (acts, stationId) => {
    const reservation = await acts.reserve(stationId);
    await acts.takeReservedBike(reservation.id, reservation.stationId);
    return ofRideOrReservation(reservation);
  },
  "alert.opened": async (acts, stationId) => ofAlert(await acts.openAlert(stationId), stationId),
  "alert.ended": async (acts, stationId) => {
    const id = await acts.openAlert(stationId);
    await acts.endAlert(id);
    return ofAlert(id, stationId);
  },
  "station.below_threshold": async (acts, stationId, context) => {
    const watched = await watchedStation(acts, context, "station.below_threshold", stationId);
    await stayBelow(acts, context, watched);
    return ofStation(watched.station_id);
  },
  "station.back_to_normal": async (acts, stationId, context) => {
    const watched = await watchedStation(acts, context, "station.back_to_normal", stationId);
    // Throws before anything has changed when too few bikes can be brought.
    await acts.bikesToBring(watched.station_id, watched, { isRunLowFirst: !watched.was_notified });
    if (!watched.was_notified) await stayBelow(acts, context, watched);
    await acts.recover(watched.station_id, watched);
    await compareAllStations(context, acts.systemId);
    return ofStation(watched.station_id);
  },
  "station.updated": async (acts, stationId) => {
    const id = stationId ?? (await acts.otherStation());
    await acts.reportDocks(id);
    return ofStation(id);
  },
  "bike.state_changed": async (acts, stationId) => {
    const bike = await acts.freeBike(stationId);
    await acts.reportBike(bike.id, "non_operational");
    return { resource_id: bike.id, station_id: bike.station_id };
  },
};

/**
 * Finds a station for which an endpoint of the sandbox has a threshold, and whether the endpoint was notified that the
 * station is below it (`was_notified`).
 * @throws ServiceError `not_found` when there is none
 */
async function watchedStation(acts: CityActs, context: CommandContext, event: string, stationId: string | undefined) {
  // Compares first, so that new thresholds are watched and the states of the stations are current.
  await compareAllStations(context, acts.systemId);
  // A station that is to fall below the threshold must not be below it already. One that is to recover may be.
  const mayBeNotified = event === "station.back_to_normal";
  const watched = await findWatched(context.db, acts.systemId, { event, stationId, mayBeNotified });
  if (watched === undefined) throw serviceError("not_found", "threshold", { event });
  // With `count`, as `Threshold` of the contract calls it.
  return { ...watched, count: watched.count_of };
}

/**
 * Brings a station below a threshold, and lets the time pass after which the endpoint is notified: the threshold's
 * minutes, and the delay of the event (`SETTLE_MS`).
 */
async function stayBelow(
  acts: CityActs,
  context: CommandContext,
  watched: Awaited<ReturnType<typeof watchedStation>>,
): Promise<void> {
  await acts.runLow(watched.station_id, watched);
  await letTimePass(context, acts.systemId, watched.for_minutes * 60 + SETTLE_MS / 1000);
  acts.steps.push(`${watched.for_minutes} minutes pass`);
}

function ofRideOrReservation({ id, stationId }: RideOrReservation): Caused {
  return { resource_id: id, station_id: stationId };
}

function ofStation(id: string): Caused {
  return { resource_id: id, station_id: id };
}

function ofAlert(id: string, stationId: string | undefined): Caused {
  return { resource_id: id, station_id: stationId ?? null };
}

/**
 * Causes an event by the commands that lead to it.
 * @throws ServiceError when the city lacks what these commands need
 */
export async function causeEvent(
  context: CommandContext,
  acts: CityActs,
  name: DeliveryName,
  stationId: string | undefined,
): Promise<SandboxEvent> {
  const caused = await causes[name](acts, stationId, context);
  return { event: name, ...caused, steps: acts.steps };
}
