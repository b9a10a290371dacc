import type { EventRecord } from "../wire.generated.ts";
import type { Host } from "./host.ts";
import { type Output, shown } from "./output.ts";
import { deliveryIdOf, type Outcome, post } from "./post.ts";

/** Milliseconds before each further try: a developer mends and restarts in between. The service takes days, a terminal none. */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000];
/** Milliseconds between looks whether somebody listens by now, at most. */
const LONGEST_LOOK_MS = 10_000;
/** Deliveries that wait for another try at most. Higher only postpones finding out that the receiver is broken. */
const MOST_WAITING = 100;

/** Hands events to the receiver: one after the other, oldest first; what fails comes again later. */
export interface Forwarder {
  /** Hands on an event, once there is room. */
  take(event: EventRecord): Promise<void>;
  /** Tries again what is due. */
  retry(): Promise<void>;
  /** What has been done, and behind which event to begin to lose nothing. */
  summary(): { readonly delivered: number; readonly failed: number; readonly since: string | undefined };
}

/** What became of an attempt that somebody was there for. */
type Attempted = Exclude<Outcome, { readonly kind: "refused" }>;

interface Delivery {
  readonly event: EventRecord;
  /** Its number among those that were taken. */
  readonly number: number;
  /** The id of the event before. */
  readonly behind: string | undefined;
  tries: number;
  dueAt: number;
}

/** Where and how to deliver, and whom to tell. */
export interface ForwarderOptions {
  readonly target: URL;
  readonly secret: string;
  /** The id of the event behind which it begins. */
  readonly start: string | undefined;
  readonly host: Host;
  readonly output: Output;
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { host, output } = options;
  const { clock, stopped, wait } = host;
  const counts = { delivered: 0, failed: 0 };
  let waiting: Delivery[] = [];
  let current: Delivery | undefined;
  let last = options.start;
  let taken = 0;

  const attempt = async (delivery: Delivery): Promise<void> => {
    current = delivery;
    const started = clock();
    const outcome = await knock(delivery.event, options);
    delivery.tries++;
    const isDone = outcome.kind === "answered" && outcome.status >= 200 && outcome.status < 300;
    const delay = isDone ? undefined : RETRY_DELAYS_MS[delivery.tries - 1];
    if (isDone) counts.delivered++;
    else if (delay === undefined) counts.failed++;
    else waiting.push(Object.assign(delivery, { dueAt: clock() + delay }));
    current = undefined;
    report(output, delivery, outcome, { at: started, took: clock() - started, delay });
  };

  const retry = async () => {
    for (;;) {
      const due = waiting.find(({ dueAt }) => dueAt <= clock());
      if (due === undefined) return;
      waiting = waiting.filter((delivery) => delivery !== due);
      await attempt(due);
    }
  };

  return {
    retry,
    async take(event) {
      await retry();
      while (waiting.length >= MOST_WAITING) {
        await wait(1_000, stopped);
        await retry();
      }
      const behind = last;
      last = event.id;
      await attempt({ event, number: ++taken, behind, tries: 0, dueAt: 0 });
    },
    summary() {
      const undone = [...(current ? [current] : []), ...waiting].toSorted((a, b) => a.number - b.number);
      return { ...counts, since: undone.length === 0 ? last : undone[0]?.behind };
    },
  };
}

/** Waits for a receiver that is not there: nothing is lost so. */
async function knock(event: EventRecord, { target, secret, host, output }: ForwarderOptions): Promise<Attempted> {
  for (let look = 1; ; look++) {
    const outcome = await post({ event, target, secret, sentAt: host.clock() }, host.stopped);
    if (outcome.kind !== "refused") return outcome;
    if (look === 1) output.note(`Nobody listens at ${target.origin}; waiting …`);
    await host.wait(Math.min(LONGEST_LOOK_MS, 500 * 2 ** look), host.stopped);
  }
}

function report(
  output: Output,
  { event, tries }: Delivery,
  outcome: Attempted,
  { at, took, delay }: { readonly at: number; readonly took: number; readonly delay: number | undefined },
): void {
  const status = outcome.kind === "answered" ? outcome.status : undefined;
  const isDone = status !== undefined && status >= 200 && status < 300;
  const reason = isDone ? "" : shown(outcome.reason);
  const line = { event: event.event, event_id: event.id, delivery_id: deliveryIdOf(event), attempt: tries };
  const next = delay === undefined ? "given up" : `again in ${delay / 1000} s`;
  const fate = isDone ? "" : `  attempt ${tries}, ${next}${reason && `: ${reason}`}`;
  output.result(
    { ...line, status: status ?? null, reason: reason || null, duration_ms: took, retry_in_ms: delay ?? null },
    `${new Date(at).toISOString().slice(11, 19)}  ${status ?? "---"}  ${shown(event.event)}  ${shown(event.id)}  ${took} ms${fate}`,
  );
}
