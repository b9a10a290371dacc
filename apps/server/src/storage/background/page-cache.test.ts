import { createTestClock } from "@bikeshare/test-kit";
import { expect, it } from "vitest";
import { createPageCache } from "./page-cache.ts";

function makeCache(capacity?: number) {
  const state = { listening: true, made: 0 };
  const cache = createPageCache<number>({
    clock: Date.now,
    listening: () => state.listening,
    ...(capacity === undefined ? {} : { capacity }),
  });
  const get = (page: string, system = "main") => cache.get(system, page, async () => ++state.made);
  return { cache, state, get };
}

it("a page is made once, for those who ask at the same time too", async () => {
  const { state, get } = makeCache();
  expect(await Promise.all([get("a"), get("a"), get("a")])).toEqual([1, 1, 1]);
  expect(await get("a")).toBe(1);
  expect(await get("b")).toBe(2);
  expect(state.made).toBe(2);
});

it("is made anew after a change of its system, and not after another's", async () => {
  const { cache, get } = makeCache();
  await get("a");
  cache.clear("elsewhere");
  expect(await get("a")).toBe(1);
  cache.clear("main");
  expect(await get("a")).toBe(2);
  cache.clearAll();
  expect(await get("a")).toBe(3);
});

it("that was read before a change is not given to those who ask after it", async () => {
  const { cache, state, get } = makeCache();
  let release = () => {};
  const slow = cache.get("main", "a", async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return -1;
  });
  cache.clear("main");
  expect(await get("a")).toBe(1);
  release();
  expect(await slow).toBe(-1);
  expect(await get("a")).toBe(1);
  expect(state.made).toBe(1);
});

it("is made for each request while changes would go unheard, and not kept", async () => {
  const { state, get } = makeCache();
  await get("a");
  state.listening = false;
  expect([await get("a"), await get("a")]).toEqual([2, 3]);
});

it("that could not be made is tried again", async () => {
  const { cache, get } = makeCache();
  await expect(cache.get("main", "a", () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(await get("a")).toBe(1);
});

it("that one caller could not make is made by each of those who waited for it", async () => {
  const { cache, state } = makeCache();
  const refused = () => Promise.reject(new Error("one caller's error"));
  const answers = await Promise.allSettled([
    cache.get("main", "a", refused),
    cache.get("main", "a", async () => ++state.made),
    cache.get("main", "a", async () => ++state.made),
  ]);
  expect(answers).toMatchObject([{ status: "rejected" }, { value: 1 }, { value: 2 }]);
});

it("kept longest goes first when there are too many, of its own system alone", async () => {
  const { state, get } = makeCache(2);
  for (const page of ["a", "b", "c"]) await get(page);
  await get("a", "elsewhere");
  const before = state.made;
  await get("b");
  await get("c");
  expect(state.made).toBe(before);
  await get("a");
  expect(state.made).toBe(before + 1);
});

function cacheWithMinAge() {
  const clock = createTestClock();
  const state = { listening: true, made: 0 };
  const pages = createPageCache<number>({ clock, minAgeMs: 2000, listening: () => state.listening });
  const get = () => pages.get("a", "feed", () => Promise.resolve(++state.made));
  return { clock, state, pages, get };
}

it("a page is kept while no change is notified, and shows a change that nobody was notified of after five seconds", async () => {
  const { clock, get } = cacheWithMinAge();
  expect(await get()).toBe(1);
  clock.advance(4999);
  expect(await get()).toBe(1);
  clock.advance(1);
  expect(await get()).toBe(2);
});

it("after a change a page is given for two seconds at most, and then made once for all who ask", async () => {
  const { clock, pages, get } = cacheWithMinAge();
  await get();
  pages.clear("b");
  clock.advance(4000);
  expect(await get()).toBe(1);
  pages.clear("a");
  expect(await Promise.all([get(), get(), get()])).toEqual([2, 2, 2]);
  pages.clear("a");
  clock.advance(1999);
  expect(await get()).toBe(2);
  clock.advance(1);
  expect(await get()).toBe(3);
});

it("a change that comes while a page is made outdates it", async () => {
  const { clock, pages } = cacheWithMinAge();
  const making = Promise.withResolvers<number>();
  const slow = pages.get("a", "feed", () => making.promise);
  pages.clearAll();
  making.resolve(1);
  expect(await slow).toBe(1);
  clock.advance(2000);
  expect(await pages.get("a", "feed", () => Promise.resolve(7))).toBe(7);
});

it("while changes go unheard pages are made anew every two seconds", async () => {
  const { clock, state, get } = cacheWithMinAge();
  await get();
  state.listening = false;
  expect(await get()).toBe(1);
  clock.advance(2000);
  expect(await get()).toBe(2);
});

it("what could not be made is tried again by the next who asks", async () => {
  const { pages, get } = cacheWithMinAge();
  await expect(pages.get("a", "feed", () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(await get()).toBe(1);
});

it("what could not be made is kept by nobody, though a change came while it was made", async () => {
  const { pages, get, state } = cacheWithMinAge();
  const made = Promise.withResolvers<number>();
  const failed = pages.get("a", "feed", () => made.promise);
  pages.clear("a");
  made.reject(new Error("away"));
  await expect(failed).rejects.toThrow("away");
  // Those who ask now share one attempt.
  await Promise.all([get(), get(), get()]);
  expect(state.made).toBe(1);
});
