/** Draws the stations on a canvas: each kind of availability has a colour and a shape. */
import type { MappedStation } from "@bikeshare/contract/console";
import { type Availability, availabilityOf } from "./availability.ts";
import { type Point, project, scaleBar, type Size, toScreen, type Viewport } from "./viewport.ts";

export interface Drawing {
  readonly stations: readonly MappedStation[];
  /** The ids of the stations that match the filters; the others are drawn faintly. */
  readonly matching: ReadonlySet<string>;
  readonly selectedId: string | undefined;
  readonly view: Viewport;
  readonly size: Size;
}

/** The colours of the theme, as the page's styles have them. */
export interface MapColours {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly kinds: Readonly<Record<Availability, string>>;
}

const RADIUS_PX = 5.5;
const SELECTED_RADIUS_PX = 9;
const FAINT = 0.18;
/** From this scale on there is room for names. */
const NAMES_FROM_SCALE = 6_000_000;
const SCALE_BAR_PX = 110;

/** Draws all of the map anew, as sharp as the screen is. */
export function paint(element: HTMLCanvasElement, drawing: Drawing, colours: MapColours): void {
  const canvas = element.getContext("2d");
  if (canvas === null) return;
  element.width = drawing.size.width * devicePixelRatio;
  element.height = drawing.size.height * devicePixelRatio;
  canvas.scale(devicePixelRatio, devicePixelRatio);
  drawMap(canvas, drawing, colours);
}

function drawMap(canvas: CanvasRenderingContext2D, drawing: Drawing, colours: MapColours): void {
  const { stations, matching, selectedId, view, size } = drawing;
  canvas.font = "11px system-ui, sans-serif";
  canvas.textAlign = "left";
  const placed = stations.map((station) => ({ station, at: toScreen(project(station), view, size) }));
  const visible = placed.filter(({ at }) => isInside(at, size));
  for (const { station, at } of visible) {
    const isMatching = matching.has(station.id);
    canvas.globalAlpha = isMatching ? 1 : FAINT;
    drawMark(canvas, availabilityOf(station), at, colours);
    if (isMatching && view.scale >= NAMES_FROM_SCALE) drawName(canvas, station.name, at, colours);
  }
  canvas.globalAlpha = 1;
  const selected = placed.find(({ station }) => station.id === selectedId);
  if (selected !== undefined) drawSelection(canvas, selected.station.name, selected.at, colours);
  drawScale(canvas, view, size, colours);
}

function isInside({ x, y }: Point, { width, height }: Size): boolean {
  return x > -RADIUS_PX && y > -RADIUS_PX && x < width + RADIUS_PX && y < height + RADIUS_PX;
}

/** Full circle, half circle, ring, square, cross: told apart without any colour. */
function drawMark(canvas: CanvasRenderingContext2D, kind: Availability, at: Point, colours: MapColours): void {
  const radius = RADIUS_PX;
  canvas.fillStyle = colours.kinds[kind];
  canvas.strokeStyle = colours.kinds[kind];
  canvas.lineWidth = 2;
  canvas.beginPath();
  if (kind === "full") {
    canvas.fillRect(at.x - radius + 0.5, at.y - radius + 0.5, 2 * radius - 1, 2 * radius - 1);
  } else if (kind === "closed") {
    const reach = radius - 1.5;
    canvas.moveTo(at.x - reach, at.y - reach);
    canvas.lineTo(at.x + reach, at.y + reach);
    canvas.moveTo(at.x + reach, at.y - reach);
    canvas.lineTo(at.x - reach, at.y + reach);
    canvas.stroke();
  } else {
    canvas.arc(at.x, at.y, kind === "bikes" ? radius : radius - 1, 0, 2 * Math.PI);
    if (kind === "bikes") canvas.fill();
    else canvas.stroke();
    if (kind === "few") {
      canvas.beginPath();
      canvas.arc(at.x, at.y, radius - 1, 0, Math.PI);
      canvas.fill();
    }
  }
}

function drawName(canvas: CanvasRenderingContext2D, name: string, at: Point, colours: MapColours): void {
  canvas.lineWidth = 3;
  canvas.strokeStyle = colours.surface;
  canvas.strokeText(name, at.x + RADIUS_PX + 4, at.y + 4);
  canvas.fillStyle = colours.text;
  canvas.fillText(name, at.x + RADIUS_PX + 4, at.y + 4);
}

function drawSelection(canvas: CanvasRenderingContext2D, name: string, at: Point, colours: MapColours): void {
  canvas.strokeStyle = colours.text;
  canvas.lineWidth = 2;
  canvas.beginPath();
  canvas.arc(at.x, at.y, SELECTED_RADIUS_PX, 0, 2 * Math.PI);
  canvas.stroke();
  drawName(canvas, name, { x: at.x + 4, y: at.y }, colours);
}

function drawScale(canvas: CanvasRenderingContext2D, view: Viewport, { height }: Size, colours: MapColours): void {
  const { label, px } = scaleBar(view, SCALE_BAR_PX);
  const [left, bottom] = [12, height - 12];
  canvas.strokeStyle = colours.muted;
  canvas.fillStyle = colours.muted;
  canvas.lineWidth = 1.5;
  canvas.beginPath();
  canvas.moveTo(left, bottom - 4);
  canvas.lineTo(left, bottom);
  canvas.lineTo(left + px, bottom);
  canvas.lineTo(left + px, bottom - 4);
  canvas.stroke();
  canvas.fillText(label, left + 4, bottom - 6);
}

/** Returns the station that is meant by a press; none where the nearest is too far away. */
export function stationAt(at: Point, { stations, view, size }: Drawing): MappedStation | undefined {
  const REACH_PX = 14;
  let nearest: { readonly station: MappedStation; readonly distance: number } | undefined;
  for (const station of stations) {
    const { x, y } = toScreen(project(station), view, size);
    const distance = Math.hypot(x - at.x, y - at.y);
    if (distance <= REACH_PX && distance < (nearest?.distance ?? Number.POSITIVE_INFINITY))
      nearest = { station, distance };
  }
  return nearest?.station;
}
