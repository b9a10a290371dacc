import type { ApiPromise } from "./core/api-promise.ts";
import type { Api } from "./core/api.ts";
import { parseCheckpoint } from "./core/list-iterator.ts";
import type { List } from "./core/list.ts";
import type { Route } from "./core/request.ts";
import type {
  DeliveryDetail,
  DeliveryListQuery,
  DeliveryRecord,
  DeliveryRecordList,
  EventListQuery,
  EventRecord,
  Flow,
  FlowList,
  FlowQuery,
  ForecastQuery,
  Health,
  Me,
  Reservation,
  ReservationExtension,
  ReservationListQuery,
  Resend,
  ReservationRequest,
  StationAt,
  StationForecast,
  StationHistory,
  StationHistoryQuery,
  StationListQuery,
  StationTypical,
  SummaryQuery,
  SystemSummary,
} from "./json-types.generated.ts";
import type { IdempotentRequestOptions, RequestOptions } from "./options.ts";
import { MAX_PAGE_SIZE, routes } from "./routes.generated.ts";

/** Resources that are listed. */
export interface ListResource<Item, Query> {
  /** Lists all resources, or those that match the query. */
  list(query?: Query, options?: RequestOptions): List<Item>;
}

/** Resources that are listed, and read by their id. */
export interface Resource<Item, Query> extends ListResource<Item, Query> {
  /** Reads one resource by its id. Throws `NotFoundError` when there is none. */
  get(id: string, options?: RequestOptions): ApiPromise<Item>;
}

/** The query of a followed list: filters, and the page size. */
export type ChangesQuery<Query> = Omit<Query, "page" | "cursor" | "updated_since" | "changes_since">;

/** Resources that are listed, read by their id, and whose changes can be followed. */
export interface FollowedResource<Item, Query> extends Resource<Item, Query> {
  /**
   * Lists every item that has changed since a checkpoint, as it is now. Without a checkpoint it lists all items. No change
   * is left out, even if items change meanwhile or clocks are wrong. An item that changed a moment ago may come again. When
   * the iteration has ended, save the `checkpoint()` of the list for the next call. A checkpoint that was saved earlier
   * continues an interrupted iteration.
   *
   * Do not filter by a field that changes: an item that no longer passes the filter is not listed when it changes.
   *
   * @param checkpoint the checkpoint that you have saved; undefined, or null as a database returns it: begin with all items
   * @throws CheckpointLostError in the iteration, when changes may be missing: begin again without a checkpoint
   * @example
   * const changes = client.bikes.changesSince(await load());
   * for await (const bike of changes) await save(bike);
   * await keep(changes.checkpoint());
   */
  changesSince(
    checkpoint: string | null | undefined,
    query?: ChangesQuery<Query>,
    options?: RequestOptions,
  ): List<Item>;
}

/** Bikes held for your riders. Scopes `reservations:read` and `reservations:write`. */
export interface Reservations extends FollowedResource<Reservation, ReservationListQuery> {
  /**
   * Reserves a bike: any bike of a station (`station_id`) or one bike (`bike_id`). A retry after a failure never reserves a
   * second bike. Throws `ConflictError` when no bike can be reserved; its `code` says why.
   */
  create(request: ReservationRequest, options?: IdempotentRequestOptions): ApiPromise<Reservation>;
  /**
   * Holds the bike for more minutes. A retry after a failure does not add them twice. Throws `ConflictError` when the
   * reservation has ended, or would last too long in total; its `code` says which.
   */
  extend(id: string, request: ReservationExtension, options?: IdempotentRequestOptions): ApiPromise<Reservation>;
  /**
   * Cancels a reservation. Cancelling a cancelled one changes nothing and returns it. Throws `ConflictError` when the
   * reservation was fulfilled or has expired.
   */
  cancel(id: string, options?: RequestOptions): ApiPromise<Reservation>;
}

/** The query of `since`: the event's name, and the page size. */
export type SinceQuery = Pick<EventListQuery, "event" | "limit">;

/**
 * Events of the last 30 days, oldest first. The key needs the scope `events:read`, and the read scope of the event's
 * resource. A checkpoint of this list is the id of the last event that was returned. It is valid as long as the event is
 * kept.
 */
