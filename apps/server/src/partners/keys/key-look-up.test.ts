import { expect, it } from "vitest";
import { lookUpTogether } from "./look-ups.ts";

/** Look-ups whose statements end when the test says so. */
function makeLookUp() {
  const statements: { readonly keys: readonly string[]; readonly end: (error?: Error) => void }[] = [];
  const find = lookUpTogether<string, string>((keys) => {
    const { promise, resolve, reject } = Promise.withResolvers<(string | undefined)[]>();
    const found = () => resolve(keys.map((key) => (key.startsWith("unknown") ? undefined : `row of ${key}`)));
    statements.push({ keys, end: (error) => (error === undefined ? found() : reject(error)) });
    return promise;
  });
  return { statements, find };
}

it("one statement runs at a time; a good key waits for no more than the one under way, whatever number of unknown ones came before", async () => {
  const { statements, find } = makeLookUp();
  const guesses = Array.from({ length: 400 }, (_, index) => find(`unknown ${index}`));
  const good = find("good");
  expect(statements.map(({ keys }) => keys.length)).toEqual([1]);
  statements[0]?.end();
  await guesses[0];
  expect(statements.map(({ keys }) => keys.length)).toEqual([1, 400]);
  statements[1]?.end();
  expect(await good).toBe("row of good");
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([undefined]));
  expect(statements).toHaveLength(2);
});

it("a statement that fails fails those who waited for it alone", async () => {
  const { statements, find } = makeLookUp();
  const first = find("a");
  const second = find("b");
  statements[0]?.end(new Error("away"));
  await expect(first).rejects.toThrow("away");
  statements[1]?.end();
  expect(await second).toBe("row of b");
});
