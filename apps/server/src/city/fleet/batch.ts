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
  type ItemError,
  type MessageArguments,
} from "@bikeshare/contract";
import { type RideCommand, rideTransitions } from "@bikeshare/rules";
import type { CommandContext } from "../../command-context.ts";
import { describeIssues } from "../../issues.ts";
import { TransactionConflict } from "../../storage/db/errors.ts";
import { missingStation, type NamedStations, presentStation } from "./bike.rules.ts";
import { type FleetCommand, runCommand } from "./command.ts";
import { findBikesOfRides, type RideState } from "./ride-queries.ts";
import { describeRide } from "./ride.rules.ts";
import { findNamedStations } from "./station-queries.ts";

/*
 * What commands on batches share. A batch has many items of one kind, and each item gets its own result: done, or failed
 * with an error. The commands on rides also share how they lock rides and check an item.
 */

/**
 * Records the outcome of each item of a batch, by the item's index. An item can fail only with the codes that the contract
 * declares for the endpoint (`ItemError`). `failed` returns undefined, so that a function without a result can return that.
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

/** The items that a command decides on, and the writer of their results. Items that could not be read have failed. */
export interface Batch<Item, Declared extends ErrorCode> {
  readonly items: readonly Indexed<Item>[];
  readonly results: BatchResultWriter<Declared>;
}

/**
 * Runs a command on a batch in one transaction. When the transaction conflicts with another one, it is repeated, and all
 * results are recorded again.
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

/**
 * Runs a command on a batch that may have the items of several calls (`combined` in `routes.ts`), in one transaction.
 * Items of a call that was answered before (`context.answered`) are locked like the others, because locking does not wait
 * until the repeated calls are found. They are not decided: their caller gets the stored answer.
 */
export function runSharedBatch<Item, Declared extends ErrorCode, Facts>(
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
  { lock, decide }: BatchSteps<Item, Declared, Facts>,
): Promise<BatchResults> {
  return runBatch<Item, Declared>(context, systemId, items, async (command, { items: readable, results }) => {
    const [facts, answeredIndexes] = await Promise.all([lock(command, readable), context.answered]);
    const undecided = readable.filter(({ index }) => answeredIndexes?.has(index) !== true);
    await decide(command, facts, { items: undecided, results });
  });
}

/** Returns a writer of a batch's results, and `all`, which returns the results written so far. */
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

/** Returns the results of a batch, or of one call's part of it, with the number of those that failed. */
export function resultsOf(results: BatchResult[]): BatchResults {
  // An item of a repeated call was not decided, so its element is undefined. Nobody reads that element.
  return { results, failed: results.filter((result) => result?.outcome === "failed").length };
}

/** Returns the items that could be read, and records a failure for each other item. */
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

/** The errors of an item of `rides/end`, `rides/cancel` or `rides/correct`. */
type RideError = ItemError<"rides", "end" | "cancel" | "correct">;

/** The locked rides that a batch names, whose bikes are locked, too, and the stations that matter to them. */
export interface LockedRides {
  /** The rides by id, as the items decided so far leave them. */
  readonly rides: Map<string, RideState>;
  /** The stations that the items name, and those where the stored rides ended. */
  readonly stations: NamedStations;
}

/** The inputs of a batch's decisions on rides that have started. */
export interface RideBatch extends LockedRides {
  readonly command: FleetCommand;
  readonly results: BatchResultWriter<RideError>;
}

/** An item that names a ride, and may name stations. */
export interface RideItem {
  readonly id: string;
  readonly start_station_id?: string | null | undefined;
  readonly end_station_id?: string | null | undefined;
}

/** Locks the bikes of rides and then the rides. Finds the stations that the items name, or where the stored rides ended. */
export async function lockRideBatch(
  command: FleetCommand,
  entries: readonly Indexed<RideItem>[],
): Promise<LockedRides> {
  const { tx, systemId } = command;
  const ids = entries.map(({ item }) => item.id);
  const named = entries
    .flatMap(({ item }) => [item.start_station_id, item.end_station_id])
    .filter((id) => typeof id === "string");
  // The database runs these statements in this order: as in every command, bikes are locked before rides.
  const [bikesOfRides, , rides, namedStations] = await Promise.all([
    findBikesOfRides(tx, systemId, ids),
    command.lockBikesOfRides(ids),
    command.lockRides(ids),
    findNamedStations(tx, systemId, named),
  ]);
  // A ride that started after the look-up of bikes has a bike that is not locked: repeat the transaction.
  if ([...rides.keys()].some((id) => !bikesOfRides.has(id))) throw new TransactionConflict();
  const storedEnds = [...rides.values()].flatMap((ride) => ride.end_station_id ?? []);
  const notFoundYet = storedEnds.filter((id) => !namedStations.has(id));
  const stations = new Map([...namedStations, ...(await findNamedStations(tx, systemId, notFoundYet))]);
  return { rides, stations };
}

/**
 * Returns the ride that an item names, if the transition table allows the command. Otherwise records the item's result
 * (`unchanged` or an error) and returns undefined.
 * @param isSame tells whether a repeated command agrees with the stored ride, so that the item counts as `unchanged`
 */
export function rideFor<Item extends RideItem>(
  { index, item }: Indexed<Item>,
  rideCommand: Exclude<RideCommand, "start">,
  { rides, results }: RideBatch,
  isSame: (ride: RideState, item: Item) => boolean,
): RideState | undefined {
  const ride = rides.get(item.id);
  if (ride === undefined) return results.failed(index, item.id, "not_found", "notStarted");
  const next = rideTransitions[ride.status][rideCommand];
  if (next === "conflict" || (next === "same" && !isSame(ride, item))) {
    return results.failed(index, ride.id, "ride_conflict", ride.status, { stored: describeRide(ride) });
  }
  if (next !== "same") return ride;
  results.done(index, item.id, "unchanged");
  return undefined;
}

/** Tells whether every station that an item names exists and is not removed. If not, records that the item failed. */
export function hasKnownStations({ index, item }: Indexed<RideItem>, { stations, results }: RideBatch): boolean {
  const unknown = [item.start_station_id, item.end_station_id].find(
    (id) => typeof id === "string" && presentStation(stations, id) === undefined,
  );
  if (typeof unknown !== "string") return true;
  results.failed(index, item.id, "not_found", ...missingStation(stations, unknown));
  return false;
}
