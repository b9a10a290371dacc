import { createRandom } from "@bikeshare/simulator";

/** When the requests of a stream are meant to start. */
export interface Arrivals {
  /** `constant`: evenly spaced. `poisson`: independent of one another, as those of many callers are. */
  readonly kind: "constant" | "poisson";
  readonly ratePerSecond: number;
  readonly durationMs: number;
  readonly seed: number;
}

/** One worker's part of a schedule: every `of`-th request, from `index` on. */
export interface Share {
  readonly index: number;
  readonly of: number;
}

/**
 * Yields the intended start times of one worker's share, in milliseconds from the start of the run. The times of all workers
 * together depend on `arrivals` only: the same seed gives the same times for any number of workers.
 */
export function* startTimes(arrivals: Arrivals, share: Share): Generator<number, void> {
  let index = 0;
  for (const time of allTimes(arrivals)) if (index++ % share.of === share.index) yield time;
}

function* allTimes({ kind, ratePerSecond, durationMs, seed }: Arrivals): Generator<number, void> {
  const meanGapMs = 1000 / ratePerSecond;
  if (kind === "constant") {
    for (let n = 0; n * meanGapMs < durationMs; n++) yield n * meanGapMs;
    return;
  }
  const random = createRandom(seed);
  // In a Poisson process the gaps have an exponential distribution.
  const gap = () => -Math.log(1 - random.next()) * meanGapMs;
  for (let time = gap(); time < durationMs; time += gap()) yield time;
}

/**
 * Returns a seed for one part of a run: a hash of the run's seed and the part's indexes, so that different parts get
 * different random numbers.
 */
export function derivedSeed(seed: number, ...parts: readonly number[]): number {
  // The multiplier is a prime close to 2 ** 32 divided by the golden ratio, which spreads neighbouring numbers well.
  return parts.reduce((mixed, part) => Math.imul(mixed ^ (part + 1), 0x9e3779b1) ^ (mixed >>> 15), seed) >>> 0;
}
