import { createRandom } from "@bikeshare/simulator";
import { expect, it } from "vitest";
import { resultOf, secondOf } from "../../test/results.ts";
import { compareWithBaseline } from "./baseline.ts";

/** Returns a run whose p99 varies by up to a tenth around a value. */
function runAround(p99: number, seed: number) {
  const random = createRandom(seed);
  return resultOf({
    seconds: Array.from({ length: 60 }, (_, second) => secondOf(second, p99 * (0.9 + 0.2 * random.next()))),
  });
}

it("a slower run differs clearly, by an interval that holds the true difference", () => {
  const p99 = compareWithBaseline(runAround(20, 1), runAround(24, 2)).find(({ title }) => title === "p99");
  expect(p99).toMatchObject({ unit: "ms", isClear: true });
  expect(p99!.low).toBeGreaterThan(3);
  expect(p99!.low).toBeLessThan(4);
  expect(p99!.high).toBeGreaterThan(4);
  expect(p99!.high).toBeLessThan(5);
});

it("runs of the same service differ within noise, nearly always", () => {
  const clear = Array.from({ length: 40 }, (_, index) =>
    compareWithBaseline(runAround(20, 2 * index + 1), runAround(20, 2 * index + 2)),
  )
    .map((differences) => differences.find(({ title }) => title === "p99"))
    .filter((difference) => difference?.isClear);
  // By chance, 1 of 20 comparisons shows a clear difference, and slightly more because seconds are drawn in blocks.
  expect(clear.length).toBeLessThanOrEqual(6);
});

it("the warm-up is not compared", () => {
  const seconds = [secondOf(0, 9000), secondOf(1, 9000), ...runAround(20, 1).seconds.slice(2)];
  const [p50] = compareWithBaseline(runAround(20, 1), resultOf({ seconds }));
  expect(p50).toMatchObject({ difference: 0, isClear: false });
});
