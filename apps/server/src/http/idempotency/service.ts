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

/*
 * Does each call only once, however often its caller repeats it with the same `Idempotency-Key`. `doOnce` runs one call in a
 * transaction of its own, `doOnceTogether` several calls in one transaction, and `waitWhileRunning` makes either wait for an
 * earlier call of the same name.
 */

/** The dependencies of doing calls only once, however often they are repeated. */
export interface IdempotencyContext {
  readonly db: Database;
  readonly clock: () => number;
  /** Milliseconds that a repeated call waits for the first one to finish. Default: `RUNNING_TIMEOUT_MS`. */
  readonly runningTimeoutMs?: number;
}

/** The answer to a call. */
export interface Answer {
  /** The HTTP status. */
  readonly status: number;
  /** The body as JSON text. */
  readonly body: string;
}

/** Runs a call in the given transaction. */
export type Work = (tx: Transaction) => Promise<Answer>;

/**
 * Milliseconds that a repeated call waits for the running one while it holds a connection. Too low: when the disk is slow, a
 * call that is just finishing counts as running. Too high: repeated calls take connections from others.
 */
const LOCK_TIMEOUT_MS = 50;
/**
 * How long a repeated call waits in total. It holds no connection between two tries. A load balancer may send a request to a
 * second process while the first process still waits for a commit, as in a failover. Too high: delays the answer to callers
 * who repeat requests needlessly.
 */
const RUNNING_TIMEOUT_MS = 4_000;
/** Milliseconds between two tries. Too low: takes more of the database's time. Too high: finds the first answer later. */
const RUNNING_POLL_INTERVAL_MS = 200;

/** Returns the hash of a call's body. Bodies that differ only in the order of fields or in spacing have the same hash. */
export function hashOf(body: unknown): Uint8Array {
  return hash("sha256", canonicalJson(body), "buffer");
}

/**
 * Does `work` only once for a call, however often the call is repeated while answers are kept. Stores the answer in the same
 * transaction as the work, so that either both take effect or neither does. Repeated calls get the first answer.
 * @throws ServiceError `idempotency_in_progress` while the first call is still running; `idempotency_key_reused` when the
 *   first call had another body; any error of `work`, after which the call counts as never made
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
  // If it is unknown whether the commit took effect, tries again: a stored answer shows that it did.
  return once().catch((error: unknown) => {
    if (error instanceof CommitOutcomeUnknown) return once();
    throw error;
  });
}

/**
 * Tries a call again and again while an earlier call with its name is still running, up to `runningTimeoutMs`. Holds no
 * connection or lock between two tries.
 * @param first the first try, which has begun already
 * @throws ServiceError `idempotency_in_progress` when the earlier call is still running at the end; any error of a try
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

/** A call that may be repeated, with its input. A call without a name never counts as a repetition. */
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
 * @param answered the indexes of inputs that were answered before. Await it before deciding anything; locking and reading
 * need not wait for it
 * @returns an outcome for each, in order
 */
export type CombinedWork<Input> = (
  tx: Transaction,
  inputs: readonly Input[],
  answered: AnsweredIndexes,
) => Promise<readonly CallOutcome[]>;

/**
 * Milliseconds that calls which share a transaction wait for a lock before each runs alone. Too low: while commits are
 * slow, calls that wait for each other's stations give up and run one at a time, just when there are most calls. Too high:
 * a row that stays locked delays unrelated calls.
 */
const COMBINED_LOCK_TIMEOUT_MS = 1_000;

