/** Draws a city on a canvas: its area, regions and zones, the ways of its rides, its bikes, and its stations on top. */
import type { MappedStation } from "@bikeshare/contract/console";
import { type Availability, availabilityOf, capacityOf } from "./availability.ts";
import type { MapColours, Marks } from "./marks.ts";
import { type Point, scaleBar, type Size, toScreen, type Viewport } from "./viewport.ts";

/** A station with what its mark says, worked out once for all frames. */
export interface DrawnStation {
  readonly station: MappedStation;
  readonly point: Point;
  readonly kind: Availability;
  readonly level: number;
  readonly capacity: number;
}

export function drawnStation(station: MappedStation, point: Point): DrawnStation {
  const capacity = capacityOf(station);
  return { station, point, capacity, kind: availabilityOf(station), level: Math.min(1, station.bikes / capacity) };
}

/** A part of the city with a name. */
export interface DrawnRegion {
  readonly name: string;
  readonly outline: readonly Point[];
  readonly middle: Point;
}

/** An area with a rule, such as a slow zone. */
export interface DrawnZone {
  readonly rings: readonly (readonly Point[])[];
  /** Has the colour of this kind of station, or the accent's. */
  readonly tone: Availability | "accent";
  readonly isDashed: boolean;
}

/** Rides from one place to another. */
export interface DrawnFlow {
  readonly from: Point;
  readonly to: Point;
  readonly rides: number;
}

