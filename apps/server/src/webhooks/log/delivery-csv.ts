import { Readable } from "node:stream";
import {
  type DeliveryListInput,
  type DeliveryView,
  listDeliveries,
  MAX_DELIVERIES,
  type ReadContext,
} from "./deliveries.ts";

/** Rows of one file, at most: more is for a program, which has the events list. */
const MAX_CSV_ROWS = 10_000;
/** Pages that a file is read from, at most: a filter that hardly anything passes reads many and fills none. */
const MAX_CSV_PAGES = 500;

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

/** What a list shows, as CSV, page by page: the next is read when the one before has gone. */
export function deliveriesCsv(context: ReadContext, input: Omit<DeliveryListInput, "after" | "limit">): Readable {
  return Readable.from(pagesOf(context, input), { objectMode: false, highWaterMark: 1 });
}

async function* pagesOf(context: ReadContext, input: DeliveryListInput): AsyncGenerator<string> {
  yield csvLine(columns);
  let rows = 0;
  let after: DeliveryListInput["after"];
  for (let page = 0; page < MAX_CSV_PAGES && rows < MAX_CSV_ROWS; page++) {
    const limit = Math.min(MAX_DELIVERIES, MAX_CSV_ROWS - rows);
    const { deliveries, next } = await listDeliveries(context, { ...input, after, limit });
    if (deliveries.length > 0)
      yield deliveries.map((row) => csvLine(columns.map((name) => textOf(row[name])))).join("");
    rows += deliveries.length;
    if (next === null) return;
    after = next;
  }
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
