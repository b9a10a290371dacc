import { eventNames } from "@bikeshare/contract";
import type { QueryRunner } from "../storage/db/database.ts";
import type { EventPosition, EventViewer } from "./event.rules.ts";
import { countEventsBetween, countEventsByBlock, findBoundsOfDay } from "./queries.ts";

/** Consecutive positions of the events list, and how many of the events there the viewer may see. */
interface EventBlock {
  /** The block's last position. */
  readonly upto: number;
  readonly n: number;
}

/**
 * Keeps in memory how many events of each name each block of a day's positions has. To find a page in the middle of a day
 * with a million events, or to count the rest of the day, the service adds up these counts. PostgreSQL then reads the events
 * of at most three blocks: of the block that contains the start, and of up to two blocks at the end of the day. The counts
 * stay correct because an event keeps its position for ever, positions have no gaps, and events become visible in the order
 * of their positions.
 */
export interface EventBlocks {
  /**
   * Yields the blocks after a position of a day, in order. At most `MAX_TAIL` positions of the day follow the last block;
   * the caller reads the events there one by one.
   */
  blocksAfter(db: QueryRunner, systemId: string, viewer: EventViewer, start: EventPosition): AsyncGenerator<EventBlock>;
}

/** Positions in a block. Too low: needs more memory (now 14 kB for 256,000 events). Too high: a page skips more events. */
const BLOCK_SIZE = 512;
/** Most positions of a day that may follow the last counted block: one block that is full, and one that is not. */
const MAX_TAIL = 2 * BLOCK_SIZE;
/** Positions that one statement counts, in about ten milliseconds. */
const CHUNK_SIZE = 100 * BLOCK_SIZE;
/** Most days kept in memory, each for one system and partner. A day with a million events takes 55 kB. */
const MAX_DAYS = 500;

/** The counts of a day, beginning with the block that contains the day's first position. */
interface Day {
  /** The last position before the first counted block. */
  readonly from: number;
  /** The last position of the last counted block. */
  upto: number;
  /** For each block, the events of each name. */
  readonly counts: Uint16Array[];
}

/** Creates the memory of a process. */
export function createEventBlocks(): EventBlocks {
  const days = new Map<string, Day>();

  /**
   * Counts the blocks of a day that are full and not counted yet. A single one waits for the next, so that a statement
   * counts two blocks or more.
   * @returns undefined when the day has no events
   */
  async function readDay(db: QueryRunner, systemId: string, partnerId: string, day: string): Promise<Day | undefined> {
    const { first, last } = await findBoundsOfDay(db, systemId, day);
    if (first === null || last === null) return undefined;
    const key = JSON.stringify([systemId, partnerId, day]);
    const from = lastBeforeBlockOf(first);
    const known = days.get(key) ?? { from, upto: from, counts: [] };
    // Deleted first, so that the day becomes the newest.
    days.delete(key);
    days.set(key, known);
    const [oldest] = days.keys();
    if (days.size > MAX_DAYS && oldest !== undefined) days.delete(oldest);
    // Only full blocks are counted, because no event is added to them any more.
    const whole = Math.floor(last / BLOCK_SIZE) * BLOCK_SIZE;
    while (whole - known.upto >= MAX_TAIL) {
      const range = { after: known.upto, upto: Math.min(whole, known.upto + CHUNK_SIZE), size: BLOCK_SIZE };
      const found = await countEventsByBlock(db, { systemId, partnerId }, day, range);
      // Another request may have counted these blocks meanwhile.
      if (known.upto !== range.after) continue;
      for (let at = range.after; at < range.upto; at += BLOCK_SIZE)
        known.counts.push(new Uint16Array(eventNames.length));
      for (const { block, name, n } of found) {
        const counts = known.counts[block - known.from / BLOCK_SIZE];
        if (counts !== undefined) counts[eventNames.indexOf(name)] = n;
      }
      known.upto = range.upto;
    }
    return known;
  }
  return {
    async *blocksAfter(db, systemId, viewer, { day, position }) {
      const known = await readDay(db, systemId, viewer.partnerId, day);
      if (known === undefined) return;
      const { from, upto, counts } = known;
      const names = viewer.names.map((name) => eventNames.indexOf(name));
      let at = Math.max(position, from);
      // A start within a counted block: the rest of the block is counted by the database.
      if (at % BLOCK_SIZE !== 0 && at < upto) {
        const end = lastBeforeBlockOf(at) + BLOCK_SIZE;
        yield { upto: end, n: await countEventsBetween(db, systemId, viewer, { day, position: at }, end) };
        at = end;
      }
      for (; at < upto; at += BLOCK_SIZE) {
        const block = counts[(at - from) / BLOCK_SIZE];
        yield { upto: at + BLOCK_SIZE, n: names.reduce((sum, name) => sum + (block?.[name] ?? 0), 0) };
      }
    },
  };
}

/** Returns the last position before the block that a position lies in. */
function lastBeforeBlockOf(position: number): number {
  return Math.floor((position - 1) / BLOCK_SIZE) * BLOCK_SIZE;
}
