/**
 * Draws a city on a canvas: its area, regions and zones, arcs for its rides, its bikes, and its stations on top. The parts
 * of a `Scene` have world coordinates (`project` in viewport.ts). `toScreen` converts them to the pixels that are drawn.
 */
import type { MappedStation } from "@bikeshare/contract/console";
import { type Availability, availabilityOf, capacityOf } from "./availability.ts";
import type { MapColours, Marks } from "./marks.ts";
import { type Point, scaleBar, type Size, toScreen, type Viewport } from "./viewport.ts";

/** A station with the values that its mark shows, computed once for all frames. */
export interface DrawnStation {
  readonly station: MappedStation;
  readonly point: Point;
  readonly kind: Availability;
  /** The share of the capacity that the bikes take, 0 to 1. */
  readonly level: number;
  readonly capacity: number;
}

/** Returns a station with the values that its mark shows. @param point its position in world coordinates */
export function drawnStation(station: MappedStation, point: Point): DrawnStation {
  const capacity = capacityOf(station);
  return { station, point, capacity, kind: availabilityOf(station), level: Math.min(1, station.bikes / capacity) };
}

/** A named region of the city. */
export interface DrawnRegion {
  readonly name: string;
  readonly outline: readonly Point[];
  readonly middle: Point;
}

/** An area with a rule, such as a slow zone. */
export interface DrawnZone {
  /** The outlines. A ring inside another one is the edge of a hole. */
  readonly rings: readonly (readonly Point[])[];
  /** The colour: that of a station with this availability, or the accent colour. */
  readonly tone: Availability | "accent";
  readonly isDashed: boolean;
}

/** Rides from one place to another. */
export interface DrawnFlow {
  readonly from: Point;
  readonly to: Point;
  readonly rides: number;
}

/** What a map shows, in world coordinates. */
export interface Scene {
  /** Largest first: stations that are drawn later cover earlier ones. */
  readonly stations: readonly DrawnStation[];
  /** The corners of the area that the service covers: a convex shape around the stations. */
  readonly area: readonly Point[];
  readonly regions: readonly DrawnRegion[];
  readonly zones: readonly DrawnZone[];
  readonly flows: readonly DrawnFlow[];
  readonly bikes: readonly Point[];
  /**
   * By station id, the share of the day for which the station was empty, 0 to 1. Undefined: stations are drawn in their
   * present state.
   */
  readonly shade: ReadonlyMap<string, number> | undefined;
  /** The ids of the stations that match the filters; the others are drawn faintly. Undefined: all match. */
  readonly matching: ReadonlySet<string> | undefined;
  readonly selectedId: string | undefined;
  readonly hoveredId: string | undefined;
  /** Whether a street map is drawn below. It already names places, so the scene draws fewer names. */
  readonly hasStreets: boolean;
}

/** A frame: what is drawn, where, and with what. */
export interface Frame {
  readonly scene: Scene;
  readonly view: Viewport;
  readonly size: Size;
  readonly colours: MapColours;
  readonly marks: Marks;
}

/** Opacity of the stations that do not match the filters. */
const FAINT = 0.16;
/** Most pixels of the scale bar. Its length is a round distance. */
const SCALE_BAR_PX = 96;
/** Capacity of a station whose mark has the usual size. */
const USUAL_CAPACITY = 20;
/** The least distance between stations, in pixels, at which their counts are drawn below their names. */
const ROOM_FOR_COUNTS_PX = 110;

/** Returns the drawing context of a canvas, cleared and at the resolution of the screen. Null: the browser has none. */
export function clearedCanvas(element: HTMLCanvasElement, size: Size): CanvasRenderingContext2D | null {
  const canvas = element.getContext("2d");
  if (canvas === null) return null;
  const [width, height] = [size.width * devicePixelRatio, size.height * devicePixelRatio].map(Math.round);
  if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
  canvas.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  canvas.clearRect(0, 0, size.width, size.height);
  return canvas;
}

/** Draws a whole frame, except the streets. */
export function drawFrame(element: HTMLCanvasElement, frame: Frame): void {
  const { scene, size } = frame;
  const canvas = clearedCanvas(element, size);
  if (canvas === null) return;
  if (!scene.hasStreets) drawGround(canvas, frame);
  for (const zone of scene.zones) drawZone(canvas, zone, frame);
  for (const flow of scene.flows) drawFlow(canvas, flow, frame);
  drawBikes(canvas, frame);
  drawStations(canvas, frame);
  drawScale(canvas, frame);
}

