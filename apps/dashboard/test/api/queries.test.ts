import { expect, it, vi } from "vitest";
import { ApiError, ConnectionError } from "../../src/api/errors.ts";
import { queries, type QueryKey } from "../../src/api/queries.ts";
import { sameWhereEqual } from "../../src/api/same-where-equal.ts";

/** Shows an answer, as a component does. @returns how often it was rendered, and how it is taken away */
function show(key: QueryKey, queryFn: (context: { readonly signal: AbortSignal }) => Promise<unknown>) {
  const query = queries.get(key);
  const render = vi.fn<() => void>();
  const observer = { options: { queryKey: key, queryFn }, usesFetching: false, shown: undefined, render };
  return { query, render, observer, hide: queries.observe(query, observer) };
}

const unavailable = () =>
  new ApiError("down", { status: 503, code: "unavailable", requestId: undefined, retryAfterSeconds: undefined });

it("components that ask for the same share one request, whatever the order of the key's members", async () => {
  const ask = vi.fn(() => Promise.resolve("answer"));
  const one = queries.query({ queryKey: ["shared", { a: 1, b: 2 }], queryFn: ask });
  const other = queries.query({ queryKey: ["shared", { b: 2, a: 1 }], queryFn: ask });
  expect(await Promise.all([one, other])).toEqual(["answer", "answer"]);
  expect(await queries.query({ queryKey: ["shared", { a: 1, b: 2 }], queryFn: ask })).toBe("answer");
  expect(ask).toHaveBeenCalledTimes(1);
});

it("a change drops the request that has begun before it", async () => {
  const answers = [Promise.resolve("first"), Promise.withResolvers<string>(), Promise.resolve("after the change")];
  const signals: AbortSignal[] = [];
  const { query } = show(["changed", 1], ({ signal }) => {
    signals.push(signal);
    const answer = answers[signals.length - 1];
    return answer instanceof Promise ? answer : (answer?.promise ?? Promise.reject(new Error("asked too often")));
  });
  const [observer] = query.observers;
  if (observer === undefined) throw new Error("nothing observes");
  await query.fetch(observer.options);
  const before = query.fetch(observer.options);
  await Promise.resolve();
  await queries.invalidateQueries({ queryKey: ["changed"] });
  (answers[1] as PromiseWithResolvers<string>).resolve("before the change");
  await before;
  expect(query.data).toBe("after the change");
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true, false]);
});

it("a change has the rest asked for again when it is next shown", async () => {
  const ask = vi.fn(() => Promise.resolve(ask.mock.calls.length));
  await queries.query({ queryKey: ["later", 1], queryFn: ask });
  await queries.invalidateQueries({ queryKey: ["later"] });
  expect(ask).toHaveBeenCalledTimes(1);
  expect(await queries.query({ queryKey: ["later", 1], queryFn: ask })).toBe(2);
});

it("a request for which nobody waits any more is cancelled, and is no failure", async () => {
  let cancelled = false;
  const { query, observer, hide } = show(["left"], ({ signal }) => {
    signal.addEventListener("abort", () => (cancelled = true));
    return Promise.withResolvers<never>().promise;
  });
  query.begin(observer.options);
  await Promise.resolve();
  await Promise.resolve();
  hide();
  expect(cancelled).toBe(true);
  expect(query.error).toBeNull();
  expect(query.request).toBeUndefined();
});

it("only failures that may pass are tried again, twice, and old data stay beside the failure", async () => {
  vi.useFakeTimers();
  try {
    const results = [() => "answer", unavailable, () => new ConnectionError("lost"), () => "later"];
    const ask = vi.fn(async () => {
      const result = results[ask.mock.calls.length - 1]?.() ?? unavailable();
      if (result instanceof Error) throw result;
      return result;
    });
    const { query, observer } = show(["failing"], ask);
    await query.fetch(observer.options);
    const second = query.fetch(observer.options);
    await vi.runAllTimersAsync();
    await second;
    expect([query.data, query.error, ask.mock.calls.length]).toEqual(["later", null, 4]);
    const third = query.fetch(observer.options);
    await vi.runAllTimersAsync();
    await third;
    expect([query.data, query.error?.message, ask.mock.calls.length]).toEqual(["later", "down", 7]);
    const refused = vi.fn(() => Promise.reject(new Error("refused")));
    const { query: other, observer: asking } = show(["refused"], refused);
    await other.fetch(asking.options);
    expect([other.data, other.error?.message, refused.mock.calls.length]).toEqual([undefined, "refused", 1]);
  } finally {
    vi.useRealTimers();
  }
});

it("what an answer repeats stays the same object", () => {
  const before = { list: [{ id: 1 }, { id: 2 }], same: { a: [1] }, none: null };
  const after = sameWhereEqual(before, { list: [{ id: 1 }, { id: 3 }], same: { a: [1] }, none: null }) as typeof before;
  expect(after).toEqual({ list: [{ id: 1 }, { id: 3 }], same: { a: [1] }, none: null });
  expect(after.same).toBe(before.same);
  expect(after.list[0]).toBe(before.list[0]);
  expect(sameWhereEqual(before, structuredClone(before))).toBe(before);
  expect(sameWhereEqual([1, 2], [1])).toEqual([1]);
  expect(sameWhereEqual({ a: 1, b: undefined }, { a: 1 })).toEqual({ a: 1 });
});
