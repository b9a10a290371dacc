import { setTimeout as wait } from "node:timers/promises";
import { Coalescer } from "../../storage/background/coalescer.ts";
import type { Database, Queryable, Transaction } from "../../storage/db/database.ts";
import { dayOf } from "../../storage/partitions/partition.rules.ts";
import { isOfValues } from "../../storage/set-aside/units.ts";
import { activateByAnswers, pauseByAnswers } from "../endpoints/dispatch-endpoints.ts";
import {
  type ClaimedRow,
  inLockOrder,
  insertResults,
  type OrphanRow,
  type ResultRow,
  updateLaneHealth,
  updateSetAside,
} from "../queue/lane-queries.ts";
import {
  type AfterAttempt,
  afterAttempt,
  type AttemptResult,
  type EndpointHealth,
  failureOf,
  MAX_CRASHES,
  type PauseCause,
  SET_ASIDE,
  type Warning,
} from "../rules/after-attempt.ts";
import type { KeptAnswer } from "../rules/log-budget.ts";
import { healthRowOf, type Lane } from "./lanes.ts";

/*
 * Writes the results of attempts to the log, to the deliveries, to the queue and to the endpoints' health. A lane has
 * the deliveries of one endpoint. The worker that claimed a delivery writes its result, unless a later holder of the lane
 * has written it as unknown.
 */

/** An attempt that has ended, and the result to write. */
export interface CompletedAttempt {
  readonly lane: Lane;
  readonly result: ResultRow;
  /** The endpoint's health after the attempt. */
  readonly health: EndpointHealth;
  readonly healthChanged: boolean;
  /** The endpoint's new status, where the attempt changes it: `active`, or the reason of a pause. */
  readonly statusChange: PauseCause | "active" | null;
  readonly warning: Warning | null;
}

/** The dependencies of a `ResultWriter`, and its callbacks. */
export interface ResultWriterOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly clock: () => number;
  readonly recordFailures: RecordFailures;
  /**
   * Called after the commit. `stale`: number of results that were not written, because the claims were no longer the
   * worker's. Most often, a later holder of the lane had already written them as unknown.
   */
  readonly onWritten: (attempts: readonly CompletedAttempt[], stale: number, overtaken: Overtaken) => void;
  /** Called when a delivery was given up because its result cannot be stored. */
  readonly onSetAside: (deliveryId: string, error: unknown) => void;
  readonly onError: (error: unknown) => void;
}

/** The attempts whose status change did not happen, because somebody had paused or resumed the endpoint meanwhile. */
type Overtaken = ReadonlySet<CompletedAttempt>;

/** Records the mails about failures, in the transaction that writes the results. */
export type RecordFailures = (
  tx: Transaction,
  systemId: string,
  attempts: readonly CompletedAttempt[],
  now: Date,
) => Promise<void>;

/** Results in one transaction. Too low: costs more commits. Too high: delays the results that follow. */
const WRITE_BATCH = 1_000;
/** Milliseconds between two checks, when closing, whether everything is written. */
const CLOSE_POLL_INTERVAL_MS = 20;

/** Writes results of attempts, many in one transaction. */
export class ResultWriter {
  readonly #options: ResultWriterOptions;
  readonly #waiting: CompletedAttempt[] = [];
  readonly #writing: Coalescer;

  constructor(options: ResultWriterOptions) {
    this.#options = options;
    this.#writing = new Coalescer({ work: () => this.#writeBatch(), onError: options.onError });
  }

  /** Adds a result, to be written with the next batch. */
  add(attempt: CompletedAttempt): void {
    this.#waiting.push(attempt);
    this.#writing.request();
  }

  /** Resolves when everything that was added is written, or after about `timeoutMs`: then no more writes begin. */
  async close(timeoutMs: number): Promise<void> {
    for (let left = timeoutMs; this.#waiting.length > 0 && left > 0; left -= CLOSE_POLL_INTERVAL_MS) {
      this.#writing.request();
      await wait(CLOSE_POLL_INTERVAL_MS);
    }
    await this.#writing.close();
  }

  /** @returns the milliseconds to pause afterwards */
  async #writeBatch(): Promise<number> {
    const batch = this.#waiting.slice(0, WRITE_BATCH);
    if (batch.length === 0) return 0;
    const { written, overtaken } = await this.#writeOrSetAside(batch);
    // Removed after the commit, so that a failed write is tried again.
    this.#waiting.splice(0, batch.length);
    for (const attempt of batch) markWritten(attempt, written.has(attempt.result));
    if (this.#waiting.length > 0) this.#writing.request();
    this.#options.onWritten(batch, batch.length - written.size, overtaken);
    return 0;
  }

