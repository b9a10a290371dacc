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
  // The highest rate that passed; undefined if even the first failed, so that nothing more is tried.
  let passedRate = best.passed ? startRate : undefined;
  let failedRate: number | undefined;
  while (passedRate !== undefined && failedRate === undefined && passedRate < maxRate) {
    const next = Math.min(maxRate, Math.ceil(passedRate * GROWTH));
    const result = await tryRate(next);
    if (result.passed) [passedRate, best] = [next, result];
    else failedRate = next;
  }
  for (let n = 0; n < BISECTIONS && passedRate !== undefined && failedRate !== undefined; n++) {
    if (failedRate - passedRate <= 1) break;
    const middle = Math.round((passedRate + failedRate) / 2);
    const result = await tryRate(middle);
    if (result.passed) [passedRate, best] = [middle, result];
    else failedRate = middle;
  }
  return { ...best, knee: { lastGoodPerSecond: passedRate, steps } };
}

function stepOf(
  ratePerSecond: number,
  { passed, latency, invalidReasons, thresholds, violations }: RunResult,
): KneeStep {
  const broken = thresholds.filter((threshold) => !threshold.passed).map(({ text, value }) => `${text}: ${value}`);
  const reasons = [...broken, ...invalidReasons, ...violations];
  return { ratePerSecond, passed, p99: latency.response.percentiles["99"] ?? 0, reasons };
}
