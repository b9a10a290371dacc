import {
  type BatchItem,
  type BatchOutcome,
  type BatchResult,
  type BatchResults,
  type ErrorArguments,
  type ErrorCode,
  errorMessage,
  type MessageArguments,
} from "@bikeshare/contract";
import type { CommandContext } from "../command-context.ts";
import type { Transaction } from "../db/database.ts";
import { describeIssues } from "../issues.ts";

/**
 * What became of the items of a batch, noted while they are decided one after the other. Items fail with codes that the
 * contract declares of the endpoint (`ItemError`), and with no others.
 */
export interface BatchNotes<Declared extends ErrorCode> {
  readonly done: (index: number, id: string, outcome: Exclude<BatchOutcome, "failed">) => void;
  readonly failed: (index: number, id: string | null, ...error: ErrorArguments<Declared>) => void;
}

/** A batch while it is worked on. */
export interface Batch<Item, Declared extends ErrorCode> {
  /** The items that could be read; the others are noted as failed. */
  readonly readable: readonly Indexed<Item>[];
  readonly notes: BatchNotes<Declared>;
  /** When the batch came: the same for all its items. */
  readonly now: Date;
}

/**
 * Works on a batch in one transaction. A transaction that is run again, because it met another, notes everything anew.
 * @returns one result an item, in the items' order
 */
export function runBatch<Item, Declared extends ErrorCode>(
  { db, clock }: Pick<CommandContext, "db" | "clock">,
  items: readonly BatchItem<Item>[],
  work: (tx: Transaction, batch: Batch<Item, Declared>) => Promise<void>,
): Promise<BatchResults> {
  const now = new Date(clock());
  return db.transaction(async (tx) => {
    const notes = createBatchNotes();
    await work(tx, { readable: readableItems(items, notes), notes, now });
    return notes.results();
  });
}

export function createBatchNotes(): BatchNotes<ErrorCode> & { results(): BatchResults } {
  const results: BatchResult[] = [];
  return {
    done: (index, id, outcome) => void (results[index] = { id, outcome, error: null }),
    failed: (index, id, error, ...message) => {
      const text = errorMessage(error, ...(message as MessageArguments<typeof error>));
      results[index] = { id, outcome: "failed", error: { error, message: text } };
    },
    results: () => ({ results, failed: results.filter((result) => result.outcome === "failed").length }),
  };
}

/** An item that could be read, with its place in the batch. */
export interface Indexed<Item> {
  readonly index: number;
  readonly item: Item;
}

/** The items that could be read; the others are noted as failed. */
export function readableItems<Item>(
  items: readonly BatchItem<Item>[],
  notes: BatchNotes<"invalid_parameter">,
): Indexed<Item>[] {
  const readable: Indexed<Item>[] = [];
  for (const [index, entry] of items.entries()) {
    if ("item" in entry) readable.push({ index, item: entry.item });
    else notes.failed(index, entry.id, "invalid_parameter", "issues", { issues: describeIssues(entry.issues, "item") });
  }
  return readable;
}
