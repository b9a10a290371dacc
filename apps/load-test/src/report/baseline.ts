import type { RunResult, SecondResult } from "@bikeshare/load";
import { createRandom, type Random } from "@bikeshare/simulator";

/** How one figure differs from a run before, with the interval in which the difference lies 95 times in 100. */
export interface Difference {
  readonly title: string;
  readonly unit: "ms" | "/s";
  readonly before: number;
  readonly after: number;
  readonly difference: number;
  readonly low: number;
  readonly high: number;
  /** Whether the interval leaves out 0. */
  readonly isClear: boolean;
}

const FIGURES: readonly {
  readonly title: string;
  readonly unit: "ms" | "/s";
  readonly of: (second: SecondResult) => number;
}[] = [
  { title: "p50", unit: "ms", of: ({ p50 }) => p50 },
  { title: "p90", unit: "ms", of: ({ p90 }) => p90 },
  { title: "p99", unit: "ms", of: ({ p99 }) => p99 },
  { title: "answers", unit: "/s", of: ({ answered }) => answered },
  { title: "unexpected answers", unit: "/s", of: ({ unexpected }) => unexpected },
];

/** Resamples for the confidence interval. Too low: the interval's ends vary between runs. */
const RESAMPLES = 2000;
/** Neighbouring seconds are alike (a checkpoint, a collection of garbage), so they are drawn together. */
const BLOCK_SECONDS = 5;
const SEED = 1;

/**
 * Compares two runs by the figures of their seconds: the mean over the seconds of each second's p99, and so on. The
 * intervals are those of a bootstrap over blocks of seconds.
 */
export function compareWithBaseline(before: RunResult, after: RunResult): Difference[] {
  const random = createRandom(SEED);
  const [old, now] = [measuredSeconds(before), measuredSeconds(after)];
  return FIGURES.map(({ title, unit, of }) => {
    const [oldValues, nowValues] = [old.map(of), now.map(of)];
    const differences = Array.from(
      { length: RESAMPLES },
      () => mean(resample(nowValues, random)) - mean(resample(oldValues, random)),
    ).toSorted((a, b) => a - b);
    const [low = 0, high = 0] = [0.025, 0.975].map((share) => differences[Math.floor(share * RESAMPLES)]);
    const means = { before: mean(oldValues), after: mean(nowValues) };
    return { title, unit, ...means, difference: means.after - means.before, low, high, isClear: low > 0 || high < 0 };
  });
}

/** The seconds of the load itself, after the warm-up. */
function measuredSeconds({ seconds, settings }: RunResult): SecondResult[] {
  return seconds.filter(
    ({ second, answered }) => second >= settings.warmUpSeconds && second < settings.durationSeconds && answered > 0,
  );
}

/** As many values, drawn in blocks of neighbours. */
function resample(values: readonly number[], random: Random): number[] {
  const length = Math.min(BLOCK_SECONDS, values.length);
  const drawn: number[] = [];
  while (drawn.length < values.length) {
    const from = random.between(0, values.length - length);
    drawn.push(...values.slice(from, from + length));
  }
  return drawn.slice(0, values.length);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
