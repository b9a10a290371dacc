import type { ClaimedRow } from "../queue/due-queries.ts";
import { afterResult } from "../rules/endpoint-health.ts";
import type { AttemptResult, Sender } from "../sender/sender.ts";
import { type Lane, mayBegin, noteEnd } from "./lane.ts";
import { composeMessage } from "./message.ts";
import { settledAttempt } from "./result.ts";
import type { Ending } from "./settler.ts";

export interface SendingOptions {
  readonly sender: Sender;
  readonly clock: () => number;
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number;
  readonly random: () => number;
  readonly userAgent: string;
  /** What all systems of the process have in flight together. */
  readonly flight: Flight;
  readonly observe: DispatchObserver;
  readonly onEnded: (ending: Ending) => void;
  readonly onError: (error: unknown) => void;
}

/** Hears what the dispatcher does. */
export interface DispatchObserver {
  claimed(deliveries: number): void;
  /** An attempt begins, so many milliseconds after it was due. */
  sent(waited: number, line: "live" | "replay"): void;
  settled(endings: readonly Ending[], stale: number): void;
  tookOver(orphans: number): void;
}

/** Attempts in flight in this process. */
export interface Flight {
  count: number;
}

/**
 * Attempts in flight in one process, at most: each holds a socket and up to 64 KiB of answer. Fewer let a few hundred
 * endpoints that hang use up all there are.
 */
const MAX_IN_FLIGHT = 2_000;

/** About what the log keeps of an attempt beside its request's and its answer's bodies and the answer's headers. */
const HEADERS_BYTES = 400;

/** Ways of failing that bind us for seconds. */
const WAITED: ReadonlySet<string> = new Set(["dns_timeout", "connect_timeout", "timeout", "body_timeout"]);

/** Makes the attempts of what has been claimed. */
export class Sending {
  readonly #options: SendingOptions;
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;
  /** The lane whose turn it is when not all can go on. */
  #turn = 0;

  constructor(options: SendingOptions) {
    this.#options = options;
  }

  /** Begins as many attempts as may be in flight, endpoint by endpoint in turn. */
  pump(lanes: ReadonlyMap<string, Lane>): void {
    const all = [...lanes.values()];
    this.#turn = all.length === 0 ? 0 : (this.#turn + 1) % all.length;
    for (const lane of [...all.slice(this.#turn), ...all.slice(0, this.#turn)]) this.#pumpLane(lane);
  }

  /** Begins nothing more; resolves when what is in flight has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running);
  }

  #pumpLane(lane: Lane): void {
    const { flight, monotonic } = this.#options;
    while (!this.#isClosed && flight.count < MAX_IN_FLIGHT && mayBegin(lane, monotonic())) {
      const row = lane.queue.shift();
      if (row === undefined) return;
      this.#begin(lane, row);
    }
  }

  #begin(lane: Lane, row: ClaimedRow): void {
    const { flight, onError } = this.#options;
    lane.inFlight++;
    flight.count++;
    const attempt = this.#make(lane, row)
      .catch((error: unknown) => {
        // Nothing was sent; given back at the next look.
        lane.inFlight--;
        lane.known.delete(row.delivery_id);
        lane.suspect = true;
        onError(error);
      })
      .finally(() => {
        flight.count--;
        this.#running.delete(attempt);
        this.#pumpLane(lane);
      });
    this.#running.add(attempt);
  }

  async #make(lane: Lane, row: ClaimedRow): Promise<void> {
    const { sender, clock, random, userAgent, observe, onEnded } = this.#options;
    const startedAt = clock();
    const { url, secrets, signature } = lane.endpoint;
    const message = composeMessage(
      {
        event: row.event,
        deliveryId: row.delivery_id,
        occurredAt: row.occurred_at,
        data: row.data,
        sentAt: startedAt,
        secrets,
        signature,
      },
      userAgent,
    );
    observe.sent(startedAt - row.due_at.getTime(), row.replay ? "replay" : "live");
    const result = await sender.send({ url, headers: message.headers, body: message.body });
    const endedAt = clock();
    const isSuccess = result.outcome === "succeeded";
    const requestBytes = Buffer.byteLength(message.body) + HEADERS_BYTES;
    const answer = { headers: result.answerHeaders, body: result.answerBody };
    const kept = lane.meter.keep({ isSuccess, endedAt, requestBytes, answer });
    const settled = settledAttempt({ row, url, message, startedAt, endedAt, result, kept, chance: random() });
    noteEnd(lane, result.failure !== null && WAITED.has(result.failure));
    onEnded({ lane, settled, ...judge(lane, row.delivery_id, result, endedAt) });
  }
}

/** Notes what a result means for its endpoint. */
function judge(lane: Lane, deliveryId: string, { outcome, status }: AttemptResult, endedAt: number) {
  const before = { health: lane.health, status: lane.endpoint.status };
  const after = afterResult(before.health, before.status, { deliveryId, outcome, status, endedAt });
  lane.health = after.health;
  lane.endpoint = { ...lane.endpoint, status: after.status };
  const isActiveAgain = before.status === "probing" && after.status === "active";
  if (after.status !== before.status) lane.changes.made++;
  return {
    health: after.health,
    healthChanged: before.health !== after.health,
    change: isActiveAgain ? ("active" as const) : after.pauseReason,
    warn: after.warn,
  };
}
