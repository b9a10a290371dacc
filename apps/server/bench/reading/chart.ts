/** A picture of lines over sizes, both on logarithmic scales, readable on light and on dark pages. */
export interface Chart {
  readonly title: string;
  /** What the vertical axis counts. */
  readonly unit: string;
  readonly sizes: readonly number[];
  readonly lines: readonly { readonly name: string; readonly values: readonly number[] }[];
}

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 200;
const TOP = 48;
const BOTTOM = 44;
/** Told apart also without colour vision (Okabe and Ito), on white and on black. */
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8a00"];
/** Pixels between two names beside the lines. */
const NAME_DISTANCE = 17;

/** Draws a chart as SVG. */
export function drawChart({ title, unit, sizes, lines }: Chart): string {
  const values = lines.flatMap((line) => line.values);
  const low = 10 ** Math.floor(Math.log10(Math.min(...values)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...values)));
  const x = (index: number) => LEFT + (index * (WIDTH - LEFT - RIGHT)) / (sizes.length - 1);
  const y = (value: number) =>
    HEIGHT - BOTTOM - ((Math.log10(value) - Math.log10(low)) / Math.log10(high / low)) * (HEIGHT - TOP - BOTTOM);
  const grid: string[] = [];
  for (let value = low; value <= high; value *= 10) {
    const at = y(value).toFixed(1);
    grid.push(`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>`);
    grid.push(`<text x="${LEFT - 8}" y="${at}" dy="4" text-anchor="end">${value.toLocaleString("en")}</text>`);
  }
  const names = spread(lines.map((line) => y(line.values.at(-1) ?? low)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .grid { stroke: #8884; stroke-width: 1 }
  .line { fill: none; stroke-width: 2.5 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
</style>
<text x="${LEFT}" y="22" font-weight="600">${title}</text>
<text x="${LEFT}" y="40" opacity="0.8">${unit}</text>
${grid.join("\n")}
${sizes.map((size, index) => `<text x="${x(index)}" y="${HEIGHT - 18}" text-anchor="middle">${size.toLocaleString("en")}</text>`).join("\n")}
${lines.map((line, index) => drawLine(line, COLOURS[index % COLOURS.length] ?? "", { x, y, nameAt: names[index] ?? 0 })).join("\n")}
</svg>
`;
}

function drawLine(
  { name, values }: Chart["lines"][number],
  colour: string,
  { x, y, nameAt }: { x: (index: number) => number; y: (value: number) => number; nameAt: number },
): string {
  const points = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`);
  const dots = points
    .map((point) => point.split(","))
    .map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`);
  const label = `<text x="${WIDTH - RIGHT + 12}" y="${nameAt.toFixed(1)}" dy="4" style="fill:${colour}">${name}</text>`;
  return `<polyline class="line" stroke="${colour}" points="${points.join(" ")}"/>${dots.join("")}${label}`;
}

/** Moves the names apart that would cover each other. */
function spread(wanted: readonly number[]): number[] {
  const order = wanted.map((at, index) => ({ at, index })).sort((one, other) => one.at - other.at);
  const placed: number[] = [];
  let free = -Infinity;
  for (const { at, index } of order) {
    placed[index] = Math.max(at, free);
    free = (placed[index] ?? 0) + NAME_DISTANCE;
  }
  return placed;
}
