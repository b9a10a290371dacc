import { describe, expect, it } from "vitest";
import { until } from "../../test/until.ts";
import { createRounds } from "./rounds.ts";

/** Work that ends when the test says so. */
function createWork() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (systemId: string) => {
    begun.push(systemId);
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    return promise;
  };
  return { begun, work, endNext: () => ends.shift()?.() };
}

const noError = (error: unknown) => {
  throw error;
};

describe("rounds", () => {
  it("run one at a time for a system, and one more however often it was asked for meanwhile", async () => {
    const { begun, work, endNext } = createWork();
    const rounds = createRounds({ work, onError: noError, concurrency: 2, rest: 0 });
    for (let asked = 0; asked < 5; asked++) rounds.ask("a");
    expect(begun).toEqual(["a"]);
    endNext();
    await until(() => begun.length === 2);
    endNext();
    const closed = rounds.close();
    await closed;
    expect(begun).toEqual(["a", "a"]);
  });

  it("run for as many systems at once as were allowed; the others follow in the order in which they asked", async () => {
    const { begun, work, endNext } = createWork();
    const rounds = createRounds({ work, onError: noError, concurrency: 2, rest: 0 });
    for (const systemId of ["a", "b", "c", "d"]) rounds.ask(systemId);
    expect(begun).toEqual(["a", "b"]);
    endNext();
    await until(() => begun.length === 3);
    endNext();
    await until(() => begun.length === 4);
    expect(begun).toEqual(["a", "b", "c", "d"]);
    endNext();
    endNext();
    await rounds.close();
  });

  it("go on after one that failed, and say so", async () => {
    const errors: unknown[] = [];
    let runs = 0;
    const work = async () => {
      if (++runs === 1) throw new Error("away");
    };
    const rounds = createRounds({
      work,
      onError: (error, systemId) => errors.push([String(error), systemId]),
      concurrency: 1,
      rest: 0,
    });
    rounds.ask("a");
    rounds.ask("a");
    await until(() => runs === 2);
    await rounds.close();
    expect(errors).toEqual([["Error: away", "a"]]);
  });

  it("do not begin any more once closed, and closing waits for the one under way", async () => {
    const { begun, work, endNext } = createWork();
    const rounds = createRounds({ work, onError: noError, concurrency: 1, rest: 0 });
    rounds.ask("a");
    rounds.ask("b");
    let closed = false;
    const closing = rounds.close().then(() => (closed = true));
    rounds.ask("c");
    await Promise.resolve();
    expect(closed).toBe(false);
    endNext();
    await closing;
    expect(begun).toEqual(["a"]);
  });
});
