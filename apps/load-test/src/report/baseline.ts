import type { RunResult, SecondResult } from "@bikeshare/load";
import { createRandom, type Random } from "@bikeshare/simulator";

/** The difference of one figure from an earlier run, with its 95 % confidence interval. */
export interface Difference {
  readonly title: string;
  readonly unit: "ms" | "/s";
  readonly before: number;
  readonly after: number;
  readonly difference: number;
  readonly low: number;
  readonly high: number;
  /** Whether the interval does not contain 0. */
  readonly isClear: boolean;
}

/** The figures of a second that are compared. */
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
/**
 * Seconds are drawn in blocks of this length, because neighbouring seconds are similar: a checkpoint or a garbage collection
 * affects several.
 */
const BLOCK_SECONDS = 5;
/** Fixed, so that the same two runs always have the same intervals. */
const SEED = 1;

/**
 * Compares two runs by the means of their figures per second, such as the mean of each second's p99. The confidence
 * intervals come from a bootstrap over blocks of seconds.
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

/** Returns the seconds after the warm-up and before the end of the load that had an answer: others have no latencies. */
function measuredSeconds({ seconds, settings }: RunResult): SecondResult[] {
  return seconds.filter(
    ({ second, answered }) => second >= settings.warmUpSeconds && second < settings.durationSeconds && answered > 0,
  );
}

/** Draws as many values as given, with replacement, in blocks of neighbours. */
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
