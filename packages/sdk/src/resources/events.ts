import type { Api } from "../core/api.ts";
import type { Call } from "../core/call.ts";
import type { List } from "../core/list.ts";
import type { CallOptions } from "../options.ts";
import { routes } from "../routes.generated.ts";
import type { EventListQuery, EventRecord } from "../wire.generated.ts";

/** What happened in the last 30 days. Scope `events:read`, and the read scope of what an event tells of. */
export class Events {
  readonly #api: Api;

  /** @internal */
  constructor(api: Api) {
    this.#api = api;
  }

  /**
   * Events, oldest first. A checkpoint of this list is the id of the last event given out: it holds as long as the event
   * is kept.
   */
  list(query?: EventListQuery, options?: CallOptions): List<EventRecord> {
    return this.#api.list(routes.events.list, query, options, true);
  }

  /**
   * The events since a checkpoint: to catch up after you were down. Each is given once, oldest first; `checkpoint()` of
   * the walk or the list is what to keep.
   *
   * @param checkpoint the id of the last event you have seen; undefined, or null as a database has it, begins with the
   *   oldest that is kept
   * @throws CheckpointLostError in the walk, when that event is no longer kept: read the resources anew, then go on
   *   without a checkpoint
   * @example for await (const event of client.events.since(await load())) await save(handle(event), event.id);
   */
  since(checkpoint: string | null | undefined, query?: SinceQuery, options?: CallOptions): List<EventRecord> {
    return this.list({ ...query, after: checkpoint ?? undefined }, options);
  }

  /** One event by its id. Throws `NotFoundError` when it is not kept or the key may not see it. */
  get(id: string, options?: CallOptions): Call<EventRecord> {
    return this.#api.call({ route: routes.events.get, id }, options);
  }
}

/** Which events, and how many a page. */
export type SinceQuery = Pick<EventListQuery, "event" | "limit">;
