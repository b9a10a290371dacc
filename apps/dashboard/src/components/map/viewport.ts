/**
 * The part of the world that a map shows, and the conversion between coordinates and pixels. Points are in world coordinates
 * (see `project`), except those that `toScreen` returns and `zoom` takes: these are pixels.
 */

/** The part of the world that a map shows. */
export interface Viewport {
  /** The middle, in the units of the projection. */
  readonly x: number;
  readonly y: number;
  /** Pixels for each unit of the projection. */
  readonly scale: number;
}

/** The size of a map on the page, in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A point in world coordinates, or a pixel of the map. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A position on the earth, in degrees. */
export interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** The margin around the outermost stations, in pixels. */
const MARGIN_PX = 36;
/** The largest scale, in pixels for each unit. */
const MAX_SCALE = 40_000_000;
/** The length of the equator in metres, which is one unit of the projection. */
const METRES_PER_UNIT = 40_075_017;

/** Converts a position to Web Mercator, as other maps use it. The world is a square of side 1. */
export function project({ lat, lon }: Position): Point {
  // The projection ends at about 85 degrees, because it draws the poles infinitely far away.
  const sine = Math.sin((Math.max(-85, Math.min(85, lat)) * Math.PI) / 180);
  return { x: lon / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

/** Returns the viewport that shows all points. */
export function fit(points: readonly Point[], { width, height }: Size): Viewport {
  if (points.length === 0) return { x: 0.5, y: 0.5, scale: Math.min(width, height) };
  const [left, right] = extent(points.map(({ x }) => x));
  const [top, bottom] = extent(points.map(({ y }) => y));
  const inside = (size: number) => Math.max(1, size - 2 * MARGIN_PX);
  // The last bound, about 8 metres for each pixel at the equator, keeps the surroundings in sight. It alone counts for a
  // single point, whose extent is 0: the quotients are infinite.
  const scale = Math.min(inside(width) / (right - left), inside(height) / (bottom - top), MAX_SCALE / 8);
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale };
}

/** Returns the least and the greatest value. */
function extent(values: readonly number[]): readonly [number, number] {
  return values.reduce<[number, number]>(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
}

/** With fewer points, none counts as an outlier. */
const FEW_POINTS = 8;
/**
 * How far a point may lie outside the middle half of all points, as a multiple of the width or height of that half. Too low:
 * the suburbs of a long city are left out.
 */
const REACH = 4;

/**
 * Returns the points without outliers, which lie far from nearly all others. Example: a station with wrong coordinates, or a
 * depot in the next town.
 */
export function withoutOutliers<Each extends Point>(points: readonly Each[]): readonly Each[] {
  if (points.length < FEW_POINTS) return points;
  const horizontal = usualRange(points.map(({ x }) => x));
  const vertical = usualRange(points.map(({ y }) => y));
  const isUsual = (value: number, [least, most]: readonly [number, number]) => value >= least && value <= most;
  return points.filter(({ x, y }) => isUsual(x, horizontal) && isUsual(y, vertical));
}

/** Returns the range of usual values: the middle half of all values, widened at both ends by `REACH` times its length. */
function usualRange(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((one, other) => one - other);
  const [low = 0, high = 0] = [0.25, 0.75].map((share) => sorted[Math.floor(share * (sorted.length - 1))]);
  const reach = (high - low) * REACH;
  return [low - reach, high + reach];
}

/** Returns the pixel at which a point is drawn, counted from the top left corner of the map. */
export function toScreen({ x, y }: Point, view: Viewport, { width, height }: Size): Point {
  return { x: (x - view.x) * view.scale + width / 2, y: (y - view.y) * view.scale + height / 2 };
}

/** Returns the viewport moved by pixels. */
export function pan(view: Viewport, dx: number, dy: number): Viewport {
  return { ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale };
}

/** Returns the viewport zoomed by `factor` (above 1: closer). The point under `at` stays in place. */
export function zoom(view: Viewport, factor: number, at: Point, { width, height }: Size): Viewport {
  // At the smallest scale, the whole world is as large as the shorter side of the map.
  const scale = Math.min(MAX_SCALE, Math.max(Math.min(width, height), view.scale * factor));
  const [dx, dy] = [at.x - width / 2, at.y - height / 2];
  return {
    x: view.x + dx / view.scale - dx / scale,
    y: view.y + dy / view.scale - dy / scale,
    scale,
  };
}

/** Returns the metres for each pixel in the middle of the map. Web Mercator enlarges by 1 / cos(latitude). */
function metresPerPx(view: Viewport): number {
  const latitude = Math.atan(Math.sinh(Math.PI * (1 - 2 * view.y)));
  return (METRES_PER_UNIT * Math.cos(latitude)) / view.scale;
}

/** Returns the largest round distance that takes at most `targetPx` pixels on the screen, and how many it takes. */
export function scaleBar(view: Viewport, targetPx: number): { readonly label: string; readonly px: number } {
  const perPx = metresPerPx(view);
  const magnitude = 10 ** Math.floor(Math.log10(perPx * targetPx));
  const step = [5, 2, 1].find((factor) => factor * magnitude <= perPx * targetPx) ?? 1;
  const metres = step * magnitude;
  const label = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
  return { label, px: metres / perPx };
}

/** Returns the corners of the smallest convex shape around the points, in order; empty for fewer than three points. */
export function hull(points: readonly Point[]): readonly Point[] {
  const sorted = points.toSorted((one, other) => one.x - other.x || one.y - other.y);
  if (sorted.length < 3) return [];
  // Andrew's monotone chain: each half keeps only the points at which the outline turns in one direction.
  const turn = (a: Point, b: Point, c: Point) => (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  const half = (ordered: readonly Point[]) => {
    const kept: Point[] = [];
    for (const point of ordered) {
      while (kept.length > 1 && turn(kept.at(-2) as Point, kept.at(-1) as Point, point) <= 0) kept.pop();
      kept.push(point);
    }
    return kept.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.toReversed())];
}

/** A tile of a street map, and the square of pixels in which it is drawn. */
export interface PlacedTile {
  /** The tile's address on tile servers: its zoom level, column and row. */
  readonly z: number;
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly top: number;
  readonly side: number;
}

/** The side of a tile at its own size, as tile servers make it. */
const TILE_PX = 256;
/** The closest zoom for which OpenStreetMap's tile servers have tiles. Closer views enlarge these. */
const MAX_TILE_ZOOM = 19;

/** Returns the tiles that cover a map, at the zoom whose tiles are drawn at about their own size. */
export function tilesOf(view: Viewport, size: Size): readonly PlacedTile[] {
  const z = Math.max(0, Math.min(MAX_TILE_ZOOM, Math.round(Math.log2(view.scale / TILE_PX))));
  const count = 2 ** z;
  const side = view.scale / count;
  const first = { x: view.x - size.width / 2 / view.scale, y: view.y - size.height / 2 / view.scale };
  const [left, top] = [Math.floor(first.x * count), Math.max(0, Math.floor(first.y * count))];
  const [columns, rows] = [Math.ceil(size.width / side) + 1, Math.ceil(size.height / side) + 1];
  return Array.from({ length: columns * rows }, (_, index) => {
    const x = left + (index % columns);
    const y = top + Math.floor(index / columns);
    const at = toScreen({ x: x / count, y: y / count }, view, size);
    // Columns repeat around the world; rows end at the top and at the bottom of the projection.
    return { z, x: ((x % count) + count) % count, y, left: at.x, top: at.y, side };
  }).filter(({ y }) => y < count);
}