/**
 * Runs calls of a system, each only once, in one transaction. Unlike `doOnce`, does not claim names beforehand: stores the
 * answers last, and the transaction fails if another process has answered, or is answering, one of the calls.
 * @param onCommitting called when only the commit remains, and again when the transaction is repeated
 * @throws Error when the transaction fails: then no call had any effect, unless it is `CommitOutcomeUnknown`
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
      const oldest = forgottenBefore(now);
      // Of several calls with one name only the first is done. The others get its answer (`replayed`).
      const firstCalls = firstOfEachName(calls);
      const finding = storedAnswers(tx, systemId, firstCalls, oldest);
      const answered = finding.then((found) =>
        indexesOf(firstCalls, ({ name }) => name !== undefined && found.has(textOf(name))),
      );
      const inputs = firstCalls.map(({ input }) => input);
      // The work begins while the answers are still being read, and awaits `answered` itself.
      const [stored, answeredIndexes, outcomes] = await Promise.all([finding, answered, work(tx, inputs, answered)]);
      // Calls that were answered before have no outcome here: their stored answers count.
      const outcomeOf = new Map(
        firstCalls.flatMap((call, index) =>
          answeredIndexes.has(index) ? [] : [[call, outcomes[index] ?? "run-alone"]],
        ),
      );
      const rejected = [...outcomeOf].flatMap(([call, outcome]) => (isRejected(outcome) ? [call] : []));
      for (const [call, row] of await answeredMeanwhile(tx, systemId, rejected, oldest)) {
        outcomeOf.delete(call);
        stored.set(textOf(row), row);
      }
      const rows = [...outcomeOf].flatMap(([call, outcome]) => rowOf(call, outcome) ?? []);
      // Not awaited: if storing fails, the commit fails.
      insertAnswers(tx, systemId, rows, new Date(now));
      // Further calls with the same names find the answers here.
      for (const row of rows) stored.set(textOf(row), row);
      onCommitting();
      return calls.map((call) => {
        const outcome = outcomeOf.get(call);
        if (outcome === undefined) return outcomeOfRepetition(call, stored);
        return isAnswered(outcome) ? { result: { ...outcome.result, replayed: false } } : outcome;
      });
    },
    { lockTimeoutMs: COMBINED_LOCK_TIMEOUT_MS },
  );
}

type CallNameInSystem = Omit<CallName, "systemId">;

/** Returns a call's name as one text. NUL separates the parts, because none of them can contain it. */
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

/**
 * Returns the rejected calls that another process has answered since the stored answers were read, with these answers. Such a
 * call repeats one that the other process ran, and was rejected here because of what the first run did, such as reserving the
 * bike. It counts as a repetition.
 */
async function answeredMeanwhile<Call extends RepeatableCall<unknown>>(
  tx: Transaction,
  systemId: string,
  rejected: readonly Call[],
  oldest: Date,
): Promise<(readonly [Call, AnswerRow])[]> {
  const stored = await storedAnswers(tx, systemId, rejected, oldest);
  return rejected.flatMap((call) => {
    const row = call.name && stored.get(textOf(call.name));
    return row === undefined ? [] : [[call, row] as const];
  });
}

function indexesOf<Item>(items: readonly Item[], isIncluded: (item: Item) => boolean): ReadonlySet<number> {
  return new Set(items.flatMap((item, index) => (isIncluded(item) ? [index] : [])));
}

/** Returns the calls without those that repeat the name of an earlier one. */
function firstOfEachName<Input>(calls: readonly RepeatableCall<Input>[]): RepeatableCall<Input>[] {
  const seen = new Set<string>();
  return calls.filter(({ name }) => {
    if (name === undefined) return true;
    const text = textOf(name);
    const isFirst = !seen.has(text);
    seen.add(text);
    return isFirst;
  });
}

function isAnswered(outcome: CallOutcome | undefined): outcome is { readonly result: Answer } {
  return typeof outcome === "object" && "result" in outcome;
}

function isRejected(outcome: CallOutcome): boolean {
  return typeof outcome === "object" && "error" in outcome;
}

/** Returns the row to store for a call; undefined when the call has no name or its answer is not stored. */
function rowOf({ name, bodyHash }: RepeatableCall<unknown>, outcome: CallOutcome | undefined): AnswerRow | undefined {
  if (name === undefined || !isAnswered(outcome)) return undefined;
  const { caller, path, key } = name;
  return { caller, path, key, body_hash: bodyHash, ...outcome.result };
}

/** Returns the outcome of a call with the name of an earlier call. */
function outcomeOfRepetition(
  { name, bodyHash }: RepeatableCall<unknown>,
  stored: ReadonlyMap<string, AnswerRow>,
): CallOutcome<RepeatableAnswer> {
  const answer = name && stored.get(textOf(name));
  // Nothing is stored if the earlier call was rejected. Then this call may be done.
  if (answer === undefined) return "run-alone";
  const { body_hash: firstHash, status, body } = answer;
  if (Buffer.compare(firstHash, bodyHash) !== 0) return { error: serviceError("idempotency_key_reused") };
  return { result: { status, body, replayed: true } };
}

/** Calls deleted in one statement. Too low: takes more statements. Too high: locks their rows for longer. */
const BATCH_SIZE = 1000;
/** Time between two sweeps. Too high: the table grows. An answer that is too old does not count even before its deletion. */
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
