import { type EventRecord, eventRecord } from "@bikeshare/contract";
import { createHttpClient } from "../http/client.ts";

/*
 * Reads whole lists of the service. verify.ts compares them with what the service has acknowledged to the clients of a
 * workload.
 */

/** An item of a list, by the names of its fields. */
export type Item = Readonly<Record<string, unknown>>;

interface Page {
  readonly data: readonly Item[];
  readonly next_cursor?: string;
  readonly total_pages?: number;
}

/** Reads all items of a list by cursor. @throws when a page is refused */
export async function walk(base: string, key: string, path: string): Promise<Item[]> {
  const items: Item[] = [];
  const separator = path.includes("?") ? "&" : "?";
  for (let cursorParameter = ""; ;) {
    const page = await readPage(base, key, `${path}${separator}limit=200${cursorParameter}`);
    items.push(...page.data);
    if (page.next_cursor === undefined) return items;
    cursorParameter = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}

/**
 * Reads the events that a key may see, and validates each by the contract.
 * @throws when a page is refused or an event is invalid
 */
export async function walkEvents(base: string, key: string): Promise<EventRecord[]> {
  return (await walk(base, key, "/v1/events")).map((event) => eventRecord.parse(event));
}

/** Returns how many events the list says it has: its pages of one event each. */
export async function countEvents(base: string, key: string): Promise<number> {
  const { data, total_pages: pages = 0 } = await readPage(base, key, "/v1/events?limit=1&page=1");
  // An empty list has one page, too.
  return data.length === 0 ? 0 : pages;
}

async function readPage(base: string, key: string, path: string): Promise<Page> {
  const client = createHttpClient(base, { connections: 1 });
  const { status, outcome, body } = await client.ask({ path, key });
  client.close();
  if (status !== 200) throw new Error(`${path} answered ${outcome}: ${body}`);
  return JSON.parse(body) as Page;
}
