import fc from "fast-check";
import { expect, test } from "vitest";
import { pageOfItems, sortById } from "./page.ts";

const anyIds = fc.uniqueArray(fc.oneof(fc.constantFrom("a", "Ä", "～", "\u{1f6b2}", "b", "10", "9"), fc.string()), {
  maxLength: 30,
});

test("a short list is walked whole, once and in the order of its bytes, by cursor and by page", () => {
  fc.assert(
    fc.property(anyIds, fc.integer({ min: 1, max: 12 }), (ids, limit) => {
      const items = sortById(ids.map((id) => ({ id })));
      const inOrder = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(items.map(({ id }) => id)).toEqual(inOrder);
      const read = (json: string) => JSON.parse(`[${json}]`) as unknown[];
      const byCursor: unknown[] = [];
      let slice = pageOfItems(items, { kind: "first", limit });
      byCursor.push(...read(slice.items));
      while (slice.next !== undefined) {
        slice = pageOfItems(items, { kind: "cursor", after: slice.next, limit });
        byCursor.push(...read(slice.items));
      }
      expect(byCursor).toEqual(items);
      const pages = Math.ceil(items.length / limit);
      const byPage = Array.from({ length: pages }, (_, n) => pageOfItems(items, { kind: "page", page: n + 1, limit }));
      expect(byPage.flatMap((page) => read(page.items))).toEqual(items);
      expect(byPage.every(({ total }) => total === items.length)).toBe(true);
    }),
    { seed: 1 },
  );
});

test("a walk goes on behind an item that is gone", () => {
  const items = sortById([{ id: "a" }, { id: "c" }]);
  expect(pageOfItems(items, { kind: "cursor", after: "b", limit: 5 }).items).toBe('{"id":"c"}');
});
