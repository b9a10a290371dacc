import { createTestClock } from "@bikeshare/test-kit";
import { expect, test } from "vitest";
import { createFeedCache } from "./feed-cache.ts";

function cache() {
  const clock = createTestClock();
  const state = { listening: true, made: 0 };
  const pages = createFeedCache<number>({ clock, listening: () => state.listening });
  const get = () => pages.get("a", "feed", () => Promise.resolve(++state.made));
  return { clock, state, pages, get };
}

test("a page is kept while nothing changes, however long", async () => {
  const { clock, get } = cache();
  expect(await get()).toBe(1);
  clock.advance(1e9);
  expect(await get()).toBe(1);
});

test("after a change a page is given for two seconds at most, and then made once for all who ask", async () => {
  const { clock, pages, get } = cache();
  await get();
  pages.clear("b");
  clock.advance(5000);
  expect(await get()).toBe(1);
  pages.clear("a");
  expect(await Promise.all([get(), get(), get()])).toEqual([2, 2, 2]);
  pages.clear("a");
  clock.advance(1999);
  expect(await get()).toBe(2);
  clock.advance(1);
  expect(await get()).toBe(3);
});

test("a change that comes while a page is made outdates it", async () => {
  const { clock, pages } = cache();
  const making = Promise.withResolvers<number>();
  const slow = pages.get("a", "feed", () => making.promise);
  pages.clearAll();
  making.resolve(1);
  expect(await slow).toBe(1);
  clock.advance(2000);
  expect(await pages.get("a", "feed", () => Promise.resolve(7))).toBe(7);
});

test("while changes go unheard pages are made anew every two seconds", async () => {
  const { clock, state, get } = cache();
  await get();
  state.listening = false;
  expect(await get()).toBe(1);
  clock.advance(2000);
  expect(await get()).toBe(2);
});

test("what could not be made is tried again by the next who asks", async () => {
  const { pages, get } = cache();
  await expect(pages.get("a", "feed", () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(await get()).toBe(1);
});
