import "./sparkline.css";

interface SparklineProps {
  /** Null: the value is not known. */
  readonly values: readonly (number | null)[];
}

const WIDTH = 120;
const HEIGHT = 28;
const MARGIN = 2;

/**
 * A small line of how a number changed over a day, drawn beside the number. It has no text: readers get that from the number
 * and its page.
 */
export function Sparkline({ values }: SparklineProps) {
  const known = values.flatMap((value) => (value === null ? [] : [value]));
  const [least, most] = [Math.min(...known, 0), Math.max(...known, 1)];
  const x = (index: number) => Math.round((index / Math.max(values.length - 1, 1)) * WIDTH * 10) / 10;
  const y = (value: number) =>
    Math.round((MARGIN + (HEIGHT - 2 * MARGIN) * (1 - (value - least) / (most - least))) * 10) / 10;
  // Each path has a part for each stretch of known values, so that unknown ones are gaps.
  let line = "";
  let area = "";
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const isFirst = (values[index - 1] ?? null) === null;
    const isLast = (values[index + 1] ?? null) === null;
    const point = `${x(index)} ${y(value)}`;
    line += `${isFirst ? "M" : "L"}${point}`;
    area += `${isFirst ? `M${x(index)} ${HEIGHT}` : ""}L${point}${isLast ? `L${x(index)} ${HEIGHT}Z` : ""}`;
  }
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {known.length > 1 && (
        <>
          <path class="sparkline-area" d={area} />
          <path class="sparkline-line" d={line} />
        </>
      )}
    </svg>
  );
}
