import { signSync, standardHeadersSync } from "@bikeshare/webhooks/node";
import type { SignatureSchemes, SigningSecret } from "../endpoints/dispatch-endpoints.ts";
import type { ClaimedRow } from "../queue/lane-queries.ts";
import { afterResult, type AttemptResult } from "../rules/after-attempt.ts";
import type { Sender } from "../sender/sender.ts";
import { canStartAttempt, endAttempt, type Lane, type QueueName } from "./lanes.ts";
import { type CompletedAttempt, type Message, resultOf, type SentAttempt } from "./result-writer.ts";

/*
 * Runs attempts: takes claimed deliveries from lanes, has their messages sent, and judges the results. A lane has the
 * deliveries of one endpoint, which one worker at a time sends.
 */

/** A message that was sent, and its result. */
type SentMessage = Omit<SentAttempt, "row" | "kept" | "chance">;

export interface AttemptRunnerOptions {
  readonly sender: Sender;
  readonly clock: () => number;
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number;
  readonly random: () => number;
  readonly userAgent: string;
  /** Whether the system is a sandbox: a header of its deliveries says so. */
  readonly isSandbox: boolean;
  /** Shared by all systems of the process. */
  readonly inFlight: InFlight;
  readonly observe: DispatchObserver;
  readonly onCompleted: (attempt: CompletedAttempt) => void;
  readonly onError: (error: unknown) => void;
}

/** Receives the steps of the dispatcher, for metrics and the log. */
export interface DispatchObserver {
  claimed(deliveries: number): void;
  /** An attempt begins, `waitedMs` after it was due. */
  attemptStarted(waitedMs: number, queue: QueueName): void;
  /**
   * @param attempts all results of a batch, stale ones too
   * @param stale number of results that were not written, because the claims were no longer the worker's
   */
  resultsWritten(attempts: readonly CompletedAttempt[], stale: number): void;
  /** Orphans, which an earlier holder of a lane claimed without writing a result, got the result `unknown`. */
  orphansWritten(orphans: number): void;
  /** Deliveries were set aside, because they ended several processes or PostgreSQL rejects their results. */
  setAside(systemId: string, deliveryIds: readonly string[]): void;
}

/** Attempts in flight in this process. */
export interface InFlight {
  count: number;
}

/**
 * Limits the attempts in flight in one process: each holds a socket and up to 64 KiB of response. Too low: a few hundred
 * endpoints that hang use up all slots.
 */
const MAX_IN_FLIGHT = 2_000;

/** The approximate size of a logged attempt without the bodies and the response's headers. */
const LOGGED_OVERHEAD_BYTES = 400;

/** Failures that occupy a slot of the process for seconds. */
const SLOW_FAILURES: ReadonlySet<string> = new Set(["dns_timeout", "connect_timeout", "timeout", "body_timeout"]);

/** Runs the attempts of claimed deliveries: composes and signs the message, has it sent, judges the response. */
export class AttemptRunner {
  readonly #options: AttemptRunnerOptions;
  // A count rather than a set of promises: a set that grows and shrinks for ever keeps its old hash tables in memory.
  #running = 0;
  #isClosed = false;
  readonly #idle = Promise.withResolvers<void>();
  /**
   * The index of the lane that starts attempts first. It advances with each call, so that no lane always comes last when
   * slots are few.
   */
  #firstLane = 0;

  constructor(options: AttemptRunnerOptions) {
    this.#options = options;
  }

