import { setTimeout as sleep } from "node:timers/promises";
import type { AttemptRequest, AttemptResult, FailedAttempt, Header } from "../rules/after-attempt.ts";
import type { Sender } from "./sender.ts";

/** Faults of a sandbox's deliveries (`webhookFaults` of the contract). */
export interface DeliveryFaults {
  /** Seconds before each attempt. */
  readonly delay: number;
  /** Each attempt is sent twice. */
  readonly duplicate: boolean;
  /** Every second delivery overtakes the previous one. */
  readonly reorder: boolean;
  readonly bad_signature: boolean;
  /** No attempt reaches the receiver. */
  readonly down: boolean;
  /** When the faults end (RFC 3339); left out: they do not end. */
  readonly until?: string | undefined;
}

/** Milliseconds that a delivery waits for a later one to overtake it. */
const OVERTAKEN_WITHIN_MS = 3_000;

/**
 * Returns a sender with the faults that a partner has set for its tests. Closing it ends all waits, so that the service can
 * stop at once. It does not close `sender`.
 * @param faults read at each attempt; null: none
 */
export function createFaultySender(sender: Sender, faults: () => DeliveryFaults | null, clock: () => number): Sender {
  /** Releases the delivery that waits to be overtaken; undefined: none waits. */
  let releaseWaiting: (() => void) | undefined;
  const closing = new AbortController();
  const wait = (ms: number) => sleep(ms, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
  // Waits until another delivery was sent, or OVERTAKEN_WITHIN_MS have passed. Does not wait if a delivery waits already:
  // this one overtakes it.
  const afterAnother = async (): Promise<void> => {
    if (releaseWaiting !== undefined) return;
    const passed = Promise.withResolvers<void>();
    releaseWaiting = passed.resolve;
    await Promise.race([passed.promise, wait(OVERTAKEN_WITHIN_MS)]);
    releaseWaiting = undefined;
  };
  return {
    async send(request) {
      const active = faults();
      const isOver = active?.until !== undefined && Date.parse(active.until) <= clock();
      if (active === null || isOver) return sender.send(request);
      if (active.down) return resultWhileDown();
      if (active.delay > 0) await wait(active.delay * 1000);
      if (active.reorder) await afterAnother();
      const sent = active.bad_signature ? withWrongSignature(request) : request;
      const result = await sender.send(sent);
      releaseWaiting?.();
      if (active.duplicate && !closing.signal.aborted) await sender.send(sent);
      return result;
    },
    close() {
      closing.abort();
      return Promise.resolve();
    },
  };
}

/** Falsifies the signature headers: `v1=` and hexadecimal digits, or `v1,` and a Base64 text. */
function withWrongSignature(request: AttemptRequest): AttemptRequest {
  const headers = request.headers.map(([name, value]): Header => {
    if (!/signature$/i.test(name)) return [name, value];
    // Changes the first letter: at the end of a Base64 text, different letters can mean the same bytes.
    return [
      name,
      value.replaceAll(/(v1[=,])(.)/g, (_, scheme: string, first: string) => scheme + (first === "0" ? "1" : "0")),
    ];
  });
  return { ...request, headers };
}

/** Returns the result of an attempt while the receiver is simulated to be down. */
function resultWhileDown(): AttemptResult {
  return {
    outcome: "failed",
    status: null,
    failure: "connect_refused",
    detail: "simulated by the sandbox: `down`",
    sentHeaders: [],
    remoteAddress: null,
    reusedConnection: false,
    answerHeaders: [],
    answerBody: new Uint8Array(),
    answerCut: false,
    retryAfterMs: null,
    timings: { dns: null, connect: null, tls: null, firstByte: null, total: 0 },
  } satisfies FailedAttempt;
}
