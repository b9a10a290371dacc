import type { BikeShare } from "../client.ts";
import { isRetryable } from "../core/retry.ts";
import { isBikeShareError } from "../errors/errors.ts";
import type { EventListQuery } from "../wire.generated.ts";
import type { Host } from "./host.ts";
import { type Output, shown } from "./output.ts";
import type { Receiver } from "./receiver.ts";

/** Milliseconds between two looks at a service that does not answer, at most. */
const LONGEST_OUTAGE_LOOK_MS = 30_000;

export interface FollowOptions {
  readonly client: BikeShare;
  /** The names that are wanted; none: all. */
  readonly names: readonly string[];
  /** The id of the event behind which to begin; undefined: with the oldest. */
  readonly start: string | undefined;
  /** Milliseconds between two looks for new events. */
  readonly everyMs: number;
  readonly receiver: Receiver;
  readonly host: Host;
  readonly output: Output;
}

/**
 * Hands on every event, each once and in order, until it is stopped. A service that is away is waited for.
 *
 * @throws the signal's reason; BikeShareError for what time does not mend, such as a key without the scope
 */
export async function follow(options: FollowOptions): Promise<never> {
  const { client, names, receiver, host, output } = options;
  const [only] = names;
  // The list can be asked for one name; of several it is asked for all, and passed over here.
  const filter: Pick<EventListQuery, "event"> = names.length === 1 ? { event: only as EventListQuery["event"] } : {};
  let place = options.start;
  let failures = 0;
  for (;;) {
    try {
      for await (const event of client.events.since(place, filter, { signal: host.stopped })) {
        if (names.length === 0 || names.includes(event.event)) await receiver.take(event);
        place = event.id;
      }
      if (failures > 0) output.note("The service answers again.");
      failures = 0;
    } catch (error) {
      host.stopped.throwIfAborted();
      if (!isBikeShareError(error) || !isRetryable(error)) throw error;
      if (failures++ === 0) output.note(`The service does not answer; trying again: ${shown(error.message)}`);
    }
    const pause = options.everyMs * 2 ** Math.min(failures, 10);
    await host.wait(failures > 0 ? Math.min(pause, LONGEST_OUTAGE_LOOK_MS) : pause, host.stopped);
  }
}
