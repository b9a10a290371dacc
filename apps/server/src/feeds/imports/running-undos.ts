import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "@bikeshare/rules";
import { systemsOf } from "../../city/systems/service.ts";
import type { ActorContext } from "../../command-context.ts";
import type { Ids } from "../../ids.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { listUndoing } from "./queries.ts";
import { beginUndo, completeUndo } from "./undo.ts";

/** Undoes imports without anybody waiting for the end: millions of rides take minutes to remove. */
export interface RunningUndos {
  /**
   * Starts to undo an import, or continues an interrupted undo.
   * @param actor who wants it, for the audit log
   * @returns false when the decision whether the import can be undone takes longer; if it cannot, the audit log contains
   * the reason
   * @throws ServiceError when it cannot
   */
  start(actor: string, systemId: string, id: string): Promise<boolean>;
  /** Goes on with the undos that ended with their process: whoever began one believes that it is done. */
  resume(): void;
  /** Ends all of them between two transactions. `resume` goes on with each. */
  close(): Promise<void>;
}

interface RunningUndosOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly logger: { warn(fields: object, message: string): void };
  /** Milliseconds for which the caller waits for the decision; proxies give up on responses that take much longer. */
  readonly decisionTimeoutMs?: number;
}

const DECISION_TIMEOUT_MS = 5_000;

export function createRunningUndos(options: RunningUndosOptions): RunningUndos {
  const { decisionTimeoutMs = DECISION_TIMEOUT_MS } = options;
  const stop = new AbortController();
  const running = new Map<string, Run>();
  const runOf = (wish: Wish): Run => {
    const key = JSON.stringify([wish.systemId, wish.id]);
    const present = running.get(key);
    if (present !== undefined) return present;
    const run = beginRun(options, stop.signal, wish);
    running.set(key, run);
    run.ended.then(
      () => running.delete(key),
      () => undefined,
    );
    return run;
  };
  let resuming = Promise.resolve();
  const resumeAll = async () => {
    for (const { system_id: systemId } of await systemsOf(options.db))
      for (const id of await listUndoing(options.db, systemId)) {
        if (stop.signal.aborted) return;
        runOf({ actor: "server", systemId, id });
      }
  };
  return {
    async start(actor, systemId, id) {
      const run = runOf({ actor, systemId, id });
      return Promise.race([run.decided, sleep(decisionTimeoutMs, false, { ref: false }).finally(run.stopWaiting)]);
    },
    resume() {
      resuming = resumeAll().catch((error: unknown) => {
        options.logger.warn({ err: error }, "interrupted undos of imports could not be resumed");
      });
    },
    async close() {
      stop.abort(new Error("The service stops."));
      await resuming;
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}

interface Wish {
  readonly actor: string;
  readonly systemId: string;
  readonly id: string;
}

interface Run {
  /** Resolves once the import is being undone. Rejects where it cannot be. */
  readonly decided: Promise<true>;
  /** Ends the wait for the decision. */
  readonly stopWaiting: () => void;
  /** Never rejects. */
  readonly ended: Promise<void>;
}

function beginRun({ db, clock, ids, logger }: RunningUndosOptions, signal: AbortSignal, wish: Wish): Run {
  const { actor, systemId, id } = wish;
  const decision = Promise.withResolvers<true>();
  decision.promise.catch(() => undefined);
  let isAwaited = true;
  const work = async (own: Database) => {
    const context = { clock, ids, actor, db: own, onProgress: () => signal.throwIfAborted() };
    const begun = await beginUndo(context, systemId, id);
    decision.resolve(true);
    if ("row" in begun) await completeUndo(context, systemId, begun.row);
  };
  const ended = withoutTimeout(db, work).catch(async (error: unknown) => {
    decision.reject(error);
    if (error instanceof ServiceError) {
      if (!isAwaited) await recordRejection({ db, clock, ids, actor }, wish, error);
    } else if (!signal.aborted) logger.warn({ err: error, import: id }, "undoing an import was interrupted");
  });
  return {
    decided: decision.promise,
    stopWaiting: () => void (isAwaited = false),
    ended: ended.catch(() => undefined),
  };
}

/** Records the rejection in the audit log, since the caller has already been answered. */
function recordRejection(context: ActorContext, { systemId, id }: Wish, { httpMessage }: ServiceError): Promise<void> {
  const act = { systemId, action: "import.undo_refused", subject: id, detail: { reason: httpMessage } };
  return insertActOf(context, context.db, act);
}

/** Counting millions of rides takes longer than any statement of a request may. */
async function withoutTimeout(db: Database, work: (own: Database) => Promise<void>): Promise<void> {
  const own = openDatabase({ connectionString: db.connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  try {
    await work(own);
  } finally {
    await own.close();
  }
}
