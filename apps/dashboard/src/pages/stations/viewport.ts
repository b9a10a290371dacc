/** The part of the world that a map shows, and the conversion between coordinates and pixels. */

export interface Viewport {
  /** The middle, in the units of the projection. */
  readonly x: number;
  readonly y: number;
  /** Pixels for each of those units. */
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** The margin around the outermost stations, in pixels. */
const MARGIN_PX = 28;
/** Pixels for a unit, closest: a street's width. */
const MAX_SCALE = 40_000_000;
/** Metres around the equator, over the units around it. */
const METRES_PER_UNIT = 40_075_017;

/** Web Mercator, as other maps have it: the world is a square of side 1. */
export function project({ lat, lon }: Position): Point {
  const sine = Math.sin((Math.max(-85, Math.min(85, lat)) * Math.PI) / 180);
  return { x: lon / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

/** Shows all positions. */
export function fit(positions: readonly Position[], { width, height }: Size): Viewport {
  const points = positions.map(project);
  if (points.length === 0) return { x: 0.5, y: 0.5, scale: Math.min(width, height) };
  const [left, right] = extent(points.map(({ x }) => x));
  const [top, bottom] = extent(points.map(({ y }) => y));
  const inside = (size: number) => Math.max(1, size - 2 * MARGIN_PX);
  const scale = Math.min(inside(width) / (right - left), inside(height) / (bottom - top), MAX_SCALE / 8);
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale };
}

function extent(values: readonly number[]): readonly [number, number] {
  return values.reduce<[number, number]>(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
}

export function toScreen({ x, y }: Point, view: Viewport, { width, height }: Size): Point {
  return { x: (x - view.x) * view.scale + width / 2, y: (y - view.y) * view.scale + height / 2 };
}

/** Moves the shown part by pixels. */
export function pan(view: Viewport, dx: number, dy: number): Viewport {
  return { ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale };
}

/** Comes closer (above 1) or goes away; the point at `at` stays where it is. */
export function zoom(view: Viewport, factor: number, at: Point, { width, height }: Size): Viewport {
  const scale = Math.min(MAX_SCALE, Math.max(Math.min(width, height), view.scale * factor));
  const [dx, dy] = [at.x - width / 2, at.y - height / 2];
  return {
    x: view.x + dx / view.scale - dx / scale,
    y: view.y + dy / view.scale - dy / scale,
    scale,
  };
}

/** Returns a round distance of about `targetPx` pixels, and how long it is on the screen. */
export function scaleBar(view: Viewport, targetPx: number): { readonly label: string; readonly px: number } {
  const latitude = Math.atan(Math.sinh(Math.PI * (1 - 2 * view.y)));
  const metresPerPx = (METRES_PER_UNIT * Math.cos(latitude)) / view.scale;
  const magnitude = 10 ** Math.floor(Math.log10(metresPerPx * targetPx));
  const step = [5, 2, 1].find((factor) => factor * magnitude <= metresPerPx * targetPx) ?? 1;
  const metres = step * magnitude;
  const label = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
  return { label, px: metres / metresPerPx };
}
