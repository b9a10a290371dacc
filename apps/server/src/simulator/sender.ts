import { setTimeout } from "node:timers/promises";
import type { Command, OnAnswer } from "./commands.ts";
import type { PostBatch } from "./operator-client.ts";

/** Tells the service what the operator's backend has to say: everything once, in order for each bike and station. */
export interface Sender {
  tell(command: Command): void;
  /** Commands that the service has not acknowledged yet. */
  waiting(): number;
  /** Resolves when everything is acknowledged, or after a bound in milliseconds; says whether all is. */
  flush(bound: number): Promise<boolean>;
  /** Sends nothing more; resolves when no request is under way. */
  close(): Promise<void>;
}

export interface SenderOptions {
  readonly post: PostBatch;
  /** A new text each time, for `Idempotency-Key`. */
  readonly newKey: () => string;
  readonly onAnswer: OnAnswer;
  /** A request was answered, or has to be sent again, or was refused as a whole. */
  readonly onRequest: (outcome: "done" | "again" | "refused", reason: string) => void;
}

/** Requests at once. More lean on the service's connections; fewer, and a rush hour queues here. */
const LANES = 4;
/** Items of a request. More make each answer slower; fewer make more requests. */
const BATCH = 100;
/** Milliseconds until a failed request is sent again: doubled each time, up to the second. */
const RETRY = { first: 100, most: 2000 };
/** Milliseconds between two looks at whether everything is acknowledged. */
const LOOK = 20;

export function createSender(options: SenderOptions): Sender {
  const closing = new AbortController();
  const lanes = Array.from({ length: LANES }, () => createLane(options, closing.signal));
  const waiting = () => lanes.reduce((sum, lane) => sum + lane.waiting(), 0);
  return {
    tell: (command) => lanes[hashOf(command.about) % LANES]?.tell(command),
    waiting,
    async flush(bound) {
      for (let waited = 0; waiting() > 0 && waited < bound; waited += LOOK) await setTimeout(LOOK);
      return waiting() === 0;
    },
    async close() {
      closing.abort();
      await Promise.all(lanes.map((lane) => lane.idle()));
    },
  };
}

interface Lane {
  tell(command: Command): void;
  waiting(): number;
  idle(): Promise<void>;
}

/** A queue that is worked off in its order, a request at a time. */
function createLane(options: SenderOptions, closing: AbortSignal): Lane {
  let queue: Command[] = [];
  /** Commands of the request under way; they stay when the lane is closed before an answer comes. */
  let inFlight = 0;
  let working = Promise.resolve();
  let isWorking = false;
  const work = async () => {
    isWorking = true;
    while (queue.length > 0 && !closing.aborted) {
      const { batch, rest } = splitBatch(queue);
      queue = rest;
      inFlight = batch.length;
      if (await send(batch, options, closing)) inFlight = 0;
    }
    isWorking = false;
  };
  return {
    tell(command) {
      queue.push(command);
      if (!isWorking) working = work();
    },
    waiting: () => queue.length + inFlight,
    idle: () => working,
  };
}

/** The first commands that go where the very first goes, but for those that must wait for one that stays behind. */
function splitBatch(queue: readonly Command[]): { readonly batch: Command[]; readonly rest: Command[] } {
  const path = queue[0]?.path;
  const batch: Command[] = [];
  const rest: Command[] = [];
  const behind = new Set<string>();
  for (const command of queue) {
    if (command.path === path && batch.length < BATCH && !behind.has(command.about)) batch.push(command);
    else {
      rest.push(command);
      behind.add(command.about);
    }
  }
  return { batch, rest };
}

/** Sends the very same request until it is answered. @returns whether it was before the lane was closed */
async function send(batch: readonly Command[], options: SenderOptions, closing: AbortSignal): Promise<boolean> {
  const { post, newKey, onAnswer, onRequest } = options;
  const items = batch.map((command) => command.item);
  const key = newKey();
  for (let pause = RETRY.first; !closing.aborted; pause = Math.min(RETRY.most, pause * 2)) {
    const answer = await post(batch[0]?.path ?? "", items, key);
    onRequest(answer.kind, answer.kind === "done" ? "" : answer.reason);
    if (answer.kind === "done") {
      for (const [index, command] of batch.entries()) {
        const result = answer.results[index];
        if (result !== undefined) onAnswer(command, result);
      }
    }
    if (answer.kind !== "again") return true;
    await setTimeout(answer.after ?? pause, undefined, { signal: closing }).catch(() => undefined);
  }
  return false;
}

function hashOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0;
  return hash;
}