/** Draws the background of a map without streets: the service area, a grid and the regions. */
function drawGround(canvas: CanvasRenderingContext2D, frame: Frame): void {
  const { scene, colours } = frame;
  canvas.lineJoin = "round";
  if (scene.area.length > 2) {
    const reach = Math.min(44, Math.max(14, stationSpacing(frame) * 0.9));
    tracePath(canvas, [scene.area], frame);
    // The area passes through the outermost stations. Wide strokes around it leave them a margin, with a thin border.
    for (const [width, colour] of [
      [2 * reach + 2, colours.line],
      [2 * reach, colours.raised],
    ] as const) {
      canvas.lineWidth = width;
      canvas.strokeStyle = colour;
      canvas.stroke();
    }
    canvas.fillStyle = colours.raised;
    canvas.fill();
  }
  drawGrid(canvas, frame);
  if (scene.regions.length < 2) return;
  canvas.strokeStyle = colours.muted;
  canvas.globalAlpha = 0.45;
  canvas.lineWidth = 1;
  canvas.setLineDash([2, 4]);
  for (const { outline } of scene.regions) {
    tracePath(canvas, [outline], frame);
    canvas.stroke();
  }
  canvas.setLineDash([]);
  canvas.globalAlpha = 1;
}

/** Draws grid lines as far apart as the scale bar is long, so that distances can be read anywhere. */
function drawGrid(canvas: CanvasRenderingContext2D, { view, size, colours }: Frame): void {
  const { px } = scaleBar(view, SCALE_BAR_PX);
  // Any point of the world would do: it fixes the lines to the world, so that they move with the map.
  const origin = toScreen({ x: 0.5, y: 0.5 }, view, size);
  // Returns the first line at or after pixel 0.
  const first = (start: number) => ((start % px) + px) % px;
  canvas.strokeStyle = colours.line;
  canvas.globalAlpha = 0.5;
  canvas.lineWidth = 1;
  canvas.beginPath();
  for (let x = first(origin.x); x < size.width; x += px) {
    canvas.moveTo(Math.round(x) + 0.5, 0);
    canvas.lineTo(Math.round(x) + 0.5, size.height);
  }
  for (let y = first(origin.y); y < size.height; y += px) {
    canvas.moveTo(0, Math.round(y) + 0.5);
    canvas.lineTo(size.width, Math.round(y) + 0.5);
  }
  canvas.stroke();
  canvas.globalAlpha = 1;
}

/** Begins a path along closed rings. The caller fills or strokes it. */
function tracePath(
  canvas: CanvasRenderingContext2D,
  rings: readonly (readonly Point[])[],
  { view, size }: Pick<Frame, "view" | "size">,
): void {
  canvas.beginPath();
  for (const ring of rings) {
    for (const [index, point] of ring.entries()) {
      const { x, y } = toScreen(point, view, size);
      if (index === 0) canvas.moveTo(x, y);
      else canvas.lineTo(x, y);
    }
    canvas.closePath();
  }
}

function drawZone(canvas: CanvasRenderingContext2D, { rings, tone, isDashed }: DrawnZone, frame: Frame): void {
  const { accent, kinds } = frame.colours;
  const colour = tone === "accent" ? accent : kinds[tone].strong;
  tracePath(canvas, rings, frame);
  canvas.fillStyle = colour;
  canvas.globalAlpha = 0.16;
  canvas.fill("evenodd");
  canvas.globalAlpha = 1;
  canvas.lineWidth = 2;
  canvas.strokeStyle = colour;
  canvas.setLineDash(isDashed ? [6, 4] : []);
  canvas.stroke();
  canvas.setLineDash([]);
}

/** Draws an arc that is transparent at its start and coloured at its end, which shows the direction. */
function drawFlow(canvas: CanvasRenderingContext2D, { from, to, rides }: DrawnFlow, frame: Frame): void {
  const { view, size, colours } = frame;
  const [start, end] = [toScreen(from, view, size), toScreen(to, view, size)];
  const bend = {
    x: (start.x + end.x) / 2 + (end.y - start.y) * 0.2,
    y: (start.y + end.y) / 2 - (end.x - start.x) * 0.2,
  };
  if (isBeside([start, bend, end], size)) return;
  const gradient = canvas.createLinearGradient(start.x, start.y, end.x, end.y);
  // The accent colour, fully transparent. Browsers compute the colour of the theme as `rgb(…)`.
  gradient.addColorStop(0, colours.accent.replace(/^rgb\((.+)\)$/, "rgba($1, 0)"));
  gradient.addColorStop(1, colours.accent);
  canvas.strokeStyle = gradient;
  canvas.globalAlpha = Math.min(0.9, 0.35 + rides * 0.1);
  canvas.lineWidth = Math.min(6, 0.75 + Math.sqrt(rides));
  canvas.beginPath();
  canvas.moveTo(start.x, start.y);
  canvas.quadraticCurveTo(bend.x, bend.y, end.x, end.y);
  canvas.stroke();
  canvas.globalAlpha = 1;
}

