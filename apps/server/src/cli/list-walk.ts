import { MAX_PAGE_SIZE } from "@bikeshare/contract";
import type { Page, PageRequest } from "../lists/page.ts";
import { readInteger } from "./options.ts";
import { table } from "./table.ts";

/** Items that are shown when nobody says how many. */
const DEFAULT_LIMIT = "50";
/** A look is not an export: that is what the interface is for. */
const MAX_LIMIT = 10_000;

/** What `--limit` says. */
export function readLimit(text: string): number {
  return readInteger("--limit", text, 1, MAX_LIMIT);
}

export const limitOption = [`--limit <n>`, `how many at most, 1 to ${MAX_LIMIT}`, DEFAULT_LIMIT] as const;

/** The first items of a list. */
export interface ListBeginning<Item> {
  readonly items: readonly Item[];
  /** Items in the whole list. */
  readonly total: number;
}

/** Reads a list from its beginning, page by page. @param read reads one page */
export async function readBeginning<Item>(
  read: (request: PageRequest<string>) => Promise<Page<string>>,
  limit: number,
): Promise<ListBeginning<Item>> {
  const items: Item[] = [];
  let total = 0;
  let next: string | undefined;
  do {
    const size = Math.min(limit - items.length, MAX_PAGE_SIZE);
    const page = await read(
      next === undefined ? { kind: "first", limit: size } : { kind: "cursor", after: next, limit: size },
    );
    // The database keeps the JSON; the tests hold it against the contract's schema.
    items.push(...(JSON.parse(`[${page.items}]`) as Item[]));
    total = page.total ?? total;
    next = page.next;
  } while (next !== undefined && items.length < limit);
  return { items, total };
}

/** Lays out items for a terminal, and says how many there are besides. */
export function beginningTable<Item>(
  { items, total }: ListBeginning<Item>,
  columns: Readonly<Record<string, (item: Item) => string | number | null>>,
): string {
  const rows = items.map((item) => Object.values(columns).map((cell) => shown(cell(item))));
  const shownAll = items.length >= total;
  const rest = shownAll ? [] : [`${items.length} of ${total}. --limit shows more, --json all fields.`];
  return [table(Object.keys(columns), rows), ...rest].join("\n");
}

/** A value as one cell: names come from outside, and may hold what a terminal would obey. */
function shown(value: string | number | null): string {
  return value === null ? "-" : String(value).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
