import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "@bikeshare/rules";
import { endAlertsOfDeleted, endAlertsOfSource } from "../../city/alerts/alert-changes.ts";
import { recordDeletedRows } from "../../city/changes/service.ts";
import { pickSlot } from "../../city/counts/service.ts";
import { runCommand } from "../../city/fleet/command.ts";
import { removePlaceholderStations } from "../../city/fleet/placeholder-stations.ts";
import { changedSince, deletePastRides, type ImportedRides } from "../../city/fleet/ride-import.ts";
import { systemsOf } from "../../city/systems/service.ts";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import type { Ids } from "../../ids.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { type Database, openDatabase, type Queryable, type Transaction } from "../../storage/db/database.ts";
import { careForTables, RIDE_TABLES } from "../../storage/db/vacuum.ts";
import { followedUntil } from "../gbfs/source-state.ts";
import {
  deleteSource,
  findSourceState,
  type ImportRow,
  listLaterImports,
  listOverlappingImports,
  listUndoing,
  lockImport,
  lockSourceRows,
  updateImportRemoved,
  updateImportUndoing,
  updateImportUndone,
} from "./queries.ts";

/*
 * Undoes imports. The dashboard's endpoints use `createRunningUndos`, which undoes imports in the background. The
 * command and the uploads wait for `undoImport`. An undo first decides whether the import can be undone (`beginUndo`).
 * The import of a feed is undone in the same transaction. The rides of an import of trips are then deleted batch by
 * batch (`completeUndo`).
 */

/** Undoes imports in the background, because removing millions of rides takes minutes. */
export interface RunningUndos {
  /**
   * Starts to undo an import, or continues an interrupted undo.
   * @param actor who requested the undo, for the audit log
   * @returns true when the undo has begun; false when it is not yet decided whether the import can be undone. If it then
   * turns out that it cannot, the audit log contains the reason.
   * @throws ServiceError when the import cannot be undone
   */
  start(actor: string, systemId: string, id: string): Promise<boolean>;
  /** Continues undos whose process ended, because the people who requested them expect them to finish. */
  resume(): void;
  /** Interrupts all undos between two transactions. The next process continues them with `resume`. */
  close(): Promise<void>;
}

/** The dependencies of undos in the background. */
interface RunningUndosOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly logger: { warn(fields: object, message: string): void };
  /** Milliseconds that `start` waits for the decision. Too high: proxies give up waiting for the response. */
  readonly decisionTimeoutMs?: number;
}

/** Default of `decisionTimeoutMs`. */
const DECISION_TIMEOUT_MS = 5_000;

/** Creates the background work that undoes imports. */
export function createRunningUndos(options: RunningUndosOptions): RunningUndos {
  const { decisionTimeoutMs = DECISION_TIMEOUT_MS } = options;
  const stop = new AbortController();
  const running = new Map<string, Run>();
  // Returns the running undo of an import, or starts one.
  const runOf = (request: UndoRequest): Run => {
    const key = JSON.stringify([request.systemId, request.id]);
    const present = running.get(key);
    if (present !== undefined) return present;
    const run = beginRun(options, stop.signal, request);
    running.set(key, run);
    run.ended.then(
      () => running.delete(key),
      // Never called, because `ended` never rejects. The linter asks for it.
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
      // False when the time is over. The caller then has its response, so a later rejection goes to the audit log.
      const undecided = sleep(decisionTimeoutMs, false, { ref: false }).finally(run.stopWaiting);
      return Promise.race([run.decided, undecided]);
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

/** An import to undo, and who requested the undo. */
interface UndoRequest {
  readonly actor: string;
  readonly systemId: string;
  readonly id: string;
}

/** An undo that runs in this process. */
interface Run {
  /** Resolves once the undo has begun. Rejects if the import cannot be undone. */
  readonly decided: Promise<true>;
  /** Says that the caller no longer waits for the decision. A rejection is then written to the audit log. */
  readonly stopWaiting: () => void;
  /** Never rejects. */
  readonly ended: Promise<void>;
}

/** Starts an undo on a connection of its own. */
function beginRun({ db, clock, ids, logger }: RunningUndosOptions, signal: AbortSignal, request: UndoRequest): Run {
  const { actor, systemId, id } = request;
  // Nobody waits for the decision of a resumed undo, so its rejection is handled here.
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
      if (!isAwaited) await recordRejection({ db, clock, ids, actor }, request, error);
    } else if (!signal.aborted) logger.warn({ err: error, import: id }, "undoing an import was interrupted");
  });
  return {
    decided: decision.promise,
    stopWaiting: () => {
      isAwaited = false;
    },
    ended: ended.catch(() => undefined),
  };
}

