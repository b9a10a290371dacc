/** Maps values to positions from 0 to 1 on an axis, and places its ticks. */
export interface Scale {
  /** Returns a value's position, which may be outside 0 to 1 for a value beyond the axis. */
  readonly at: (value: number) => number;
  readonly ticks: readonly Tick[];
}

interface Tick {
  readonly value: number;
  readonly label: string;
}

/** About how many ticks an axis has. An axis of time has up to twice as many, because it is wider. */
const TICK_COUNT = 5;
/** Tolerance of divisions whose exact result is an integer: 0.3 / 0.1 gives 2.9999999999999996. */
const ROUNDING_ERROR = 1e-9;
/** The least value on a logarithmic scale, because 0 has no logarithm. */
const SMALLEST_LOG_VALUE = 1e-3;

/** Returns a scale from 0 to a round number that is at least the largest value. */
export function linearScale(largest: number): Scale {
  const step = largest > 0 ? roundStep(largest / TICK_COUNT) : 1;
  const steps = Math.max(1, Math.ceil(largest / step - ROUNDING_ERROR));
  return scaleTo(steps * step, step);
}

/** Returns a scale from 0 to the last second, without rounding. */
export function timeScale(lastSecond: number): Scale {
  const last = Math.max(1, lastSecond);
  return scaleTo(last, Math.max(1, roundStep(last / (2 * TICK_COUNT))));
}

function scaleTo(top: number, step: number): Scale {
  const count = Math.floor(top / step + ROUNDING_ERROR);
  return { at: (value) => value / top, ticks: Array.from({ length: count + 1 }, (_, index) => tickAt(index * step)) };
}

/** Returns a scale between powers of ten, for values that differ by orders of magnitude. */
export function logScale(smallest: number, largest: number): Scale {
  const low = Math.floor(Math.log10(Math.max(smallest, SMALLEST_LOG_VALUE)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(largest, SMALLEST_LOG_VALUE))));
  return {
    at: (value) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low),
    ticks: Array.from({ length: high - low + 1 }, (_, index) => tickAt(10 ** (low + index))),
  };
}

const PERCENTILE_TICKS = [0, 50, 90, 99, 99.9, 99.99] as const;
/** The end of the axis. Higher percentiles are not drawn. */
const LAST_PERCENTILE = 99.99;

/**
 * Returns a logarithmic scale of percentiles: p90, p99 and p99.9 are equally far apart, so that the slowest requests
 * get the most room.
 */
export function percentileScale(): Scale {
  const nines = (percentile: number) => -Math.log10(1 - Math.min(percentile, LAST_PERCENTILE) / 100);
  return {
    at: (value) => nines(value) / nines(LAST_PERCENTILE),
    ticks: PERCENTILE_TICKS.map((value) => ({ value, label: `p${value}` })),
  };
}

function tickAt(value: number): Tick {
  const rounded = Number(value.toPrecision(6));
  return { value: rounded, label: rounded.toLocaleString("en", { maximumFractionDigits: 3 }) };
}

/** Returns the smallest of 1, 2 and 5, times any power of ten, that is at least a value. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((factor) => factor * power >= least * (1 - ROUNDING_ERROR)) ?? 10) * power;
}
