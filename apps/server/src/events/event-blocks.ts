import { eventNames } from "@bikeshare/contract";
import type { QueryRunner } from "../storage/db/database.ts";
import type { EventPosition, EventViewer } from "./event.rules.ts";
import { countEventsBetween, countEventsByBlock, findBoundsOfDay } from "./queries.ts";

/** Positions of a stretch of the list, and how many of their events somebody may see. */
interface EventBlock {
  /** The last position. */
  readonly upto: number;
  readonly n: number;
}

/**
 * Counts the events of each name among a day's positions, in blocks. A reader of a page in the middle of a day with a
 * million events, or of the rest of the day, then skips events of one block at most. The counts stay right, since events
 * keep their positions for ever, without gaps, and become visible in their order.
 */
export interface EventBlocks {
  /** The blocks behind a position of a day, in their order. At most `MAX_TAIL` positions of the day lie behind the last. */
  behind(db: QueryRunner, systemId: string, viewer: EventViewer, start: EventPosition): AsyncGenerator<EventBlock>;
}

/** Positions of a block. Too low: takes more memory (20 kB for 256,000 events). Too high: a page skips more events. */
const BLOCK_SIZE = 512;
/** Positions behind the last known block before they are counted as blocks. */
const MAX_TAIL = 2 * BLOCK_SIZE;
/** Positions that one statement counts: some ten milliseconds. */
const CHUNK_SIZE = 100 * BLOCK_SIZE;
/** Days that are remembered, of all partners. Of one with a million events 80 kB. */
const MAX_DAYS = 500;

/** The counts of a day, beginning with the block that contains the day's first position. */
interface Day {
  readonly from: number;
  upto: number;
  /** For each block, the events of each name. */
  readonly counts: Uint16Array[];
}

export function createEventBlocks(): EventBlocks {
  const days = new Map<string, Day>();

  async function dayOf(db: QueryRunner, systemId: string, partnerId: string, day: string): Promise<Day | undefined> {
    const { first, last } = await findBoundsOfDay(db, systemId, day);
    if (first === null || last === null) return undefined;
    const key = JSON.stringify([systemId, partnerId, day]);
    const from = before(first);
    const known = days.get(key) ?? { from, upto: from, counts: [] };
    days.delete(key);
    days.set(key, known);
    const [oldest] = days.keys();
    if (days.size > MAX_DAYS && oldest !== undefined) days.delete(oldest);
    // Only blocks to which nothing comes any more.
    const whole = Math.floor(last / BLOCK_SIZE) * BLOCK_SIZE;
    while (whole - known.upto > MAX_TAIL - BLOCK_SIZE) {
      const range = { after: known.upto, upto: Math.min(whole, known.upto + CHUNK_SIZE), size: BLOCK_SIZE };
      const found = await countEventsByBlock(db, { systemId, partnerId }, day, range);
      // Another request may have counted them meanwhile.
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
    async *behind(db, systemId, viewer, { day, position }) {
      const known = await dayOf(db, systemId, viewer.partnerId, day);
      if (known === undefined) return;
      const { from, upto, counts } = known;
      const names = viewer.names.map((name) => eventNames.indexOf(name));
      let at = Math.max(position, from);
      if (at % BLOCK_SIZE !== 0 && at < upto) {
        const end = before(at) + BLOCK_SIZE;
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
function before(position: number): number {
  return Math.floor((position - 1) / BLOCK_SIZE) * BLOCK_SIZE;
}