function drawBikes(canvas: CanvasRenderingContext2D, { scene, view, size, colours }: Frame): void {
  if (scene.bikes.length === 0) return;
  canvas.fillStyle = colours.accent;
  canvas.beginPath();
  for (const bike of scene.bikes) {
    const at = toScreen(bike, view, size);
    if (!isNear(at, size, 4)) continue;
    canvas.moveTo(at.x + 2.25, at.y);
    canvas.arc(at.x, at.y, 2.25, 0, 2 * Math.PI);
  }
  canvas.fill();
}

/** Tells whether all points lie beyond the same side of the map. A curve with these control points is then out of sight. */
function isBeside(points: readonly Point[], { width, height }: Size): boolean {
  return (
    points.every(({ x }) => x < 0) ||
    points.every(({ x }) => x > width) ||
    points.every(({ y }) => y < 0) ||
    points.every(({ y }) => y > height)
  );
}

/** Tells whether a pixel is on the map, or at most `margin` pixels outside. */
function isNear({ x, y }: Point, { width, height }: Size, margin: number): boolean {
  return x > -margin && y > -margin && x < width + margin && y < height + margin;
}

/** Returns about how many pixels lie between two neighbouring stations. */
function stationSpacing({ scene: { area, stations }, view }: Pick<Frame, "scene" | "view">): number {
  // Twice the area of the service, by the shoelace formula. Each station then has an equal share of the area.
  let twice = 0;
  for (const [index, { x, y }] of area.entries()) {
    const next = area[(index + 1) % area.length];
    if (next !== undefined) twice += x * next.y - next.x * y;
  }
  // One or two stations, or stations in one line, have no area: 60 pixels make their marks as large as those of
  // stations that are far apart.
  return area.length < 3 ? 60 : Math.sqrt(Math.abs(twice) / 2 / stations.length) * view.scale;
}

/** Returns the radius of a station's mark: its area grows with the capacity, within limits that keep it easy to press. */
function radiusOf(capacity: number, spacing: number): number {
  const usual = Math.max(3, Math.min(10, spacing * 0.26));
  return usual * Math.max(0.7, Math.min(1.7, Math.sqrt(capacity / USUAL_CAPACITY)));
}

interface Placed {
  readonly drawn: DrawnStation;
  readonly at: Point;
  readonly radius: number;
}

/** Draws the marks of the stations, or their shades, and then rings and names on top. */
function drawStations(canvas: CanvasRenderingContext2D, frame: Frame): void {
  const { scene, view, size, colours, marks } = frame;
  const spacing = stationSpacing(frame);
  const placed = scene.stations.map((drawn): Placed => {
    return { drawn, at: toScreen(drawn.point, view, size), radius: radiusOf(drawn.capacity, spacing) };
  });
  const visible = placed.filter(({ at, radius }) => isNear(at, size, radius));
  for (const { drawn, at, radius } of visible) {
    if (scene.shade !== undefined) {
      drawShade(canvas, { at, radius, share: scene.shade.get(drawn.station.id) ?? 0 }, colours);
      continue;
    }
    canvas.globalAlpha = scene.matching?.has(drawn.station.id) === false ? FAINT : 1;
    const { image, side } = marks({ kind: drawn.kind, level: drawn.level, radius });
    canvas.drawImage(image, at.x - side / 2, at.y - side / 2, side, side);
  }
  canvas.globalAlpha = 1;
  const isEmphasized = ({ drawn: { station } }: Placed) =>
    station.id === scene.selectedId || station.id === scene.hoveredId;
  for (const one of visible.filter(isEmphasized)) drawRing(canvas, one, frame);
  drawNames(canvas, { visible, spacing, isEmphasized }, frame);
}

interface Shade {
  readonly at: Point;
  readonly radius: number;
  readonly share: number;
}

