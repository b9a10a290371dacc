import { setTimeout as sleep } from "node:timers/promises";
import type { QueryRunner } from "../db/database.ts";
import { codeOf, DatabaseUnavailable, sqlState } from "../db/errors.ts";
import { createPipelinedConnection, type PipelinedConnectionOptions } from "../db/pipelined-connection.ts";
import type { StatementObserver } from "../db/statement.ts";
import { findReplayedPosition, type ReplayedPosition, type WrittenPosition } from "./queries.ts";
import { judge, LagMeter, type Verdict } from "./replica.rules.ts";

/*
 * One connection to a replica. Finds out whether the replica has replayed a position of the primary, and leaves the
 * connection out while it has not. Positions and tokens are explained in queries.ts, verdicts in replica.rules.ts.
 */

/** Why a replica is not read from: because of its position, or because it does not answer. */
export interface LeftOut {
  readonly reason: Exclude<Verdict, "current"> | "unreachable";
  /** The error's message when the replica is unreachable. */
  readonly detail?: string;
}

/** A connection to a replica. It is left out while the replica lacks data that its readers must see. */
export interface ReplicaConnection extends QueryRunner {
  /** Returns why the replica is left out; undefined while it is used. */
  readonly leftOut: () => LeftOut | undefined;
  /** Returns the maximum age of the replica's data. */
  readonly lagMs: () => number;
  /**
   * Waits briefly until the replica has replayed a position of the primary, and leaves the replica out if it does not.
   * @returns whether the replica has replayed the position
   */
  reach(position: WrittenPosition): boolean | Promise<boolean>;
  /** Reports that a statement failed on this connection. */
  failed(error: unknown): void;
  /** Decides whether the replica is to be left out or used again. */
  examine(position: WrittenPosition): Promise<void>;
  close(): Promise<void>;
}

