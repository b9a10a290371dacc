import type { Database } from "../db/database.ts";
import { dayOf, eventsTable } from "../partitions/partition.rules.ts";
import { createPartitions } from "../partitions/service.ts";
import { systemsOf } from "../systems/service.ts";
import { createRounds } from "./rounds.ts";
import { hasNewEvents, lockSequence, moveNewEvents } from "./sequencer-queries.ts";

/** Gives committed events their place in their system's list. Any number of processes may have one. */
export interface Sequencer {
  /** There may be new events: numbers them soon. To be called with each message on the channel `event_outbox`. */
  wake(systemId: string): void;
  /** Numbers all events that were committed before the call. @returns how many this call has numbered */
  runOnce(systemId: string): Promise<number>;
  /** Begins nothing more; resolves when what is under way has ended. */
  close(): Promise<void>;
}

export interface SequencerOptions {
  readonly db: Database;
  readonly clock: () => number;
  /** A round failed; what it left is taken up by the next. */
  readonly onError: (error: unknown, systemId?: string) => void;
  /** Milliseconds between two looks at every system, for events of which no message came. Longer delays those; 0: never. */
  readonly poll?: number;
}

/** Events placed in one transaction. Fewer cost more commits; many more hold the others, and the lock, up for too long. */
const BATCH = 1000;
/**
 * Milliseconds between two rounds of a system. Lower, and under load each event has a commit of its own; higher adds
 * to the time until an event shows, of which there may be 100.
 */
const REST = 10;
/** Systems worked on at a time. Each takes a connection that requests then lack; one would let a busy system hold up the others. */
const CONCURRENCY = 2;
const POLL = 1000;

/** Starts to number the events of every system. */
export function createSequencer({ db, clock, onError, poll = POLL }: SequencerOptions): Sequencer {
  let preparedDay: string | undefined;

  async function runOnce(systemId: string): Promise<number> {
    let moved = 0;
    // A batch that is not full has taken all that was committed when it began.
    for (let batch = BATCH; batch === BATCH; moved += batch) {
      batch = (await hasNewEvents(db, systemId)) ? await moveBatch(systemId) : 0;
    }
    return moved;
  }

  async function moveBatch(systemId: string): Promise<number> {
    const today = dayOf(clock());
    if (preparedDay !== today) await createPartitions(db, eventsTable, today);
    // Left unset when the batch fails, in case it was for want of a partition.
    preparedDay = undefined;
    const moved = await db.transaction(async (tx) => {
      const last = await lockSequence(tx, systemId);
      return (await moveNewEvents(tx, systemId, last, today, BATCH)) - last;
    });
    preparedDay = today;
    return moved;
  }

  const rounds = createRounds({ work: runOnce, onError, concurrency: CONCURRENCY, rest: REST });
  const look = async () => {
    for (const system of await systemsOf(db)) rounds.ask(system.system_id);
  };
  let looking = Promise.resolve();
  const lookAgain = () => {
    looking = looking.then(look).catch(onError);
  };
  const timer = poll === 0 ? undefined : setInterval(lookAgain, poll);
  return {
    wake: (systemId) => rounds.ask(systemId),
    runOnce,
    close: async () => {
      clearInterval(timer);
      await looking;
      await rounds.close();
    },
  };
}
