import { html, Markup } from "./markup.ts";
import type { Scale } from "./scales.ts";

/** A line of a chart. */
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Whether the line shows an earlier run. */
  readonly isBaseline?: boolean;
}

export interface ChartOptions {
  readonly title: string;
  readonly xTitle: string;
  /** The title of the axis, with its unit. */
  readonly yTitle: string;
  readonly x: Scale;
  readonly y: Scale;
  readonly lines: readonly Line[];
  /** Whether the chart has half the width, so that several fit side by side. */
  readonly isSmall?: boolean;
}

const [WIDTH, SMALL_WIDTH, HEIGHT] = [860, 420, 240];
const MARGIN = { left: 62, right: 28, top: 12, bottom: 44 };

/** Draws a line chart as inline SVG, with axes, units and a legend. It takes its colours from the page. */
export function chart(options: ChartOptions): Markup {
  const { title, isSmall = false } = options;
  const named = linesOf(options);
  return html`<figure class="${isSmall ? "small" : "large"}">
    <figcaption>${title}${named.length > 1 ? legend(named) : undefined}</figcaption>
    ${plot(options)}
  </figure>`;
}

/** The height of a picture's title and names, above the chart. */
const PICTURE_TOP = 56;
/** The width that the name of each line gets. */
const NAME_WIDTH = 120;

/**
 * Draws the chart as a file of its own, readable on light and dark pages. Each name above the chart has the colour of its
 * line. Do not pass a baseline: the picture has no style for its line, and would show only its name.
 */
export function drawPicture(options: ChartOptions): string {
  const names = linesOf(options).map(
    ({ name }, index) =>
      html`<text class="name line-${index + 1}" x="${12 + index * NAME_WIDTH}" y="42">${name}</text>`,
  );
  return html`<svg
    xmlns="http://www.w3.org/2000/svg"
    viewBox="0 0 ${WIDTH} ${HEIGHT + PICTURE_TOP}"
    role="img"
    aria-label="${options.title}"
  >
    <style>
      ${new Markup(pictureStyle)}
    </style>
    <text class="heading" x="12" y="20">${options.title}</text>
    ${names}
    <svg y="${PICTURE_TOP}" width="${WIDTH}" height="${HEIGHT}">${plot(options)}</svg>
  </svg> `.text;
}

/** Colours that people with colour blindness can distinguish (Okabe and Ito), on white and on black. */
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8a00"];
const pictureStyle = `text { font: 12px system-ui, sans-serif; fill: #1f2328 } .heading { font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
.grid, .axis { stroke: #8884 } .line { fill: none; stroke-width: 2.5; stroke: var(--stroke) }
.name { fill: var(--stroke) } ${COLOURS.map((colour, n) => `.line-${n + 1} { --stroke: ${colour} }`).join(" ")}`;

function linesOf({ lines }: ChartOptions): Line[] {
  return lines.filter(({ points }) => points.length > 0);
}

function plot(options: ChartOptions): Markup {
  const { title, xTitle, yTitle, x, y, isSmall = false } = options;
  const width = isSmall ? SMALL_WIDTH : WIDTH;
  const right = width - MARGIN.right;
  const bottom = HEIGHT - MARGIN.bottom;
  const xAt = (value: number) => round(MARGIN.left + x.at(value) * (right - MARGIN.left));
  const yAt = (value: number) => round(bottom - clamp(y.at(value)) * (bottom - MARGIN.top));
  return html`<svg viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${title}">
    ${y.ticks.map(({ value, label }) => html`<line class="grid" x1="${MARGIN.left}" x2="${right}" y1="${yAt(value)}" y2="${yAt(value)}" /><text class="tick" x="${MARGIN.left - 6}" y="${yAt(value) + 4}" text-anchor="end">${label}</text>`)}
    ${x.ticks.map(({ value, label }) => html`<text class="tick" x="${xAt(value)}" y="${bottom + 16}" text-anchor="middle">${label}</text>`)}
    <line class="axis" x1="${MARGIN.left}" x2="${right}" y1="${bottom}" y2="${bottom}" />
    ${linesOf(options).map((line, index) => html`<polyline class="${lineClass(line, index)}" points="${line.points.map(([a, b]) => `${xAt(a)},${yAt(b)}`).join(" ")}"><title>${line.name}</title></polyline>`)}
    <text class="title" x="${(MARGIN.left + right) / 2}" y="${HEIGHT - 8}" text-anchor="middle">${xTitle}</text>
    <text
      class="title"
      x="14"
      y="${(MARGIN.top + bottom) / 2}"
      text-anchor="middle"
      transform="rotate(-90 14 ${(MARGIN.top + bottom) / 2})"
    >
      ${yTitle}
    </text>
  </svg>`;
}

function legend(lines: readonly Line[]): Markup {
  return html`<span class="legend"
    >${lines.map((line, index) => html`<span><i class="${lineClass(line, index)}"></i>${line.name}</span>`)}</span
  >`;
}

/** Returns the class of a line. The page's style draws a baseline faint and dashed. */
function lineClass({ isBaseline = false }: Line, index: number): string {
  return isBaseline ? "line baseline" : `line line-${index + 1}`;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}

function round(value: number): number {
  return Number(value.toFixed(1));
}
