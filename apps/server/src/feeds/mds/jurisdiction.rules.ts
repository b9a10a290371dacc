import type { MultiPolygon } from "@bikeshare/contract";
import type { MdsEventType, MdsToldState, MdsToldType, MdsVehicleState } from "@bikeshare/contract/mds";
import { readFactValue } from "../../city/descriptions/fact-values.rules.ts";
import { pathTo } from "../../city/fleet/vehicle-events.rules.ts";
import { isObject } from "../gbfs/values.ts";

/*
 * An agency reads only what happens within its boundary, its jurisdiction. This file tests whether a position is within,
 * derives the events that an agency reads when a vehicle crosses the boundary, and reads boundaries from GeoJSON.
 */

/** Tells whether a position in WGS 84 degrees is within an agency's boundary. */
export type Jurisdiction = (lat: number, lon: number) => boolean;

/** The whole world: the jurisdiction of an agency without a boundary. */
export const everywhere: Jurisdiction = () => true;

/**
 * Number of bands of latitude into which a boundary's edges are sorted. Too low: each position is compared with more edges.
 * Too high: takes more memory.
 */
const BANDS = 256;

/** A piece of the boundary between two of its points. */
type Edge = readonly [fromLon: number, fromLat: number, toLon: number, toLat: number];

/**
 * Returns the jurisdiction of a boundary. A position is inside if a line from the position to the east crosses an odd number
 * of edges, so a ring within a ring is a hole.
 */
export function jurisdictionOf({ coordinates }: MultiPolygon): Jurisdiction {
  const edges = coordinates.flat().flatMap((ring) =>
    // `index` counts from the second point, so `ring[index]` is the point before `to`.
    ring.slice(1).map((to, index): Edge => {
      const [fromLon = 0, fromLat = 0] = ring[index] ?? [];
      const [toLon = 0, toLat = 0] = to;
      return [fromLon, fromLat, toLon, toLat];
    }),
  );
  const latitudes = edges.map(([, lat]) => lat);
  // Does not call Math.min(...latitudes), because a boundary may have more edges than a call may have arguments.
  const south = latitudes.reduce((least, lat) => Math.min(least, lat), 90);
  const north = latitudes.reduce((most, lat) => Math.max(most, lat), -90);
  // `|| 1`: a boundary without any height would divide by zero.
  const bandOf = (lat: number) => Math.floor(((lat - south) / (north - south || 1)) * BANDS);
  const bands: Edge[][] = Array.from({ length: BANDS + 1 }, () => []);
  for (const edge of edges) {
    const last = bandOf(Math.max(edge[1], edge[3]));
    for (let band = bandOf(Math.min(edge[1], edge[3])); band <= last; band++) bands[band]?.push(edge);
  }
  return (lat, lon) => {
    let isInside = false;
    // A latitude beyond the boundary has no band.
    for (const [fromLon, fromLat, toLon, toLat] of bands[bandOf(lat)] ?? []) {
      // The ends of the edge lie on different sides of the latitude.
      const crosses = fromLat > lat !== toLat > lat;
      if (crosses && lon < fromLon + ((lat - fromLat) / (toLat - fromLat)) * (toLon - fromLon)) isInside = !isInside;
    }
    return isInside;
  };
}

/** A position in WGS 84 degrees; null: it is unknown. */
interface Position {
  readonly lat: number | null;
  readonly lon: number | null;
}

/**
 * An event of the vehicle log. If the vehicle has moved since its previous event, `from_…` contain the state and the
 * position of the previous event.
 */
export interface MovedEvent extends Position {
  readonly id: string;
  readonly at: Date;
  readonly vehicle_state: MdsVehicleState;
  readonly event_type: MdsEventType;
  readonly ride_id: string | null;
  /** Null: the vehicle has not moved since its previous event. */
  readonly from_state: MdsVehicleState | null;
  readonly from_lat: number | null;
  readonly from_lon: number | null;
}

/**
 * An event that an agency reads: an event of the log, or an event that is derived from it because the vehicle crossed the
 * agency's boundary.
 */
export interface AgencyEvent {
  readonly state: MdsToldState;
  readonly type: MdsToldType;
  readonly at: Date;
  /** Distinguishes the events that are derived from one event of the log; undefined: the event of the log itself. */
  readonly part?: string;
  /** True: its location is where the vehicle was before it moved. */
  readonly isBefore?: boolean;
}

/**
 * Returns the events that an agency reads for one event of the log. Outside the agency's jurisdiction a vehicle is
 * `elsewhere`: the agency reads that it left and that it came back, and nothing in between. A vehicle without a known
 * position counts as inside.
 */
