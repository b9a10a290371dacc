import type { FeedReport } from "@bikeshare/contract/console";

/** The result of a check, or the reason why the check failed. */
export type CheckOutcome =
  | { readonly report: FeedReport; readonly failure: null }
  | { readonly report: null; readonly failure: string };

/** Lifetime of a result. Too low: fetches the same files again. Too high: shows outdated results. */
const KEPT_MS = 3 * 60_000;
/** Maximum cached results. Beyond it, the result that nobody has asked for the longest is deleted. */
const MAX_KEPT = 50;

/** Runs checks, one at a time for each system, and caches their results for some minutes. */
export class KeptChecks {
  readonly #clock: () => number;
  /** The least recently requested result first. */
  readonly #kept = new Map<
    string,
    { readonly outcome: Promise<CheckOutcome>; readonly at: number; readonly state: string }
  >();
  /** The latest check of each system, as a promise that never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Returns the cached result of a check, or runs the check after the system's earlier ones.
   * @param subject names what is checked: a source that the system follows; empty: the system's own feeds
   * @param state describes what is checked. A cached result with another state is outdated.
   */
  get(systemId: string, subject: string, state: string, check: () => Promise<FeedReport>): Promise<CheckOutcome> {
    const key = JSON.stringify([systemId, subject]);
    const now = this.#clock();
    const held = this.#kept.get(key);
    this.#kept.delete(key);
    if (held?.state === state && now - held.at < KEPT_MS) {
      this.#kept.set(key, held);
      return held.outcome;
    }
    const before = this.#last.get(systemId) ?? Promise.resolve();
    const outcome = before.then(check).then(
      (report): CheckOutcome => ({ report, failure: null }),
      (error: unknown): CheckOutcome => ({
        report: null,
        failure: error instanceof Error ? error.message : String(error),
      }),
    );
    this.#last.set(systemId, outcome);
    this.#kept.set(key, { outcome, at: now, state });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return outcome;
  }
}
