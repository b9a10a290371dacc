import type { KneeStep, RunResult } from "@bikeshare/load";

interface KneeOptions {
  readonly startRate: number;
  readonly maxRate: number;
  readonly measureAt: (ratePerSecond: number) => Promise<RunResult>;
  readonly onStep: (step: KneeStep) => void;
}

/** The factor by which each step raises the rate, until a run fails. */
const GROWTH = 1.5;
/** How often the gap between the last passed and the first failed rate is then halved. */
const BISECTIONS = 2;

/**
 * Raises the rate until a run fails, to find the knee: the highest rate that the service sustains.
 * @returns the last run that passed, or the first run if none passed
 */
export async function findKnee(options: KneeOptions): Promise<RunResult> {
  const { startRate, maxRate } = options;
  const steps: KneeStep[] = [];
  const tryRate = async (ratePerSecond: number): Promise<RunResult> => {
    const result = await options.measureAt(ratePerSecond);
    const step = stepOf(ratePerSecond, result);
    steps.push(step);
    options.onStep(step);
    return result;
  };
  let best = await tryRate(startRate);
  let good = best.passed ? startRate : undefined;
  let bad: number | undefined;
  while (good !== undefined && bad === undefined && good < maxRate) {
    const next = Math.min(maxRate, Math.ceil(good * GROWTH));
    const result = await tryRate(next);
    if (result.passed) [good, best] = [next, result];
    else bad = next;
  }
  for (let n = 0; good !== undefined && bad !== undefined && bad - good > 1 && n < BISECTIONS; n++) {
    const middle = Math.round((good + bad) / 2);
    const result = await tryRate(middle);
    if (result.passed) [good, best] = [middle, result];
    else bad = middle;
  }
  return { ...best, knee: { lastGoodPerSecond: good, steps } };
}

function stepOf(
  ratePerSecond: number,
  { passed, latency, invalidReasons, thresholds, violations }: RunResult,
): KneeStep {
  const broken = thresholds.filter((threshold) => !threshold.passed).map(({ text, value }) => `${text}: ${value}`);
  const reasons = [...broken, ...invalidReasons, ...violations];
  return { ratePerSecond, passed, p99: latency.response.percentiles["99"] ?? 0, reasons };
}
