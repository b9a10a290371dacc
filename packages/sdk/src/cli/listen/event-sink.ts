import type { EventRecord } from "../../json-types.generated.ts";
import type { Environment } from "../environment.ts";

/** Where `listen` sends events. */
export interface EventSink {
  /** Takes an event. Resolves when it can take another, or when the program is told to stop. */
  write(event: EventRecord): Promise<void>;
  /** Ends what is in progress. */
  close(): Promise<Summary>;
}

interface Summary {
  readonly delivered: number;
  readonly failed: number;
  /** The event after which to continue another day without losing any; undefined: with the oldest. */
  readonly since: string | undefined;
}

/**
 * Prints events, one JSON object a line, for another program to read.
 *
 * @param start the id of the event after which it begins
 * @param next another sink that takes them too, if any
 */
export function createPrinter(
  { stdout }: Pick<Environment, "stdout">,
  start: string | undefined,
  next: EventSink | undefined,
): EventSink {
  let printed = 0;
  let lastId = start;
  return {
    async write(event) {
      stdout.write(`${JSON.stringify(event)}\n`);
      printed++;
      lastId = event.id;
      await next?.write(event);
    },
    close: async () => (await next?.close()) ?? { delivered: printed, failed: 0, since: lastId },
  };
}
