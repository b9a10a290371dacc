import type { BatchResults, RideEnd, RideStart, Threshold } from "@bikeshare/contract";
import { serviceError, ServiceError } from "@bikeshare/rules";
import { endAlerts, upsertAlerts } from "../city/alerts/service.ts";
import { reportBikes } from "../city/fleet/bike-commands.ts";
import { createReservation } from "../city/fleet/create-reservation.ts";
import { cancelRides, endRides } from "../city/fleet/finish-rides.ts";
import { correctRides } from "../city/fleet/past-rides.ts";
import { cancelReservation, expireReservations } from "../city/fleet/reservation-commands.ts";
import { startRides } from "../city/fleet/start-rides.ts";
import { bringStationsOnline, takeStationsOffline, upsertStations } from "../city/fleet/station-commands.ts";
import type { CommandContext } from "../command-context.ts";
import { jsonField } from "../storage/lists/page.ts";
import { findBikeOfReservation, type FreeBike, listFreeBikes, listStationIds } from "./queries.ts";

/*
 * The things that happen in a sandbox's made-up city on request: rides, reservations, reports, alerts and outages. Where a
 * parameter names a station, undefined means any station, unless the method says otherwise.
 */

/** The length of a ride that is started and ended in one step: a usual one. */
const RIDE_MS = 8 * 60_000;
/** Free bikes among which one is chosen at random. Too low: tests that run at once choose the same bike. */
const CANDIDATES = 20;
/** Maximum number of bikes that are taken from a station, or brought to it. */
const MAX_TAKEN = 100;
/** Maximum tries to get a bike while others take the chosen ones first. */
const MAX_TRIES = 5;

/** A ride that was started, or a reservation that was made. */
export interface RideOrReservation {
  /** The id of the ride or reservation. */
  readonly id: string;
  readonly bikeId: string;
  /** The station at which the bike stood. */
  readonly stationId: string;
}

/**
 * Waits for an act that no caller requested, such as the end of a ride that is over. Ignores a refusal: a city refuses when
 * a test has taken all stations offline, and a sandbox refuses when too many acts wait. Neither is a failure of the service,
 * and the act is tried again later.
 * @throws every error other than a ServiceError
 */
export async function ignoringRefusal(act: Promise<unknown>): Promise<void> {
  await act.catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
  });
}

/** Carries out commands in a sandbox's city, as the operator and as the partner would, and notes each in `steps`. */
export class CityActs {
  readonly systemId: string;
  readonly #context: CommandContext;
  readonly #partnerId: string;
  /** What was done, in order. */
  readonly steps: string[] = [];

  constructor(
    context: CommandContext,
    { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string },
  ) {
    this.#context = context;
    this.systemId = systemId;
    this.#partnerId = partnerId;
  }

  /**
   * Returns a random free bike.
   * @throws ServiceError `no_bike_available`; `not_found` when there is no such station; `station_offline`
   */
  async freeBike(stationId?: string): Promise<FreeBike> {
    const { db } = this.#context;
    const bikes = await listFreeBikes(db, this.systemId, stationId ?? null, CANDIDATES);
    if (bikes.length > 0) return this.#pick(bikes);
    if (stationId !== undefined) await this.#requireOnline(stationId);
    throw serviceError("no_bike_available");
  }

