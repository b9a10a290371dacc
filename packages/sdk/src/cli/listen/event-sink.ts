import type { EventRecord } from "../../json-types.generated.ts";
import type { Environment } from "../environment.ts";

/** A destination for the events of `listen`: a receiver, or standard output. */
export interface EventSink {
  /** Takes an event. Resolves when it can take another, or when the program is told to stop. */
  write(event: EventRecord): Promise<void>;
  /** Finishes or aborts what is in progress, and returns a summary. */
  close(): Promise<Summary>;
}

interface Summary {
  readonly delivered: number;
  readonly failed: number;
  /** The id of the event after which a later run continues without losing any; undefined: with the oldest event. */
  readonly since: string | undefined;
}

/**
 * Prints events, one JSON object a line, for another program to read.
 *
 * @param start the id of the event after which the listening begins
 * @param next another sink that gets the events too, and whose summary is returned; undefined: there is none
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