/** Draws a station as a disc that grows with the share of the day for which it was empty. */
function drawShade(canvas: CanvasRenderingContext2D, { at, radius, share }: Shade, colours: MapColours): void {
  canvas.beginPath();
  canvas.arc(at.x, at.y, radius * (0.55 + 1.3 * share), 0, 2 * Math.PI);
  canvas.fillStyle = share === 0 ? colours.muted : colours.danger;
  canvas.globalAlpha = share === 0 ? 0.35 : 0.25 + 0.6 * share;
  canvas.fill();
  canvas.globalAlpha = 1;
}

/** Draws a ring around the selected station or the one under the pointer. */
function drawRing(canvas: CanvasRenderingContext2D, { drawn, at, radius }: Placed, { scene, colours }: Frame): void {
  canvas.beginPath();
  canvas.arc(at.x, at.y, radius + 4, 0, 2 * Math.PI);
  canvas.lineWidth = drawn.station.id === scene.selectedId ? 2.5 : 1.5;
  canvas.strokeStyle = drawn.station.id === scene.selectedId ? colours.accent : colours.text;
  canvas.stroke();
}

interface Names {
  readonly visible: readonly Placed[];
  readonly spacing: number;
  readonly isEmphasized: (placed: Placed) => boolean;
}

/** A rectangle of the map, in pixels, that a name or a mark covers. */
interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Square pixels of the map for each name. Too low: names crowd the map. */
const AREA_OF_NAME_PX = 26_000;
/** The height of a line of text. */
const LINE_PX = 14;
/** Most names of stations while counts are drawn below them. Otherwise `AREA_OF_NAME_PX` decides. */
const MAX_NAMES = 80;
/** Stations that are tried for each name that may be drawn: some names have no space. */
const TRIED_NAMES = 6;
/** Vertical distances between the middle of a region and the line of its name, in the order in which they are tried. */
const REGION_SHIFTS_PX = [4, 20, -12, 36, -28, 52, -44];

/**
 * Draws the names of the selected station and of the one under the pointer, then those of the regions and of the largest
 * stations. Above streets, which have names of their own, regions get no names, and large stations only while the marks are
 * far apart. Stations that do not match the filters get none. A name of a region or a large station is omitted if it would
 * cover another name or a mark.
 */
function drawNames(canvas: CanvasRenderingContext2D, { visible, spacing, isEmphasized }: Names, frame: Frame): void {
  const { scene, size, colours } = frame;
  const hasCounts = spacing >= ROOM_FOR_COUNTS_PX;
  const most = hasCounts ? MAX_NAMES : Math.round((size.width * size.height) / AREA_OF_NAME_PX);
  const taken: Box[] = visible.map(({ at, radius }) => ({
    left: at.x - radius,
    right: at.x + radius,
    top: at.y - radius,
    bottom: at.y + radius,
  }));
  const emphasized = visible.filter(isEmphasized);
  canvas.lineJoin = "round";
  canvas.textAlign = "left";
  canvas.font = `11px ${colours.font}`;
  // A forced name is always drawn, so its box is never undefined.
  for (const placed of emphasized)
    taken.push(drawStationName(canvas, { placed, hasCounts, taken, isForced: true }, frame) as Box);
  if (!scene.hasStreets) drawRegionNames(canvas, taken, frame);
  // The names of regions have another font.
  canvas.font = `11px ${colours.font}`;
  // The street map has names already, so further station names are drawn only when they are far enough apart.
  if (scene.hasStreets && !hasCounts) return;
  // `visible` has the largest stations first, as the scene does.
  const matching = visible.filter(
    (placed) => scene.matching?.has(placed.drawn.station.id) !== false && !isEmphasized(placed),
  );
  let named = 0;
  for (const placed of matching.slice(0, most * TRIED_NAMES)) {
    if (named >= most) break;
    const box = drawStationName(canvas, { placed, hasCounts, taken, isForced: false }, frame);
    if (box === undefined) continue;
    taken.push(box);
    named += 1;
  }
}

/**
 * Draws the names of the regions in capitals, where there is space; nothing if there is only one. Adds the space that they
 * cover to `taken`.
 */
