import type { Host } from "./host.ts";
import type { Receiver } from "./receiver.ts";

/**
 * Prints events, one JSON object a line, for another program to read.
 *
 * @param start the id of the event behind which it begins
 * @param next where they go then, if anywhere
 */
export function createPrinter(
  { stdout }: Pick<Host, "stdout">,
  start: string | undefined,
  next: Receiver | undefined,
): Receiver {
  let printed = 0;
  let last = start;
  return {
    async take(event) {
      stdout.write(`${JSON.stringify(event)}\n`);
      printed++;
      last = event.id;
      await next?.take(event);
    },
    finish: async () => (await next?.finish()) ?? { delivered: printed, failed: 0, since: last },
  };
}
