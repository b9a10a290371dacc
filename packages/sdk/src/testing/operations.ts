import type { EventRecord, Me, Reservation, Ride } from "../json-types.generated.ts";
import type { FakeKey, Idempotency } from "./access.ts";
import { type Answer, answer } from "./answer.ts";
import { shownBike } from "./bikes.ts";
import type { City } from "./city.ts";
import { blank, type Operation } from "./contract.generated.ts";
import { deliveriesOf, findDelivery, resendDelivery } from "./deliveries.ts";
import { type Listing, pageOf } from "./lists.ts";
import type { Values } from "./parameters.ts";
import {
  activeReservations,
  cancelReservation,
  createReservation,
  extendReservation,
  reservationsOf,
} from "./reservations.ts";
import { EVENT_RETENTION_DAYS, isScope, type RateDecision, scopeOfEvent, serviceError } from "./rules.ts";
import { flowsOf, forecastOf, summaryOf, typicalOf } from "./sums.ts";

/* What a fake does for each operation of the contract. service.ts checks a request, and then calls its operation. */

/** A request that was authenticated and whose parameters are valid. */
export interface Asked {
  readonly city: City;
  readonly idempotency: Idempotency;
  readonly key: FakeKey;
  readonly rate: RateDecision;
  /** The id in the path; empty if the path has none. */
  readonly id: string;
  readonly query: Values;
  readonly path: string;
  readonly headers: Headers;
  /** The body's fields; empty if the operation takes no body. */
  readonly body: Values;
}

/** The operations that need no key. */
export type OpenOperation = "GET /healthz" | "GET /readyz";

/** The function for each operation that needs a key. The type requires all operations of the contract. */
export const operations: Readonly<Record<Exclude<Operation, OpenOperation>, (asked: Asked) => Answer>> = {
  "GET /v1/stations": (asked) =>
    asked.query["at"] === undefined
      ? listed(asked, { name: "stations", changes: asked.city.changes, items: () => stationsIn(asked) })
      : listed(withoutFollowing(asked), { name: "stations", items: () => stationsAt(asked) }),
  "GET /v1/stations/:id": (asked) =>
    asked.query["at"] === undefined
      ? found(asked, "station", stationsIn(asked))
      : foundThen(asked, String(asked.query["at"])),
  "GET /v1/stations/:id/history": ({ city, id, query }) => answer(city.stations.history(id, query)),
  "GET /v1/stations/:id/typical": ({ city, id }) => answer(typicalOf(city, id)),
  "GET /v1/stations/:id/forecast": ({ city, id, query }) => answer(forecastOf(city, id, query)),
  "GET /v1/vehicle_types": (asked) => listed(asked, { name: "vehicle_types", items: () => vehicleTypesIn(asked) }),
  "GET /v1/regions": (asked) => listed(asked, { name: "regions", items: () => regionsIn(asked) }),
  "GET /v1/alerts": (asked) =>
    listed(asked, { name: "alerts", items: () => alertsIn(asked).filter((alert) => alert.ended_at === null) }),
  "GET /v1/alerts/:id": (asked) => found(asked, "alert", alertsIn(asked)),
  "GET /v1/rides": (asked) =>
    listed<Ride>(asked, {
      name: "rides",
      changes: asked.city.changes,
      orderOf: (ride) => ride.started_at,
      isNewestFirst: true,
      items: () => [...asked.city.rides.values()],
    }),
  "GET /v1/rides/:id": (asked) => found(asked, "ride", [...asked.city.rides.values()]),
  "GET /v1/bikes": (asked) =>
    listed(asked, { name: "bikes", changes: asked.city.changes, items: () => bikesIn(asked) }),
  "GET /v1/bikes/:id": (asked) => found(asked, "bike", bikesIn(asked)),
  "GET /v1/reservations": (asked) =>
    listed<Reservation>(asked, {
      name: "reservations",
      changes: asked.city.changes,
      owner: asked.key.partner.id,
      orderOf: (reservation) => reservation.created_at,
      isNewestFirst: true,
      items: () => reservationsOf(asked.city, asked.key.partner.id),
    }),
  "GET /v1/reservations/:id": (asked) => found(asked, "reservation", reservationsOf(asked.city, asked.key.partner.id)),
  "POST /v1/reservations": (asked) =>
    once(asked, () => {
      const made = createReservation(asked.city, asked.key.partner.id, asked.body);
      return { ...answer(made, 201), headers: { location: `/v1/reservations/${made.id}` } };
    }),
  "PATCH /v1/reservations/:id": (asked) =>
    once(asked, () =>
      answer(extendReservation(asked.city, asked.key.partner.id, asked.id, Number(asked.body["hold_minutes"]))),
    ),
  "DELETE /v1/reservations/:id": ({ city, key, id }) => answer(cancelReservation(city, key.partner.id, id)),
  // `after=now` asks for no events, only for the checkpoint from which later events follow: the id of the latest event.
  "GET /v1/events": (asked) =>
    asked.query["after"] === "now" && asked.query["cursor"] === undefined
      ? answer({
          ...pageOf({ ...eventListing(asked), items: () => [] }, asked.query),
          checkpoint: eventsFor(asked).at(-1)?.id,
        })
      : listed(asked, eventListing(asked)),
  "GET /v1/events/:id": (asked) => found(asked, "event", eventsFor(asked)),
  "GET /v1/deliveries": ({ city, key, query }) => answer(deliveriesOf(city, key.partner.id, query)),
  "GET /v1/deliveries/:id": ({ city, key, id }) => answer(findDelivery(city, key.partner.id, id)),
  "POST /v1/deliveries/:id/resend": (asked) =>
    once(asked, () => answer(resendDelivery(asked.city, asked.key.partner.id, asked.id))),
  "GET /v1/flows": ({ city, query }) => answer(flowsOf(city, query)),
  "GET /v1/system/summary": ({ city, query }) => answer(summaryOf(city, query)),
  "GET /v1/exports": (asked) =>
    listed(asked, { name: "exports", orderOf: ({ id }) => id, isNewestFirst: true, items: () => exportsIn(asked) }),
  "GET /v1/exports/:id": (asked) => found(asked, "export", exportsIn(asked)),
  "GET /v1/me": ({ city, key: { id: key_id, partner, scopes, expires_at }, rate }) =>
    answer({
      key_id,
      partner,
      scopes: [...scopes],
      expires_at: expires_at?.toISOString() ?? null,
      rate_limit: { limit: rate.limit, remaining: rate.remaining, reset_seconds: rate.resetSeconds },
      reservations: { limit: city.maxReservations, active: activeReservations(city, partner.id).length },
    } satisfies Me),
};