  /** Begins as many attempts as may be in flight, lane by lane, with another lane first each time. */
  startReady(lanes: ReadonlyMap<string, Lane>): void {
    const all = [...lanes.values()];
    this.#firstLane = all.length === 0 ? 0 : (this.#firstLane + 1) % all.length;
    for (const lane of [...all.slice(this.#firstLane), ...all.slice(0, this.#firstLane)]) this.#startLane(lane);
  }

  /** Starts no more attempts; resolves when the attempts in flight have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#running > 0) await this.#idle.promise;
  }

  #startLane(lane: Lane): void {
    const { inFlight, monotonic } = this.#options;
    while (!this.#isClosed && inFlight.count < MAX_IN_FLIGHT && canStartAttempt(lane, monotonic())) {
      const row = lane.ready.shift();
      if (row === undefined) return;
      // `#start` handles the errors of the attempt itself.
      this.#start(lane, row).catch(this.#options.onError);
    }
  }

  async #start(lane: Lane, row: ClaimedRow): Promise<void> {
    const { inFlight } = this.#options;
    lane.inFlight++;
    inFlight.count++;
    this.#running++;
    try {
      await this.#attempt(lane, row);
    } finally {
      inFlight.count--;
      this.#running--;
      if (this.#isClosed && this.#running === 0) this.#idle.resolve();
      // Begins only after every response that arrived at the same time was judged: one of them may pause the endpoint.
      this.#startLane(lane);
    }
  }

  async #attempt(lane: Lane, row: ClaimedRow): Promise<void> {
    const sent = await this.#send(lane, row).catch((error: unknown) => {
      // Nothing was sent: only composing the message, or a sender that is closed, throws. The next maintenance of the lane
      // releases the claim.
      lane.inFlight--;
      lane.unwritten.delete(row.delivery_id);
      lane.mustRelease = true;
      this.#options.onError(error);
    });
    if (sent !== undefined) this.#complete(lane, row, sent);
  }

  async #send(lane: Lane, row: ClaimedRow): Promise<SentMessage> {
    const { sender, clock, userAgent, isSandbox, observe } = this.#options;
    const startedAt = clock();
    const { url, secrets, signature } = lane.endpoint;
    const message = composeMessage({ row, sentAt: startedAt, secrets, signature, isSandbox }, userAgent);
    observe.attemptStarted(startedAt - row.due_at.getTime(), row.replay ? "replay" : "regular");
    const result = await sender.send({ url, headers: message.headers, body: message.body });
    return { url, message, startedAt, endedAt: clock(), result };
  }

  #complete(lane: Lane, row: ClaimedRow, sent: SentMessage): void {
    const { message, endedAt, result } = sent;
    const kept = lane.logMeter.keep({
      isSuccess: result.outcome === "succeeded",
      endedAt,
      requestBytes: Buffer.byteLength(message.body) + LOGGED_OVERHEAD_BYTES,
      answer: { headers: result.answerHeaders, body: result.answerBody },
    });
    // `chance` extends the wait for the next attempt at random.
    const completed = resultOf({ ...sent, row, kept, chance: this.#options.random() });
    endAttempt(lane, result.failure !== null && SLOW_FAILURES.has(result.failure));
    const judgement = judgeEndpoint(lane, row.delivery_id, result, endedAt);
    this.#options.onCompleted({ lane, result: completed, ...judgement });
  }
}

/** Applies a result to its endpoint's health (rules/after-attempt.ts). */
function judgeEndpoint(lane: Lane, deliveryId: string, { outcome, status }: AttemptResult, endedAt: number) {
  const before = { health: lane.health, status: lane.endpoint.status };
  const after = afterResult(before.health, before.status, { deliveryId, outcome, status, endedAt });
  lane.health = after.health;
  const isActiveAgain = before.status === "probing" && after.status === "active";
  if (after.status !== before.status) {
    lane.endpoint = { ...lane.endpoint, status: after.status };
    // Until the settings that are loaded from the database include this change, the lane keeps its own status.
    lane.statusChanges.decided++;
  }
  return {
    health: after.health,
    healthChanged: before.health !== after.health,
    statusChange: isActiveAgain ? ("active" as const) : after.pauseReason,
    warning: after.warning,
  };
}

/** The parts of a message. */
export interface MessageInput {
  readonly row: Pick<ClaimedRow, "event" | "delivery_id" | "occurred_at" | "data">;
  /** When the attempt starts, in milliseconds since 1970. */
  readonly sentAt: number;
  readonly secrets: readonly SigningSecret[];
  readonly signature: SignatureSchemes;
  /** Whether the delivery is of a sandbox; false by default. */
  readonly isSandbox?: boolean;
}

/**
 * Composes and signs an attempt's message. Every secret that is active at `sentAt` signs it. If the endpoint asks for it,
 * the message is signed by the Standard Webhooks specification as well. That signature leaves out secrets in base64url,
 * made before the endpoint asked for it, because the specification's libraries cannot read them.
 */
export function composeMessage(
  { row, sentAt, secrets, signature, isSandbox = false }: MessageInput,
  userAgent: string,
): Message {
  const { event, delivery_id: id, occurred_at: occurredAt, data } = row;
  const body =
    `{"event":${JSON.stringify(event)},"delivery_id":${JSON.stringify(id)}` +
    `,"occurred_at":"${occurredAt.toISOString()}","sent_at":"${new Date(sentAt).toISOString()}","data":${data}}`;
  const active = secrets.flatMap(({ text, expiresAt }) => (expiresAt === null || expiresAt > sentAt ? [text] : []));
  const timestamp = Math.floor(sentAt / 1000);
  const standard = signature === "both" ? standardHeadersSync({ id, timestamp, body, secrets: active }) : [];
  return {
    body,
    headers: [
      ["Content-Type", "application/json"],
      ["Service-Signature", signSync({ body, secrets: active, timestamp })],
      ...standard,
      ...(isSandbox ? ([["Sandbox", "true"]] as const) : []),
      ["User-Agent", userAgent],
    ],
  };
}
