import { setTimeout } from "node:timers/promises";
import type { Answer, Command, OnAnswer, PostBatch } from "./operator-client.ts";

/** Sends the operator's commands to the service: each once, in order for each bike and station. */
export interface Sender {
  send(command: Command): void;
  /** Commands that the service has not acknowledged yet. */
  waiting(): number;
  /** Resolves when everything is acknowledged (true), or after a timeout (false). */
  flush(timeoutMs: number): Promise<boolean>;
  /** Sends nothing more; resolves when no request is under way. */
  close(): Promise<void>;
}

export interface SenderOptions {
  readonly post: PostBatch;
  /** A new string each time, for `Idempotency-Key`. */
  readonly newKey: () => string;
  readonly onAnswer: OnAnswer;
  readonly onRequest: (outcome: Answer["kind"], reason: string) => void;
}

/** Concurrent requests. Too low: the rush hour queues here. Too high: occupies the service's connections. */
const LANES = 4;
/** Items of a request. Too low: makes more requests. Too high: makes each answer slower. */
const MAX_BATCH_ITEMS = 100;
/** Until a failed request is sent again; doubled each time. */
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

/** A queue that is sent in order, one request at a time. */
function createLane(options: SenderOptions, closing: AbortSignal) {
  let queue: Command[] = [];
  /** Commands of the request under way; they count as waiting when the lane is closed before an answer comes. */
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

/** The first commands with the path of the very first, except those about a subject of which one is left behind. */
function splitBatch(queue: readonly Command[]): { readonly batch: Command[]; readonly rest: Command[] } {
  const path = queue[0]?.path;
  const batch: Command[] = [];
  const rest: Command[] = [];
  const leftBehind = new Set<string>();
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

/** Sends the very same request until it is answered. @returns whether it was before the lane was closed */
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

function hashOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0;
  return hash;
}
