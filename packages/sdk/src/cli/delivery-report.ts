import { deliveryIdOf } from "../delivery-id.ts";
import type { EventRecord } from "../wire.generated.ts";
import { type Output, shown } from "./output.ts";
import { ENDPOINT, type Outcome } from "./post.ts";

/** What became of an attempt that somebody was there for. */
export type Attempted = Exclude<Outcome, { readonly kind: "refused" }>;

/** One attempt that is over. */
export interface Attempt {
  readonly event: EventRecord;
  readonly outcome: Attempted;
  /** 1 for the first. */
  readonly number: number;
  /** When it was sent, in milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds until it was answered. */
  readonly took: number;
  /** Milliseconds until the next; undefined where there is none. */
  readonly delay: number | undefined;
}

/** Whether the receiver has taken the delivery. */
export function isTaken(outcome: Attempted): boolean {
  return outcome.kind === "answered" && outcome.status >= 200 && outcome.status < 300;
}

/** Says what became of an attempt: a line for people, or an object. */
export function report(output: Output, { event, outcome, number, at, took, delay }: Attempt): void {
  const status = outcome.kind === "answered" ? outcome.status : undefined;
  const isDone = isTaken(outcome);
  const reason = isDone ? "" : shown(outcome.reason);
  const line = {
    event: event.event,
    event_id: event.id,
    delivery_id: deliveryIdOf(event.id, ENDPOINT),
    attempt: number,
  };
  const next = delay === undefined ? "given up" : `again in ${delay / 1000} s`;
  const fate = isDone ? "" : `  attempt ${number}, ${next}${reason && `: ${reason}`}`;
  output.result(
    { ...line, status: status ?? null, reason: reason || null, duration_ms: took, retry_in_ms: delay ?? null },
    `${new Date(at).toISOString().slice(11, 19)}  ${status ?? "---"}  ${shown(event.event)}  ${shown(event.id)}  ${took} ms${fate}`,
  );
}
