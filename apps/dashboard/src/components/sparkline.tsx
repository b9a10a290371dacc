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
  const points = values.flatMap((value, index) => (value === null ? [] : [{ left: x(index), top: y(value) }]));
  const [first, last] = [points[0], points.at(-1)];
  const line = points.map(({ left, top }) => `${left} ${top}`).join("L");
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {first !== undefined && last !== undefined && points.length > 1 && (
        <>
          <path class="sparkline-area" d={`M${first.left} ${HEIGHT}L${line}L${last.left} ${HEIGHT}Z`} />
          <path class="sparkline-line" d={`M${line}`} />
        </>
      )}
    </svg>
  );
}
