import { type EventRecord, eventRecord } from "@bikeshare/contract";

/** Items of a list, all of them, by cursor. @throws when a page is refused */
export async function walk(base: string, key: string, path: string): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  const url = new URL(path, base);
  url.searchParams.set("limit", "200");
  for (;;) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    if (response.status !== 200) throw new Error(`${url.pathname}: ${response.status} ${await response.text()}`);
    const page = (await response.json()) as { data: Record<string, unknown>[]; next_cursor?: string };
    items.push(...page.data);
    if (page.next_cursor === undefined) return items;
    url.searchParams.set("cursor", page.next_cursor);
  }
}

/** The events that a key sees, each as the contract has it. @throws when one is not */
export async function walkEvents(base: string, key: string): Promise<EventRecord[]> {
  return (await walk(base, key, "/v1/events")).map((event) => eventRecord.parse(event));
}

/** How many items the list says that it has. */
export async function countEvents(base: string, key: string): Promise<number> {
  const response = await fetch(`${base}/v1/events?limit=1&page=1`, { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as { total_pages: number }).total_pages;
}
