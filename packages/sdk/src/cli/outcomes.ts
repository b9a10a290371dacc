import type { DeliveryLine, Departure } from "./delivery-line.ts";
import { type Attempted, isTaken, report } from "./delivery-report.ts";
import type { Output } from "./output.ts";
import type { Outcome } from "./post.ts";
import type { Presence } from "./presence.ts";

/** Milliseconds before each further try: a developer mends and restarts in between. The service takes days, a terminal none. */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000];

/** Does what an attempt's outcome asks for. */
export interface Outcomes {
  readonly counts: { readonly delivered: number; readonly failed: number };
  /**
   * An attempt is over.
   *
   * @param at when it was sent, in milliseconds since 1970
   * @returns milliseconds after which there may be more to send; undefined where nothing need be waited for
   */
  settle(departure: Departure, outcome: Outcome, at: number): number | undefined;
}

export interface OutcomesOptions {
  readonly line: DeliveryLine;
  readonly presence: Presence;
  readonly output: Output;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function createOutcomes({ line, presence, output, clock }: OutcomesOptions): Outcomes {
  const counts = { delivered: 0, failed: 0 };
  const settleAttempted = ({ event, tries }: Departure, outcome: Attempted, at: number) => {
    const number = tries + 1;
    const isDone = isTaken(outcome);
    const delay = isDone ? undefined : RETRY_DELAYS_MS[tries];
    report(output, { event, outcome, number, at, took: clock() - at, delay });
    if (delay === undefined) {
      counts[isDone ? "delivered" : "failed"]++;
      line.done(event);
    } else line.again(event, number, clock() + delay);
    return delay;
  };
  return {
    counts,
    settle(departure, outcome, at) {
      if (outcome.kind === "refused") {
        // It has cost the delivery no try: nobody was there to fail.
        line.again(departure.event, departure.tries, 0);
        return presence.missed(clock());
      }
      presence.seen();
      return settleAttempted(departure, outcome, at);
    },
  };
}
