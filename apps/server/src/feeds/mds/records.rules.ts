import {
  type MdsEvent,
  type MdsTelemetry,
  type MdsTrip,
  type MdsVehicle,
  mdsVehicle,
  type MdsVehicleStatus,
} from "@bikeshare/contract/mds";
import type { VehicleEvent } from "../../city/fleet/vehicle-events.rules.ts";
import { type Jurisdiction, agencyEvents } from "./jurisdiction.rules.ts";
import type { UuidNames } from "./names.rules.ts";
import type { EventRow, PointRow, TripRow, VehicleRow } from "./queries.ts";

/* Turns vehicles, events of the vehicle log, positions and rides into the records of MDS that one agency reads. */

/** The words of MDS for form factors and propulsions. */
const formFactors = mdsVehicle.shape.vehicle_type.options;
const propulsionTypes = mdsVehicle.shape.propulsion_types.element.options;

/** What all records for one agency have in common. */
export interface RecordContext {
  readonly providerId: string;
  readonly uuid: UuidNames;
  /** Tells whether a position is within the agency's boundary. */
  readonly isWithin: Jurisdiction;
}

/** Returns MDS's vehicle type for a form factor of GBFS. One that MDS does not know, or none, counts as a bicycle. */
export function formFactorOf(formFactor: string | null | undefined): MdsVehicle["vehicle_type"] {
  return formFactors.find((each) => each === formFactor) ?? "bicycle";
}

/** Returns a vehicle as agencies see it. A propulsion that MDS does not know, or none, counts as human power. */
export function vehicleRecord(row: VehicleRow, { providerId, uuid }: RecordContext): MdsVehicle {
  return {
    device_id: uuid("device", row.id),
    provider_id: providerId,
    vehicle_id: row.number ?? row.id,
    vehicle_type: formFactorOf(row.form_factor),
    propulsion_types: [propulsionTypes.find((each) => each === row.propulsion_type) ?? "human"],
  };
}

/**
 * Returns an event as an agency reads it: several events when the vehicle crossed the boundary; none when it happened
 * outside, or when its location is unknown, because MDS requires one.
 */
export function eventRecords(row: EventRow, { providerId, uuid, isWithin }: RecordContext): readonly MdsEvent[] {
  const { lat, lon, from_lat: fromLat, from_lon: fromLon } = row;
  if (lat === null || lon === null) return [];
  return agencyEvents(row, isWithin).map(({ state, type, at, part, isBefore = false }) => ({
    // An event that was derived from the log's event needs an id of its own, which is the same at each request.
    event_id: part === undefined ? row.id : uuid("event", `${row.id} ${part}`),
    device_id: uuid("device", row.bike_id),
    provider_id: providerId,
    vehicle_state: state,
    event_types: [type],
    timestamp: at.getTime(),
    publication_time: row.recorded_at.getTime(),
    location: isBefore && fromLat !== null && fromLon !== null ? { lat: fromLat, lng: fromLon } : { lat, lng: lon },
    ...(row.station_id !== null && !isBefore && isWithin(lat, lon) && { stop_id: uuid("stop", row.station_id) }),
    ...(row.ride_id !== null && { trip_ids: [uuid("trip", row.ride_id)] }),
    ...(row.battery_percent !== null && { battery_percent: row.battery_percent }),
  }));
}

/**
 * Returns a vehicle's last event as an agency reads it; undefined when the event happened outside the agency's boundary, its
 * location is unknown, or the vehicle left the boundary before `leftSince`.
 * @param leftSince milliseconds since 1970
 */
export function lastEventRecord(row: VehicleRow, context: RecordContext, leftSince: number): MdsEvent | undefined {
  const { at, recorded_at: recordedAt, from, ...last } = JSON.parse(row.last_event) as VehicleEvent; // as the log wrote it
  const stored = {
    ...last,
    battery_percent: last.battery_percent ?? null,
    at: new Date(at),
    recorded_at: new Date(recordedAt),
    bike_id: row.id,
    lat: row.event_lat,
    lon: row.event_lon,
    from_state: from?.state ?? null,
    from_lat: row.from_lat,
    from_lon: row.from_lon,
  };
  // If the vehicle crossed the boundary, the last of several events counts.
  const event = eventRecords(stored, context).at(-1);
  return event?.vehicle_state === "elsewhere" && event.timestamp < leftSince ? undefined : event;
}

/** Returns the status of a vehicle; undefined when `lastEventRecord` returns undefined. */
export function statusRecord(row: VehicleRow, context: RecordContext, leftSince: number): MdsVehicleStatus | undefined {
  const event = lastEventRecord(row, context, leftSince);
  if (event === undefined) return undefined;
  const { device_id, provider_id } = event;
  const isThere = row.station_id !== null && event.vehicle_state !== "elsewhere";
  const stop = isThere ? { stop_id: context.uuid("stop", row.station_id) } : {};
  return { device_id, provider_id, last_event: event, last_telemetry: telemetryRecord(row, event, context), ...stop };
}

