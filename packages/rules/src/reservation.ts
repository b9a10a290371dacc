import { DEFAULT_HOLD_MINUTES, DEFAULT_MAX_RESERVATIONS, MAX_TOTAL_HOLD_MINUTES } from "@bikeshare/contract/pure";
import { isFree, type TakeableBike } from "./bike.ts";
import { compareIds } from "./paging.ts";
import { serviceError } from "./service-error.ts";

/*
 * The rules of reservations that the service and the SDK's fake share: transitions, expiry, and the choice of a bike.
 */

export type ReservationStatus = "active" | "fulfilled" | "cancelled" | "expired";

/** The commands on a reservation. */
export type ReservationCommand = "fulfil" | "cancel" | "expire";

/**
 * The transitions of a reservation: `active` → `fulfilled` | `cancelled` | `expired`, all final. For each state and
 * command: the next state; `same` when a cancelled one is cancelled again, or an expired one expired again; `conflict` when
 * the command is impossible.
 */
export const reservationTransitions = {
  active: { fulfil: "fulfilled", cancel: "cancelled", expire: "expired" },
  fulfilled: { fulfil: "conflict", cancel: "conflict", expire: "conflict" },
  cancelled: { fulfil: "conflict", cancel: "same", expire: "conflict" },
  expired: { fulfil: "conflict", cancel: "conflict", expire: "same" },
} as const satisfies Record<ReservationStatus, Record<ReservationCommand, ReservationStatus | "same" | "conflict">>;

/** The event of each way in which a reservation ends. */
export const reservationOutcomeEvents = {
  fulfilled: "reservation.fulfilled",
  cancelled: "reservation.cancelled",
  expired: "reservation.expired",
} as const satisfies Record<Exclude<ReservationStatus, "active">, `reservation.${string}`>;

/** The facts that decide how long a reservation holds its bike. */
export interface HeldReservation {
  readonly status: ReservationStatus;
  readonly created_at: Date;
  readonly expires_at: Date;
}

/** Returns when a new reservation expires. */
export function expiryOf(createdAt: Date, holdMinutes: number = DEFAULT_HOLD_MINUTES): Date {
  return new Date(createdAt.getTime() + holdMinutes * 60_000);
}

/**
 * Returns when an extended reservation expires. With all its extensions it lasts at most `MAX_TOTAL_HOLD_MINUTES`.
 * @throws ServiceError `reservation_not_active` when it has ended; `hold_limit_reached`
 */
export function extendedExpiry(held: HeldReservation, minutes: number, now: Date): Date {
  const status = statusAt(held, now);
  if (status !== "active") throw serviceError("reservation_not_active", "extend", { status });
  const latest = held.created_at.getTime() + MAX_TOTAL_HOLD_MINUTES * 60_000;
  const left = Math.floor((latest - held.expires_at.getTime()) / 60_000);
  if (minutes > left) throw serviceError("hold_limit_reached", "left", { limit: MAX_TOTAL_HOLD_MINUTES, left });
  return new Date(held.expires_at.getTime() + minutes * 60_000);
}

/**
 * Tells whether cancelling a reservation changes it: false when it is cancelled already.
 * @throws ServiceError `reservation_not_active` when it was fulfilled or has expired
 */
export function mayCancel(status: ReservationStatus): boolean {
  const next = reservationTransitions[status].cancel;
  if (next === "conflict") throw serviceError("reservation_not_active", "cancel", { status });
  return next !== "same";
}

/**
 * Returns the status as of an instant. From `expires_at` on, an active reservation counts as expired, even before background
 * work has written that. The SQL statements that read and end reservations follow the same rule.
 */
export function statusAt(
  { status, expires_at }: { readonly status: ReservationStatus; readonly expires_at: Date },
  instant: Date,
): ReservationStatus {
  return status === "active" && instant >= expires_at ? "expired" : status;
}

/** Returns how many active reservations a partner may have. @param own the partner's own limit; null: the default */
export function reservationLimit(own: number | null): number {
  return own ?? DEFAULT_MAX_RESERVATIONS;
}

/** Rejects a station where riders cannot rent a bike. @throws ServiceError `station_offline` */
export function checkRents(station: { readonly status: string; readonly is_renting: boolean }): void {
  if (station.status !== "online" || !station.is_renting) throw serviceError("station_offline");
}

/**
 * Rejects a bike that is not free, or is not of the wanted type.
 * @param vehicleTypeId null: any type
 * @throws ServiceError `bike_not_available`
 */
export function checkTakeable(
  bike: TakeableBike & { readonly vehicle_type_id: string | null },
  vehicleTypeId: string | null,
): void {
  if (!isFree(bike)) throw serviceError("bike_not_available", "state", { state: bike.vehicle_state });
  if (vehicleTypeId !== null && bike.vehicle_type_id !== vehicleTypeId) {
    throw serviceError("bike_not_available", "vehicleType");
  }
}

/** The properties of the bike that is wanted. */
export interface WantedBike {
  readonly stationId: string;
  /** Null: any type. */
  readonly vehicleTypeId: string | null;
}

/** A bike that may be chosen. */
export interface ChoosableBike extends TakeableBike {
  readonly id: string;
  readonly station_id: string | null;
  readonly vehicle_type_id: string | null;
  readonly current_range_meters: number | null;
}

/** Returns the wanted free bike with the longest range; the id breaks ties. Undefined: there is none. */
export function chooseBike<Bike extends ChoosableBike>(bikes: Iterable<Bike>, wanted: WantedBike): Bike | undefined {
  const suited = [...bikes].filter(
    (bike) =>
      isFree(bike) &&
      bike.station_id === wanted.stationId &&
      (wanted.vehicleTypeId === null || bike.vehicle_type_id === wanted.vehicleTypeId),
  );
  // A bike with an unknown range comes last.
  const range = (bike: Bike) => bike.current_range_meters ?? -1;
  return suited.sort((a, b) => range(b) - range(a) || compareIds(a.id, b.id))[0];
}