export interface Scene {
  /** Those that are drawn later cover the others: the largest first. */
  readonly stations: readonly DrawnStation[];
  /** The corners of the area that the service covers. */
  readonly area: readonly Point[];
  readonly regions: readonly DrawnRegion[];
  readonly zones: readonly DrawnZone[];
  readonly flows: readonly DrawnFlow[];
  readonly bikes: readonly Point[];
  /** By station, how much of the day it was empty, 0 to 1; undefined: stations are drawn as they are now. */
  readonly shade: ReadonlyMap<string, number> | undefined;
  /** The ids of the stations that match the filters; the others are drawn faintly. Undefined: all match. */
  readonly matching: ReadonlySet<string> | undefined;
  readonly selectedId: string | undefined;
  readonly hoveredId: string | undefined;
  /** Streets are drawn below: they name the places. */
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

const FAINT = 0.16;
const SCALE_BAR_PX = 96;
/** Capacity of a station whose mark has the usual size. */
const USUAL_CAPACITY = 20;
/** Distance between two stations, in pixels, from which each has its counts beside its name. */
const ROOM_FOR_COUNTS_PX = 110;

/** Returns what draws on a canvas of a size, empty and as sharp as the screen is. */
export function clearedCanvas(element: HTMLCanvasElement, size: Size): CanvasRenderingContext2D | null {
  const canvas = element.getContext("2d");
  if (canvas === null) return null;
  const [width, height] = [size.width * devicePixelRatio, size.height * devicePixelRatio].map(Math.round);
  if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
  canvas.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  canvas.clearRect(0, 0, size.width, size.height);
  return canvas;
}

/** Draws all of a map anew. */
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

/** What is known of the city without a map of its streets: how far the service reaches, a grid, its regions. */
function drawGround(canvas: CanvasRenderingContext2D, frame: Frame): void {
  const { scene, colours } = frame;
  canvas.lineJoin = "round";
  if (scene.area.length > 2) {
    const reach = Math.min(44, Math.max(14, stationSpacing(frame) * 0.9));
    tracePath(canvas, [scene.area], frame);
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

/** A line at each step of the scale's bar, so that distances can be read anywhere. */
function drawGrid(canvas: CanvasRenderingContext2D, { view, size, colours }: Frame): void {
  const { px } = scaleBar(view, SCALE_BAR_PX);
  const origin = toScreen({ x: 0.5, y: 0.5 }, view, size);
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

/** An arc that begins faintly and ends in a dot: the way is seen without an arrow. */
function drawFlow(canvas: CanvasRenderingContext2D, { from, to, rides }: DrawnFlow, frame: Frame): void {
  const { view, size, colours } = frame;
  const [start, end] = [toScreen(from, view, size), toScreen(to, view, size)];
  if (!isNear(start, size, 200) && !isNear(end, size, 200)) return;
  const bend = {
    x: (start.x + end.x) / 2 + (end.y - start.y) * 0.2,
    y: (start.y + end.y) / 2 - (end.x - start.x) * 0.2,
  };
  const gradient = canvas.createLinearGradient(start.x, start.y, end.x, end.y);
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

function isNear({ x, y }: Point, { width, height }: Size, margin: number): boolean {
  return x > -margin && y > -margin && x < width + margin && y < height + margin;
}

/** Returns about how many pixels lie between two neighbouring stations. */
function stationSpacing({ scene: { area, stations }, view }: Pick<Frame, "scene" | "view">): number {
  let twice = 0;
  for (const [index, { x, y }] of area.entries()) {
    const next = area[(index + 1) % area.length];
    if (next !== undefined) twice += x * next.y - next.x * y;
  }
  return stations.length < 2 ? 60 : Math.sqrt(Math.abs(twice) / 2 / stations.length) * view.scale;
}

/** Returns the radius of a station's mark: its area follows the capacity, and no mark is too small to be hit. */
function radiusOf(capacity: number, spacing: number): number {
  const usual = Math.max(3, Math.min(10, spacing * 0.26));
  return usual * Math.max(0.7, Math.min(1.7, Math.sqrt(capacity / USUAL_CAPACITY)));
}

interface Placed {
  readonly drawn: DrawnStation;
  readonly at: Point;
  readonly radius: number;
}

function drawStations(canvas: CanvasRenderingContext2D, frame: Frame): void {
  const { scene, view, size, colours, marks } = frame;
  const spacing = stationSpacing(frame);
  const placed = scene.stations.map((drawn): Placed => {
    return { drawn, at: toScreen(drawn.point, view, size), radius: radiusOf(drawn.capacity, spacing) };
  });
  const visible = placed.filter(({ at, radius }) => isNear(at, size, radius));
  for (const { drawn, at, radius } of visible) {
    const share = scene.shade?.get(drawn.station.id);
    if (scene.shade !== undefined) {
      drawShade(canvas, { at, radius, share: share ?? 0 }, colours);
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

function drawShade(canvas: CanvasRenderingContext2D, { at, radius, share }: Shade, colours: MapColours): void {
  canvas.beginPath();
  canvas.arc(at.x, at.y, radius * (0.55 + 1.3 * share), 0, 2 * Math.PI);
  canvas.fillStyle = share === 0 ? colours.muted : colours.danger;
  canvas.globalAlpha = share === 0 ? 0.35 : 0.25 + 0.6 * share;
  canvas.fill();
  canvas.globalAlpha = 1;
}

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

/** An area of the map that a name covers. */
interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Pixels of the map for each name. Too low: names hide the stations. */
const AREA_OF_NAME_PX = 26_000;
const LINE_PX = 14;
const MAX_NAMES = 80;
/** How many stations are tried for each name that is drawn. */
const TRIED_NAMES = 6;
const REGION_SHIFTS_PX = [4, 20, -12, 36, -28, 52, -44];

/**
 * Names the regions, the selected station and the largest ones, each where it covers neither another name nor a mark. Names
 * that find no room are left out.
 */
function drawNames(canvas: CanvasRenderingContext2D, { visible, spacing, isEmphasized }: Names, frame: Frame): void {
  const { scene, size, colours } = frame;
  const hasCounts = spacing >= ROOM_FOR_COUNTS_PX;
  const most = hasCounts ? MAX_NAMES : Math.round((size.width * size.height) / AREA_OF_NAME_PX);
  const taken: Box[] = visible.map(({ at, radius }) => ({
    ...{ left: at.x - radius, right: at.x + radius },
    ...{ top: at.y - radius, bottom: at.y + radius },
  }));
  const emphasized = visible.filter(isEmphasized);
  canvas.lineJoin = "round";
  canvas.textAlign = "left";
  canvas.font = `11px ${colours.font}`;
  for (const placed of emphasized)
    taken.push(drawStationName(canvas, { placed, hasCounts, taken, isForced: true }, frame) as Box);
  if (!scene.hasStreets) drawRegionNames(canvas, taken, frame);
  canvas.font = `11px ${colours.font}`;
  // Streets have names of their own, until the stations have room for theirs.
  if (scene.hasStreets && !hasCounts) return;
  // The scene has the largest first.
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

function drawRegionNames(canvas: CanvasRenderingContext2D, taken: Box[], { scene, view, size, colours }: Frame): void {
  if (scene.regions.length < 2) return;
  canvas.font = `600 11px ${colours.font}`;
  canvas.letterSpacing = "1.5px";
  for (const { name, middle } of scene.regions) {
    const text = name.toUpperCase();
    const width = canvas.measureText(text).width;
    const at = toScreen(middle, view, size);
    // From the middle of the region up and down, to the first line without a mark.
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
  /** It is drawn whatever it covers. */
  readonly isForced: boolean;
}

/** @returns where the name is; undefined: there is no room */
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
  const box =
    boxes.find(fits) ?? (isForced ? (boxes.find(({ right }) => right < size.width - 4) ?? boxes[1]) : undefined);
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

/** How far beside a mark somebody may press, in pixels. */
const PRESS_REACH_PX = 8;

/** Returns the station that is meant by a press; none where the nearest is too far away. */
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
