import type { Api } from "../core/api.ts";
import type { List } from "../core/list.ts";
import type { Route } from "../core/route.ts";
import type { CallOptions } from "../options.ts";

/** What ids of one kind mean. Scope `stations:read`. */
export class Descriptions<Item extends { readonly id: string }, Query extends object> {
  readonly #api: Api;
  readonly #route: Route;

  /** @internal */
  constructor(api: Api, route: Route) {
    this.#api = api;
    this.#route = route;
  }

  /** All of them, by id. */
  list(query?: Query, options?: CallOptions): List<Item> {
    return this.#api.list(this.#route, query, options);
  }
}