/** Answers with the page of a list that the query asks for. */
function listed<Item extends { readonly id: string }>({ query }: Asked, list: Listing<Item>): Answer {
  return answer(pageOf(list, query));
}

/** Answers with the item that has the id in the path. @throws ServiceError `not_found` */
function found(
  { id }: Asked,
  resource: "station" | "alert" | "ride" | "bike" | "reservation" | "event" | "export",
  items: readonly { readonly id: string }[],
): Answer {
  const item = items.find((each) => each.id === id);
  if (item === undefined) throw serviceError("not_found", resource);
  return answer(item);
}

/** Carries out a request; repeated requests with the same `Idempotency-Key` are carried out once. */
function once({ idempotency, key, path, headers, body }: Asked, work: () => Answer): Answer {
  return idempotency.once(`${key.partner.id} ${path}`, headers.get("idempotency-key"), body, work);
}

function stationsIn({ city }: Asked) {
  return [...city.stations.values()].map(({ shown }) => shown);
}

/** Returns the stations as they were at the instant in the parameter `at`. */
function stationsAt({ city, query }: Asked) {
  return city.stations.at(String(query["at"]));
}

/** Answers with a station as it was at an instant. @throws ServiceError `not_found` */
function foundThen(asked: Asked, at: string): Answer {
  const item = stationsAt(asked).find(({ id }) => id === asked.id);
  if (item === undefined) throw serviceError("not_found", "stationAt", { at });
  return answer(item);
}

/** Rejects parameters that follow changes, which cannot be combined with `at`. */
function withoutFollowing(asked: Asked): Asked {
  for (const name of ["updated_since", "changes_since"])
    if (asked.query[name] !== undefined) throw serviceError("invalid_parameter", "atAndFollowing", { name });
  return asked;
}

function alertsIn({ city }: Asked) {
  return [...city.alerts.values()];
}

/** Returns the exports that match the query's filters. */
function exportsIn({ city, query }: Asked) {
  const filters = ["kind", "month", "format"] as const;
  return [...city.exports.values()].filter((file) =>
    filters.every((name) => query[name] === undefined || file[name] === query[name]),
  );
}

function bikesIn({ city }: Asked) {
  return [...city.bikes.values()].map(shownBike);
}

/** Returns every vehicle type that is described, or that a station, a bike or a ride refers to. */
function vehicleTypesIn(asked: Asked) {
  const { vehicleTypes, rides } = asked.city;
  const onStations = stationsIn(asked).flatMap((station) => station.vehicle_types_available);
  const named = [...onStations, ...bikesIn(asked), ...rides.values()].map((each) => each.vehicle_type_id);
  const ids = new Set([...vehicleTypes.keys(), ...named]);
  return [...ids].flatMap((id) => (id === null ? [] : (vehicleTypes.get(id) ?? { ...blank.VehicleType, id })));
}

/** Returns every region that is described, or that a station is in. */
function regionsIn(asked: Asked) {
  const { regions } = asked.city;
  const ids = new Set([...regions.keys(), ...stationsIn(asked).map((station) => station.region_id)]);
  return [...ids].flatMap((id) => (id === null ? [] : (regions.get(id) ?? { id, name: id })));
}

/** Returns the events that are still kept and that a key may see, oldest first. */
function eventsFor({ city, key }: Asked): EventRecord[] {
  const oldest = city.now() - EVENT_RETENTION_DAYS * 86_400_000;
  return city.events.flatMap(({ recordedAt, partnerId, shown }) => {
    const scope = scopeOfEvent(shown.event);
    // A resource that is newer than this package has no scope that could be required.
    const isReadable = !isScope(scope) || key.scopes.includes(scope);
    const isVisible = recordedAt > oldest && (partnerId === null || partnerId === key.partner.id) && isReadable;
    return isVisible ? [shown] : [];
  });
}

/** Returns the list of events, in the order in which they were recorded, after the event in the parameter `after`. */
function eventListing(asked: Asked): Listing<EventRecord> {
  const { city, key, query } = asked;
  // Lists are sorted by texts, so the numbers are padded to one length.
  const positions = new Map(city.events.map(({ shown }, index) => [shown, String(index).padStart(12, "0")]));
  return {
    name: "events",
    // The scopes are part of the owner, because a cursor is only valid for the same selection of events.
    owner: `${key.partner.id} with ${key.scopes.join(" ")}`,
    orderOf: (event) => positions.get(event) ?? "",
    items: () => {
      const events = eventsFor(asked);
      const { after: id } = query;
      // With a cursor, `after` was checked on the first page. Its event may be gone by now, and the list still continues.
      if (id === undefined || query["cursor"] !== undefined) return events;
      const after = events.findIndex((event) => event.id === id);
      if (after === -1) throw serviceError("checkpoint_lost", "after", { id });
      return events.slice(after + 1);
    },
  };
}
