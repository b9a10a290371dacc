import type { KneeStep, RunResult } from "@bikeshare/load";

interface KneeOptions {
  readonly startRate: number;
  readonly maxRate: number;
  readonly measureAt: (ratePerSecond: number) => Promise<RunResult>;
  readonly onStep: (step: KneeStep) => void;
}

/** How much faster each step is, until one does not pass. */
const GROWTH = 1.5;
/** Then the gap between the last good rate and the first bad one is halved as often. */
const BISECTIONS = 2;

/** Raises the rate until a run does not pass. @returns the last run that did, or the first where none did */
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
