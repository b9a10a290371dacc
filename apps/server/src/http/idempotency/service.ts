import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { canonicalJson, forgottenBefore, serviceError, ServiceError } from "@bikeshare/rules";
import type { AnsweredIndexes } from "../../command-context.ts";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import type { Database, Transaction } from "../../storage/db/database.ts";
import { codeOf, CommitOutcomeUnknown, sqlState } from "../../storage/db/errors.ts";
import {
  type AnswerRow,
  type CallName,
  claimCall,
  deleteCalls,
  findAnswer,
  insertAnswers,
  listAnswers,
  updateAnswer,
} from "./queries.ts";

export type { CallName } from "./queries.ts";

export interface IdempotencyContext {
  readonly db: Database;
  readonly clock: () => number;
  /** For how long a repeat waits for a call that is still running. Default: `RUNNING_TIMEOUT_MS`. */
  readonly runningTimeoutMs?: number;
}

/** The answer to a call. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Runs a call in the given transaction. */
export type Work = (tx: Transaction) => Promise<Answer>;

/**
 * Milliseconds that a repeat waits for a running call while it holds a connection. Too low: a slow disk looks like a
 * running call. Too high: repeats take connections from others.
 */
const LOCK_TIMEOUT_MS = 50;
/**
 * How long a repeat waits in total, without holding a connection between its tries. A load balancer that sends a request to
 * a second process does so while the first may still wait for a commit, as in a failover. Too high: delays the answer to
 * callers who repeat requests needlessly.
 */
const RUNNING_TIMEOUT_MS = 4_000;
/** Milliseconds between two tries. Too low: takes more of the database's time. Too high: finds the first answer later. */
const RUNNING_POLL_INTERVAL_MS = 200;

/** Returns the hash of a call's body. Two bodies that say the same, in whatever order and spacing, have the same. */
export function hashOf(body: unknown): Uint8Array {
  return hash("sha256", canonicalJson(body), "buffer");
}

/**
 * Does `work` once, however often it is called in the time that answers are kept: in one transaction with the record
 * of it, so that both are there or neither. Later calls get the first answer.
 * @throws ServiceError `idempotency_in_progress` while the first call is still running; `idempotency_key_reused` when it
 *   asked for something else; whatever `work` throws, after which the call counts as never made
 */
export async function doOnce(
  { db, clock }: IdempotencyContext,
  call: CallName,
  bodyHash: Uint8Array,
  work: Work,
): Promise<RepeatableAnswer> {
  const once = () =>
    db.transaction(async (tx) => {
      const now = clock();
      const times = { now: new Date(now), forgottenBefore: forgottenBefore(now) };
      const isFirst = await claimCall(tx, call, bodyHash, times, LOCK_TIMEOUT_MS).catch(refuseWhileRunning);
      if (!isFirst) return { ...(await firstAnswer(tx, call, bodyHash)), replayed: true };
      const { status, body: text } = await work(tx);
      await updateAnswer(tx, call, status, text);
      return { status, body: text, replayed: false };
    });
  // The call's record tells whether it took effect.
  return once().catch((error: unknown) => {
    if (error instanceof CommitOutcomeUnknown) return once();
    throw error;
  });
}

/**
 * Tries a call again while an earlier one with its name is still running, for a while. Nothing is held between two tries.
 * @param first the first try, under way
 * @throws ServiceError `idempotency_in_progress` when it is still running at the end; whatever a try throws
 */
export async function waitWhileRunning<Result>(
  { runningTimeoutMs = RUNNING_TIMEOUT_MS }: Pick<IdempotencyContext, "runningTimeoutMs">,
  first: Promise<Result>,
  again: () => Promise<Result>,
): Promise<Result> {
  const endsAt = performance.now() + runningTimeoutMs;
  for (let attempt = first; ; attempt = again()) {
    try {
      return await attempt;
    } catch (error) {
      if (!isInProgress(error) || performance.now() >= endsAt) throw error;
      await sleep(RUNNING_POLL_INTERVAL_MS);
    }
  }
}

