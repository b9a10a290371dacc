import { setTimeout } from "node:timers/promises";
import type { Answer, Command, OnAnswer, PostBatch } from "./operator-client.ts";

/** Sends commands to the operator interface, each once. Commands about the same bike or station keep their order. */
export interface Sender {
  send(command: Command): void;
  /** Commands that the service has not acknowledged yet. */
  waiting(): number;
  /** Resolves when everything is acknowledged (true), or after a timeout (false). */
  flush(timeoutMs: number): Promise<boolean>;
  /** Stops sending; resolves when no request is under way. */
  close(): Promise<void>;
}

export interface SenderOptions {
  readonly post: PostBatch;
  /** A new string each time, for `Idempotency-Key`. */
  readonly newKey: () => string;
  readonly onAnswer: OnAnswer;
  readonly onRequest: (outcome: Answer["kind"], reason: string) => void;
}

/**
 * Lanes: each sends one request at a time, and all commands about one bike or station take the same lane. Too low: commands
 * of the rush hour queue up. Too high: uses many of the service's connections.
 */
const LANES = 4;
/** Maximum items of a request. Too low: makes more requests. Too high: makes each response slower. */
const MAX_BATCH_ITEMS = 100;
/**
 * Delay before a failed request is sent again, unless the service names a time. It doubles each time, up to
 * `MAX_RETRY_DELAY_MS`.
 */
const FIRST_RETRY_DELAY_MS = 100;
const MAX_RETRY_DELAY_MS = 2000;
const POLL_INTERVAL_MS = 20;

export function createSender(options: SenderOptions): Sender {
  const closing = new AbortController();
  const lanes = Array.from({ length: LANES }, () => createLane(options, closing.signal));
  const waiting = () => lanes.reduce((sum, lane) => sum + lane.waiting(), 0);
  return {
    send: (command) => lanes[hashOf(command.subjectId) % LANES]?.send(command),
    waiting,
    async flush(timeoutMs) {
      for (let waited = 0; waiting() > 0 && waited < timeoutMs; waited += POLL_INTERVAL_MS)
        await setTimeout(POLL_INTERVAL_MS);
      return waiting() === 0;
    },
    async close() {
      closing.abort();
      await Promise.all(lanes.map((lane) => lane.idle()));
    },
  };
}

/** A queue that is sent in batches, one request at a time. Commands about one subject keep their order. */
function createLane(options: SenderOptions, closing: AbortSignal) {
  let queue: Command[] = [];
  /** How many commands are in the request under way. They keep counting as waiting if the lane closes before a response. */
  let inFlight = 0;
  let working: Promise<void> | undefined;
  const work = async () => {
    while (queue.length > 0 && !closing.aborted) {
      const { batch, rest } = splitBatch(queue);
      queue = rest;
      inFlight = batch.length;
      if (await postUntilAnswered(batch, options, closing)) inFlight = 0;
    }
    working = undefined;
  };
  return {
    send(command: Command) {
      queue.push(command);
      working ??= work();
    },
    waiting: () => queue.length + inFlight,
    /** Resolves when no request is under way. */
    idle: () => working ?? Promise.resolve(),
  };
}

/**
 * Splits off the next batch: at most MAX_BATCH_ITEMS commands with the path of the first one. A command waits if an earlier
 * one about the same subject waits, so that their order is kept.
 */
function splitBatch(queue: readonly Command[]): { readonly batch: Command[]; readonly rest: Command[] } {
  const path = queue[0]?.path;
  const batch: Command[] = [];
  const rest: Command[] = [];
  const leftBehind = new Set<string>();
  // A command that stays behind keeps later ones about its subject behind, also those with the path of the batch.
  for (const command of queue) {
    if (command.path === path && batch.length < MAX_BATCH_ITEMS && !leftBehind.has(command.subjectId))
      batch.push(command);
    else {
      rest.push(command);
      leftBehind.add(command.subjectId);
    }
  }
  return { batch, rest };
}

/** Sends the same request until it is answered. @returns false if the lane was closed before the response */
async function postUntilAnswered(
  batch: readonly Command[],
  options: SenderOptions,
  closing: AbortSignal,
): Promise<boolean> {
  const { post, newKey, onAnswer, onRequest } = options;
  const items = batch.map((command) => command.item);
  const key = newKey();
  for (let delayMs = FIRST_RETRY_DELAY_MS; !closing.aborted; delayMs = Math.min(MAX_RETRY_DELAY_MS, delayMs * 2)) {
    const answer = await post(batch[0]?.path ?? "", items, key);
    onRequest(answer.kind, answer.kind === "done" ? "" : answer.reason);
    if (answer.kind === "done") {
      for (const [index, command] of batch.entries()) {
        const result = answer.results[index];
        if (result !== undefined) onAnswer(command, result);
      }
    }
    if (answer.kind !== "retry") return true;
    await setTimeout(answer.afterMs ?? delayMs, undefined, { signal: closing }).catch(() => undefined);
  }
  return false;
}

/** Returns a number that is always the same for a text, and spreads texts over the lanes. */
function hashOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0;
  return hash;
}
