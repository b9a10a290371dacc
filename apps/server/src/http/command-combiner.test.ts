import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CommitOutcomeUnknown, DatabaseUnavailable } from "../storage/db/errors.ts";
import {
  type CombinableCall,
  CommandCombiner,
  MAX_CALLS,
  MAX_CALLS_OF_OWNER,
  MAX_ITEMS,
  MAX_WAIT_MS,
} from "./idempotency.ts";
import type { CallOutcome } from "./idempotency/service.ts";

interface Call extends CombinableCall {
  readonly name: string;
}

const call = (name: string, fields: Partial<Call> = {}): Call => ({
  systemId: "main",
  owner: "key",
  items: 1,
  name,
  ...fields,
});
const calls = (prefix: string, length: number, fields: Partial<Call> = {}) =>
  Array.from({ length }, (_, n) => call(`${prefix}${n}`, fields));

/** A combiner whose transactions end when the test says so. */
function open(outcomeOf: (call: Call) => CallOutcome<string> = ({ name }) => ({ result: `${name} together` })) {
  const transactions: { readonly names: string[]; commit(): Promise<void>; end(error?: Error): Promise<void> }[] = [];
  const alone: string[] = [];
  const time = { now: 0 };
  const combiner = new CommandCombiner<Call, string>({
    runTogether: async (_systemId, batch, onCommitting) => {
      const ended = Promise.withResolvers<void>();
      const end = async (error?: Error) => {
        if (error === undefined) ended.resolve();
        else ended.reject(error);
        await turn();
      };
      const commit = async () => {
        onCommitting();
        await turn();
      };
      transactions.push({ names: batch.map(({ name }) => name), commit, end });
      await ended.promise;
      return batch.map(outcomeOf);
    },
    isRepeatable: ({ name }) => name.startsWith("keyed"),
    runAlone: ({ name }) => {
      alone.push(name);
      return name.startsWith("poison") ? Promise.reject(new Error(name)) : Promise.resolve(`${name} alone`);
    },
    monotonic: () => time.now,
  });
  return { combiner, transactions, alone, time };
}

/** Waits for two passes of the event loop, so that all work that is ready has run. */
async function turn(): Promise<void> {
  await sleep(0);
  await sleep(0);
}

describe("combining", () => {
  test("a call that comes first runs at once; those that come meanwhile run together when it has ended", async () => {
    const { combiner, transactions } = open();
    const first = combiner.run(call("a"));
    await turn();
    const others = calls("b", 3).map((each) => combiner.run(each));
    await turn();
    expect(transactions.map(({ names }) => names)).toEqual([["a"]]);
    await transactions[0]?.end();
    expect(await first).toBe("a together");
    expect(transactions.map(({ names }) => names)).toEqual([["a"], ["b0", "b1", "b2"]]);
    await transactions[1]?.end();
    expect(await Promise.all(others)).toEqual(["b0 together", "b1 together", "b2 together"]);
  });

  test("the next transaction begins while one is committed, and no third before one of the two has ended", async () => {
    const { combiner, transactions } = open();
    const names = () => transactions.map((transaction) => transaction.names);
    const answers = [combiner.run(call("a"))];
    await turn();
    answers.push(...calls("b", 2).map((each) => combiner.run(each)));
    await turn();
    expect(names()).toEqual([["a"]]);
    await transactions[0]?.commit();
    expect(names()).toEqual([["a"], ["b0", "b1"]]);
    answers.push(combiner.run(call("c")));
    // A repeated transaction calls `onCommitting` a second time.
    await transactions[0]?.commit();
    await transactions[1]?.commit();
    expect(names()).toEqual([["a"], ["b0", "b1"]]);
    await transactions[1]?.end();
    expect(names()).toEqual([["a"], ["b0", "b1"], ["c"]]);
    await transactions[0]?.end();
    await transactions[2]?.end();
    expect(await Promise.all(answers)).toEqual(["a", "b0", "b1", "c"].map((name) => `${name} together`));
    // No transaction is open any more, so the next call begins at once.
    const last = combiner.run(call("d"));
    await turn();
    await transactions[3]?.end();
    expect(await last).toBe("d together");
  });

  test("one that fails while it commits has its calls run alone, beside the next", async () => {
    const { combiner, transactions, alone } = open();
    const first = combiner.run(call("a"));
    await turn();
    await transactions[0]?.commit();
    const second = combiner.run(call("b"));
    await turn();
    await transactions[0]?.end(new Error("aborted"));
    expect(await first).toBe("a alone");
    await transactions[1]?.end();
    expect([await second, alone]).toEqual(["b together", ["a"]]);
  });

  test("systems neither share transactions nor wait for each other", async () => {
    const { combiner, transactions } = open();
    const both = [combiner.run(call("a")), combiner.run(call("b", { systemId: "other" }))];
    await turn();
    expect(transactions.map(({ names }) => names)).toEqual([["a"], ["b"]]);
    for (const { end } of transactions) await end();
    expect(await Promise.all(both)).toHaveLength(2);
  });

  test("a transaction takes no more items than it may, unless one call alone has more", async () => {
    const { combiner, transactions } = open();
    const sizes = [MAX_ITEMS + 1, MAX_ITEMS - 1, 1, 1];
    const answers = sizes.map((items, n) => combiner.run(call(String(n), { items })));
    await turn();
    for (let n = 0; n < 3; n++) await transactions[n]?.end();
    await Promise.all(answers);
    expect(transactions.map(({ names }) => names)).toEqual([["0"], ["1", "2"], ["3"]]);
  });
});

