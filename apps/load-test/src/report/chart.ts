import { html, type Markup } from "./markup.ts";
import type { Scale } from "./scales.ts";

/** A line of a chart. */
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Of an earlier run. */
  readonly isBaseline?: boolean;
}

export interface ChartOptions {
  readonly title: string;
  readonly xTitle: string;
  /** With its unit. */
  readonly yTitle: string;
  readonly x: Scale;
  readonly y: Scale;
  readonly lines: readonly Line[];
  /** Half as wide: several stand side by side. */
  readonly isSmall?: boolean;
}

const HEIGHT = 240;
const MARGIN = { left: 62, right: 28, top: 12, bottom: 44 };

/** A line chart as inline SVG, with axes, their units and a legend. */
export function chart(options: ChartOptions): Markup {
  const { title, xTitle, yTitle, x, y, lines, isSmall = false } = options;
  const width = isSmall ? 420 : 860;
  const right = width - MARGIN.right;
  const bottom = HEIGHT - MARGIN.bottom;
  const xAt = (value: number) => round(MARGIN.left + x.at(value) * (right - MARGIN.left));
  const yAt = (value: number) => round(bottom - clamp(y.at(value)) * (bottom - MARGIN.top));
  const named = lines.filter(({ points }) => points.length > 0);
  return html`<figure class="${isSmall ? "small" : "large"}">
    <figcaption>${title}${named.length > 1 ? legend(named) : undefined}</figcaption>
    <svg viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${title}">
      ${y.ticks.map(({ value, label }) => html`<line class="grid" x1="${MARGIN.left}" x2="${right}" y1="${yAt(value)}" y2="${yAt(value)}" /><text class="tick" x="${MARGIN.left - 6}" y="${yAt(value) + 4}" text-anchor="end">${label}</text>`)}
      ${x.ticks.map(({ value, label }) => html`<text class="tick" x="${xAt(value)}" y="${bottom + 16}" text-anchor="middle">${label}</text>`)}
      <line class="axis" x1="${MARGIN.left}" x2="${right}" y1="${bottom}" y2="${bottom}" />
      ${named.map((line, index) => html`<polyline class="${lineClass(line, index)}" points="${line.points.map(([a, b]) => `${xAt(a)},${yAt(b)}`).join(" ")}"><title>${line.name}</title></polyline>`)}
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
    </svg>
  </figure>`;
}

function legend(lines: readonly Line[]): Markup {
  return html`<span class="legend"
    >${lines.map((line, index) => html`<span><i class="${lineClass(line, index)}"></i>${line.name}</span>`)}</span
  >`;
}

/** A baseline has the colour of the line that it stands before. */
function lineClass({ isBaseline = false }: Line, index: number): string {
  return isBaseline ? "line baseline" : `line line-${index + 1}`;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}

function round(value: number): number {
  return Number(value.toFixed(1));
}
