import { ServiceError } from "@bikeshare/rules";
import { expect, it } from "vitest";
import type { Queryable } from "../db/database.ts";
import { createFilteredReads, type ListReader } from "./read-context.ts";

/** Reads that end when the test says so; a clock that stands still unless moved. */
function makeReads(options: { readonly maxWaitMs?: number } = {}) {
  const state = { now: 0 };
  const refused: string[] = [];
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const reads = createFilteredReads({
    run: (work) => work({} as Queryable),
    primary: {} as Queryable,
    maxRunning: 3,
    monotonic: () => state.now,
    onRefused: (reason) => refused.push(reason),
    maxWaitMs: 60_000,
    ...options,
  });
  const read = (partnerId: string, name = partnerId, more: Omit<ListReader, "systemId" | "partnerId"> = {}) => {
    const result = reads.read({ systemId: "main", partnerId, ...more }, () => {
      begun.push(name);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      ends.set(name, (error) => (error === undefined ? resolve(name) : reject(error)));
      return promise;
    });
    // Prevents an unhandled rejection where a test awaits the error later.
    result.catch(() => undefined);
    return result;
  };
  const begin = (...names: Parameters<typeof read>) => {
    read(...names).catch(() => undefined);
  };
  const end = async (name: string, result: Promise<unknown>, error?: Error) => {
    ends.get(name)?.(error);
    await result.catch(() => undefined);
  };
  return { reads, read, begin, end, begun, refused, state };
}

it("a partner reads one at a time, in the order it asked; partners read side by side, as many as there are places", async () => {
  const { read, begin, end, begun, reads } = makeReads();
  const first = read("a", "a1");
  const second = read("a", "a2");
  begin("b");
  begin("c");
  begin("d");
  await Promise.resolve();
  expect(begun).toEqual(["a1", "b", "c"]);
  expect(reads.usage()).toEqual({ running: 3, waiting: 2 });
  await end("a1", first);
  expect(begun).toEqual(["a1", "b", "c", "a2"]);
  await end("a2", second);
  expect(begun).toEqual(["a1", "b", "c", "a2", "d"]);
});

it("who has read much lately leaves the last place to others, and is let in when it has rested", async () => {
  const { read, begin, end, begun, state } = makeReads();
  for (const heavy of ["x", "y", "z"]) {
    const reading = read(heavy);
    await Promise.resolve();
    state.now += 3_000;
    await end(heavy, reading);
  }
  begun.length = 0;
  const x = read("x");
  begin("y");
  begin("z");
  await Promise.resolve();
  expect(begun).toEqual(["x", "y"]);
  const light = read("light");
  await Promise.resolve();
  expect(begun).toEqual(["x", "y", "light"]);
  await end("light", light);
  expect(begun).toEqual(["x", "y", "light"]);
  await end("x", x);
  expect(begun).toEqual(["x", "y", "light", "z"]);
  state.now += 60_000;
  begin("x");
  await Promise.resolve();
  expect(begun).toEqual(["x", "y", "light", "z", "x"]);
});

it("with no place in time, or too many of the partner's waiting, it is refused with `unavailable` and told when to try again", async () => {
  const { read, begin, refused, reads } = makeReads({ maxWaitMs: 1 });
  begin("a", "a1");
  const waiting = read("a", "a2");
  await expect(waiting).rejects.toMatchObject({ code: "unavailable", headers: { "retry-after": "1" } });
  await expect(waiting).rejects.toThrow(/Read one at a time. Try again in 1 s/);
  expect(refused).toEqual(["full"]);
  expect(reads.usage()).toEqual({ running: 1, waiting: 0 });

  const patient = makeReads();
  const many = Array.from({ length: 10 }, (_, index) => patient.read("a", `a${index}`));
  await expect(many[9]).rejects.toThrow(ServiceError);
  expect(patient.reads.usage()).toEqual({ running: 1, waiting: 8 });
});

it("what PostgreSQL gave up is refused with what to do; another failure stays what it is, and both free the place", async () => {
  const { read, end, refused, reads } = makeReads();
  const slow = read("a");
  await Promise.resolve();
  await end("a", slow, Object.assign(new Error("canceling statement"), { code: "57014" }));
  await expect(slow).rejects.toMatchObject({ code: "unavailable", headers: { "retry-after": "5" } });
  await expect(slow).rejects.toThrow(/Narrow them/);
  expect(refused).toEqual(["slow"]);
  const broken = read("a");
  await Promise.resolve();
  await end("a", broken, new Error("broken"));
  await expect(broken).rejects.toThrow("broken");
  expect(refused).toEqual(["slow"]);
  expect(reads.usage()).toEqual({ running: 0, waiting: 0 });
});

it("whoever has gone, before it begins or while it waits, takes no place", async () => {
  const { read, begun, end, reads } = makeReads();
  const first = read("a", "a1");
  const reader = new AbortController();
  const waiting = read("a", "a2", { signal: reader.signal });
  await Promise.resolve();
  expect(reads.usage()).toEqual({ running: 1, waiting: 1 });
  reader.abort();
  await expect(waiting).rejects.toMatchObject({ code: "invalid_request" });
  await expect(read("b", "b1", { signal: reader.signal })).rejects.toMatchObject({ code: "invalid_request" });
  expect(reads.usage()).toEqual({ running: 1, waiting: 0 });
  await end("a1", first);
  expect(begun).toEqual(["a1"]);
});

it("a partner's programs go before its pages, of which more may wait", async () => {
  const { read, begin, begun, end, reads } = makeReads();
  const first = read("a", "a1");
  const pages = Array.from({ length: 81 }, (_, n) => read("a", `page${n}`, { isPatient: true }));
  begin("a", "program");
  await expect(pages[80]).rejects.toMatchObject({ code: "unavailable" });
  expect(reads.usage()).toEqual({ running: 1, waiting: 81 });
  await end("a1", first);
  expect(begun).toEqual(["a1", "program"]);
});