export interface ReplicaConnectionOptions extends Pick<PipelinedConnectionOptions, "onConnect"> {
  readonly connectionString: string;
  readonly sessionOptions: string;
  readonly statementTimeoutMs: number;
  readonly observer: StatementObserver | undefined;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/**
 * Milliseconds that a read waits for a replica to replay a position. Too high: callers notice. Too low: leaves out replicas
 * that lag for a moment.
 */
const REACH_TIMEOUT_MS = 50;
/**
 * Milliseconds after which a replica that does not report its position counts as down, and its reads are repeated
 * elsewhere.
 */
const ANSWER_TIMEOUT_MS = 1_000;
/** Good answers in a row before a replica is used again. Too low: a replica that often lags delays reads again and again. */
const GOOD_ANSWERS = 4;
/** Milliseconds between two attempts to reach an unreachable replica. Each attempt may write a line into its log. */
const RECONNECT_INTERVAL_MS = 1_000;
/** A replica that is left out for this long is connected to again: a load balancer may lead to another server. */
const RENEW_AFTER_MS = 10_000;

/** Opens a connection that connects at the first `examine`, and is used from the first good answer on. */
export function openReplicaConnection(options: ReplicaConnectionOptions): ReplicaConnection {
  const { monotonic } = options;
  const connection = createPipelinedConnection({ ...options, mayBeStandby: true });
  const watch = createReplayWatch(() => withinTime(findReplayedPosition(connection)), failed);
  const lag = new LagMeter(monotonic());
  let leftOut: LeftOut | undefined = { reason: "behind" };
  /** When the replica was left out, or since then connected to again. */
  let connectedAt = monotonic();
  let triedAt = Number.NEGATIVE_INFINITY;
  // At first, one good answer is enough. `leaveOut` resets the count.
  let goodAnswers = GOOD_ANSWERS;

  function leaveOut(why: LeftOut): void {
    if (leftOut === undefined) connectedAt = monotonic();
    leftOut = why;
    goodAnswers = 0;
  }
  function disconnect(): void {
    connectedAt = monotonic();
    watch.forget();
    connection.destroy();
  }
  function failed(error: unknown): void {
    // The replica had to remove rows that the statement still needed. Not a reason to leave the replica out.
    if (codeOf(error) === sqlState.serializationFailure) return;
    leaveOut({ reason: "unreachable", detail: error instanceof Error ? error.message : String(error) });
    disconnect();
  }
  async function reach(position: WrittenPosition): Promise<boolean> {
    const hasReached = await watch.reach(position, REACH_TIMEOUT_MS);
    const last = watch.last();
    // The replica has not answered on this connection yet, so it is left out already.
    if (last === undefined) return false;
    if (last.isReplica && last.lsn !== null && last.token === position.token) lag.replayed(last.lsn);
    if (!hasReached) leaveOut({ reason: reasonOfMissing(last, position) });
    return hasReached;
  }
  return {
    query: (statement, values) => connection.query(statement, values),
    leftOut: () => leftOut,
    lagMs: () => lag.lagMs(monotonic()),
    // Returns without a promise if it is already known that the replica has replayed the position.
    reach: (position) => watch.hasReached(position) || reach(position),
    failed,
    async examine(position) {
      const now = monotonic();
      if (leftOut?.reason === "unreachable" && now - triedAt < RECONNECT_INTERVAL_MS) return;
      triedAt = now;
      if (leftOut !== undefined && now - connectedAt > RENEW_AFTER_MS) disconnect();
      lag.written(position.lsn, now);
      const isGood = await reach(position);
      if (isGood && ++goodAnswers >= GOOD_ANSWERS) leftOut = undefined;
    },
    close: () => connection.close(),
  };
}

/** Returns why a replica did not reach a position in time. If it has reached it by now, it was behind. */
function reasonOfMissing(last: ReplayedPosition, position: WrittenPosition): LeftOut["reason"] {
  const verdict = judge(last, position);
  return verdict === "current" ? "behind" : verdict;
}

/** Returns an answer, or fails if it takes too long. */
function withinTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new DatabaseUnavailable(`no answer within ${ANSWER_TIMEOUT_MS} ms`));
    const timer = setTimeout(fail, ANSWER_TIMEOUT_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Knows the position that a replica has replayed, from the latest report of one connection. */
interface ReplayWatch {
  /** Whether the latest report shows that the replica has replayed a position. */
  hasReached(position: WrittenPosition): boolean;
  /** Whether the replica replays a position within `timeoutMs`. Calls that wait at the same time share statements. */
  reach(position: WrittenPosition, timeoutMs: number): boolean | Promise<boolean>;
  /** Returns the latest reported position. */
  readonly last: () => ReplayedPosition | undefined;
  /** Forgets the position, because the connection broke and the next one may lead to another server. */
  forget(): void;
}

/** A replica in the same network replays a commit within a millisecond or two. */
const RETRY_INTERVAL_MS = 1;

/** A call of `reach` that waits for its position. */
interface Waiter {
  readonly position: WrittenPosition;
  readonly decide: (hasReached: boolean) => void;
}

/**
 * @param ask asks the replica for its replayed position
 * @param onFailed receives the error if it could not be asked; waiting calls of `reach` then return false
 */
function createReplayWatch(ask: () => Promise<ReplayedPosition>, onFailed: (error: unknown) => void): ReplayWatch {
  let last: ReplayedPosition | undefined;
  const waiters = new Set<Waiter>();
  let isAsking = false;

  const hasReached = (position: WrittenPosition) => last !== undefined && judge(last, position) === "current";

  async function askWhileAwaited(): Promise<void> {
    try {
      while (waiters.size > 0) {
        last = await ask();
        for (const { position, decide } of waiters) if (hasReached(position)) decide(true);
        if (waiters.size > 0) await sleep(RETRY_INTERVAL_MS);
      }
    } catch (error) {
      onFailed(error);
      for (const { decide } of waiters) decide(false);
    } finally {
      isAsking = false;
    }
  }
  /** Never fails: `onFailed` receives the errors. */
  const begin = () => {
    if (isAsking) return;
    isAsking = true;
    askWhileAwaited().catch(onFailed);
  };
  return {
    hasReached,
    reach(position, timeoutMs) {
      if (hasReached(position)) return true;
      return new Promise((resolve) => {
        const timer = setTimeout(() => waiter.decide(false), timeoutMs);
        const waiter: Waiter = {
          position,
          decide: (reached) => {
            clearTimeout(timer);
            waiters.delete(waiter);
            resolve(reached);
          },
        };
        waiters.add(waiter);
        begin();
      });
    },
    last: () => last,
    forget: () => void (last = undefined),
  };
}
