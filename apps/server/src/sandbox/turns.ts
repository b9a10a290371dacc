import { setTimeout as sleep } from "node:timers/promises";
import { serviceError } from "@bikeshare/rules";
import type { Queryable } from "../storage/db/database.ts";

/*
 * Lets the tests that partners run in their sandboxes take turns. An act is one change that a test requests, such as a
 * scenario, a reset, or time that passes.
 */

/**
 * How long a process rests after each act, as a multiple of the time that the act took. Too low: live partners wait
 * behind tests of sandboxes. Too high: tests wait longer than they work.
 */
const REST_FACTOR = 1;

/**
 * Acts of one sandbox that may wait. Too low: tests that run side by side are refused. Too high: the last act runs when its
 * caller has given up.
 */
const MAX_WAITING = 20;
/** `Retry-After` of a refused act. */
const RETRY_SECONDS = 2;

/** Acts that wait for their turn, by sandbox, in the order in which the sandboxes came. */
type Waiting = Map<string, (() => Promise<void>)[]>;

/** The waiting acts of each database of this process, while any is waiting or running. */
const queues = new WeakMap<Queryable, Waiting>();

/**
 * Runs an act in a sandbox when its turn comes. A process runs one act at a time for all sandboxes, which take turns,
 * and rests after each. So however many tests run, they cost live partners no more than one of them would.
 * @throws ServiceError `rate_limited` when too many acts of the sandbox wait
 */
export function inTurn<Result>(db: Queryable, systemId: string, act: () => Promise<Result>): Promise<Result> {
  const queue = queues.get(db);
  const waiting: Waiting = queue ?? new Map();
  const acts = waiting.get(systemId) ?? [];
  if (acts.length >= MAX_WAITING)
    return Promise.reject(serviceError("rate_limited", "sandboxActs", { retryAfterSeconds: RETRY_SECONDS }));
  return new Promise((resolve, reject) => {
    waiting.set(systemId, acts);
    // `async` also for an act that throws before it returns a promise, which would end `workThrough`.
    const run = async () => act();
    acts.push(() => run().then(resolve, reject));
    if (queue === undefined) {
      queues.set(db, waiting);
      workThrough(db, waiting).catch(reject);
    }
  });
}

/** Runs the waiting acts, one of each sandbox in turn, until none is left. */
async function workThrough(db: Queryable, waiting: Waiting): Promise<void> {
  for (let next = waiting.entries().next().value; next !== undefined; next = waiting.entries().next().value) {
    const [systemId, acts] = next;
    const act = acts.shift();
    // The sandbox goes to the end of the queue.
    waiting.delete(systemId);
    if (acts.length > 0) waiting.set(systemId, acts);
    const startedAt = performance.now();
    await act?.();
    await sleep((performance.now() - startedAt) * REST_FACTOR);
  }
  queues.delete(db);
}
