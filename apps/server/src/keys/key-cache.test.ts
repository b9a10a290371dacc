import { expect, it } from "vitest";
import { createKeyCache } from "./key-cache.ts";
import type { KeyRow } from "./service.ts";

const row = (id: string) => ({ id }) as KeyRow;

function makeCache(options: { capacity?: number } = {}) {
  const state = { listening: true, lookUps: 0, release: undefined as Promise<void> | undefined };
  const cache = createKeyCache({
    find: async (presented) => {
      state.lookUps++;
      await state.release;
      return presented.startsWith("unknown") ? undefined : row(presented);
    },
    listening: () => state.listening,
    ...options,
  });
  return { cache, state };
}

it("keeps a key that was looked up, and not one that is unknown", async () => {
  const { cache } = makeCache();
  expect(cache.get("a")).toBeUndefined();
  await cache.load("a");
  expect(cache.get("a")).toEqual(row("a"));
  await cache.load("unknown");
  expect(cache.get("unknown")).toBeUndefined();
});

it("gives and keeps nothing while changes would go unheard", async () => {
  const { cache, state } = makeCache();
  await cache.load("a");
  state.listening = false;
  expect(cache.get("a")).toBeUndefined();
  expect(await cache.load("b")).toEqual(row("b"));
  state.listening = true;
  expect(cache.get("b")).toBeUndefined();
});

it("does not keep what was read before a change and comes back after it", async () => {
  const { cache, state } = makeCache();
  let release = () => {};
  state.release = new Promise((resolve) => {
    release = resolve;
  });
  const loading = cache.load("a");
  cache.clear();
  release();
  expect(await loading).toEqual(row("a"));
  expect(cache.get("a")).toBeUndefined();
});

it("holds no more keys than its capacity, and forgets the one kept longest", async () => {
  const { cache } = makeCache({ capacity: 2 });
  for (const key of ["a", "b", "c"]) await cache.load(key);
  expect(["a", "b", "c"].map((key) => cache.get(key)?.id)).toEqual([undefined, "b", "c"]);
});
