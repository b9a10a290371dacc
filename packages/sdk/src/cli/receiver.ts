import type { EventRecord } from "../wire.generated.ts";

/** What `listen` hands events to. */
export interface Receiver {
  /** Hands on an event. Resolves when there is room for another, or when the program is told to stop. */
  take(event: EventRecord): Promise<void>;
  /** Ends what is under way, and says what has been done. */
  finish(): Promise<Summary>;
}

interface Summary {
  readonly delivered: number;
  readonly failed: number;
  /** Behind which event to begin another day to lose nothing; undefined: with the oldest. */
  readonly since: string | undefined;
}