function drawRegionNames(canvas: CanvasRenderingContext2D, taken: Box[], { scene, view, size, colours }: Frame): void {
  if (scene.regions.length < 2) return;
  canvas.font = `600 11px ${colours.font}`;
  canvas.letterSpacing = "1.5px";
  for (const { name, middle } of scene.regions) {
    const text = name.toUpperCase();
    const width = canvas.measureText(text).width;
    const at = toScreen(middle, view, size);
    // Tries lines below and above the middle of the region, and uses the first that covers nothing.
    for (const shift of REGION_SHIFTS_PX) {
      const box = { left: at.x - width / 2, right: at.x + width / 2, top: at.y + shift - 10, bottom: at.y + shift + 3 };
      if (taken.some((other) => overlaps(other, box))) continue;
      taken.push(box);
      drawName(canvas, { name: text, left: box.left, top: at.y + shift, colour: colours.muted }, colours);
      break;
    }
  }
  canvas.letterSpacing = "0px";
}

interface StationName {
  readonly placed: Placed;
  readonly hasCounts: boolean;
  readonly taken: readonly Box[];
  /** Whether the name is drawn even if it covers something. */
  readonly isForced: boolean;
}

/**
 * Draws a station's name to the right of its mark, or else to the left.
 * @returns where the name was drawn; undefined: there was no space
 */
function drawStationName(
  canvas: CanvasRenderingContext2D,
  { placed: { drawn, at, radius }, hasCounts, taken, isForced }: StationName,
  { size, colours }: Frame,
): Box | undefined {
  const { name, bikes, docks } = drawn.station;
  const width = canvas.measureText(name).width;
  const height = hasCounts ? 2 * LINE_PX : LINE_PX;
  const lefts = [at.x + radius + 5, at.x - radius - 5 - width];
  const boxes = lefts.map((left) => ({
    left,
    right: left + width,
    top: at.y - LINE_PX / 2,
    bottom: at.y - LINE_PX / 2 + height,
  }));
  const fits = (box: Box) => box.left > 4 && box.right < size.width - 4 && !taken.some((other) => overlaps(other, box));
  // A forced name may cover something, but on the right it should not be cut off by the edge of the map.
  const forced = boxes.find(({ right }) => right < size.width - 4) ?? boxes[1];
  const box = boxes.find(fits) ?? (isForced ? forced : undefined);
  if (box === undefined) return undefined;
  drawName(canvas, { name, left: box.left, top: at.y + 4, colour: colours.text }, colours);
  const counts = `${bikes} bikes · ${docks ?? "–"} docks`;
  if (hasCounts)
    drawName(canvas, { name: counts, left: box.left, top: at.y + 4 + LINE_PX, colour: colours.muted }, colours);
  return box;
}

function overlaps(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

interface PlacedName {
  readonly name: string;
  readonly left: number;
  readonly top: number;
  readonly colour: string;
}

/** Draws a text with an outline in the colour of the page, so that it is legible on anything. `top` is its baseline. */
function drawName(
  canvas: CanvasRenderingContext2D,
  { name, left, top, colour }: PlacedName,
  colours: MapColours,
): void {
  canvas.lineWidth = 3.5;
  canvas.strokeStyle = colours.surface;
  canvas.strokeText(name, left, top);
  canvas.fillStyle = colour;
  canvas.fillText(name, left, top);
}

function drawScale(canvas: CanvasRenderingContext2D, { view, size, colours }: Frame): void {
  const { label, px } = scaleBar(view, SCALE_BAR_PX);
  const [left, bottom] = [12, size.height - 12];
  canvas.font = `11px ${colours.font}`;
  canvas.textAlign = "left";
  canvas.strokeStyle = colours.muted;
  canvas.lineWidth = 1.5;
  canvas.beginPath();
  canvas.moveTo(left, bottom - 4);
  canvas.lineTo(left, bottom);
  canvas.lineTo(left + px, bottom);
  canvas.lineTo(left + px, bottom - 4);
  canvas.stroke();
  drawName(canvas, { name: label, left: left + 5, top: bottom - 5, colour: colours.muted }, colours);
}

/** The farthest distance from a mark, in pixels, at which a press selects its station. */
const PRESS_REACH_PX = 8;

/** Returns the station nearest to a press; undefined if it is too far away. */
export function stationAt(at: Point, frame: Pick<Frame, "scene" | "view" | "size">): DrawnStation | undefined {
  const spacing = stationSpacing(frame);
  let nearest: { readonly drawn: DrawnStation; readonly distance: number } | undefined;
  for (const drawn of frame.scene.stations) {
    const { x, y } = toScreen(drawn.point, frame.view, frame.size);
    const distance = Math.hypot(x - at.x, y - at.y) - radiusOf(drawn.capacity, spacing);
    if (distance <= PRESS_REACH_PX && distance < (nearest?.distance ?? Number.POSITIVE_INFINITY))
      nearest = { drawn, distance };
  }
  return nearest?.drawn;
}
