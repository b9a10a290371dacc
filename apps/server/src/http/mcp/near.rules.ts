/* The geometry of the tool `find_stations_near`: the rectangle in which it searches, and the distances of stations. */

/** A place on the earth, WGS 84 degrees. */
interface Place {
  readonly lat: number;
  readonly lon: number;
}

const EARTH_RADIUS_METERS = 6_371_008.8;
const METERS_PER_DEGREE = (EARTH_RADIUS_METERS * Math.PI) / 180;
/** The largest half width of a rectangle, in degrees: it then covers all longitudes, as near a pole. */
const ALL_LONGITUDES = 180;

/** Returns the rectangle around a place, in the form of the contract's `bbox`. */
export function searchBox({ lat, lon }: Place, radiusMeters: number): string {
  const height = radiusMeters / METERS_PER_DEGREE;
  const [south, north] = [Math.max(-90, lat - height), Math.min(90, lat + height)];
  // A degree of longitude is shortest at the edge nearest to a pole, and has no length at the pole itself.
  const shortest = Math.cos(radians(Math.max(Math.abs(south), Math.abs(north)))) * METERS_PER_DEGREE;
  const width = Math.min(ALL_LONGITUDES, radiusMeters / Math.max(shortest, Number.EPSILON));
  const [west, east] = width >= ALL_LONGITUDES ? [-180, 180] : [wrapped(lon - width), wrapped(lon + width)];
  return [west, south, east, north].map((degrees) => degrees.toFixed(6)).join(",");
}

/** Returns the items within a radius with their distances in metres, the nearest first. */
export function nearest<Item extends Place>(
  items: readonly Item[],
  from: Place,
  radiusMeters: number,
): (Item & { readonly distance_meters: number })[] {
  return items
    .map((item) => ({ ...item, distance_meters: Math.round(distanceMeters(from, item)) }))
    .filter((item) => item.distance_meters <= radiusMeters)
    .toSorted((a, b) => a.distance_meters - b.distance_meters);
}

/** Returns the distance on a sphere, by the haversine formula. */
function distanceMeters(a: Place, b: Place): number {
  const [latA, latB] = [radians(a.lat), radians(b.lat)];
  const half = (degrees: number) => Math.sin(radians(degrees) / 2) ** 2;
  const h = half(b.lat - a.lat) + Math.cos(latA) * Math.cos(latB) * half(b.lon - a.lon);
  return 2 * EARTH_RADIUS_METERS * Math.asin(Math.min(1, Math.sqrt(h)));
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

/** Returns a longitude between -180 and 180: beyond the antimeridian they continue from the other side. */
function wrapped(lon: number): number {
  if (lon > 180) return lon - 360;
  return lon < -180 ? lon + 360 : lon;
}
