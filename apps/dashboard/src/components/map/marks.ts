/** Draws the marks of stations. Each different mark is drawn once and then copied, because a frame may have thousands. */
import type { Availability } from "./availability.ts";

/** The colours of the theme, as the page's styles have them. */
export interface MapColours {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  /** The colour of the service area. */
  readonly raised: string;
  readonly accent: string;
  readonly danger: string;
  readonly font: string;
  readonly kinds: Readonly<Record<Availability, { readonly strong: string; readonly faint: string }>>;
}

/** What distinguishes one mark from another. */
interface Mark {
  readonly kind: Availability;
  /** The share of the station's capacity that its bikes take, 0 to 1. */
  readonly level: number;
  readonly radius: number;
}

/**
 * Levels are rounded to 1/`LEVELS`, radii to 1/`RADII` pixel. Too high: more marks are kept, with no visible difference.
 */
const LEVELS = 10;
const RADII = 2;
/** The width of the ring in the colour of the page around a mark. It separates marks that overlap. */
const HALO_PX = 1.5;
/** The least part of a circle's height that is filled while the station has a bike. */
const MIN_FILLED = 0.12;

/** Returns the picture of a mark, and the pixels of its side on the page. The mark is in its middle. */
export type Marks = (mark: Mark) => { readonly image: HTMLCanvasElement; readonly side: number };

/** Returns a function that draws each mark on its first use and then returns the drawn one. */
export function createMarks(colours: MapColours, pixelRatio: number): Marks {
  const drawn = new Map<string, ReturnType<Marks>>();
  return ({ kind, level, radius }) => {
    const mark = { kind, level: Math.round(level * LEVELS) / LEVELS, radius: Math.round(radius * RADII) / RADII };
    const key = `${kind} ${mark.level} ${mark.radius}`;
    const known = drawn.get(key);
    if (known !== undefined) return known;
    const side = 2 * Math.ceil(mark.radius + HALO_PX + 1);
    const image = document.createElement("canvas");
    image.width = side * pixelRatio;
    image.height = side * pixelRatio;
    const canvas = image.getContext("2d");
    if (canvas !== null) {
      canvas.scale(pixelRatio, pixelRatio);
      canvas.translate(side / 2, side / 2);
      drawMark(canvas, mark, colours);
    }
    const made = { image, side };
    drawn.set(key, made);
    return made;
  };
}

/**
 * Draws the mark of a station. The shapes differ, so that readers need not tell colours apart: a partly filled circle, a
 * ring, a square or a cross.
 */
function drawMark(canvas: CanvasRenderingContext2D, { kind, level, radius }: Mark, colours: MapColours): void {
  const { strong, faint } = colours.kinds[kind];
  const circle = (size: number) => {
    canvas.beginPath();
    canvas.arc(0, 0, size, 0, 2 * Math.PI);
  };
  const fill = (colour: string) => {
    canvas.fillStyle = colour;
    canvas.fill();
  };
  canvas.lineWidth = radius > 4 ? 1.5 : 1.25;
  canvas.strokeStyle = strong;
  if (kind === "full") {
    const half = radius * 0.9;
    canvas.beginPath();
    canvas.roundRect(-half - HALO_PX, -half - HALO_PX, 2 * (half + HALO_PX), 2 * (half + HALO_PX), half * 0.5);
    fill(colours.surface);
    canvas.beginPath();
    canvas.roundRect(-half, -half, 2 * half, 2 * half, half * 0.35);
    fill(strong);
    return;
  }
  circle(radius + HALO_PX);
  fill(colours.surface);
  if (kind === "closed") {
    const reach = radius * 0.6;
    canvas.beginPath();
    canvas.moveTo(-reach, -reach);
    canvas.lineTo(reach, reach);
    canvas.moveTo(reach, -reach);
    canvas.lineTo(-reach, reach);
    canvas.stroke();
    return;
  }
  circle(radius - canvas.lineWidth / 2);
  fill(faint);
  if (kind === "empty") {
    // A ring without a fill is less visible, so it is wider.
    canvas.lineWidth += 0.5;
  } else {
    // A station with few bikes keeps a visible fill.
    const filled = Math.max(level, MIN_FILLED);
    // Fills the circle below a line: an arc between the ends of the line, closed. The line is at y = 1 (the bottom of a
    // circle of radius 1) if nothing is filled, and at y = -1 if all is. `angle` leads to its right end.
    const angle = Math.asin(Math.max(-1, Math.min(1, 1 - 2 * filled)));
    canvas.beginPath();
    canvas.arc(0, 0, radius - canvas.lineWidth / 2, angle, Math.PI - angle);
    canvas.closePath();
    fill(strong);
  }
  circle(radius - canvas.lineWidth / 2);
  canvas.stroke();
}
