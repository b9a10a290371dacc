import type { List } from "../core/list.ts";
import { UsageError } from "../errors/errors.ts";
import { MAX_PAGE_SIZE } from "../routes.generated.ts";
import { type CommandContext, type Flag, type Given, textOf } from "./command.ts";
import { table } from "./table.ts";

/** Items that a list prints where nobody says how many: what a terminal shows. */
const DEFAULT_LIMIT = 50;
/** Items between two words on how far it is. */
const PROGRESS_EVERY = MAX_PAGE_SIZE;

/** Options of every command that prints a list. */
export const listFlags: Readonly<Record<string, Flag>> = {
  limit: { value: "<n>", says: `how many at most; ${DEFAULT_LIMIT} if not said` },
  all: { says: "all of them" },
  from: { value: "<checkpoint>", says: "where an earlier call has stopped: its `checkpoint`" },
};

/**
 * Prints a list: a table, or `{ data, checkpoint }`. There is a checkpoint where there may be more.
 *
 * @param listWith the list, by pages of a size
 */
export async function printList<Item extends { readonly id: string }>(
  listWith: (pageSize: number) => List<Item>,
  fields: readonly string[],
  { given, output }: CommandContext,
): Promise<void> {
  const limit = readLimit(given);
  const from = textOf(given, "from");
  const whole = listWith(Math.min(limit, MAX_PAGE_SIZE));
  const list = from === undefined ? whole : whole.resumeFrom(from);
  const items: Item[] = [];
  for await (const item of list) {
    items.push(item);
    if (items.length >= limit) break;
    if (items.length % PROGRESS_EVERY === 0) output.progress(`${items.length} …`);
  }
  const checkpoint = items.length >= limit ? list.checkpoint() : undefined;
  output.result({ data: items, ...(checkpoint !== undefined && { checkpoint }) }, table(fields, items));
  if (checkpoint !== undefined) output.note(`There may be more: --all, or a higher --limit.`);
}

function readLimit(given: Given): number {
  const text = textOf(given, "limit");
  if (given["all"] === true) {
    if (text === undefined) return Infinity;
    throw new UsageError("give --limit or --all, not both");
  }
  if (text === undefined) return DEFAULT_LIMIT;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError("--limit must be a whole number, 1 or more");
}
