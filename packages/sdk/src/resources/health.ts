import type { Api } from "../core/api.ts";
import type { Call } from "../core/call.ts";
import type { CallOptions } from "../options.ts";
import { routes } from "../routes.generated.ts";
import type { Health } from "../wire.generated.ts";

/** Whether the service is well. Needs no key, and does not count for its limit. */
export class ServiceHealth {
  readonly #api: Api;

  /** @internal */
  constructor(api: Api) {
    this.#api = api;
  }

  /** Whether it is alive. */
  live(options?: CallOptions): Call<Health> {
    return this.#api.call({ route: routes.health.live }, options);
  }

  /** Whether it can answer requests. Throws `ServerError` while it cannot. */
  ready(options?: CallOptions): Call<Health> {
    return this.#api.call({ route: routes.health.ready }, options);
  }
}
