import type {
  Bike,
  BikeListQuery,
  EventListQuery,
  EventRecord,
  Reservation,
  ReservationListQuery,
  Ride,
  RideListQuery,
  Station,
  StationListQuery,
} from "../wire.generated.ts";
import { type BoundingBox, readBbox, type Values } from "./parameters.ts";

type Paging = "page" | "limit" | "cursor";

/** What each filter of a list lets pass: all that the contract has, or this does not compile. */
type Filters<Item, Query> = {
  readonly [Name in Exclude<keyof Query, Paging>]-?: (item: Item, value: string) => boolean;
};

/** Keeps the items that pass every filter given. */
export function passing<Item, Query>(
  items: readonly Item[],
  filters: Filters<Item, Query>,
  values: Values,
): readonly Item[] {
  const given = Object.entries<(item: Item, value: string) => boolean>(filters).flatMap(([name, passes]) => {
    const value = values[name];
    return value === undefined ? [] : [(item: Item) => passes(item, String(value))];
  });
  return items.filter((item) => given.every((passes) => passes(item)));
}

const isSince = (instant: string, since: string) => Date.parse(instant) >= Date.parse(since);

export const stationFilters: Filters<Station, StationListQuery> = {
  status: ({ status }, value) => status === value,
  region_id: ({ region_id }, value) => region_id === value,
  bbox: (station, value) => isWithin(station, readBbox(value)),
  updated_since: ({ updated_at }, value) => isSince(updated_at, value),
};

export const bikeFilters: Filters<Bike, BikeListQuery> = {
  vehicle_state: ({ vehicle_state }, value) => vehicle_state === value,
  station_id: ({ station_id }, value) => station_id === value,
  bbox: (bike, value) => isWithin(bike, readBbox(value)),
  updated_since: ({ updated_at }, value) => isSince(updated_at, value),
};

export const rideFilters: Filters<Ride, RideListQuery> = {
  status: ({ status }, value) => status === value,
  bike_id: ({ bike_id }, value) => bike_id === value,
  station_id: ({ start_station_id, end_station_id }, value) => start_station_id === value || end_station_id === value,
  started_after: ({ started_at }, value) => isSince(started_at, value),
  started_before: ({ started_at }, value) => !isSince(started_at, value),
  updated_since: ({ updated_at }, value) => isSince(updated_at, value),
};

export const reservationFilters: Filters<Reservation, ReservationListQuery> = {
  status: ({ status }, value) => status === value,
  rider_ref: ({ rider_ref }, value) => rider_ref === value,
  bike_id: ({ bike_id }, value) => bike_id === value,
  ride_id: ({ ride_id }, value) => ride_id === value,
  updated_since: ({ updated_at }, value) => isSince(updated_at, value),
};

/** `after` is a place rather than a filter: it is seen to where the list is made. */
export const eventFilters: Filters<EventRecord, Omit<EventListQuery, "after">> = {
  event: ({ event }, value) => event === value,
};

/** What has no place is in no rectangle. */
function isWithin({ lat, lon }: Pick<Bike, "lat" | "lon">, box: BoundingBox | undefined): boolean {
  if (box === undefined || lat === null || lon === null) return false;
  const { west, south, east, north } = box;
  const isInLongitude = west <= east ? lon >= west && lon <= east : lon >= west || lon <= east;
  return isInLongitude && lat >= south && lat <= north;
}
