import type { Api } from "../core/api.ts";
import type { Call } from "../core/call.ts";
import type { List } from "../core/list.ts";
import type { CallOptions } from "../options.ts";
import { routes } from "../routes.generated.ts";
import type { Bike, BikeListQuery } from "../wire.generated.ts";

/** Bikes, and other vehicles shared the same way. Scope `bikes:read`. */
export class Bikes {
  readonly #api: Api;

  /** @internal */
  constructor(api: Api) {
    this.#api = api;
  }

  /** Bikes by id. */
  list(query?: BikeListQuery, options?: CallOptions): List<Bike> {
    return this.#api.list(routes.bikes.list, query, options);
  }

  /** One bike by its id. Throws `NotFoundError` when there is none. */
  get(id: string, options?: CallOptions): Call<Bike> {
    return this.#api.call({ route: routes.bikes.get, id }, options);
  }
}