export interface Events extends Resource<EventRecord, EventListQuery> {
  /**
   * Lists the events since a checkpoint, to catch up after your program was down. Each event is returned once, oldest first.
   * Save the `checkpoint()` of the iterator or the list.
   *
   * @param checkpoint the id of the last event that you have handled; `now`: begin with events from now on; undefined, or
   *   null as a database returns it: begin with the oldest event that is kept
   * @throws CheckpointLostError in the iteration, when that event is no longer kept: read the resources again, then
   *   continue without a checkpoint
   * @example for await (const event of client.events.since(await load())) await save(handle(event), event.id);
   */
  since(checkpoint: string | null | undefined, query?: SinceQuery, options?: RequestOptions): List<EventRecord>;
}

/** Deliveries to your webhooks. Scopes `deliveries:read` and `deliveries:write`. */
export interface Deliveries {
  /** Returns one page, newest first. `searched_to` is set if the search stopped before the page was full. */
  list(query?: DeliveryListQuery, options?: RequestOptions): ApiPromise<DeliveryRecordList>;
  /**
   * Iterates over all deliveries, and requests them page by page.
   * @example for await (const { id, explanation } of client.deliveries.all({ status: "unsuccessful" })) console.log(id, explanation);
   */
  all(
    query?: Omit<DeliveryListQuery, "cursor">,
    options?: RequestOptions,
  ): AsyncGenerator<DeliveryRecord, void, undefined>;
  /** Returns a delivery with its attempts, why they failed, and what to do. Throws `NotFoundError` when there is none. */
  get(id: string, options?: RequestOptions): ApiPromise<DeliveryDetail>;
  /**
   * Sends a delivery again, now. A retry of this call after a failure does not send it twice. Throws `ConflictError` when
   * the delivery's webhook is paused or removed, when it is a test delivery, or when its content is no longer stored.
   */
  resend(id: string, options?: IdempotentRequestOptions): ApiPromise<Resend>;
}

/** Stations. Scope `stations:read`; past states, usual days and forecasts need `history:read`. */
export interface Stations extends FollowedResource<StationAt, StationListQuery> {
  /** Returns a station as it was at an instant (RFC 3339). Throws `NotFoundError` when it was not known then. */
  getAt(id: string, at: string, options?: RequestOptions): ApiPromise<StationAt>;
  /**
   * Returns a station's history: bikes and docks by steps of time, and for how long it was empty, full or offline. Scope
   * `history:read`. Without a query it covers the last day by quarters of an hour.
   */
  history(id: string, query?: StationHistoryQuery, options?: RequestOptions): ApiPromise<StationHistory>;
  /**
   * Returns the station's usual day, by kind of day and quarter of an hour. `is_ready`: false until enough days are known.
   */
  typical(id: string, options?: RequestOptions): ApiPromise<StationTypical>;
  /** Returns the chance that a bike and a dock will be free later, and how accurate such forecasts were at the station. */
  forecast(id: string, query?: ForecastQuery, options?: RequestOptions): ApiPromise<StationForecast>;
}

/** Rides between pairs of stations. Scope `history:read`. */
export interface Flows {
  /** Returns one page, and how many flows were left out because they are rare. */
  list(query?: FlowQuery, options?: RequestOptions): ApiPromise<FlowList>;
  /**
   * Iterates over all flows, and requests them page by page.
   * @example for await (const flow of client.flows.all({ from: "2026-03-01", to: "2026-03-31" })) console.log(flow);
   */
  all(query?: Omit<FlowQuery, "cursor">, options?: RequestOptions): AsyncGenerator<Flow, void, undefined>;
}

/** Sums over the whole system. Scope `history:read`. */
export interface WholeSystem {
  /** Returns, by steps of time, rides, bikes by state, and how many stations were empty, full or offline. */
  summary(query?: SummaryQuery, options?: RequestOptions): ApiPromise<SystemSummary>;
}

/** Your key: its scopes, limits and expiry. */
export interface CurrentKey {
  /**
   * Returns the key's id, partner, scopes and expiry, what is left of its rate limit, and the limit of reservations.
   */
  get(options?: RequestOptions): ApiPromise<Me>;
}

/** Tells whether the service works. It needs no key, and does not count towards a key's rate limit. */
export interface HealthChecks {
  /** Tells whether the service runs. */
  live(options?: RequestOptions): ApiPromise<Health>;
  /** Tells whether the service can answer requests. Throws `ServerError` while it cannot. */
  ready(options?: RequestOptions): ApiPromise<Health>;
}

/*
 * The functions below make the resources of a client (client.ts), each from its routes in routes.generated.ts.
 */

