import { setTimeout as wait } from "node:timers/promises";
import type { Database, Transaction } from "../../db/database.ts";
import { setActive, setPaused } from "../endpoints/endpoints.ts";
import { writeLaneHealth } from "../queue/lane-queries.ts";
import { type SettledRow, writeResults } from "../queue/settle-queries.ts";
import type { EndpointHealth, PauseCause, Warning } from "../rules/endpoint-health.ts";
import type { Lane } from "./lane.ts";
import { createTurns } from "./turns.ts";

/** The end of an attempt, to be written back. */
export interface Ending {
  readonly lane: Lane;
  readonly settled: SettledRow;
  /** The endpoint's health after it. */
  readonly health: EndpointHealth;
  /** Its health has changed by it. */
  readonly healthChanged: boolean;
  /** The endpoint's status changes by it. */
  readonly change: PauseCause | "active" | null;
  readonly warn: Warning | null;
}

/** Writes results back, many at a time. */
export interface Settler {
  add(ending: Ending): void;
  /** Resolves when everything that was added is written, or cannot be before `milliseconds` are over. */
  close(milliseconds: number): Promise<void>;
}

export interface SettlerOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly clock: () => number;
  readonly noteFailures: NoteFailures;
  /** After the commit. `stale`: results that a later holder of the lane had written off already. */
  readonly onSettled: (endings: readonly Ending[], stale: number) => void;
  readonly onError: (error: unknown) => void;
}

/** Notes what partners are to be told of, in the transaction that writes it. */
export type NoteFailures = (tx: Transaction, systemId: string, endings: readonly Ending[], now: Date) => Promise<void>;

/** Results in one transaction. Fewer cost more commits; more hold the next ones up for longer. */
const BATCH = 1_000;
/** Milliseconds between two looks whether everything is written, when closing. */
const LOOK = 20;

export function createSettler(options: SettlerOptions): Settler {
  const { db, systemId, clock } = options;
  const waiting: Ending[] = [];

  const turns = createTurns(async () => {
    const batch = waiting.slice(0, BATCH);
    if (batch.length === 0) return 0;
    const written = await write(batch);
    // Taken out after the commit: what could not be written is tried again.
    waiting.splice(0, batch.length);
    for (const ending of batch) forget(ending, written.has(ending.settled));
    if (waiting.length > 0) turns.ask();
    options.onSettled(batch, batch.length - written.size);
    return 0;
  }, options.onError);

  /** @returns those that were still ours to write */
  function write(batch: readonly Ending[]): Promise<Set<SettledRow>> {
    const now = new Date(clock());
    return db.transaction(async (tx) => {
      const results = batch.map(({ settled }) => settled);
      const ids = new Set(await writeResults(tx, systemId, now, results));
      const ours = batch.filter(({ settled }) => ids.has(settled.delivery_id));
      // Endpoints before their lanes, as whoever resumes one does: neither waits for the other in a circle.
      const applied: Ending[] = [];
      for (const ending of ours) if (await writeChange(tx, ending, now)) applied.push(ending);
      for (const lane of lanesToWrite(ours)) await writeLaneHealth(tx, systemId, lane, healthColumns(lane));
      await options.noteFailures(tx, systemId, applied, now);
      return new Set(ours.map(({ settled }) => settled));
    });
  }

  /** @returns false where somebody has paused or resumed the endpoint meanwhile, so that its change is none */
  async function writeChange(tx: Transaction, { lane, change }: Ending, now: Date): Promise<boolean> {
    const { endpointId } = lane;
    if (change === null) return true;
    if (change === "active") return setActive(tx, { systemId, endpointId, now });
    return setPaused(tx, { systemId, endpointId, reason: change, now });
  }

  return {
    add(ending) {
      waiting.push(ending);
      turns.ask();
    },
    async close(milliseconds) {
      for (let left = milliseconds; waiting.length > 0 && left > 0; left -= LOOK) {
        turns.ask();
        await wait(LOOK);
      }
      await turns.close();
    },
  };
}

function forget({ lane, settled, change }: Ending, isWritten: boolean): void {
  lane.known.delete(settled.delivery_id);
  if (change !== null) lane.changes.written++;
  // It may be claimed for its next attempt, without our knowing.
  if (!isWritten) lane.suspect = true;
}

/** In the order in which claims lock lanes, so that neither waits for the other in a circle. */
function lanesToWrite(batch: readonly Ending[]): Lane[] {
  const changed = new Set(batch.flatMap((ending) => (ending.healthChanged ? [ending.lane] : [])));
  return [...changed].toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1));
}

function healthColumns({ health }: Lane) {
  const { failingSince, lastFailedAt, goneSince } = health;
  return {
    ...health,
    failingSince: dateOf(failingSince),
    lastFailedAt: dateOf(lastFailedAt),
    goneSince: dateOf(goneSince),
  };
}

function dateOf(milliseconds: number | null): Date | null {
  return milliseconds === null ? null : new Date(milliseconds);
}