describe("a call that fails", () => {
  test("gets its own error, and the others their results", async () => {
    const refused = new Error("refused");
    const { combiner, transactions, alone } = open(({ name }) =>
      name === "bad" ? { error: refused } : { result: name },
    );
    const answers = Promise.allSettled(["a", "bad", "b"].map((name) => combiner.run(call(name))));
    await turn();
    await transactions[0]?.end();
    expect(
      (await answers).map((answer) => (answer.status === "fulfilled" ? answer.value : (answer.reason as unknown))),
    ).toEqual(["a", refused, "b"]);
    expect(alone).toEqual([]);
  });

  test("as a whole has every call run alone, so that only the poison fails; others go on being combined", async () => {
    const { combiner, transactions, alone } = open();
    const names = [...Array.from({ length: 99 }, (_, n) => `a${n}`), "poison"];
    const answers = Promise.allSettled(names.map((name) => combiner.run(call(name))));
    await turn();
    const later = combiner.run(call("later"));
    await transactions[0]?.end(new Error("aborted"));
    const outcomes = await answers;
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(99);
    expect(outcomes[99]).toMatchObject({ status: "rejected", reason: { message: "poison" } });
    expect(alone.toSorted()).toEqual(names.toSorted());
    await transactions[1]?.end();
    expect(await later).toBe("later together");
  });

  test("because the database cannot serve, fails with all of its transaction: nobody knows whether it had its effect", async () => {
    const { combiner, transactions, alone } = open();
    const answers = Promise.allSettled(calls("a", 3).map((each) => combiner.run(each)));
    await turn();
    const lost = new DatabaseUnavailable("connection lost");
    await transactions[0]?.end(lost);
    for (const answer of await answers) expect(answer).toEqual({ status: "rejected", reason: lost });
    expect(alone).toEqual([]);
  });

  test("without an answer of the commit runs again only where it does everything once", async () => {
    const { combiner, transactions, alone } = open();
    const answers = Promise.allSettled(["a", "keyed"].map((name) => combiner.run(call(name))));
    await turn();
    const unknown = new CommitOutcomeUnknown("connection lost at commit");
    await transactions[0]?.end(unknown);
    expect(await answers).toEqual([
      { status: "rejected", reason: unknown },
      { status: "fulfilled", value: "keyed alone" },
    ]);
    expect(alone).toEqual(["keyed"]);
  });

  test("to be decided together runs alone", async () => {
    const { combiner, transactions } = open(({ name }) => (name === "b" ? "run-alone" : { result: name }));
    const answers = Promise.all(["a", "b"].map((name) => combiner.run(call(name))));
    await turn();
    await transactions[0]?.end();
    expect(await answers).toEqual(["a", "b alone"]);
  });
});

describe("a caller who floods", () => {
  test("delays another by the transaction under way alone, however many calls it has waiting", async () => {
    const { combiner, transactions } = open();
    const flood = calls("flood", MAX_CALLS_OF_OWNER, { owner: "flooder" }).map((each) => combiner.run(each));
    await turn();
    const other = calls("other", 3, { owner: "other" }).map((each) => combiner.run(each));
    await transactions[0]?.end();
    expect(transactions[1]?.names.slice(0, 6)).toEqual([
      expect.stringMatching(/^flood/),
      "other0",
      expect.stringMatching(/^flood/),
      "other1",
      expect.stringMatching(/^flood/),
      "other2",
    ]);
    for (let n = 1; n < transactions.length; n++) await transactions[n]?.end();
    await Promise.all([...flood, ...other]);
  });

  test("is refused beyond its bound with 503 and Retry-After; others are not", async () => {
    const { combiner, transactions } = open();
    const flood = calls("flood", MAX_CALLS_OF_OWNER, { owner: "flooder" }).map((each) => combiner.run(each));
    await expect(combiner.run(call("one more", { owner: "flooder" }))).rejects.toMatchObject({
      code: "unavailable",
      headers: { "retry-after": "1" },
    });
    const other = combiner.run(call("other", { owner: "other" }));
    await turn();
    for (let n = 0; n < transactions.length; n++) await transactions[n]?.end();
    await Promise.all([...flood, other]);
    // Calls that have ended no longer count.
    const again = combiner.run(call("again", { owner: "flooder" }));
    await turn();
    await transactions.at(-1)?.end();
    expect(await again).toBe("again together");
  });

  test("is bounded with all others together", async () => {
    const { combiner, transactions } = open();
    const all = Array.from({ length: MAX_CALLS }, (_, n) => combiner.run(call(`a${n}`, { owner: `key-${n}` })));
    await expect(combiner.run(call("one more", { owner: "new" }))).rejects.toMatchObject({ code: "unavailable" });
    await turn();
    for (let n = 0; n < transactions.length; n++) await transactions[n]?.end();
    await Promise.all(all);
  });
});

test("a call that has waited for too long is refused and does nothing", async () => {
  const { combiner, transactions, time } = open();
  const first = combiner.run(call("slow"));
  await turn();
  const late = combiner.run(call("late"));
  time.now += MAX_WAIT_MS + 1;
  const inTime = combiner.run(call("in time"));
  const refused = expect(late).rejects.toMatchObject({ code: "unavailable" });
  await transactions[0]?.end();
  await refused;
  await transactions[1]?.end();
  expect([await first, await inTime]).toEqual(["slow together", "in time together"]);
  expect(transactions.map(({ names }) => names)).toEqual([["slow"], ["in time"]]);
});
