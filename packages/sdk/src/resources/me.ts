import type { Api } from "../core/api.ts";
import type { Call } from "../core/call.ts";
import type { CallOptions } from "../options.ts";
import { routes } from "../routes.generated.ts";
import type { Me } from "../wire.generated.ts";

/** What the service knows of your key. */
export class MyKey {
  readonly #api: Api;

  /** @internal */
  constructor(api: Api) {
    this.#api = api;
  }

  /** The key's id, partner, scopes, expiry, and what is left of its limit. */
  get(options?: CallOptions): Call<Me> {
    return this.#api.call({ route: routes.me.get }, options);
  }
}