/** Records the rejection in the audit log, because the caller has already got a response. */
function recordRejection(
  context: ActorContext,
  { systemId, id }: UndoRequest,
  { httpMessage }: ServiceError,
): Promise<void> {
  const act = { systemId, action: "import.undo_refused", subject: id, detail: { reason: httpMessage } };
  return insertActOf(context, context.db, act);
}

/** Runs `work` on its own connection without a statement timeout: counting millions of rides exceeds that of requests. */
async function withoutTimeout(db: Database, work: (own: Database) => Promise<void>): Promise<void> {
  const own = openDatabase({ connectionString: db.connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  try {
    await work(own);
  } finally {
    await own.close();
  }
}

/** The number of rows that an undo removed. */
export interface Undone {
  readonly kind: ImportRow["kind"];
  readonly rides: number;
  readonly stations: number;
  readonly bikes: number;
}

/** The dependencies of an undo. */
export interface UndoContext extends ActorContext {
  readonly db: Database;
  /**
   * Called after each transaction that deletes rides, with the number of rides that were deleted so far, and of those that
   * the import created. If it throws an error, the undo ends.
   */
  readonly onProgress: (deleted: number, all: number) => void;
  /** Rides removed in one transaction; tests make it small. */
  readonly batchRows?: number;
}

/**
 * Undoes an import: deletes the rows that it created, without events about them. Ends the alerts that concern only deleted
 * stations, and the alerts of the feed; these alerts get events. Changes nothing when other rows depend on the rows. Another
 * call completes an interrupted undo.
 * @throws ServiceError
 */
export async function undoImport(context: UndoContext, systemId: string, id: string): Promise<Undone> {
  const begun = await beginUndo(context, systemId, id);
  return "undone" in begun ? begun.undone : completeUndo(context, systemId, begun.row);
}

/** A begun undo. `undone`: the import of a feed is undone already. `row`: the rides of an import of trips still exist. */
type BegunUndo = { readonly undone: Undone } | { readonly row: ImportRow };

/**
 * Decides whether an import can be undone, and records that its undo has begun.
 * @throws ServiceError when it cannot be undone; nothing has changed then
 */
function beginUndo(context: UndoContext, systemId: string, id: string): Promise<BegunUndo> {
  return context.db.transaction(async (tx) => {
    const row = await lockImport(tx, systemId, id);
    if (row === undefined) throw commandError("not_found", "import", { id });
    if (row.status === "undoing") return { row };
    await requireUndoable({ db: tx, clock: context.clock }, systemId, row);
    if (row.kind === "gbfs") return { undone: await undoFeed(context, tx, systemId, row) };
    await requireUnchangedTrips(tx, systemId, row);
    await updateImportUndoing(tx, systemId, row.id);
    await recordUndo(context, tx, systemId, row);
    return { row };
  });
}

/** Does the quick checks whether an import can be undone, which do not count its rows. @throws ServiceError if it cannot */
export async function requireUndoable(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  systemId: string,
  row: ImportRow,
): Promise<void> {
  const { id, kind, source, status } = row;
  if (status === "undone")
    throw commandError("conflict", "importUndone", { id, at: row.undone_at?.toISOString() ?? "" });
  if (kind === "trips") {
    const later = await listOverlappingImports(db, systemId, id);
    if (later.length > 0) {
      const values = { id, later: later.join(", "), commands: commands(later) };
      throw commandError("conflict", "importOverlapped", values);
    }
    return;
  }
  // The import of a feed, whose undo removes the whole source.
  const later = await listLaterImports(db, systemId, row);
  if (later.length > 0) throw commandError("conflict", "importNotLast", { id, source, commands: commands(later) });
  if (row.updated > 0) throw commandError("conflict", "importChangedOthers", { id, count: row.updated });
  await requireUnfollowed({ db, clock }, systemId, row);
}

/**
 * Rejects the undo of a feed's import while the service follows the feed: the next poll would create all stations and bikes
 * again, and no import would be recorded for them.
 * @throws ServiceError
 */
async function requireUnfollowed(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  systemId: string,
  { id, source }: ImportRow,
): Promise<void> {
  const until = await followedUntil(db, systemId, source);
  if (until === undefined || until <= clock()) return;
  throw commandError("conflict", "importFollowed", { id, source, until: new Date(until).toISOString() });
}

/**
 * Undoes the import of a feed, which is small enough for one transaction. Runs as a command of the fleet, which updates the
 * counters of other sources' stations at which deleted bikes stood.
 */
function undoFeed(context: UndoContext, tx: Transaction, systemId: string, row: ImportRow): Promise<Undone> {
  return runCommand({ ...context, db: tx }, systemId, async (command) => {
    await requireUnchangedFeed(tx, systemId, row);
    const { stations, bikes } = await deleteSource(tx, systemId, row.source);
    await recordDeletedRows(tx, systemId, "bikes");
    await recordDeletedRows(tx, systemId, "stations");
    // Recounts the stations where the bikes stood. No bike gets an event.
    command.bikesWritten(bikes, []);
    command.notify("stations");
    // Writes the counters of stations before alerts end, because every command locks stations before alerts.
    await command.writeBikes();
    await endAlertsOfSource(command, row.source);
    await endAlertsOfDeleted(command, stations);
    command.count("bikes", -bikes.length);
    command.count("stations", -stations.length);
    await recordUndo(context, tx, systemId, row);
    await updateImportUndone(tx, systemId, row.id, command.now);
    return { kind: row.kind, rides: 0, stations: stations.length, bikes: bikes.length };
  });
}

/** Writes an entry of the audit log: an undo has begun, or that of a feed is done. */
function recordUndo(
  context: UndoContext,
  tx: Transaction,
  systemId: string,
  { id, source, at, created, stations_created: stations }: ImportRow,
): Promise<void> {
  const detail = { source, imported_at: at.toISOString(), created, stations };
  return insertActOf(context, tx, { systemId, action: "import.undone", subject: id, detail });
}

/** @throws ServiceError when rides of the import have changed since */
async function requireUnchangedTrips(tx: Transaction, systemId: string, row: ImportRow): Promise<void> {
  const rides = ridesOf(systemId, row);
  const changed = rides === undefined ? undefined : await changedSince(tx, rides, row.created);
  if (changed === undefined || changed.n === 0) return;
  const examples = changed.examples.length === 0 ? "" : ` (such as ${changed.examples.join(", ")})`;
  throw commandError("conflict", "importTripsChanged", {
    id: row.id,
    changed: changed.n,
    created: row.created,
    examples,
  });
}

/** @throws ServiceError when the source has changed since the import, or is in use */
async function requireUnchangedFeed(tx: Transaction, systemId: string, row: ImportRow): Promise<void> {
  const reason = await sourceSinceImport(tx, systemId, row);
  if (reason !== undefined) throw commandError("conflict", "importSourceInUse", { id: row.id, reason });
}

/** Returns the commands that undo imports, one a line, for a message. */
function commands(ids: readonly string[]): string {
  return ids.map((id) => `\n  bikeshare import undo ${id}`).join("");
}

/** Returns how to find the rides that an import created; undefined: it created none. */
function ridesOf(systemId: string, { id, at, first_at: first, last_at: last }: ImportRow): ImportedRides | undefined {
  if (first === null || last === null) return undefined;
  return { systemId, importId: id, writtenAt: at, first, last };
}

/** Removes the rides of an import whose undo has begun, and the placeholder stations that only these rides named. */
async function completeUndo(
  { db, clock, ids, onProgress, batchRows }: UndoContext,
  systemId: string,
  row: ImportRow,
): Promise<Undone> {
  // A random slot of the stored counts for each transaction, so that concurrent transactions rarely lock the same row.
  const slot = () => pickSlot(() => ids.random());
  const rides = ridesOf(systemId, row);
  const deletion = {
    slot,
    record: (tx: Transaction, n: number) => updateImportRemoved(tx, systemId, row.id, n),
    onProgress: (n: number) => onProgress(n, row.created),
    batchRows,
  };
  const deleted = rides === undefined ? 0 : await deletePastRides(db, rides, deletion);
  const stations = await runCommand({ db, clock, ids }, systemId, async (command) => {
    const placeholders = { importId: row.id, source: row.source, writtenAt: row.at };
    const removed = await removePlaceholderStations(command, placeholders);
    await updateImportUndone(command.tx, systemId, row.id, command.now);
    return removed;
  });
  await careForTables(db.connectionString, RIDE_TABLES);
  return { kind: row.kind, rides: deleted, stations, bikes: 0 };
}

/**
 * Returns why a feed's source is no longer as the import left it. Undefined when the import created the whole source, and
 * nothing has used its stations and bikes since. Locks the source, its stations and bikes until the transaction ends.
 */
async function sourceSinceImport(tx: Transaction, systemId: string, row: ImportRow): Promise<string | undefined> {
  await lockSourceRows(tx, systemId, row.source);
  const { stations, bikes, changed, uses } = await findSourceState(tx, systemId, row.source, row.at);
  const made = { stations: row.stations_created, bikes: row.created - row.stations_created };
  if (stations > made.stations || bikes > made.bikes || changed > 0) {
    return `${changed} stations and bikes of the source "${row.source}" were there before or were changed since.`;
  }
  if (stations < made.stations || bikes < made.bikes) {
    return `some of the stations and bikes that it created are gone or belong to another source.`;
  }
  if (uses > 0) return `rides, reservations or other bikes name ${uses} of its stations and bikes.`;
  return undefined;
}
