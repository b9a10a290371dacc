import { Readable } from "node:stream";
import { ServiceError } from "@bikeshare/rules";
import {
  type DeliveryListInput,
  type DeliveryPage,
  type DeliveryView,
  listDeliveries,
  MAX_DELIVERIES,
  type ReadContext,
} from "./deliveries.ts";
import type { DeliveryPosition } from "./search-sql-fragments.ts";

/** Rows of one file, at most: more is for a program, which has the events list. */
const MAX_CSV_ROWS = 10_000;
/**
 * Maximum pages in one CSV file. A selective filter reads MAX_SEARCHED_ROWS rows for each page and fills none. Too low:
 * an export of a million deliveries needs several files. Too high: one file takes minutes.
 */
const MAX_CSV_PAGES = 100;
/** Times that a page is asked for in a busy service, some seconds each, before the file ends without it. */
const MAX_PAGE_ATTEMPTS = 3;

const columns = [
  "id",
  "event",
  "resource_id",
  "created_at",
  "status",
  "attempts",
  "latest_code",
  "latest_failure",
  "next_attempt_at",
  "finished_at",
  "explanation",
] as const satisfies readonly (keyof DeliveryView)[];

/**
 * Returns a list as CSV, page by page: it reads the next page when the previous one was sent. The last record of an
 * incomplete file says so, and how far the search went.
 */
export function deliveriesCsv(
  context: ReadContext,
  input: Omit<DeliveryListInput, "after" | "limit">,
  bounds: Partial<CsvBounds> = {},
): Readable {
  return Readable.from(pagesOf(context, input, { maxRows: MAX_CSV_ROWS, maxPages: MAX_CSV_PAGES, ...bounds }), {
    objectMode: false,
    highWaterMark: 1,
  });
}

interface CsvBounds {
  readonly maxRows: number;
  readonly maxPages: number;
}

async function* pagesOf(
  context: ReadContext,
  input: DeliveryListInput,
  { maxRows, maxPages }: CsvBounds,
): AsyncGenerator<string> {
  yield csvLine(columns);
  let rows = 0;
  let after: DeliveryPosition | undefined;
  for (let page = 0; page < maxPages && rows < maxRows; page++) {
    const limit = Math.min(MAX_DELIVERIES, maxRows - rows);
    const found = await pageOf(context, { ...input, after, limit });
    if (found === undefined) break;
    const { deliveries, next } = found;
    if (deliveries.length > 0)
      yield deliveries.map((row) => csvLine(columns.map((name) => textOf(row[name])))).join("");
    rows += deliveries.length;
    if (next === null) return;
    after = next;
  }
  yield csvLine([incomplete(after)]);
}

/** Undefined: the service is too busy. */
async function pageOf(context: ReadContext, input: DeliveryListInput): Promise<DeliveryPage | undefined> {
  for (let attempt = 1; attempt <= MAX_PAGE_ATTEMPTS; attempt++) {
    try {
      return await listDeliveries(context, input);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "unavailable") throw error;
    }
  }
  return undefined;
}

function incomplete(after: DeliveryPosition | undefined): string {
  const at = after === undefined ? "" : ` created before ${after.created_at.toISOString()}`;
  return `Incomplete: deliveries${at} were not looked at. Export them by a filter of time.`;
}

function textOf(value: DeliveryView[keyof DeliveryView]): string {
  if (value === null) return "";
  return value instanceof Date ? value.toISOString() : String(value);
}

/** One record of RFC 4180. */
function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** A spreadsheet runs a cell that begins like a formula. With an apostrophe before it, it is text. */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