/**
 * Returns the last known position of a vehicle. On a trip, that is where the trip began, because positions of riders are
 * neither shown nor stored.
 */
function telemetryRecord(row: VehicleRow, event: MdsEvent, { uuid, isWithin }: RecordContext): MdsTelemetry {
  const { device_id, provider_id, location, timestamp, stop_id } = event;
  // Without a reported position within the boundary, the location of the last event stands in for it.
  const isHidden = row.lat === null || row.lon === null || row.position_at === null || !isWithin(row.lat, row.lon);
  const seen = isHidden
    ? { timestamp, location, ...(stop_id !== undefined && { stop_id }) }
    : {
        timestamp: row.position_at.getTime(),
        location: { lat: row.lat, lng: row.lon },
        ...(row.station_id !== null && { stop_id: uuid("stop", row.station_id) }),
      };
  return {
    telemetry_id: uuid("telemetry", `${row.id} ${seen.timestamp}`),
    device_id,
    provider_id,
    ...seen,
    trip_ids: event.vehicle_state === "on_trip" ? (event.trip_ids ?? null) : null,
    journey_id: null,
    ...(row.battery_percent !== null && { battery_percent: row.battery_percent }),
  };
}

/**
 * Returns a position of the log as an agency reads it; undefined when the position is unknown, was reported during a ride,
 * or is that of a lost vehicle. Also undefined outside the boundary, except at the end of a trip that began inside.
 */
export function pointRecord(row: PointRow, { providerId, uuid, isWithin }: RecordContext): MdsTelemetry | undefined {
  // A lost vehicle sends no position. Its events repeat the position of the event before.
  const isSilent = row.vehicle_state === "non_contactable" || row.vehicle_state === "missing";
  if (isSilent || row.is_under_way || row.lat === null || row.lon === null) return undefined;
  const isOfTrip = row.ride_id !== null && row.from_lat !== null && row.from_lon !== null;
  if (!isWithin(row.lat, row.lon) && !(isOfTrip && isWithin(row.from_lat, row.from_lon))) return undefined;
  return {
    telemetry_id: uuid("telemetry", `${row.bike_id} ${row.at.getTime()}`),
    device_id: uuid("device", row.bike_id),
    provider_id: providerId,
    timestamp: row.at.getTime(),
    trip_ids: row.ride_id === null ? null : [uuid("trip", row.ride_id)],
    journey_id: null,
    location: { lat: row.lat, lng: row.lon },
    ...(row.station_id !== null && { stop_id: uuid("stop", row.station_id) }),
    ...(row.battery_percent !== null && { battery_percent: row.battery_percent }),
  };
}

/**
 * Returns a ride as an agency reads it; undefined when it neither began nor ended within the boundary, when the position of
 * its start or its end is unknown, or when its bike has no lasting id.
 */
export function tripRecord(row: TripRow, { providerId, uuid, isWithin }: RecordContext): MdsTrip | undefined {
  const { start_lat, start_lon, end_lat, end_lon } = row;
  if (!row.is_named) return undefined;
  if (start_lat === null || start_lon === null || end_lat === null || end_lon === null) return undefined;
  if (!isWithin(start_lat, start_lon) && !isWithin(end_lat, end_lon)) return undefined;
  const from = { lat: start_lat, lng: start_lon };
  const to = { lat: end_lat, lng: end_lon };
  return {
    trip_id: uuid("trip", row.id),
    device_id: uuid("device", row.bike_id),
    provider_id: providerId,
    start_time: row.started_at.getTime(),
    end_time: row.ended_at.getTime(),
    duration: row.duration_seconds,
    start_location: from,
    end_location: to,
    distance: row.distance_meters ?? Math.round(metersBetween(from, to)),
    publication_time: row.updated_at.getTime(),
    ...(row.is_virtual_end !== null && { parking_category: row.is_virtual_end ? "corral" : "rack" }),
    ...(row.standard_cost !== null && { standard_cost: row.standard_cost }),
    ...(row.actual_cost !== null && { actual_cost: row.actual_cost }),
    ...(row.currency !== null && { currency: row.currency }),
  };
}

const EARTH_RADIUS_METERS = 6_371_008;

/** Returns the distance of two positions along the surface of the Earth (haversine formula). */
function metersBetween(a: MdsTrip["start_location"], b: MdsTrip["start_location"]): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  const halfSquared = (degrees: number) => Math.sin(radians(degrees) / 2) ** 2;
  const cosines = Math.cos(radians(a.lat)) * Math.cos(radians(b.lat));
  const angle = halfSquared(b.lat - a.lat) + cosines * halfSquared(b.lng - a.lng);
  return 2 * EARTH_RADIUS_METERS * Math.asin(Math.min(1, Math.sqrt(angle)));
}
