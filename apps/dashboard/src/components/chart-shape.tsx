/** The shapes of a chart's series. */
import type { Layout } from "./chart-layout.ts";
import type { Series } from "./chart-scale.ts";

/** A chart with more bars draws them without gaps. */
const MAX_SEPARATE_BARS = 200;

interface ShapeProps {
  /** All series of the chart. */
  readonly series: readonly Series[];
  /** The one to draw. */
  readonly each: Series;
  /** Its index in `series`. Bars and areas are stacked on those of their kind with a lower index. */
  readonly position: number;
  readonly layout: Layout;
}

/** Draws a series as one SVG path, whatever its number of points. */
export function Shape({ series, each, position, layout }: ShapeProps) {
  const { kind = "bars", values } = each;
  const colour = colourOf(each, position);
  // `before` is a line too. It has the values that the other series are compared with.
  if (kind === "line" || kind === "before")
    return <path class={kind === "before" ? "chart-before" : `chart-line ${colour}`} d={linePath(values, layout)} />;
  const below = series.slice(0, position).filter((other) => (other.kind ?? "bars") === kind);
  const bottoms = values.map((_, index) => below.reduce((sum, other) => sum + (other.values[index] ?? 0), 0));
  return kind === "area" ? (
    <path class={`chart-area ${colour}`} d={areaPath(values, bottoms, layout)} />
  ) : (
    <path class={`chart-bars ${colour}`} d={barsPath(values, bottoms, layout)} />
  );
}

/** Rounds to a tenth of a pixel, which keeps the paths short. */
const rounded = (value: number) => Math.round(value * 10) / 10;

function linePath(values: Series["values"], { x, y }: Layout): string {
  let isBroken = true;
  return values
    .map((value, index) => {
      if (value === null) {
        isBroken = true;
        return "";
      }
      const command = isBroken ? "M" : "L";
      // A known value between two unknown ones becomes a dot: a line of length 0 is drawn by its round ends.
      const isAlone = isBroken && (values[index + 1] ?? null) === null;
      isBroken = false;
      return `${command}${rounded(x(index + 0.5))} ${rounded(y(value))}${isAlone ? "h0" : ""}`;
    })
    .join("");
}

/** Returns the path of an area. Each run of known values is a separate shape, so that unknown values leave a gap. */
function areaPath(values: Series["values"], bottoms: readonly number[], { x, y }: Layout): string {
  const stretches: number[][] = [];
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    if (index === 0 || values[index - 1] === null) stretches.push([]);
    stretches.at(-1)?.push(index);
  }
  return stretches
    .map((stretch) => {
      const point = (index: number, value: number) => `${rounded(x(index + 0.5))} ${rounded(y(value))}`;
      const top = stretch.map((index) => point(index, (bottoms[index] ?? 0) + (values[index] ?? 0)));
      const bottom = stretch.toReversed().map((index) => point(index, bottoms[index] ?? 0));
      return `M${[...top, ...bottom].join("L")}Z`;
    })
    .join("");
}

function barsPath(values: Series["values"], bottoms: readonly number[], { x, y, count }: Layout): string {
  const barPx = x(1) - x(0);
  // A fifth of a bar, at most two pixels. Bars of up to four pixels have no gap: it would be less than a pixel.
  const gap = count <= MAX_SEPARATE_BARS && barPx > 4 ? Math.min(2, barPx * 0.2) : 0;
  return values
    .map((value, index) => {
      if (value === null || value === 0) return "";
      const [left, right] = [rounded(x(index) + gap / 2), rounded(x(index + 1) - gap / 2)];
      const bottom = rounded(y(bottoms[index] ?? 0));
      // At least one pixel high, so that a small value is visible.
      const top = Math.min(rounded(y((bottoms[index] ?? 0) + value)), bottom - 1);
      return `M${left} ${bottom}V${top}H${right}V${bottom}Z`;
    })
    .join("");
}

/** Returns the class with the colour of a series. */
export function colourOf({ tone }: Series, position: number): string {
  return `series-${tone ?? position + 1}`;
}
