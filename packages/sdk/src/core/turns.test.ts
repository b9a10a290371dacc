import { expect, it } from "vitest";
import { createTurns } from "./turns.ts";

it("does one thing after the other, in the order asked for, though the first takes longest", async () => {
  const inTurn = createTurns();
  const done: string[] = [];
  let open = 0;
  const work = (name: string, ticks: number) => async () => {
    expect(++open).toBe(1);
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    done.push(name);
    open--;
    return name;
  };
  const results = await Promise.all([inTurn(work("a", 9)), inTurn(work("b", 3)), inTurn(work("c", 0))]);
  expect([results, done]).toEqual([
    ["a", "b", "c"],
    ["a", "b", "c"],
  ]);
});

it("goes on after what fails, and the failure is told to whoever asked", async () => {
  const inTurn = createTurns();
  const failed = inTurn(() => Promise.reject(new Error("no")));
  const next = inTurn(() => Promise.resolve("next"));
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("next");
});
