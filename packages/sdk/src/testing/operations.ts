import type {
  Bike,
  BikeListQuery,
  EventListQuery,
  EventRecord,
  Me,
  Reservation,
  ReservationListQuery,
  Ride,
  RideListQuery,
  Station,
  StationListQuery,
} from "../json-types.generated.ts";
import type { routes } from "../routes.generated.ts";
import type { FakeKey, Idempotency } from "./access.ts";
import { type Answer, answer } from "./answer.ts";
import { type City, regionsIn, vehicleTypesIn, visibleEvents } from "./city.ts";
import { endpoints } from "./contract.generated.ts";
import { shownBike } from "./fleet.ts";
import { filtered, pageOf } from "./lists.ts";
import { readBody, type Values } from "./parameters.ts";
import { activeOf, cancelReservation, createReservation, extendReservation } from "./reservations.ts";
import { type Filter, issueText, listFilters, type RateDecision, serviceError } from "./rules.ts";

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
  "GET /v1/stations": (asked) => listed(asked, "stations", stationsOf(asked)),
  "GET /v1/stations/:id": (asked) => found(asked, "station", stationsOf(asked)),
  "GET /v1/vehicle_types": (asked) => listed(asked, "vehicle_types", vehicleTypesIn(asked.city)),
  "GET /v1/regions": (asked) => listed(asked, "regions", regionsIn(asked.city)),
  "GET /v1/rides": (asked) => listed(asked, "rides", ridesOf(asked), "started_at"),
  "GET /v1/rides/:id": (asked) => found(asked, "ride", ridesOf(asked)),
  "GET /v1/bikes": (asked) => listed(asked, "bikes", bikesOf(asked)),
  "GET /v1/bikes/:id": (asked) => found(asked, "bike", bikesOf(asked)),
  "GET /v1/reservations": (asked) => listed(asked, "reservations", reservationsOf(asked), "created_at"),
  "GET /v1/reservations/:id": (asked) => found(asked, "reservation", reservationsOf(asked)),
  "POST /v1/reservations": (asked) =>
    once(asked, "POST /v1/reservations", stationOrBike, (request) => {
      const made = createReservation(asked.city, asked.key.partner.id, request);
      return { ...answer(made, 201), headers: { location: `/v1/reservations/${made.id}` } };
    }),
  "PATCH /v1/reservations/:id": (asked) =>
    once(asked, "PATCH /v1/reservations/:id", undefined, ({ hold_minutes }) =>
      answer(extendReservation(asked.city, asked.key.partner.id, asked.id, Number(hold_minutes))),
    ),
  "DELETE /v1/reservations/:id": ({ city, key, id }) => answer(cancelReservation(city, key.partner.id, id)),
  "GET /v1/events": eventPage,
  "GET /v1/events/:id": (asked) =>
    found(
      asked,
      "event",
      eventsOf(asked).map(({ shown }) => shown),
    ),
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

const stationsOf = ({ city }: Asked) => [...city.stations.values()].map(({ shown }) => shown);
const bikesOf = ({ city }: Asked) => [...city.bikes.values()].map(shownBike);
const ridesOf = ({ city }: Asked) => [...city.rides.values()];
const reservationsOf = ({ city, key }: Asked) =>
  [...city.reservations.values()].filter(({ partnerId }) => partnerId === key.partner.id).map(({ shown }) => shown);
const eventsOf = ({ city, key }: Asked) => visibleEvents(city, key.partner.id, key.scopes);

type Resource = "station" | "ride" | "bike" | "reservation" | "event";

function found({ id }: Asked, resource: Resource, items: readonly { readonly id: string }[]): Answer {
  const item = items.find((each) => each.id === id);
  if (item === undefined) throw serviceError("not_found", resource);
  return answer(item);
}

/** A filter for each parameter of a list that is not its paging. */
type FiltersOf<Item, Query> = {
  readonly [Name in Exclude<keyof Query, "page" | "limit" | "cursor" | "after">]-?: Filter<keyof Item & string>;
};

/** The rules have all filters that the contract has for a list, or this does not compile. */
const contractFilters: {
  readonly stations: FiltersOf<Station, StationListQuery>;
  readonly bikes: FiltersOf<Bike, BikeListQuery>;
  readonly rides: FiltersOf<Ride, RideListQuery>;
  readonly reservations: FiltersOf<Reservation, ReservationListQuery>;
  readonly events: FiltersOf<EventRecord, EventListQuery>;
} = listFilters;
const filtersByList: Readonly<Record<string, Readonly<Record<string, Filter>>>> = contractFilters;

/** A page of a list that is ordered by id, or newest first by one of its instants. */
function listed<Item extends { readonly id: string }>(
  { key, query }: Asked,
  name: string,
  all: readonly Item[],
  newestFirstBy?: keyof Item,
): Answer {
  const list = {
    name,
    // Partners see their own reservations alone; everything else is the same for all.
    owner: name === "reservations" ? key.partner.id : "",
    positionOf: (item: Item) => [newestFirstBy === undefined ? "" : String(item[newestFirstBy]), item.id] as const,
    isNewestFirst: newestFirstBy !== undefined,
    items: () => filtered(all, filtersByList[name] ?? {}, query),
  };
  return answer(pageOf(list, query));
}

/** Events stand in the order in which they were recorded: their number, written in so many digits, orders them. */
const POSITION_DIGITS = 12;

function eventPage(asked: Asked): Answer {
  const { key, query } = asked;
  const visible = eventsOf(asked);
  const positions = new Map(visible.map(({ shown, position }) => [shown, position]));
  const list = {
    name: "events",
    // What the key may see is part of what a cursor is for.
    owner: `${key.partner.id} with ${key.scopes.join(" ")}`,
    positionOf: (event: EventRecord) =>
      [String(positions.get(event)).padStart(POSITION_DIGITS, "0"), event.id] as const,
    items: () => {
      // When a cursor was made, `after` was found; its event may be gone by now, and the list goes on.
      const id = query["cursor"] === undefined ? query["after"] : undefined;
      const after = visible.find(({ shown }) => shown.id === id);
      if (id !== undefined && after === undefined) throw serviceError("checkpoint_lost", "after", { id });
      const later = visible.filter(({ position }) => position > (after?.position ?? 0));
      return filtered(
        later.map(({ shown }) => shown),
        contractFilters.events,
        query,
      );
    },
  };
  return answer(pageOf(list, query));
}

/** Does what a body asks for; with an `Idempotency-Key` once. @param fieldsTogether as of `readBody` */
function once(
  { idempotency, key, path, headers, body }: Asked,
  operation: Operation,
  fieldsTogether: ((values: Values) => string[]) | undefined,
  work: (request: Values) => Answer,
): Answer {
  const request = readBody(body, endpoints[operation]?.body ?? {}, fieldsTogether);
  return idempotency.once(`${key.partner.id} ${path}`, headers.get("idempotency-key"), body, () => work(request));
}

/** What is wrong with a request for a bike that names neither a station nor a bike, or both. */
function stationOrBike({ station_id, bike_id }: Values): string[] {
  if ((station_id === undefined) !== (bike_id === undefined)) return [];
  return [`station_id ${issueText(station_id === undefined ? "stationOrBike" : "stationAndBike")}`];
}
