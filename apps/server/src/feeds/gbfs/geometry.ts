import type { MultiPolygon } from "@bikeshare/contract";
import { isObject, numberFrom } from "./values.ts";

/** Points of one geometry. The outline of a large city has some thousand; each takes some 20 bytes. */
const MAX_POINTS = 50_000;
/** Points of a ring, of which the last is the first. */
const MIN_RING_POINTS = 4;

/**
 * Reads a GeoJSON polygon or several. Open rings are closed, heights are left out.
 * @returns undefined where it is no geometry, has a point that is not on Earth, or too many
 */
export function geometryFrom(value: unknown): MultiPolygon | undefined {
  if (!isObject(value)) return undefined;
  const { type, coordinates } = value;
  const polygons: unknown = type === "Polygon" ? [coordinates] : coordinates;
  if ((type !== "Polygon" && type !== "MultiPolygon") || !Array.isArray(polygons)) return undefined;
  let points = 0;
  const read: number[][][][] = [];
  for (const polygon of polygons as readonly unknown[]) {
    if (!Array.isArray(polygon)) return undefined;
    const rings: number[][][] = [];
    for (const given of polygon as readonly unknown[]) {
      if (!Array.isArray(given) || (points += given.length) > MAX_POINTS) return undefined;
      const ring = ringFrom(given);
      if (ring === undefined) return undefined;
      rings.push(ring);
    }
    if (rings.length > 0) read.push(rings);
  }
  return read.length === 0 ? undefined : { type: "MultiPolygon", coordinates: read };
}

function ringFrom(given: readonly unknown[]): number[][] | undefined {
  const ring: number[][] = [];
  for (const point of given) {
    const [lon, lat] = Array.isArray(point) ? [numberFrom(point[0]), numberFrom(point[1])] : [];
    if (lon === undefined || lat === undefined || Math.abs(lon) > 180 || Math.abs(lat) > 90) return undefined;
    ring.push([lon, lat]);
  }
  const [first, last] = [ring[0], ring.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  if (first[0] !== last[0] || first[1] !== last[1]) ring.push([...first]);
  return ring.length < MIN_RING_POINTS ? undefined : ring;
}
