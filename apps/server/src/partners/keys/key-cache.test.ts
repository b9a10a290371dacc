import { createTestClock } from "@bikeshare/test-kit";
import { expect, it } from "vitest";
import { createKeyCache } from "./look-ups.ts";
import type { KeyRow } from "./service.ts";

const row = (id: string) => ({ id }) as KeyRow;

function makeCache(options: { capacity?: number } = {}) {
  const state = { listening: true, lookUps: 0, release: undefined as Promise<void> | undefined };
  const clock = createTestClock();
  const cache = createKeyCache({
    find: async (presented) => {
      state.lookUps++;
      await state.release;
      return presented.startsWith("unknown") ? undefined : row(presented);
    },
    listening: () => state.listening,
    clock,
    ...options,
  });
  return { cache, state, clock };
}

it("keeps a key that was looked up, and that there is no such key", async () => {
  const { cache } = makeCache();
  expect(cache.get("a")).toBeUndefined();
  await cache.load("a");
  expect(cache.get("a")).toEqual(row("a"));
  expect(cache.get("unknown")).toBeUndefined();
  expect(await cache.load("unknown")).toBeUndefined();
  expect(cache.get("unknown")).toBe("unknown");
  cache.clear();
  expect([cache.get("a"), cache.get("unknown")]).toEqual([undefined, undefined]);
});

it("gives nothing that is 60 s old, though no change was told; nor when the clock was set back", async () => {
  const { cache, clock } = makeCache();
  for (const key of ["a", "unknown"]) await cache.load(key);
  clock.advance(59_999);
  expect([cache.get("a"), cache.get("unknown")]).toEqual([row("a"), "unknown"]);
  clock.advance(1);
  expect([cache.get("a"), cache.get("unknown")]).toEqual([undefined, undefined]);
  await cache.load("a");
  expect(cache.get("a")).toEqual(row("a"));
  clock.advance(-1);
  expect(cache.get("a")).toBeUndefined();
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

it("holds no more keys than its capacity, and forgets the one kept longest; unknown ones push out none", async () => {
  const { cache } = makeCache({ capacity: 2 });
  for (const key of ["a", "b", "c", "unknown 1", "unknown 2", "unknown 3"]) await cache.load(key);
  expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual([undefined, row("b"), row("c")]);
  expect([1, 2, 3].map((n) => cache.get(`unknown ${n}`))).toEqual([undefined, "unknown", "unknown"]);
});