  /**
   * Writes a batch, without the results that PostgreSQL rejects.
   * @returns `written`: the results that this worker wrote because it still held the claims, and those whose deliveries it
   * has set aside
   */
  async #writeOrSetAside(
    batch: readonly CompletedAttempt[],
  ): Promise<{ readonly written: ReadonlySet<ResultRow>; readonly overtaken: Overtaken }> {
    const byResult = new Map(batch.map((attempt) => [attempt.result, attempt]));
    const written = new Set<ResultRow>();
    const overtaken = new Set<CompletedAttempt>();
    const write = async (results: readonly ResultRow[]) => {
      const attempts = results.flatMap((result) => byResult.get(result) ?? []);
      const done = await this.#write(attempts);
      for (const { result } of done.written) written.add(result);
      for (const attempt of done.overtaken) overtaken.add(attempt);
    };
    for (const result of await writeResults(this.#options, [...byResult.keys()], write)) written.add(result);
    return { written, overtaken };
  }

  /**
   * Writes results in one transaction, with what follows from them.
   * @returns `written`: the attempts whose results this worker wrote because it still held the claims
   */
  #write(
    batch: readonly CompletedAttempt[],
  ): Promise<{ readonly written: readonly CompletedAttempt[]; readonly overtaken: Overtaken }> {
    const { db, systemId, clock, recordFailures } = this.#options;
    const now = new Date(clock());
    return db.transaction(async (tx) => {
      const results = batch.map(({ result }) => result);
      const ids = new Set(await insertResults(tx, systemId, now, results));
      const ours = batch.filter(({ result }) => ids.has(result.delivery_id));
      // Somebody has changed the status of these endpoints meanwhile: no mail is sent about a change that did not happen.
      const overtaken = new Set<CompletedAttempt>();
      // Writes to endpoints before it writes to their lanes, because resuming an endpoint locks them in this order: another
      // order could deadlock.
      for (const attempt of ours) {
        if (attempt.statusChange === null || (await writeStatusChange(tx, systemId, attempt, now))) continue;
        overtaken.add(attempt);
      }
      for (const lane of lanesToWrite(ours)) await updateLaneHealth(tx, systemId, lane, healthRowOf(lane.health));
      await recordFailures(
        tx,
        systemId,
        ours.filter((attempt) => !overtaken.has(attempt)),
        now,
      );
      return { written: ours, overtaken };
    });
  }
}

/** @returns false where somebody has paused or resumed the endpoint meanwhile, so that its status stays */
async function writeStatusChange(
  tx: Transaction,
  systemId: string,
  { lane: { endpointId }, statusChange }: CompletedAttempt,
  now: Date,
): Promise<boolean> {
  if (statusChange === null) return true;
  if (statusChange === "active") return activateByAnswers(tx, { systemId, endpointId, now });
  return pauseByAnswers(tx, { systemId, endpointId, reason: statusChange, now });
}

/** Updates the lane of an attempt whose batch was written. @param isWritten false: the worker no longer held the claim */
function markWritten({ lane, result, statusChange }: CompletedAttempt, isWritten: boolean): void {
  lane.unwritten.delete(result.delivery_id);
  // Counts a change that was not written, too: nothing more is to be written of it.
  if (statusChange !== null) lane.statusChanges.written++;
  // The database may hold a claim of the delivery's next attempt that this worker does not know of.
  if (!isWritten) lane.mustRelease = true;
}

/** Returns the lanes whose health changed, in the order in which claims lock lanes. */
function lanesToWrite(batch: readonly CompletedAttempt[]): Lane[] {
  const changed = new Set(batch.flatMap((attempt) => (attempt.healthChanged ? [attempt.lane] : [])));
  return inLockOrder([...changed]);
}

