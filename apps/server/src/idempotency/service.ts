import type { Database, Transaction } from "../db/database.ts";
import { codeOf, sqlState } from "../db/errors.ts";
import { serviceError } from "../errors/service-error.ts";
import { systemsOf } from "../systems/service.ts";
import { forgottenBefore, hashOfBody } from "./idempotency.rules.ts";
import { type CallName, claimCall, findAnswer, forgetCalls, keepAnswer } from "./queries.ts";

export type { CallName } from "./queries.ts";

export interface IdempotencyContext {
  readonly db: Database;
  readonly clock: () => number;
}

/** What a call is answered. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Does what a call asks for, in the transaction it is given. */
export type Work = (tx: Transaction) => Promise<Answer>;

/**
 * Milliseconds that a repeat waits for the call that is still running. Lower, and a hiccup of the disk looks like
 * one; higher, and repeats keep connections from others.
 */
const PATIENCE = 50;

/**
 * Does `work` once, however often it is called in the time that answers are kept: in one transaction with the record
 * of it, so that both are there or neither. Later calls get the first answer.
 * @throws ServiceError `idempotency_in_progress` while the first call is still running; `idempotency_key_reused` when it
 *   asked for something else; whatever `work` throws, after which the call counts as never made
 */
export function doOnce(
  { db, clock }: IdempotencyContext,
  call: CallName,
  body: unknown,
  work: Work,
): Promise<Answer & { readonly replayed: boolean }> {
  const bodyHash = hashOfBody(body);
  return db.transaction(async (tx) => {
    const now = clock();
    const times = { now: new Date(now), forgottenBefore: forgottenBefore(now) };
    const isFirst = await claimCall(tx, call, bodyHash, times, PATIENCE).catch(refuseWhileRunning);
    if (!isFirst) return { ...(await firstAnswer(tx, call, bodyHash)), replayed: true };
    const { status, body: text } = await work(tx);
    await keepAnswer(tx, call, status, text);
    return { status, body: text, replayed: false };
  });
}

function refuseWhileRunning(error: unknown): never {
  if (codeOf(error) !== sqlState.lockNotAvailable) throw error;
  throw serviceError("idempotency_in_progress");
}

async function firstAnswer(tx: Transaction, call: CallName, bodyHash: Uint8Array): Promise<Answer> {
  const { body_hash: firstHash, status, body } = await findAnswer(tx, call);
  if (Buffer.compare(firstHash, bodyHash) === 0) return { status, body };
  throw serviceError("idempotency_key_reused");
}

/** Calls forgotten in one statement. More hold their rows' locks for longer; fewer take more statements. */
const BATCH = 1000;
/** Milliseconds between two sweeps. What is too old counts no longer, swept or not; the table only grows meanwhile. */
const SWEEP = 10 * 60_000;

/** Forgets every answer that is no longer kept, system by system. @returns how many */
export async function forgetOldCalls({ db, clock }: IdempotencyContext): Promise<number> {
  const before = forgottenBefore(clock());
  let forgotten = 0;
  for (const system of await systemsOf(db)) {
    for (let batch = BATCH; batch === BATCH; forgotten += batch) {
      batch = await forgetCalls(db, system.system_id, before, BATCH);
    }
  }
  return forgotten;
}

/** Sweeps until closed. */
export interface IdempotencySweeper {
  close(): Promise<void>;
}

/** Forgets old answers every ten minutes. */
export function startIdempotencySweeper(
  context: IdempotencyContext & { readonly onError: (error: unknown) => void },
): IdempotencySweeper {
  let sweeping = Promise.resolve();
  const timer = setInterval(() => {
    sweeping = sweeping.then(() => forgetOldCalls(context)).then(() => undefined, context.onError);
  }, SWEEP);
  return {
    close: () => {
      clearInterval(timer);
      return sweeping;
    },
  };
}