function isInProgress(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "idempotency_in_progress";
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

/** A call that may be repeated, with its input; without a name each call is a new one. */
export interface RepeatableCall<Input> {
  readonly name: CallName | undefined;
  readonly bodyHash: Uint8Array;
  readonly input: Input;
}

/** The answer to a call, and whether it repeats the answer of an earlier one. */
export type RepeatableAnswer = Answer & { readonly replayed: boolean };

/** The outcome of one of several calls: its answer, its error, or that it must run alone. */
export type CallOutcome<Result = Answer> = { readonly result: Result } | { readonly error: unknown } | "run-alone";

/**
 * Runs several calls in the given transaction.
 * @param answered the inputs that were answered before. Await it before deciding anything; locking and reading need not
 * wait
 * @returns an outcome for each, in order
 */
export type CombinedWork<Input> = (
  tx: Transaction,
  inputs: readonly Input[],
  answered: AnsweredIndexes,
) => Promise<readonly CallOutcome[]>;

/**
 * Milliseconds that calls which share a transaction wait for a lock before each runs alone. Too low: while commits are
 * slow, verbs that change the same stations give up on each other and run one call at a time, just when there are most
 * calls. Too high: a row that stays locked delays unrelated calls.
 */
const COMBINED_LOCK_TIMEOUT_MS = 1_000;

/**
 * Runs calls of a system, each once, in one transaction. Unlike `doOnce` it does not claim names beforehand: it stores the
 * answers last, and the transaction fails if another process is answering one of the calls.
 * @param onCommitting called when only the commit remains; again when the transaction is repeated
 * @throws Error when the transaction fails: then no call had any effect
 */
export function doOnceTogether<Input>(
  { db, clock }: IdempotencyContext,
  systemId: string,
  calls: readonly RepeatableCall<Input>[],
  work: CombinedWork<Input>,
  onCommitting: () => void = () => undefined,
): Promise<CallOutcome<RepeatableAnswer>[]> {
  return db.transaction(
    async (tx) => {
      const now = clock();
      const first = firstOfEachName(calls);
      const oldest = forgottenBefore(now);
      const finding = storedAnswers(tx, systemId, first, oldest);
      const answered = finding.then((found) =>
        indexesOf(first, ({ name }) => name !== undefined && found.has(textOf(name))),
      );
      const inputs = first.map(({ input }) => input);
      const [stored, indexes, outcomes] = await Promise.all([finding, answered, work(tx, inputs, answered)]);
      const outcomeOf = new Map(
        first.flatMap((call, index) => (indexes.has(index) ? [] : [[call, outcomes[index] ?? "run-alone"]])),
      );
      // A call that another process answered after the first look may be rejected because of its own effects: those were
      // committed together with the answer.
      const refused = [...outcomeOf].flatMap(([call, outcome]) => (isRefused(outcome) ? [call] : []));
      for (const [name, row] of await storedAnswers(tx, systemId, refused, oldest)) stored.set(name, row);
      for (const call of refused) if (call.name && stored.has(textOf(call.name))) outcomeOf.delete(call);
      const rows = [...outcomeOf].flatMap(([call, outcome]) => rowOf(call, outcome) ?? []);
      insertAnswers(tx, systemId, rows, new Date(now));
      for (const row of rows) stored.set(textOf(row), row);
      onCommitting();
      return calls.map((call) => {
        const outcome = outcomeOf.get(call);
        if (outcome === undefined) return replayed(call, stored);
        return isAnswered(outcome) ? { result: { ...outcome.result, replayed: false } } : outcome;
      });
    },
    { lockTimeoutMs: COMBINED_LOCK_TIMEOUT_MS },
  );
}

type CallNameInSystem = Omit<CallName, "systemId">;

/** Returns a call's name as a text. None of its parts can contain a NUL. */
function textOf({ caller, path, key }: CallNameInSystem): string {
  return `${caller}\0${path}\0${key}`;
}

/** Returns the stored answers that still count, by the names of their calls. */
async function storedAnswers(
  tx: Transaction,
  systemId: string,
  calls: readonly RepeatableCall<unknown>[],
  oldest: Date,
): Promise<Map<string, AnswerRow>> {
  const names = new Map(calls.flatMap(({ name }) => (name === undefined ? [] : [[textOf(name), name]])));
  const rows = await listAnswers(tx, systemId, [...names.values()]);
  return new Map(rows.filter((row) => row.created_at >= oldest).map((row) => [textOf(row), row]));
}

function indexesOf<Item>(items: readonly Item[], isIncluded: (item: Item) => boolean): ReadonlySet<number> {
  return new Set(items.flatMap((item, index) => (isIncluded(item) ? [index] : [])));
}

function firstOfEachName<Input>(calls: readonly RepeatableCall<Input>[]): RepeatableCall<Input>[] {
  const seen = new Set<string>();
  return calls.filter(({ name }) => name === undefined || (!seen.has(textOf(name)) && seen.add(textOf(name))));
}

function isAnswered(outcome: CallOutcome | undefined): outcome is { readonly result: Answer } {
  return typeof outcome === "object" && "result" in outcome;
}

function isRefused(outcome: CallOutcome): boolean {
  return typeof outcome === "object" && "error" in outcome;
}

/** Returns the row to store for a call; undefined when the call has no name or its answer is not stored. */
function rowOf({ name, bodyHash }: RepeatableCall<unknown>, outcome: CallOutcome | undefined): AnswerRow | undefined {
  if (name === undefined || !isAnswered(outcome)) return undefined;
  const { caller, path, key } = name;
  return { caller, path, key, body_hash: bodyHash, ...outcome.result };
}

/** Returns the outcome of a call that has the name of another, which came before. */
function replayed(
  { name, bodyHash }: RepeatableCall<unknown>,
  stored: ReadonlyMap<string, AnswerRow>,
): CallOutcome<RepeatableAnswer> {
  const answer = name && stored.get(textOf(name));
  // The other was refused, so that nothing is stored of it: this one may be done.
  if (answer === undefined) return "run-alone";
  const { body_hash: firstHash, status, body } = answer;
  if (Buffer.compare(firstHash, bodyHash) !== 0) return { error: serviceError("idempotency_key_reused") };
  return { result: { status, body, replayed: true } };
}

/** Calls deleted in one statement. Too low: takes more statements. Too high: locks their rows for longer. */
const BATCH_SIZE = 1000;
/** Time between two sweeps. An answer that is too old no longer counts, deleted or not; the table only grows meanwhile. */
const SWEEP_INTERVAL_MS = 10 * 60_000;

/** Deletes answers that are no longer kept, every ten minutes. */
export function startIdempotencySweeper({
  db,
  clock,
  ...options
}: IdempotencyContext & SweeperSurroundings): PeriodicWork<number> {
  return startSweeper({
    ...options,
    intervalMs: SWEEP_INTERVAL_MS,
    batchSize: BATCH_SIZE,
    sweep: async (systemId, limit) => {
      const swept = await deleteCalls(db, systemId, forgottenBefore(clock()), limit);
      return { swept, isMore: swept === limit };
    },
  });
}
