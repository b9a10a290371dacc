import type { ListEnvelope } from "@bikeshare/contract";
import type { TestApp } from "./app.ts";

/** An item of a list, with the fields that tests of lists use. */
export type Item = { readonly id: string } & Readonly<Record<string, unknown>>;

/** The status and body of an error response. */
export interface ErrorAnswer {
  readonly status: number;
  readonly error: string;
  readonly message: string;
}

/** Sends a GET for a page of a list. @throws if the status is not 200 */
export async function slice(app: TestApp, path: string): Promise<ListEnvelope<Item>> {
  const response = await app.get(path);
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as ListEnvelope<Item>;
}

/** Sends a GET that must be refused. @returns the status and the error */
export async function refused(app: TestApp, path: string): Promise<ErrorAnswer> {
  const response = await app.get(path);
  return { status: response.status, ...((await response.json()) as { error: string; message: string }) };
}

/** Returns a path with additional query parameters. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const url = new URL(path, "http://localhost");
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.append(name, String(value));
  return url.pathname + url.search;
}

/**
 * Walks a list by cursor to its end.
 * @param during runs concurrently with the request for each page but the first
 */
export async function walkByCursor(
  app: TestApp,
  path: string,
  limit: number | (() => number),
  during: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Item[]> {
  const items: Item[] = [];
  const nextLimit = typeof limit === "number" ? () => limit : limit;
  let cursor: string | undefined;
  do {
    const fetched = slice(app, withQuery(path, { limit: nextLimit(), cursor }));
    const [page] = await Promise.all([fetched, cursor === undefined ? undefined : during()]);
    items.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return items;
}

/** Walks a list by page until `page` equals `total_pages`. */
export async function walkByPage(app: TestApp, path: string, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  for (let number = 1; ; number++) {
    const page = await slice(app, withQuery(path, { limit, page: number }));
    items.push(...page.data);
    if (page.page === page.total_pages) return items;
  }
}

/** Compares texts by their bytes, as PostgreSQL does with `collate "C"`. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
