import {
  type BatchItem,
  type BatchOutcome,
  type BatchResult,
  type BatchResults,
  type BatchWarning,
  batchWarning,
  type ErrorArguments,
  type ErrorCode,
  errorMessage,
  type MessageArguments,
} from "@bikeshare/contract";
import type { CommandContext } from "../../command-context.ts";
import { describeIssues } from "../../issues.ts";
import { type FleetCommand, runCommand } from "./command.ts";

/**
 * Records the outcome of each item of a batch, in order. An item can fail only with the codes that the contract declares
 * for the endpoint (`ItemError`).
 */
export interface BatchResultWriter<Declared extends ErrorCode> {
  readonly done: (index: number, id: string, outcome: Exclude<BatchOutcome, "failed">, warning?: BatchWarning) => void;
  readonly failed: (index: number, id: string | null, ...error: ErrorArguments<Declared>) => undefined;
}

/** An item that could be read, with its index in the batch. */
export interface Indexed<Item> {
  readonly index: number;
  readonly item: Item;
}

/** The items of a batch that could be read; the others have failed. */
export interface Batch<Item, Declared extends ErrorCode> {
  readonly items: readonly Indexed<Item>[];
  readonly results: BatchResultWriter<Declared>;
}

/**
 * Runs a command on a batch. A transaction that is repeated, because it met another, records every result anew.
 * @returns one result an item, in the items' order
 */
export function runBatch<Item, Declared extends ErrorCode>(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
  work: (command: FleetCommand, batch: Batch<Item, Declared>) => Promise<void>,
): Promise<BatchResults> {
  return runCommand(context, systemId, async (command) => {
    const results = createBatchResults();
    await work(command, { items: readableItems(items, results), results });
    return results.all();
  });
}

/** A command on a batch in two steps. */
interface BatchSteps<Item, Declared extends ErrorCode, Facts> {
  /** Locks and reads the rows that decide on items. */
  readonly lock: (command: FleetCommand, entries: readonly Indexed<Item>[]) => Promise<Facts>;
  /** Decides on items, and writes the changes. */
  readonly decide: (command: FleetCommand, facts: Facts, batch: Batch<Item, Declared>) => Promise<void>;
}

/** Like `runBatch`, for commands whose calls may share a transaction. */
export function runSharedBatch<Item, Declared extends ErrorCode, Facts>(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
  { lock, decide }: BatchSteps<Item, Declared, Facts>,
): Promise<BatchResults> {
  return runBatch<Item, Declared>(context, systemId, items, async (command, { items: readable, results }) => {
    const [facts, indexes] = await Promise.all([lock(command, readable), context.answered]);
    await decide(command, facts, { items: readable.filter(({ index }) => indexes?.has(index) !== true), results });
  });
}

export function createBatchResults(): BatchResultWriter<ErrorCode> & { all(): BatchResults } {
  const results: BatchResult[] = [];
  return {
    done: (index, id, outcome, warning) => {
      results[index] = { id, outcome, error: null, warning: warning === undefined ? null : batchWarning(...warning) };
    },
    failed: (index, id, error, ...message) => {
      const text = errorMessage(error, ...(message as MessageArguments<typeof error>));
      results[index] = { id, outcome: "failed", error: { error, message: text }, warning: null };
    },
    all: () => resultsOf(results),
  };
}

/** Returns the results of a batch, with the number of those that failed. */
export function resultsOf(results: BatchResult[]): BatchResults {
  // Those of items that were not decided are missing.
  return { results, failed: results.filter((result) => result?.outcome === "failed").length };
}

/** Returns the items that could be read; the others fail. */
export function readableItems<Item>(
  items: readonly BatchItem<Item>[],
  results: BatchResultWriter<"invalid_parameter">,
): Indexed<Item>[] {
  const readable: Indexed<Item>[] = [];
  for (const [index, entry] of items.entries()) {
    if ("item" in entry) readable.push({ index, item: entry.item });
    else
      results.failed(index, entry.id, "invalid_parameter", "issues", { issues: describeIssues(entry.issues, "item") });
  }
  return readable;
}