  /**
   * Returns a random online station; the given one only when there is no other.
   * @throws ServiceError `station_offline`
   */
  async otherStation(than?: string): Promise<string> {
    const online = await listStationIds(this.#context.db, this.systemId, "online");
    const others = online.filter((id) => id !== than);
    if (online.length === 0) throw serviceError("station_offline");
    return this.#pick(others.length === 0 ? online : others);
  }

  /**
   * Starts a ride at a station.
   * @param ago how many milliseconds ago it starts; fewer if its bike was not free by then (`startRideOn`)
   */
  startRide(stationId: string | undefined, ago = 0): Promise<RideOrReservation> {
    return this.#withFreeBike(stationId, (bike) => this.startRideOn(bike, ago));
  }

  /** Does something with a random free bike, and again with another one if somebody else takes the bike first. */
  async #withFreeBike<Result>(
    stationId: string | undefined,
    act: (bike: FreeBike) => Promise<Result>,
  ): Promise<Result> {
    for (let tries = 1; ; tries++) {
      const bike = await this.freeBike(stationId);
      try {
        return await act(bike);
      } catch (error) {
        const isTaken = error instanceof ServiceError && error.code === "bike_not_available";
        if (!isTaken || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Starts a ride on a bike, `ago` milliseconds ago, but not before the bike's latest report or change. */
  async startRideOn(bike: FreeBike, ago = 0): Promise<RideOrReservation> {
    const { clock, ids } = this.#context;
    const now = clock();
    const startedAt = Math.min(now, Math.max(now - ago, bike.since.getTime() + 1));
    const id = ids.next("ride");
    const item: RideStart = { id, bike_id: bike.id, started_at: isoTime(startedAt), rider_category: "member" };
    await this.#do(`ride ${id} starts on bike ${bike.id}`, startRides(this.#context, this.systemId, [{ item }]));
    return { id, bikeId: bike.id, stationId: bike.station_id };
  }

  /**
   * Ends a ride.
   * @param from where it started: it ends at another station, if there is one
   * @param details of the end, such as the station; these take precedence
   * @returns the id of the station where it ended
   */
  async endRide(id: string, from?: string, details: Omit<RideEnd, "id"> = {}): Promise<string> {
    const end_station_id = details.end_station_id ?? (await this.otherStation(from));
    const item: RideEnd = { ...details, id, end_station_id };
    const ended = endRides(this.#context, this.systemId, [{ item }]);
    await this.#do(`ride ${id} ends at station ${end_station_id}`, ended);
    return end_station_id;
  }

  /** Starts a ride some minutes ago and ends it now. */
  async ride(stationId?: string): Promise<RideOrReservation & { readonly endStationId: string }> {
    const ride = await this.startRide(stationId, RIDE_MS);
    return { ...ride, endStationId: await this.endRide(ride.id, ride.stationId, { distance_meters: 2000 }) };
  }

  async cancelRide(id: string): Promise<void> {
    await this.#do(`ride ${id} is cancelled`, cancelRides(this.#context, this.systemId, [{ item: { id } }]));
  }

  /** Corrects a completed ride: it ended at another station than `endStationId`, if there is one. @returns that station */
  async correctRide(id: string, endStationId: string): Promise<string> {
    const end_station_id = await this.otherStation(endStationId);
    const item = { id, end_station_id };
    const corrected = correctRides(this.#context, this.systemId, [{ item }]);
    await this.#do(`ride ${id} is corrected: it ended at station ${end_station_id}`, corrected);
    return end_station_id;
  }

  /** Takes a station offline. @param summary what riders are told, in an alert; undefined: no alert opens */
  async takeOffline(id: string, summary?: string): Promise<void> {
    const item = { id, ...(summary !== undefined && { summary }) };
    await this.#do(`station ${id} goes offline`, takeStationsOffline(this.#context, this.systemId, [{ item }]));
  }

  async bringOnline(id: string): Promise<void> {
    await this.#do(
      `station ${id} comes back online`,
      bringStationsOnline(this.#context, this.systemId, [{ item: { id } }]),
    );
  }

  /** Returns a station that is offline: the given one, or any; takes one offline where none is. */
  async offlineStation(stationId: string | undefined): Promise<string> {
    const offline = await listStationIds(this.#context.db, this.systemId, "offline");
    const found = stationId === undefined ? offline[0] : offline.find((id) => id === stationId);
    if (found !== undefined) return found;
    const id = stationId ?? (await this.otherStation());
    await this.takeOffline(id);
    return id;
  }

  /** Reports another number of free docks of a station. */
  async reportDocks(id: string): Promise<void> {
    const report = (docks: number) =>
      upsertStations(this.#context, this.systemId, [{ item: { id, num_docks_available: docks } }]);
    await this.#requireKnown(id);
    const docks = Math.floor(this.#context.ids.random() * 10);
    // The station may have that number already. Then reports one more.
    const first = await report(docks);
    if (first.results[0]?.outcome === "unchanged")
      await this.#do(`station ${id} has ${docks + 1} free docks`, report(docks + 1));
    else await this.#do(`station ${id} has ${docks} free docks`, Promise.resolve(first));
  }

  /** Reports the state that a bike has or had. @param at milliseconds since 1970 */
  async reportBike(id: string, state: "available" | "non_operational", at = this.#context.clock()): Promise<void> {
    const item = { id, at: isoTime(at), vehicle_state: state };
    await this.#do(
      `bike ${id} is reported ${state} at ${item.at}`,
      reportBikes(this.#context, this.systemId, [{ item }]),
    );
  }

  /**
   * Reserves a bike for the partner.
   * @param ago how many milliseconds ago the reservation was made @param minutes for how long it holds the bike
   * @returns the reservation's id, its bike and its station
   */
  reserve(stationId: string | undefined, { ago = 0, minutes = 15 } = {}): Promise<RideOrReservation> {
    const { clock } = this.#context;
    const context = { ...this.#context, clock: () => clock() - ago };
    return this.#withFreeBike(stationId, async (bike) => {
      const request = { bike_id: bike.id, hold_minutes: minutes };
      const made = await createReservation(context, { systemId: this.systemId, partnerId: this.#partnerId, request });
      const id = jsonField(made, "id");
      this.steps.push(`bike ${bike.id} is reserved: ${id}`);
      return { id, bikeId: bike.id, stationId: bike.station_id };
    });
  }

  /**
   * Brings a station below a threshold of bikes or docks.
   * @throws ServiceError `not_found` when more than MAX_TAKEN bikes would have to be taken
   */
  async runLow(id: string, { count, fewer_than: limit }: Pick<Threshold, "count" | "fewer_than">): Promise<void> {
    if (count === "docks") return this.#reportDocksOf(id, limit - 1);
    const free = await listFreeBikes(this.#context.db, this.systemId, id, MAX_TAKEN + limit);
    // Takes all bikes but `limit - 1`.
    const taken = free.slice(limit - 1);
    if (taken.length > MAX_TAKEN) throw serviceError("not_found", "lowThreshold", { id, limit, most: MAX_TAKEN });
    for (const bike of taken) await this.startRideOn(bike);
  }

  /**
   * Brings a station back to a threshold, so that it has enough bikes or docks again.
   * @throws ServiceError as `bikesToBring` does
   */
  async recover(id: string, threshold: Pick<Threshold, "count" | "fewer_than">): Promise<void> {
    if (threshold.count === "docks") return this.#reportDocksOf(id, threshold.fewer_than);
    for (const bike of await this.bikesToBring(id, threshold)) {
      const ride = await this.startRideOn(bike, RIDE_MS);
      await this.endRide(ride.id, ride.stationId, { end_station_id: id });
    }
  }

  /**
   * Returns the bikes of other stations that a station needs to reach a threshold; none for a threshold of docks, whose
   * number is only reported.
   * @param isRunLowFirst whether `runLow` takes bikes from the station before
   * @throws ServiceError `not_found` when other stations have too few bikes, or more than MAX_TAKEN are needed
   */
  async bikesToBring(
    id: string,
    { count, fewer_than: limit }: Pick<Threshold, "count" | "fewer_than">,
    { isRunLowFirst = false }: { readonly isRunLowFirst?: boolean } = {},
  ): Promise<FreeBike[]> {
    if (count === "docks") return [];
    const { db } = this.#context;
    // At least one more than `runLow` leaves and takes: beyond that, it refuses.
    const own = (await listFreeBikes(db, this.systemId, id, limit + MAX_TAKEN)).length;
    // Leaves out the station's own bikes. The rest is enough, if other stations have enough.
    const all = await listFreeBikes(db, this.systemId, null, own + limit);
    const others = all.filter((bike) => bike.station_id !== id);
    const there = Math.min(own, isRunLowFirst ? limit - 1 : limit);
    const missing = limit - there;
    const most = Math.min(others.length, MAX_TAKEN);
    if (missing > most) throw serviceError("not_found", "highThreshold", { id, limit, most: there + most });
    return others.slice(0, missing);
  }

  /** Reports the number of free docks of a station. */
  async #reportDocksOf(id: string, docks: number): Promise<void> {
    const item = { id, num_docks_available: docks };
    await this.#do(`station ${id} has ${docks} free docks`, upsertStations(this.#context, this.systemId, [{ item }]));
  }

  async cancelReservation(id: string): Promise<void> {
    await cancelReservation(this.#context, { systemId: this.systemId, partnerId: this.#partnerId }, id);
    this.steps.push(`reservation ${id} is cancelled`);
  }

  async expireReservation(id: string): Promise<void> {
    await expireReservations(this.#context, this.systemId, [id]);
    this.steps.push(`reservation ${id} expires`);
  }

  /** Starts a ride on the bike of a reservation. @param stationId where the bike stands */
  async takeReservedBike(id: string, stationId: string): Promise<RideOrReservation> {
    const bikeId = await findBikeOfReservation(this.#context.db, this.systemId, id);
    // The reservation has just changed the bike, so the ride starts now.
    return this.startRideOn({ id: bikeId, station_id: stationId, since: new Date(this.#context.clock()) });
  }

  /** Opens an alert about a station, or without a station. @returns the alert's id */
  async openAlert(stationId: string | undefined): Promise<string> {
    if (stationId !== undefined) await this.#requireKnown(stationId);
    const id = this.#context.ids.next("alert");
    const item = {
      id,
      type: "other" as const,
      summary: "Works beside the station",
      station_ids: stationId === undefined ? [] : [stationId],
    };
    await this.#do(`alert ${id} opens`, upsertAlerts(this.#context, this.systemId, [{ item }]));
    return id;
  }

  async endAlert(id: string): Promise<void> {
    await this.#do(`alert ${id} ends`, endAlerts(this.#context, this.systemId, [{ item: { id } }]));
  }

  /** Checks that a station is online. @throws ServiceError `not_found`, or `station_offline` */
  async #requireOnline(stationId: string): Promise<void> {
    await this.#requireKnown(stationId);
    const online = await listStationIds(this.#context.db, this.systemId, "online");
    if (!online.includes(stationId)) throw serviceError("station_offline");
  }

  /** Checks that a station exists and is online or offline. @throws ServiceError `not_found` */
  async #requireKnown(stationId: string): Promise<void> {
    const { db } = this.#context;
    const known = await Promise.all([
      listStationIds(db, this.systemId, "online"),
      listStationIds(db, this.systemId, "offline"),
    ]);
    if (!known.flat().includes(stationId)) throw serviceError("not_found", "namedStation", { id: stationId });
  }

  /** Returns one of the items at random. */
  #pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#context.ids.random() * items.length)];
    if (item === undefined) throw new Error("there is nothing to choose from");
    return item;
  }

  /** Notes a step when its command has succeeded. @throws ServiceError the error of the command */
  async #do(step: string, done: Promise<BatchResults>): Promise<void> {
    const error = (await done).results[0]?.error;
    if (error !== null && error !== undefined) throw new ServiceError(error.error, error.message);
    this.steps.push(step);
  }
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
