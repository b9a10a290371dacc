import type { Api } from "../core/api.ts";
import type { Call } from "../core/call.ts";
import type { List } from "../core/list.ts";
import type { CallOptions } from "../options.ts";
import { routes } from "../routes.generated.ts";
import type { Ride, RideListQuery } from "../wire.generated.ts";

/** Ways of bikes from start to end. Scope `rides:read`. */
export class Rides {
  readonly #api: Api;

  /** @internal */
  constructor(api: Api) {
    this.#api = api;
  }

  /** Rides, newest first. */
  list(query?: RideListQuery, options?: CallOptions): List<Ride> {
    return this.#api.list(routes.rides.list, query, options);
  }

  /** One ride by its id. Throws `NotFoundError` when there is none. */
  get(id: string, options?: CallOptions): Call<Ride> {
    return this.#api.call({ route: routes.rides.get, id }, options);
  }
}
