import type { Api } from "../core/api.ts";
import type { Call } from "../core/call.ts";
import type { List } from "../core/list.ts";
import type { CallOptions } from "../options.ts";
import { routes } from "../routes.generated.ts";
import type { Station, StationListQuery } from "../wire.generated.ts";

/** Where bikes are rented and returned. Scope `stations:read`. */
export class Stations {
  readonly #api: Api;

  /** @internal */
  constructor(api: Api) {
    this.#api = api;
  }

  /** Stations by id. */
  list(query?: StationListQuery, options?: CallOptions): List<Station> {
    return this.#api.list(routes.stations.list, query, options);
  }

  /** One station by its id. Throws `NotFoundError` when there is none. */
  get(id: string, options?: CallOptions): Call<Station> {
    return this.#api.call({ route: routes.stations.get, id }, options);
  }
}
