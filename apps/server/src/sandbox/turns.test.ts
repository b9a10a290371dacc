import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Queryable } from "../storage/db/database.ts";
import { inTurn } from "./turns.ts";

/** Returns a database that stands for a process. `inTurn` uses it only as a key. */
const aProcess = () => ({}) as Queryable;

test("a process does one thing in all sandboxes at a time, and sandboxes take turns, each in its own order", async () => {
  const sandboxes = fc.constantFrom("a", "b", "c");
  await fc.assert(
    fc.asyncProperty(fc.array(sandboxes, { minLength: 1, maxLength: 12 }), async (asked) => {
      const db = aProcess();
      const done: { readonly sandbox: string; readonly n: number }[] = [];
      let running = 0;
      const act = (sandbox: string, n: number) => async () => {
        expect(++running).toBe(1);
        await new Promise(setImmediate);
        running--;
        done.push({ sandbox, n });
      };
      await Promise.all(asked.map((sandbox, n) => inTurn(db, sandbox, act(sandbox, n))));
      expect(done.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(asked.map((_, n) => n));
      for (const sandbox of new Set(asked)) {
        const own = done.filter((each) => each.sandbox === sandbox).map(({ n }) => n);
        expect(own).toEqual(own.toSorted((a, b) => a - b));
        // Before the nth act of a sandbox, each other sandbox has had at most n acts, and one that ran already.
        for (const [n] of own.entries()) {
          const before = done.slice(
            0,
            done.findIndex((each) => each.n === own[n]),
          );
          for (const other of new Set(asked))
            expect(before.filter((each) => each.sandbox === other).length).toBeLessThanOrEqual(n + 2);
        }
      }
    }),
    { numRuns: 50 },
  );
});

test("twenty acts of a sandbox may wait; more are refused at once, and another sandbox's are not", async () => {
  const db = aProcess();
  const asked = Array.from({ length: 30 }, () => inTurn(db, "a", () => Promise.resolve("done")));
  const other = inTurn(db, "b", () => Promise.resolve("done"));
  const results = await Promise.allSettled(asked);
  const refused = results.filter((result) => result.status === "rejected");
  // One act runs, so it does not count as waiting.
  expect(refused).toHaveLength(9);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: "rate_limited" });
  await expect(other).resolves.toBe("done");
});

test.each([
  ["rejects", () => Promise.reject(new Error("no bike"))],
  [
    "throws at once",
    () => {
      throw new Error("no bike");
    },
  ],
])("an act that %s fails for its caller alone, and those that wait and come later have their turns", async (_, act) => {
  const db = aProcess();
  const failing = inTurn(db, "a", act);
  const next = inTurn(db, "a", () => Promise.resolve("done"));
  await expect(failing).rejects.toThrow("no bike");
  await expect(next).resolves.toBe("done");
  await expect(inTurn(db, "b", () => Promise.resolve("done"))).resolves.toBe("done");
});

test("after an act the process rests for as long as it took, so that live partners have at least half of it", async () => {
  const db = aProcess();
  const WORK_MS = 40;
  const busy = () => sleep(WORK_MS);
  const startedAt = performance.now();
  await Promise.all([1, 2, 3, 4].map((n) => inTurn(db, `sandbox ${n}`, busy)));
  // Four acts, and a rest after each of the first three.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(7 * (WORK_MS - 2));
});
