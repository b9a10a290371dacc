import type { BatchItem, BatchOutcome, BatchResult, BatchResults, ErrorCode } from "@bikeshare/contract";
import { describeFaults } from "./faults.ts";

/** What became of the items of a batch, noted while they are decided one after the other. */
export interface BatchNotes {
  done(index: number, id: string, outcome: Exclude<BatchOutcome, "failed">): void;
  failed(index: number, id: string | null, error: ErrorCode, message: string): void;
  /** One result an item. */
  results(): BatchResults;
}

export function createBatchNotes(): BatchNotes {
  const results: BatchResult[] = [];
  return {
    done: (index, id, outcome) => void (results[index] = { id, outcome, error: null }),
    failed: (index, id, error, message) => void (results[index] = { id, outcome: "failed", error: { error, message } }),
    results: () => ({ results, failed: results.filter((result) => result.outcome === "failed").length }),
  };
}

/** An item that could be read, with its place in the batch. */
export interface Indexed<Item> {
  readonly index: number;
  readonly item: Item;
}

/** The items that could be read; the others are noted as failed. */
export function readableItems<Item>(items: readonly BatchItem<Item>[], notes: BatchNotes): Indexed<Item>[] {
  const readable: Indexed<Item>[] = [];
  for (const [index, entry] of items.entries()) {
    if ("item" in entry) readable.push({ index, item: entry.item });
    else notes.failed(index, entry.id, "invalid_parameter", describeFaults(entry.faults, "item"));
  }
  return readable;
}