/** The headers and body of one attempt. */
export interface Message {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** An attempt that was sent. Times in milliseconds since 1970. */
export interface SentAttempt {
  readonly row: ClaimedRow;
  readonly url: string;
  readonly message: Message;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly result: AttemptResult;
  /** The part of the response that the log stores. */
  readonly kept: KeptAnswer;
  /** A random number from 0 to 1. The larger it is, the longer is the wait for the next attempt. */
  readonly chance: number;
}

/** Returns the row that records an attempt, with the time of the next one (rules/after-attempt.ts). */
export function resultOf(attempt: SentAttempt): ResultRow {
  const { row, url, message, startedAt, endedAt, result, kept, chance } = attempt;
  const { outcome, failure, status, retryAfterMs, timings } = result;
  const tries = row.tries + 1;
  const isAnswered = status !== null;
  return {
    ...identityOf(row, startedAt),
    ...changesOf(afterAttempt({ tries, outcome, failure, status, retryAfterMs, endedAt, chance })),
    crashes: 0,
    latest_failure: failureOf({ outcome, failure, status }),
    latest_code: failure === null ? status : null,
    outcome,
    failure,
    detail: result.detail,
    url,
    request_headers: JSON.stringify(result.sentHeaders),
    request_body: message.body,
    remote_address: result.remoteAddress,
    status,
    response_headers: isAnswered ? JSON.stringify(kept.headers) : null,
    response_body: isAnswered ? kept.body : null,
    response_truncated: result.answerCut || kept.truncationReason !== null,
    truncation_reason: isAnswered ? kept.truncationReason : null,
    dns_ms: timings.dns,
    connect_ms: timings.connect,
    tls_ms: timings.tls,
    first_byte_ms: timings.firstByte,
    total_ms: timings.total,
  };
}

/** Returns the row that records an attempt whose worker ended, or lost the lane, before it could write the result. */
export function unknownResultOf(row: OrphanRow, url: string, now: number): ResultRow {
  const crashes = row.crashes + 1;
  const isSetAside = crashes >= MAX_CRASHES;
  const failure = isSetAside ? SET_ASIDE : null;
  const end = { outcome: "unknown", crashes, failure, status: null, retryAfterMs: null } as const;
  return {
    ...identityOf(row, row.claimed_at.getTime()),
    ...changesOf(afterAttempt({ ...end, tries: row.tries + 1, endedAt: now, chance: 0 })),
    ...NOTHING_KNOWN,
    crashes,
    failure,
    latest_failure: failureOf(end),
    latest_code: null,
    outcome: "unknown",
    detail: isSetAside
      ? `The last ${crashes} processes that sent it ended before they could write a result down, so it is not sent again.`
      : "The process that sent it ended before it could write the result down. It may have arrived.",
    url,
  };
}

/** The columns of an attempt whose request and response are not known. */
const NOTHING_KNOWN = {
  request_headers: null,
  request_body: null,
  remote_address: null,
  status: null,
  response_headers: null,
  response_body: null,
  response_truncated: false,
  truncation_reason: null,
  dns_ms: null,
  connect_ms: null,
  tls_ms: null,
  first_byte_ms: null,
  total_ms: null,
} as const satisfies Partial<ResultRow>;

/** Returns the columns that identify an attempt, its delivery and its row in the queue. */
function identityOf(row: ClaimedRow | OrphanRow, startedAt: number) {
  return {
    system_id: row.system_id,
    delivery_id: row.delivery_id,
    endpoint_id: row.endpoint_id,
    created_on: row.created_on,
    claim: row.claim,
    replay: row.replay,
    due_at: row.due_at,
    number: row.attempts + 1,
    tries: row.tries + 1,
    started_on: dayOf(startedAt),
    started_at: new Date(startedAt),
  };
}

/** Returns the delivery's new state, and when and why it is tried again. */
function changesOf(next: AfterAttempt): Pick<ResultRow, "state" | "next_attempt_at" | "next_attempt_reason"> {
  const isPending = next.state === "pending";
  return {
    state: next.state,
    next_attempt_at: isPending ? new Date(next.nextAt) : null,
    next_attempt_reason: isPending ? next.reason : null,
  };
}

/** The dependencies of `writeResults`, by which it sets deliveries aside. */
interface WriteResultsOptions {
  readonly db: Queryable;
  readonly systemId: string;
  readonly clock: () => number;
  readonly onSetAside: (deliveryId: string, error: unknown) => void;
}

/**
 * Writes results together. If PostgreSQL rejects a value, writes the halves separately, and so on, until the result with
 * that value is found, and sets its delivery aside: the others are written.
 * @param write writes some of the results in one transaction
 * @returns the results whose deliveries were set aside
 */
export async function writeResults(
  options: WriteResultsOptions,
  results: readonly ResultRow[],
  write: (results: readonly ResultRow[]) => Promise<unknown>,
): Promise<ResultRow[]> {
  try {
    await write(results);
    return [];
  } catch (error) {
    if (!isOfValues(error)) throw error;
    const [result] = results;
    if (results.length === 1 && result !== undefined) {
      await updateSetAside(options.db, options.systemId, result, SET_ASIDE, new Date(options.clock()));
      options.onSetAside(result.delivery_id, error);
      return [result];
    }
    const half = Math.ceil(results.length / 2);
    const before = await writeResults(options, results.slice(0, half), write);
    return [...before, ...(await writeResults(options, results.slice(half), write))];
  }
}
