import type { Api } from "../core/api.ts";
import type { Call } from "../core/call.ts";
import type { List } from "../core/list.ts";
import type { CallOptions, CreateOptions } from "../options.ts";
import { routes } from "../routes.generated.ts";
import type { Reservation, ReservationExtension, ReservationListQuery, ReservationRequest } from "../wire.generated.ts";

/** Bikes held for your riders. Scopes `reservations:read` and `reservations:write`. */
export class Reservations {
  readonly #api: Api;

  /** @internal */
  constructor(api: Api) {
    this.#api = api;
  }

  /** Your reservations, newest first. */
  list(query?: ReservationListQuery, options?: CallOptions): List<Reservation> {
    return this.#api.list(routes.reservations.list, query, options);
  }

  /** One reservation by its id. Throws `NotFoundError` when there is none. */
  get(id: string, options?: CallOptions): Call<Reservation> {
    return this.#api.call({ route: routes.reservations.get, id }, options);
  }

  /**
   * Holds a bike: any of a station (`station_id`) or one (`bike_id`). Sent again after a failure, it still holds one bike
   * only. Throws `ConflictError` when none can be held; its `code` says why.
   */
  create(request: ReservationRequest, options?: CreateOptions): Call<Reservation> {
    return this.#api.call({ route: routes.reservations.create, body: request }, options);
  }

  /**
   * Holds the bike for minutes more than it is held now. Sent again after a failure, it still adds them once. Throws
   * `ConflictError` when the reservation has ended, or would last too long in all; its `code` says which.
   */
  extend(id: string, request: ReservationExtension, options?: CreateOptions): Call<Reservation> {
    return this.#api.call({ route: routes.reservations.extend, id, body: request }, options);
  }

  /**
   * Gives a bike back. To cancel what is cancelled changes nothing and gives the same. Throws `ConflictError` when the
   * reservation was fulfilled or has expired.
   */
  cancel(id: string, options?: CallOptions): Call<Reservation> {
    return this.#api.call({ route: routes.reservations.cancel, id }, options);
  }
}
