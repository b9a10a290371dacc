/*
 * Checks areas in GeoJSON. A MultiPolygon is a list of polygons, a polygon a list of rings (the first is its outline, the
 * others are holes), and a ring a list of positions.
 */

/** A GeoJSON position: `[longitude, latitude]`, and optionally a height. */
type Position = readonly number[];

/** Maximum points of a MultiPolygon. Too high: comparing its edges pairwise delays other requests. */
const MAX_POINTS = 5_000;

/**
 * Returns what an invalid value must be instead, as a phrase after "must be"; undefined for a valid MultiPolygon. Consumers
 * need closed rings without crossings, and holes inside their polygon.
 */
export function multiPolygonIssue(value: unknown): string | undefined {
  const { type, coordinates } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  if (type !== "MultiPolygon" || !Array.isArray(coordinates) || coordinates.length === 0) {
    return 'GeoJSON of type MultiPolygon, such as {"type":"MultiPolygon","coordinates":[[[[10.7,59.9],…]]]}';
  }
  let points = 0;
  for (const polygon of coordinates as readonly unknown[]) {
    if (!Array.isArray(polygon) || polygon.length === 0) return "polygons of one or more rings";
    for (const ring of polygon as readonly unknown[]) {
      const issue = ringIssue(ring);
      if (issue !== undefined) return issue;
      points += (ring as readonly unknown[]).length;
      if (points > MAX_POINTS) return `of up to ${MAX_POINTS} points`;
    }
  }
  const polygons = coordinates as readonly (readonly (readonly Position[])[])[];
  return polygons.some(hasCrossing) ? "rings that neither cross themselves nor each other" : holeIssue(polygons);
}

/** Returns what an invalid ring must be instead; undefined for a closed ring of valid positions. */
function ringIssue(ring: unknown): string | undefined {
  if (!Array.isArray(ring) || ring.length < 4) return "rings of four or more positions, the last equal to the first";
  const isPosition = (each: unknown): each is Position =>
    Array.isArray(each) &&
    (each.length === 2 || each.length === 3) &&
    each.every((degrees) => typeof degrees === "number" && Number.isFinite(degrees)) &&
    Math.abs(each[0] as number) <= 180 &&
    Math.abs(each[1] as number) <= 90;
  if (!ring.every(isPosition)) return "positions of [longitude, latitude] in WGS 84 degrees";
  const positions: readonly Position[] = ring;
  return samePlace(positions[0], positions.at(-1)) ? undefined : "closed rings: the last position equal to the first";
}

/** One edge of a polygon's ring. */
interface Edge {
  readonly from: Position;
  readonly to: Position;
  /** The index of the ring in its polygon. */
  readonly ring: number;
  /** The index of the edge in its ring, and that of the ring's last edge. */
  readonly at: number;
  readonly last: number;
}

/** Tells whether two edges of a polygon's rings cross. Sorts edges from west to east, so that it compares few pairs. */
function hasCrossing(rings: readonly (readonly Position[])[]): boolean {
  const edges = rings.flatMap((positions, ring) =>
    positions
      .slice(1)
      .map((to, at): Edge => ({ from: positions[at] ?? to, to, ring, at, last: positions.length - 2 }))
      .filter(({ from, to }) => !samePlace(from, to)),
  );
  const west = ({ from, to }: Edge) => Math.min(x(from), x(to));
  const east = ({ from, to }: Edge) => Math.max(x(from), x(to));
  const sorted = edges.toSorted((a, b) => west(a) - west(b));
  return sorted.some((edge, index) => {
    for (let next = index + 1; next < sorted.length; next++) {
      const other = sorted[next];
      if (other === undefined || west(other) > east(edge)) return false;
      if (!areNeighbours(edge, other) && cross(edge, other)) return true;
    }
    return false;
  });
}

/** Tells whether two edges follow each other in a ring, and so share a position. */
function areNeighbours(a: Edge, b: Edge): boolean {
  if (a.ring !== b.ring) return false;
  const distance = Math.abs(a.at - b.at);
  return distance <= 1 || distance === a.last;
}

/** Tells whether each edge's ends lie on different sides of the other edge. Edges that only touch do not cross. */
function cross(a: Edge, b: Edge): boolean {
  const sides = [side(a, b.from), side(a, b.to), side(b, a.from), side(b, a.to)] as const;
  return sides[0] * sides[1] < 0 && sides[2] * sides[3] < 0;
}

/** Tells whether a position lies on an edge, its ends included. */
function isOn(edge: Pick<Edge, "from" | "to">, position: Position): boolean {
  const { from, to } = edge;
  const isBetween = (at: (each: Position) => number) =>
    Math.min(at(from), at(to)) <= at(position) && at(position) <= Math.max(at(from), at(to));
  return side(edge, position) === 0 && isBetween(x) && isBetween(y);
}

/** Returns the side of an edge on which a position lies, as a sign; 0: it lies on the line through the edge. */
function side({ from, to }: Pick<Edge, "from" | "to">, position: Position): number {
  return Math.sign((x(to) - x(from)) * (y(position) - y(from)) - (y(to) - y(from)) * (x(position) - x(from)));
}

/** Checks the holes of polygons whose rings do not cross, but may touch: each position of a hole must be inside. */
function holeIssue(polygons: readonly (readonly (readonly Position[])[])[]): string | undefined {
  const isOutside = polygons.some(([outer = [], ...holes]) =>
    holes.some((hole) => !hole.every((position) => contains(outer, position))),
  );
  return isOutside ? "holes that lie inside their polygon's first ring" : undefined;
}

/**
 * Tells whether a position is inside a ring or on one of its edges. A position is inside if a line from it to the east
 * crosses an odd number of the ring's edges.
 */
function contains(ring: readonly Position[], position: Position): boolean {
  let isInside = false;
  for (let at = 1; at < ring.length; at++) {
    const [from = position, to = position] = [ring[at - 1], ring[at]];
    if (isOn({ from, to }, position)) return true;
    const isFromNorth = y(from) > y(position);
    const isToNorth = y(to) > y(position);
    // Both ends of the edge are north of the position, or neither is: the line does not cross it.
    if (isFromNorth === isToNorth) continue;
    const crossing = x(from) + ((y(position) - y(from)) / (y(to) - y(from))) * (x(to) - x(from));
    if (x(position) < crossing) isInside = !isInside;
  }
  return isInside;
}

/** Tells whether two positions are equal; their heights do not count. */
function samePlace(a: Position | undefined, b: Position | undefined): boolean {
  return a !== undefined && b !== undefined && x(a) === x(b) && y(a) === y(b);
}

const x = (position: Position): number => position[0] ?? 0;
const y = (position: Position): number => position[1] ?? 0;