/** @param isResumedById whether the list continues after an item's id instead of a cursor, as the list of events does */
export function createListResource<Item extends { readonly id: string }, Query extends object>(
  api: Api,
  { list }: { readonly list: Route },
  isResumedById?: boolean,
): ListResource<Item, Query> {
  return { list: (query, options) => api.list(list, query, options, isResumedById) };
}

export function createResource<Item extends { readonly id: string }, Query extends object>(
  api: Api,
  route: { readonly list: Route; readonly get: Route },
  isResumedById?: boolean,
): Resource<Item, Query> {
  return {
    ...createListResource<Item, Query>(api, route, isResumedById),
    get: (id, options) => api.call({ route: route.get, id }, options),
  };
}

export function createFollowedResource<Item extends { readonly id: string }, Query extends object>(
  api: Api,
  route: { readonly list: Route; readonly get: Route },
): FollowedResource<Item, Query> {
  return {
    ...createResource<Item, Query>(api, route),
    changesSince(checkpoint, query, options) {
      // An empty `since` begins with all items.
      const start = checkpoint ? parseCheckpoint(checkpoint, true) : { since: "" };
      return api.list(route.list, query, options, false, start);
    },
  };
}

export function createReservations(api: Api): Reservations {
  const { create, extend, cancel } = routes.reservations;
  return {
    ...createFollowedResource<Reservation, ReservationListQuery>(api, routes.reservations),
    create: (body, options) => api.call({ route: create, body }, options),
    extend: (id, body, options) => api.call({ route: extend, id, body }, options),
    cancel: (id, options) => api.call({ route: cancel, id }, options),
  };
}

export function createEvents(api: Api): Events {
  const events = createResource<EventRecord, EventListQuery>(api, routes.events, true);
  return {
    ...events,
    since: (checkpoint, query, options) => events.list({ ...query, after: checkpoint ?? undefined }, options),
  };
}

export function createStations(api: Api): Stations {
  const { get, history, typical, forecast } = routes.stations;
  return {
    ...createFollowedResource<StationAt, StationListQuery>(api, routes.stations),
    getAt: (id, at, options) => api.call({ route: get, id, query: { at } }, options),
    history: (id, query = {}, options) => api.call({ route: history, id, query: { ...query } }, options),
    typical: (id, options) => api.call({ route: typical, id }, options),
    forecast: (id, query = {}, options) => api.call({ route: forecast, id, query: { ...query } }, options),
  };
}

/**
 * Returns the methods of the two lists that have no page numbers (flows and deliveries): `list` for one page, `all` for all
 * items.
 */
function createPages<
  Item,
  Envelope extends { readonly data: Item[]; readonly next_cursor?: string },
  Query extends object,
>(api: Api, route: Route) {
  const list = (query?: Query, options?: RequestOptions): ApiPromise<Envelope> =>
    api.call({ route, query: { ...query } }, options);
  return {
    list,
    async *all(query?: Omit<Query, "cursor">, options?: RequestOptions): AsyncGenerator<Item, void, undefined> {
      for (let cursor: string | undefined; ;) {
        const page: Envelope = await api.call({ route, query: { limit: MAX_PAGE_SIZE, ...query, cursor } }, options);
        yield* page.data;
        cursor = page.next_cursor;
        if (!cursor) return;
      }
    },
  };
}

export function createFlows(api: Api): Flows {
  return createPages<Flow, FlowList, FlowQuery>(api, routes.flows.list);
}

export function createDeliveries(api: Api): Deliveries {
  const { list, get, resend } = routes.deliveries;
  return {
    ...createPages<DeliveryRecord, DeliveryRecordList, DeliveryListQuery>(api, list),
    get: (id, options) => api.call({ route: get, id }, options),
    resend: (id, options) => api.call({ route: resend, id }, options),
  };
}

export function createWholeSystem(api: Api): WholeSystem {
  const { summary } = routes.system;
  return { summary: (query = {}, options) => api.call({ route: summary, query: { ...query } }, options) };
}

export function createCurrentKey(api: Api): CurrentKey {
  return { get: (options) => api.call({ route: routes.me.get }, options) };
}

export function createHealthChecks(api: Api): HealthChecks {
  const { live, ready } = routes.health;
  return {
    live: (options) => api.call({ route: live }, options),
    ready: (options) => api.call({ route: ready }, options),
  };
}
