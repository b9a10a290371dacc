import { createDeliveryLine, type Departure } from "./delivery-line.ts";
import type { Host } from "./host.ts";
import { createOutcomes } from "./outcomes.ts";
import type { Output } from "./output.ts";
import { post } from "./post.ts";
import { createPresence } from "./presence.ts";
import type { Receiver } from "./receiver.ts";

/** Deliveries that are not done, at most. Higher only postpones finding out that the receiver is broken. */
const MOST_WAITING = 100;
/** Milliseconds that attempts may take when the program is told to stop. Lower cuts off more; higher is felt as a Ctrl-C that does nothing. */
const GRACE_MS = 2_000;

/** Where and how to deliver, and whom to tell. */
export interface ForwarderOptions {
  readonly target: URL;
  readonly secret: string;
  /** The id of the event behind which it begins. */
  readonly start: string | undefined;
  /** How many deliveries may be on their way. */
  readonly atOnce: number;
  readonly host: Host;
  readonly output: Output;
}

/** POSTs events to an address, several at once. What fails goes again later; where nobody listens, everything waits. */
export function createForwarder({ target, secret, start, atOnce, host, output }: ForwarderOptions): Receiver {
  const { clock, stopped, wait } = host;
  const line = createDeliveryLine(start, atOnce);
  const presence = createPresence(() => output.note(`Nobody listens at ${target.origin}; waiting …`));
  const outcomes = createOutcomes({ line, presence, output, clock });
  const attempts = new Set<Promise<void>>();
  /** Aborts when all is over: what is on its way then is cut off, and no timer is left. */
  const over = new AbortController();
  let isEnding = false;
  let makeRoom = () => {};
  stopped.addEventListener("abort", () => makeRoom());

  const goOn = () => {
    while (!isEnding && !stopped.aborted && presence.mayGo(clock(), line.open)) {
      const departure = line.depart(clock());
      if (departure === undefined) return;
      const attempt = send(departure).finally(() => {
        attempts.delete(attempt);
        makeRoom();
        goOn();
      });
      attempts.add(attempt);
    }
  };

  const send = async (departure: Departure): Promise<void> => {
    const at = clock();
    const outcome = await post({ event: departure.event, target, secret, sentAt: at }, over.signal).catch(() => {});
    // Cut off at the end, it may have been taken or not: it stays in the line, as one that is not done.
    const ms = outcome && outcomes.settle(departure, outcome, at);
    if (ms !== undefined) wait(ms, over.signal).then(goOn, () => {});
  };

  return {
    async take(event) {
      line.add(event);
      goOn();
      while (line.size >= MOST_WAITING && !stopped.aborted) {
        await new Promise<void>((resolve) => {
          makeRoom = resolve;
        });
      }
    },
    async finish() {
      isEnding = true;
      const grace = wait(GRACE_MS, over.signal).catch(() => {});
      await Promise.race([Promise.allSettled(attempts), grace]);
      over.abort();
      await Promise.allSettled(attempts);
      return { ...outcomes.counts, since: line.checkpoint() };
    },
  };
}
