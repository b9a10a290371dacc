/** Statistics of some values, such as milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Returns the value below which a share of the values lies, such as 0.99; NaN for no values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function percentilesOf(values: readonly number[]): Percentiles {
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99), max: percentile(values, 1) };
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Formats percentiles without decimals. They are 0 for no values. */
export function describePercentiles(values: readonly number[]): string {
  const { p50, p99, max } = percentilesOf(values.length === 0 ? [0] : values);
  return `p50 ${Math.round(p50)}, p99 ${Math.round(p99)}, max ${Math.round(max)}`;
}
