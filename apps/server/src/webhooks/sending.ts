import type { ClaimedRow } from "./due-queries.ts";
import { afterResult } from "./endpoint-health.ts";
import { type Lane, mayBegin, noteEnd } from "./lane.ts";
import { composeMessage } from "./message.ts";
import { settledAttempt } from "./result.ts";
import type { AttemptResult, Sender } from "./sender.ts";
import type { Ending } from "./settler.ts";

/** Makes the attempts of what has been claimed. */
export interface Sending {
  /** Begins as many attempts as may be in flight, endpoint by endpoint in turn. */
  pump(lanes: ReadonlyMap<string, Lane>): void;
  /** Begins nothing more; resolves when what is in flight has ended. */
  close(): Promise<void>;
}

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

/** Ways of failing that bind us for seconds. */
const WAITED: ReadonlySet<string> = new Set(["dns_timeout", "connect_timeout", "timeout", "body_timeout"]);

export function createSending(options: SendingOptions): Sending {
  const { sender, clock, monotonic, random, userAgent, flight } = options;
  const running = new Set<Promise<void>>();
  let closed = false;
  /** The lane whose turn it is when not all can go on. */
  let turn = 0;

  function pump(lanes: ReadonlyMap<string, Lane>): void {
    const all = [...lanes.values()];
    turn = all.length === 0 ? 0 : (turn + 1) % all.length;
    for (const lane of [...all.slice(turn), ...all.slice(0, turn)]) pumpLane(lane);
  }

  function pumpLane(lane: Lane): void {
    while (!closed && lane.queue.length > 0 && flight.count < MAX_IN_FLIGHT && mayBegin(lane, monotonic())) {
      const row = lane.queue.shift();
      if (row !== undefined) begin(lane, row);
    }
  }

  function begin(lane: Lane, row: ClaimedRow): void {
    lane.inFlight++;
    flight.count++;
    const attempt = make(lane, row)
      .catch((error: unknown) => {
        // Nothing was sent; given back at the next look.
        lane.inFlight--;
        flight.count--;
        lane.known.delete(row.delivery_id);
        lane.suspect = true;
        options.onError(error);
      })
      .finally(() => {
        running.delete(attempt);
        pumpLane(lane);
      });
    running.add(attempt);
  }

  async function make(lane: Lane, row: ClaimedRow): Promise<void> {
    const startedAt = clock();
    const { url, secrets } = lane.endpoint;
    const message = composeMessage(
      {
        event: row.event,
        deliveryId: row.delivery_id,
        occurredAt: row.occurred_at,
        data: row.data,
        sentAt: startedAt,
        secrets,
      },
      userAgent,
    );
    options.observe.sent(startedAt - row.due_at.getTime(), row.replay ? "replay" : "live");
    const result = await sender.send({ url, headers: message.headers, body: message.body });
    const endedAt = clock();
    const settled = settledAttempt({ row, url, message, startedAt, endedAt, result, chance: random() });
    flight.count--;
    noteEnd(lane, result.failure !== null && WAITED.has(result.failure));
    options.onEnded({ lane, settled, ...judge(lane, row.delivery_id, result, endedAt) });
  }

  return {
    pump,
    async close() {
      closed = true;
      await Promise.all(running);
    },
  };
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
    healthChanged: before.health !== after.health,
    change: isActiveAgain ? ("active" as const) : after.pauseReason,
    warn: after.warn,
  };
}
