import type { routes } from "../routes.generated.ts";
import type {
  Bike,
  BikeListQuery,
  EventListQuery,
  EventRecord,
  ListEnvelope,
  Me,
  Reservation,
  ReservationListQuery,
  Ride,
  RideListQuery,
  Station,
  StationListQuery,
} from "../wire.generated.ts";
import type { FakeKey, Idempotency } from "./access.ts";
import { type City, type RecordedEvent, regionsIn, vehicleTypesIn, visibleEvents } from "./city.ts";
import { endpoints } from "./contract.generated.ts";
import { type Answer, serviceError } from "./errors.ts";
import { shownBike } from "./fleet.ts";
import { pageOf } from "./lists.ts";
import { readBody, type Values } from "./parameters.ts";
import { activeOf, cancelReservation, createReservation, extendReservation } from "./reservations.ts";
import { issueText, type RateDecision, readBoundingBox } from "./rules.ts";

type Routes = typeof routes;

/** Every operation of the interface: `GET /v1/rides/:id`. */
export type Operation = { [Noun in keyof Routes]: RouteOf<Routes[Noun]> }[keyof Routes];
type RouteOf<Verbs> = {
  [Verb in keyof Verbs]: Verbs[Verb] extends readonly [infer Name, ...unknown[]] ? Name : never;
}[keyof Verbs];

/** Those that ask for no key. */
export type OpenOperation = "GET /healthz" | "GET /readyz";

/** A request that was let in and whose parameters are right. */
export interface Asked {
  readonly city: City;
  readonly idempotency: Idempotency;
  readonly key: FakeKey;
  readonly rate: RateDecision;
  /** The id in the path; empty where the path has none. */
  readonly id: string;
  readonly query: Values;
  readonly path: string;
  readonly headers: Headers;
  /** The JSON value sent. */
  readonly body: unknown;
}

/** What each operation answers with. All that the contract has, or this does not compile. */
export const operations: { readonly [Name in Exclude<Operation, OpenOperation>]: (asked: Asked) => Answer } = {
  "GET /v1/stations": ({ city, query }) =>
    listed(
      "stations",
      query,
      [...city.stations.values()].map(({ shown }) => shown),
      stationFilters,
    ),
  "GET /v1/stations/:id": ({ city, id }) => found("station", city.stations.get(id)?.shown),
  "GET /v1/vehicle_types": ({ city, query }) => listed("vehicle_types", query, vehicleTypesIn(city)),
  "GET /v1/regions": ({ city, query }) => listed("regions", query, regionsIn(city)),
  "GET /v1/rides": ({ city, query }) => listed("rides", query, [...city.rides.values()], rideFilters, "started_at"),
  "GET /v1/rides/:id": ({ city, id }) => found("ride", city.rides.get(id)),
  "GET /v1/bikes": ({ city, query }) => listed("bikes", query, [...city.bikes.values()].map(shownBike), bikeFilters),
  "GET /v1/bikes/:id": ({ city, id }) => {
    const bike = city.bikes.get(id);
    return found("bike", bike && shownBike(bike));
  },
  "GET /v1/reservations": ({ city, key, query }) =>
    listed(`reservations of ${key.partner.id}`, query, ownReservations(city, key), reservationFilters, "created_at"),
  "GET /v1/reservations/:id": ({ city, key, id }) =>
    found(
      "reservation",
      ownReservations(city, key).find((each) => each.id === id),
    ),
  "POST /v1/reservations": ({ city, idempotency, key, path, headers, body }) => {
    const request = readBody(body, endpoints["POST /v1/reservations"]?.body ?? {}, ({ station_id, bike_id }) => {
      if ((station_id === undefined) !== (bike_id === undefined)) return [];
      return [`station_id ${issueText(station_id === undefined ? "stationOrBike" : "stationAndBike")}`];
    });
    return idempotency.once(`${key.partner.id} ${path}`, headers.get("idempotency-key"), body, () => {
      const made = createReservation(city, key.partner.id, request);
      return { ...answer(made, 201), headers: { location: `/v1/reservations/${made.id}` } };
    });
  },
  "PATCH /v1/reservations/:id": ({ city, idempotency, key, id, path, headers, body }) => {
    const { hold_minutes } = readBody(body, endpoints["PATCH /v1/reservations/:id"]?.body ?? {});
    return idempotency.once(`${key.partner.id} ${path}`, headers.get("idempotency-key"), body, () =>
      answer(extendReservation(city, key.partner.id, id, Number(hold_minutes))),
    );
  },
  "DELETE /v1/reservations/:id": ({ city, key, id }) => answer(cancelReservation(city, key.partner.id, id)),
  "GET /v1/events": (asked) => answer(eventPage(asked)),
  "GET /v1/events/:id": ({ city, key, id }) =>
    found("event", visibleEvents(city, key.partner.id, key.scopes).find(({ shown }) => shown.id === id)?.shown),
  "GET /v1/me": ({ city, key: { id: key_id, partner, scopes, expires_at }, rate }) =>
    answer({
      key_id,
      partner,
      scopes: [...scopes],
      expires_at: expires_at?.toISOString() ?? null,
      rate_limit: { limit: rate.limit, remaining: rate.remaining, reset_seconds: rate.resetSeconds },
      reservations: { limit: city.maxReservations, active: activeOf(city, partner.id).length },
    } satisfies Me),
};

