import { hash } from "node:crypto";
import { canonicalJson, forgottenBefore, serviceError } from "@bikeshare/rules";
import { type PeriodicWork, startSweeper, type SweeperOptions } from "../background/periodic.ts";
import type { Database, Transaction } from "../db/database.ts";
import { codeOf, sqlState } from "../db/errors.ts";
import { type CallName, claimCall, findAnswer, deleteCalls, updateAnswer } from "./queries.ts";

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
 * Milliseconds that a repeat waits for a call that is still running. Lower, and a slow disk looks like a running call;
 * higher, and repeats keep connections from others.
 */
const LOCK_TIMEOUT_MS = 50;

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
  // Two bodies that say the same, in whatever order and spacing, have the same hash.
  const bodyHash = hash("sha256", canonicalJson(body), "buffer");
  return db.transaction(async (tx) => {
    const now = clock();
    const times = { now: new Date(now), forgottenBefore: forgottenBefore(now) };
    const isFirst = await claimCall(tx, call, bodyHash, times, LOCK_TIMEOUT_MS).catch(refuseWhileRunning);
    if (!isFirst) return { ...(await firstAnswer(tx, call, bodyHash)), replayed: true };
    const { status, body: text } = await work(tx);
    await updateAnswer(tx, call, status, text);
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

/** Calls deleted in one statement. More hold their rows' locks for longer; fewer take more statements. */
const BATCH_SIZE = 1000;
/** Time between two sweeps. An answer that is too old no longer counts, deleted or not; the table only grows meanwhile. */
const SWEEP_INTERVAL_MS = 10 * 60_000;

/** Deletes answers that are no longer kept, every ten minutes. */
export function startIdempotencySweeper({
  db,
  clock,
  systems,
  onError,
}: IdempotencyContext & Pick<SweeperOptions, "systems" | "onError">): PeriodicWork<number> {
  return startSweeper({
    intervalMs: SWEEP_INTERVAL_MS,
    batchSize: BATCH_SIZE,
    systems,
    sweep: (systemId, limit) => deleteCalls(db, systemId, forgottenBefore(clock()), limit),
    onError,
  });
}
