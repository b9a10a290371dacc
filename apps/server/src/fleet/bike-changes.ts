import type { BikeReport, BikeUpsert } from "@bikeshare/contract";
import { viewOf } from "@bikeshare/rules";
import { later } from "./bike.ts";
import type { LiveBikeWrite } from "./command-queries.ts";
import type { BikeChange, LiveBike, LockedBike } from "./command.ts";
import type { StationPlace } from "./station-location-queries.ts";

/** What the rules below look at beside a bike. */
export interface BikeChangeFacts {
  readonly bikes: ReadonlyMap<string, LockedBike>;
  readonly stations: ReadonlyMap<string, StationPlace>;
}

/** An item that may name a place. */
export interface Placed {
  readonly id: string;
  readonly station_id?: string | null | undefined;
  readonly lat?: number | undefined;
  readonly lon?: number | undefined;
}

/** The place that an item names; undefined when it names none. A station's place stands in where no other is given. */
function placeOf(item: Placed, { stations }: BikeChangeFacts): NonNullable<BikeChange["position"]> | undefined {
  if (item.station_id === undefined && item.lat === undefined) return undefined;
  const station = stations.get(item.station_id ?? "");
  return {
    station_id: item.station_id ?? null,
    lat: item.lat ?? station?.lat ?? null,
    lon: item.lon ?? station?.lon ?? null,
  };
}

/** A bike as an upsert makes it. */
export function newBike(item: BikeUpsert, facts: BikeChangeFacts, now: Date, publicId: string): LiveBikeWrite {
  const place = placeOf(item, facts) ?? { station_id: null, lat: null, lon: null };
  const known = {
    ride_id: null,
    reservation_id: null,
    reported_state: item.vehicle_state ?? "available",
    reported_station_id: place.station_id,
    reported_lat: place.lat,
    reported_lon: place.lon,
  } as const;
  return {
    ...known,
    ...viewOf(known),
    id: item.id,
    number: item.number ?? null,
    vehicle_type_id: item.vehicle_type_id ?? null,
    current_range_meters: item.current_range_meters ?? null,
    reported_state_at: now,
    reported_position_at: now,
    reported_range_at: now,
    last_reported: null,
    renew_public_id: true,
    public_id: publicId,
  };
}

/** What an upsert changes of a bike, as of now; undefined when it says nothing new. */
export function upserted(bike: LiveBike, item: BikeUpsert, facts: BikeChangeFacts, now: Date): BikeChange | undefined {
  const described = {
    ...bike,
    number: item.number === undefined ? bike.number : item.number,
    vehicle_type_id: item.vehicle_type_id === undefined ? bike.vehicle_type_id : item.vehicle_type_id,
  };
  const place = placeOf(item, facts);
  const isPlaceNew = place !== undefined && JSON.stringify(place) !== JSON.stringify(placeHeld(bike));
  const isStateNew = item.vehicle_state !== undefined && item.vehicle_state !== bike.reported_state;
  const isRangeNew = item.current_range_meters !== undefined && item.current_range_meters !== bike.current_range_meters;
  const isDescriptionNew = described.number !== bike.number || described.vehicle_type_id !== bike.vehicle_type_id;
  if (!isPlaceNew && !isStateNew && !isRangeNew && !isDescriptionNew) return undefined;
  return {
    bike: described,
    ...(isStateNew && item.vehicle_state !== undefined
      ? { reported_state: item.vehicle_state, reported_state_at: now }
      : {}),
    ...(isPlaceNew ? { position: place, position_at: now } : {}),
    ...(isRangeNew ? { current_range_meters: item.current_range_meters ?? null, range_at: now } : {}),
  };
}

/** A bike as a change leaves it, as far as an upsert asks. */
export function afterChange({ bike, ...change }: BikeChange): LiveBike {
  return {
    ...bike,
    reported_state: change.reported_state ?? bike.reported_state,
    reported_station_id: change.position === undefined ? bike.reported_station_id : change.position.station_id,
    reported_lat: change.position === undefined ? bike.reported_lat : change.position.lat,
    reported_lon: change.position === undefined ? bike.reported_lon : change.position.lon,
    current_range_meters:
      change.current_range_meters === undefined ? bike.current_range_meters : change.current_range_meters,
  };
}

function placeHeld(bike: LiveBike): NonNullable<BikeChange["position"]> {
  return { station_id: bike.reported_station_id, lat: bike.reported_lat, lon: bike.reported_lon };
}

/** What holds when a report comes to a bike and the changes before; the very same when it says nothing later. */
export function reported(change: BikeChange, item: BikeReport, at: Date, facts: BikeChangeFacts): BikeChange {
  const { bike } = change;
  let next = change;
  const instant = at.getTime();
  if (item.vehicle_state !== undefined) {
    const held = {
      at: (change.reported_state_at ?? bike.reported_state_at)?.getTime() ?? null,
      value: change.reported_state ?? bike.reported_state,
    };
    const said = { at: instant, value: item.vehicle_state };
    if (later(held, said) === said) next = { ...next, reported_state: said.value, reported_state_at: at };
  }
  const place = placeOf(item, facts);
  if (place !== undefined) {
    const held = {
      at: (change.position_at ?? bike.reported_position_at)?.getTime() ?? null,
      value: change.position ?? placeHeld(bike),
    };
    const said = { at: instant, value: place };
    if (later(held, said) === said) next = { ...next, position: place, position_at: at };
  }
  if (item.current_range_meters !== undefined) {
    const range = change.current_range_meters === undefined ? bike.current_range_meters : change.current_range_meters;
    const held = { at: (change.range_at ?? bike.reported_range_at)?.getTime() ?? null, value: range };
    const said = { at: instant, value: item.current_range_meters };
    if (later(held, said) === said) next = { ...next, current_range_meters: said.value, range_at: at };
  }
  const lastReported = change.last_reported ?? facts.bikes.get(bike.id)?.last_reported;
  return lastReported === undefined || lastReported === null || at > lastReported
    ? { ...next, last_reported: at }
    : next;
}
