import type { routes } from "../routes.generated.ts";
import type { EventRecord, ListEnvelope, Me, Reservation } from "../wire.generated.ts";
import { type Answer, Refused } from "./answer.ts";
import { viewOf } from "./bike.ts";
import type { City, RecordedEvent } from "./city.ts";
import { endpoints } from "./contract.generated.ts";
import { regionsIn, vehicleTypesIn } from "./descriptions.ts";
import { visibleEvents } from "./events.ts";
import { bikeFilters, eventFilters, passing, reservationFilters, rideFilters, stationFilters } from "./filters.ts";
import type { Idempotency } from "./idempotency.ts";
import type { FakeKey } from "./keys.ts";
import { pageOf } from "./lists.ts";
import { readBody, type Values } from "./parameters.ts";
import type { RateDecision } from "./rate-limit.ts";
import { cancelReservation, countActive, createReservation, extendReservation } from "./reservations.ts";

type Routes = typeof routes;

/** Every operation of the interface: `GET /v1/rides/:id`. */
export type Operation = { [Noun in keyof Routes]: RouteOf<Routes[Noun]> }[keyof Routes];
type RouteOf<Verbs> = {
  [Verb in keyof Verbs]: Verbs[Verb] extends readonly [infer Name, ...unknown[]] ? Name : never;
}[keyof Verbs];

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
  "GET /v1/stations": ({ city, query }) => {
    const all = [...city.stations.values()].map(({ shown }) => shown);
    return list(
      "stations",
      query,
      (item) => ["", item.id],
      false,
      () => passing(all, stationFilters, query),
    );
  },
  "GET /v1/stations/:id": ({ city, id }) => one(city.stations.get(id)?.shown, "There is no station with this id."),
  "GET /v1/vehicle_types": ({ city, query }) =>
    list(
      "vehicle_types",
      query,
      (item) => ["", item.id],
      false,
      () => vehicleTypesIn(city),
    ),
  "GET /v1/regions": ({ city, query }) =>
    list(
      "regions",
      query,
      (item) => ["", item.id],
      false,
      () => regionsIn(city),
    ),
  "GET /v1/rides": ({ city, query }) => {
    const all = [...city.rides.values()];
    return list(
      "rides",
      query,
      (item) => [item.started_at, item.id],
      true,
      () => passing(all, rideFilters, query),
    );
  },
  "GET /v1/rides/:id": ({ city, id }) => one(city.rides.get(id), "There is no ride with this id."),
  "GET /v1/bikes": ({ city, query }) => {
    const all = [...city.bikes.values()].map(viewOf);
    return list(
      "bikes",
      query,
      (item) => ["", item.id],
      false,
      () => passing(all, bikeFilters, query),
    );
  },
  "GET /v1/bikes/:id": ({ city, id }) => {
    const bike = city.bikes.get(id);
    return one(bike && viewOf(bike), "There is no bike with this id.");
  },
  "GET /v1/reservations": ({ city, key, query }) => {
    const all = ownReservations(city, key);
    const name = `reservations of ${key.partner.id}`;
    return list(
      name,
      query,
      (item) => [item.created_at, item.id],
      true,
      () => passing(all, reservationFilters, query),
    );
  },
  "GET /v1/reservations/:id": ({ city, key, id }) =>
    one(
      ownReservations(city, key).find((each) => each.id === id),
      "You have no reservation with this id.",
    ),
  "POST /v1/reservations": ({ city, idempotency, key, path, headers, body }) => {
    const request = readBody(body, endpoints["POST /v1/reservations"]?.body ?? {});
    return idempotency.once(`${key.partner.id} ${path}`, headers.get("idempotency-key"), body, () => {
      const made = createReservation(city, key.partner.id, request);
      return { ...answer(made, 201), headers: { location: `/v1/reservations/${made.id}` } };
    });
  },
  "PATCH /v1/reservations/:id": ({ city, idempotency, key, id, path, headers, body }) => {
    const { hold_minutes: minutes } = readBody(body, endpoints["PATCH /v1/reservations/:id"]?.body ?? {});
    if (minutes === undefined) throw new Refused("invalid_parameter", "hold_minutes must be given.");
    return idempotency.once(`${key.partner.id} ${path}`, headers.get("idempotency-key"), body, () =>
      answer(extendReservation(city, key.partner.id, id, Number(minutes))),
    );
  },
  "DELETE /v1/reservations/:id": ({ city, key, id }) => answer(cancelReservation(city, key.partner.id, id)),
  "GET /v1/events": (asked) => answer(eventPage(asked)),
  "GET /v1/events/:id": ({ city, key, id }) =>
    one(
      eventsFor(city, key).find(({ shown }) => shown.id === id)?.shown,
      "There is no event with this id that the key may see.",
    ),
  "GET /v1/me": ({ city, key, rate }) => {
    const { limit, remaining, resetSeconds: reset_seconds } = rate;
    const { id, partner, scopes, expiresAt } = key;
    const rate_limit = { limit, remaining, reset_seconds };
    const reservations = { limit: city.maxReservations, active: countActive(city, partner.id) };
    return answer({
      key_id: id,
      partner,
      scopes: [...scopes],
      expires_at: expiresAt,
      rate_limit,
      reservations,
    } satisfies Me);
  },
};

/** Those that ask for no key. */
export type OpenOperation = "GET /healthz" | "GET /readyz";

/** A successful answer. */
export function answer(body: object, status = 200): Answer {
  return { status, headers: {}, body: JSON.stringify(body) };
}

function one(found: object | undefined, message: string): Answer {
  if (found === undefined) throw new Refused("not_found", message);
  return answer(found);
}

function list<Item>(
  name: string,
  query: Values,
  keyOf: (item: Item) => readonly [string, string],
  isNewestFirst: boolean,
  items: () => readonly Item[],
): Answer {
  return answer(pageOf({ name, keyOf, isNewestFirst, items }, query));
}

function ownReservations({ reservations }: City, { partner }: FakeKey): Reservation[] {
  return [...reservations.values()].filter(({ partnerId }) => partnerId === partner.id).map(({ shown }) => shown);
}

function eventsFor(city: City, { partner, scopes }: FakeKey): readonly RecordedEvent[] {
  return visibleEvents(city, { partnerId: partner.id, scopes });
}

/** Events stand in the order in which they were recorded: a number as a text of one length is their key. */
const DIGITS = 12;

function eventPage({ city, key, query }: Asked): ListEnvelope<EventRecord> {
  const { after, ...values } = query;
  const visible = eventsFor(city, key);
  const { data, ...place } = pageOf<RecordedEvent>(
    {
      // What can be seen is part of the list's name: the same place in another's list would skip or repeat events.
      name: `events of ${key.partner.id} with ${key.scopes.join(" ")}`,
      keyOf: ({ position, shown }) => [String(position).padStart(DIGITS, "0"), shown.id],
      isNewestFirst: false,
      items: (isWalk) => {
        // A cursor was made where `after` was looked up; its event may be gone by now, the walk goes on.
        const behind = isWalk || after === undefined ? 0 : positionOf(visible, String(after));
        return visible.filter(
          ({ position, shown }) => position > behind && passing([shown], eventFilters, values).length > 0,
        );
      },
    },
    query,
  );
  return { ...place, data: data.map(({ shown }) => shown) };
}

function positionOf(visible: readonly RecordedEvent[], id: string): number {
  const found = visible.find(({ shown }) => shown.id === id);
  if (found !== undefined) return found.position;
  throw new Refused(
    "checkpoint_lost",
    `The event ${id} is no longer kept, or is none that the key may see. Fetch the resources anew, then list events without after.`,
  );
}
