import type { FeedReport } from "@bikeshare/contract/console";

/** What a check found, or why there was nothing to check. */
export type CheckOutcome =
  | { readonly report: FeedReport; readonly failure: null }
  | { readonly report: null; readonly failure: string };

/** Milliseconds for which a result is kept. Too low: the same files are fetched again and again. Too high: it is old. */
const KEPT_MS = 3 * 60_000;
/** Results that are kept. */
const MAX_KEPT = 50;

/** Runs checks, one at a time for each system, and keeps what they find for some minutes. */
export class KeptChecks {
  readonly #clock: () => number;
  readonly #kept = new Map<string, { readonly outcome: Promise<CheckOutcome>; readonly at: number }>();
  /** The last check of each system; it never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Returns what a check found lately, or runs it when those before it are done. */
  get(systemId: string, subject: string, check: () => Promise<FeedReport>): Promise<CheckOutcome> {
    const key = JSON.stringify([systemId, subject]);
    const now = this.#clock();
    const held = this.#kept.get(key);
    if (held !== undefined && now - held.at < KEPT_MS) return held.outcome;
    const before = this.#last.get(systemId) ?? Promise.resolve();
    const outcome = before.then(check).then(
      (report): CheckOutcome => ({ report, failure: null }),
      (error: unknown): CheckOutcome => ({
        report: null,
        failure: error instanceof Error ? error.message : String(error),
      }),
    );
    this.#last.set(systemId, outcome);
    this.#kept.set(key, { outcome, at: now });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return outcome;
  }
}