export function agencyEvents(event: MovedEvent, isWithin: Jurisdiction): readonly AgencyEvent[] {
  const within = ({ lat, lon }: Position) => lat === null || lon === null || isWithin(lat, lon);
  const { vehicle_state: state, event_type: type, from_state: before, from_lat, from_lon, at } = event;
  const isIn = within(event);
  const same: AgencyEvent = { state, type, at };
  const hasCrossed = before !== null && within({ lat: from_lat, lon: from_lon }) !== isIn;
  if (!hasCrossed) return isIn ? [same] : [];
  // It was on a trip, and this event belongs to the trip, such as its end.
  const isByTrip = before === "on_trip" && event.ride_id !== null;
  if (isIn) {
    if (isByTrip) return timed(at, [derivedEvent("on_trip", "trip_enter_jurisdiction"), same]);
    // The vehicle came back without a trip: the operator picked it up outside, and may have brought it in.
    if (state === "removed") return timed(at, [derivedEvent("removed", "rebalance_pick_up")]);
    // After the drop-off the vehicle is `available`. `pathTo` gives the events from there to its state.
    const rest = pathTo("available", state, type).map((step) => derivedEvent(step.to, step.type));
    return timed(at, [
      derivedEvent("removed", "rebalance_pick_up"),
      derivedEvent("available", "provider_drop_off"),
      ...rest,
    ]);
  }
  if (isByTrip) return timed(at, [derivedEvent("elsewhere", "trip_leave_jurisdiction")]);
  const steps: readonly (readonly [MdsToldState, MdsToldType])[] = waysOut[before];
  return timed(
    at,
    steps.map(([to, by]) => ({ ...derivedEvent(to, by), isBefore: true })),
  );
}

const elsewhere = ["elsewhere", "unspecified"] as const;
const lostThenElsewhere = [["non_contactable", "comms_lost"], elsewhere] as const;

/**
 * The events that tell that a vehicle left the jurisdiction without a trip, by its state before. MDS has no event type for
 * "the operator took the vehicle elsewhere".
 */
const waysOut: Readonly<Record<MdsVehicleState, readonly (readonly [MdsToldState, MdsToldType])[]>> = {
  removed: lostThenElsewhere,
  available: lostThenElsewhere,
  non_operational: lostThenElsewhere,
  reserved: lostThenElsewhere,
  on_trip: lostThenElsewhere,
  non_contactable: [elsewhere],
  missing: [["elsewhere", "located"]],
};

/** Returns an event that is derived from an event of the log. */
function derivedEvent(state: MdsToldState, type: MdsToldType): Omit<AgencyEvent, "at"> {
  return { state, type, part: type };
}

/**
 * Gives events times one millisecond apart, the last event at `at`. The log leaves enough milliseconds after the previous
 * event.
 */
function timed(at: Date, events: readonly Omit<AgencyEvent, "at">[]): AgencyEvent[] {
  const last = events.length - 1;
  return events.map((event, index) => ({ ...event, at: new Date(at.getTime() - (last - index)) }));
}

/**
 * Returns the area of a GeoJSON document: a polygon, several polygons, or the features of a collection.
 * @throws FactIssue for any other document, and for rings that are open or too long, or cross themselves or each other
 */
export function boundaryFrom(document: unknown): MultiPolygon {
  const coordinates = geometriesOf(document).flatMap(polygonsOf);
  const drawn: MultiPolygon | undefined = coordinates.length > 0 ? { type: "MultiPolygon", coordinates } : undefined;
  return readFactValue({ kind: "multiPolygon" }, drawn, "boundary", "en") as MultiPolygon; // checks the form itself
}

/** Returns the geometries of a GeoJSON document: those of its features, or the document itself. */
function geometriesOf(document: unknown): readonly unknown[] {
  if (!isObject(document)) return [];
  const { type, features, geometry } = document;
  if (type === "FeatureCollection") return Array.isArray(features) ? features.flatMap(geometriesOf) : [];
  return [type === "Feature" ? geometry : document];
}

/** Returns the polygons of a geometry; `[null]` for another geometry, so that the check in `boundaryFrom` rejects it. */
function polygonsOf(geometry: unknown): MultiPolygon["coordinates"] {
  const { type, coordinates } = isObject(geometry) ? geometry : {};
  const polygons: unknown = type === "Polygon" ? [coordinates] : coordinates;
  const isDrawn = Array.isArray(polygons) && (type === "Polygon" || type === "MultiPolygon");
  return (isDrawn ? polygons : [null]) as MultiPolygon["coordinates"];
}
