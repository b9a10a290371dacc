import type { PageRequest } from "@bikeshare/rules";
import { askTogether } from "../background/ask-together.ts";
import { within } from "../background/within.ts";
import { catchUp, type KnownRows, learnRows, type RowsOfOwner, type RowSource } from "./known-rows.ts";
import { type PageRows, startOf } from "./page.ts";
import { listRemembered, type RememberableList } from "./remembered-queries.ts";
import type { RowKey, Sieve, SortedRows } from "./sorted-rows.ts";

/** The rows of a page. */
interface RememberedPage<Position> extends RowsOfOwner {
  readonly sieves: (rows: SortedRows) => readonly Sieve[];
  readonly request: PageRequest<Position>;
  readonly keyOf: (position: Position) => RowKey;
}

/**
 * Caches the filtered columns of lists' rows, so that pages are counted and found without reading rows; the database then
 * returns only the rows of the page. Each page reads the changes since the last one first, so a page is never older than
 * its request.
 */
export interface RowMemory {
  /** Undefined where the list is not known yet, has too many rows, or changes faster than a page is read. */
  page<Position>(list: RememberableList, asked: RememberedPage<Position>): Promise<PageRows | undefined>;
}

export interface RowMemoryOptions extends Omit<RowSource, "monotonic"> {
  readonly monotonic?: RowSource["monotonic"];
  /** Milliseconds for which a request waits for rows that are being read. */
  readonly maxWaitMs?: number;
  readonly maxWeight?: number;
}

/** Longer than reading a list of the largest system takes, 100,000 bikes. After it the database counts instead. */
const MAX_WAIT_MS = 1_000;
/** Rows and texts that are remembered in all, about 80 bytes each. A list that would exceed it is counted in the database. */
const MAX_WEIGHT = 2_000_000;
/** After it a list is learnt anew: the program of 0.1.0 notes no changes. And one that was too long is tried again. */
const MAX_AGE_MS = 10 * 60_000;
/** After it a list is tried again that could not be learnt. */
const RETRY_MS = 5_000;
/** Milliseconds after which an unused list is removed. */
const IDLE_MS = 3_600_000;
/** Pages that are made once more because one of their rows has changed meanwhile. */
const MAX_ATTEMPTS = 4;

interface Remembered {
  known: KnownRows | undefined;
  /** When it is to be learnt, or learnt anew. */
  dueAt: number;
  usedAt: number;
  learning: Promise<void> | undefined;
  readonly refresh: () => Promise<KnownRows | undefined>;
}

export function createRowMemory({ maxWaitMs = MAX_WAIT_MS, maxWeight, ...given }: RowMemoryOptions): RowMemory {
  const source = { monotonic: () => performance.now(), ...given };
  const lists = createLists(source, maxWeight);

  async function currentOf(list: RememberableList, whose: RowsOfOwner): Promise<KnownRows | undefined> {
    const remembered = lists.of(list, whose);
    remembered.usedAt = source.monotonic();
    const known = remembered.known && (await remembered.refresh());
    const isDue = source.monotonic() > remembered.dueAt;
    const learning = isDue ? lists.learn(list, whose, remembered) : remembered.learning;
    if (known !== undefined || learning === undefined) return known;
    await within(maxWaitMs, learning);
    return remembered.known && remembered.refresh();
  }
  return {
    async page(list, asked) {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const known = await currentOf(list, asked);
        if (known === undefined) return undefined;
        // At once, before others catch up.
        const { rows, since, recent } = known;
        const selection = { ...selectionOf(asked), direction: list.direction, sieves: asked.sieves(rows) };
        const { ids, total = null } = rows.select(selection);
        if (ids.length === 0) return { rows: null, total };
        const read = await listRemembered(source.readPool, list, asked.owner, since, ids);
        const isAsKnown = read.n === ids.length && read.recent.every(([id, at]) => recent.get(id) === at);
        if (isAsKnown) return { rows: read.rows, total };
      }
      return undefined;
    },
  };
}

/** Returns the lists that are remembered. */
function createLists(source: RowSource, maxWeight = MAX_WEIGHT) {
  const { monotonic } = source;
  const lists = new Map<string, Remembered>();

  /** Drops idle lists. Returns the weight that further lists may have. */
  const weightLeft = () => {
    for (const [key, { usedAt }] of lists) if (monotonic() - usedAt > IDLE_MS) lists.delete(key);
    return lists.values().reduce((left, { known }) => left - (known?.rows.weight ?? 0), maxWeight);
  };
  return {
    of(list: RememberableList, whose: RowsOfOwner): Remembered {
      const { table } = list;
      const key = JSON.stringify([table, ...whose.owner.filter((value) => typeof value === "string")]);
      const present = lists.get(key);
      if (present !== undefined) return present;
      const refresh = askTogether(async () => {
        const { known } = made;
        if (known === undefined || (await catchUp(source, list, whose, known))) return known;
        made.known = undefined;
        made.dueAt = -Infinity;
        return undefined;
      });
      const made: Remembered = { known: undefined, dueAt: -Infinity, usedAt: 0, learning: undefined, refresh };
      lists.set(key, made);
      return made;
    },
    /** One at a time. A failure makes pages slower, not wrong: the request itself meets the same error. */
    learn(list: RememberableList, whose: RowsOfOwner, remembered: Remembered): Promise<void> {
      const left = weightLeft() + (remembered.known?.rows.weight ?? 0);
      remembered.learning ??= learnRows(source, list, whose, left)
        .catch(() => false as const)
        .then((known) => {
          remembered.known = known === false ? undefined : known;
          remembered.dueAt = monotonic() + (known === false ? RETRY_MS : MAX_AGE_MS);
        })
        .finally(() => (remembered.learning = undefined));
      return remembered.learning;
    },
  };
}

/** One row more than the page shows, so that it is known whether more follow. */
function selectionOf<Position>({ request, keyOf }: RememberedPage<Position>) {
  const start = startOf(request);
  const limit = request.limit + 1;
  return "after" in start ? { after: keyOf(start.after), skip: 0, limit } : { skip: start.skip, limit };
}