/** A successful answer. */
export function answer(body: object, status = 200): Answer {
  return { status, headers: {}, body: JSON.stringify(body) };
}

function found(what: "station" | "ride" | "bike" | "reservation" | "event", item: object | undefined): Answer {
  if (item === undefined) throw serviceError("not_found", what);
  return answer(item);
}

/** Whether an item passes a filter of a value, by the filter's name. */
type Filters<Item> = Readonly<Record<string, (item: Item, value: string) => boolean>>;

/** A page of a list that is ordered by id, or newest first by one of its instants. */
function listed<Item extends { readonly id: string }>(
  name: string,
  query: Values,
  all: readonly Item[],
  filters: Filters<Item> = {},
  newestFirstBy?: keyof Item,
): Answer {
  const positionOf = (item: Item) => [newestFirstBy === undefined ? "" : String(item[newestFirstBy]), item.id] as const;
  const items = () => passing(all, filters, query);
  return answer(pageOf({ name, positionOf, isNewestFirst: newestFirstBy !== undefined, items }, query));
}

/** Keeps the items that pass every filter given. */
function passing<Item>(items: readonly Item[], filters: Filters<Item>, query: Values): readonly Item[] {
  const given = Object.entries(filters).filter(([name]) => query[name] !== undefined);
  return items.filter((item) => given.every(([name, passes]) => passes(item, String(query[name]))));
}

function ownReservations({ reservations }: City, { partner }: FakeKey): Reservation[] {
  return [...reservations.values()].filter(({ partnerId }) => partnerId === partner.id).map(({ shown }) => shown);
}

/** Events stand in the order in which they were recorded: their number, written in so many digits, orders them. */
const POSITION_DIGITS = 12;

function eventPage({ city, key, query }: Asked): ListEnvelope<EventRecord> {
  const visible = visibleEvents(city, key.partner.id, key.scopes);
  const { data, ...paging } = pageOf<RecordedEvent>(
    {
      // What can be seen is part of the list's name: the same position in another's list would skip or repeat events.
      name: `events of ${key.partner.id} with ${key.scopes.join(" ")}`,
      positionOf: ({ position, shown }) => [String(position).padStart(POSITION_DIGITS, "0"), shown.id],
      isNewestFirst: false,
      items: (isContinued) => {
        // When the cursor was made, `after` was found; its event may be gone by now, and the list goes on.
        const id = isContinued ? undefined : query["after"];
        const after = visible.find(({ shown }) => shown.id === id);
        if (id !== undefined && after === undefined) throw serviceError("checkpoint_lost", "after", { id });
        const later = visible.filter(({ position }) => position > (after?.position ?? 0));
        return passing(later, eventFilters, query);
      },
    },
    query,
  );
  return { ...paging, data: data.map(({ shown }) => shown) };
}

/** All filters that the contract has for a list, or this does not compile. */
type FiltersOf<Item, Query> = {
  readonly [Name in Exclude<keyof Query, "page" | "limit" | "cursor">]-?: (item: Item, value: string) => boolean;
};

const equals =
  <Field extends string>(field: Field) =>
  (item: { readonly [Name in Field]: string | null }, value: string) =>
    item[field] === value;

const isSince =
  <Field extends string>(field: Field) =>
  (item: { readonly [Name in Field]: string }, value: string) =>
    Date.parse(item[field]) >= Date.parse(value);

const stationFilters: FiltersOf<Station, StationListQuery> = {
  status: equals("status"),
  region_id: equals("region_id"),
  bbox: isWithin,
  updated_since: isSince("updated_at"),
};

const bikeFilters: FiltersOf<Bike, BikeListQuery> = {
  vehicle_state: equals("vehicle_state"),
  station_id: equals("station_id"),
  bbox: isWithin,
  updated_since: isSince("updated_at"),
};

const rideFilters: FiltersOf<Ride, RideListQuery> = {
  status: equals("status"),
  bike_id: equals("bike_id"),
  station_id: ({ start_station_id, end_station_id }, value) => start_station_id === value || end_station_id === value,
  started_after: isSince("started_at"),
  started_before: (ride, value) => !isSince("started_at")(ride, value),
  updated_since: isSince("updated_at"),
};

const reservationFilters: FiltersOf<Reservation, ReservationListQuery> = {
  status: equals("status"),
  rider_ref: equals("rider_ref"),
  bike_id: equals("bike_id"),
  ride_id: equals("ride_id"),
  updated_since: isSince("updated_at"),
};

/** `after` is a position rather than a filter. */
const eventFilters: FiltersOf<RecordedEvent, Omit<EventListQuery, "after">> = {
  event: ({ shown }, value) => shown.event === value,
};

/** What has no location is in no rectangle. */
function isWithin({ lat, lon }: Pick<Bike, "lat" | "lon">, text: string): boolean {
  const box = readBoundingBox(text);
  if (typeof box === "string" || lat === null || lon === null) return false;
  const { west, south, east, north } = box;
  const isInLongitude = west <= east ? lon >= west && lon <= east : lon >= west || lon <= east;
  return isInLongitude && lat >= south && lat <= north;
}
