import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createProgressMeter } from "./options.ts";

const input = (size: number) => ({ name: "a.csv", size, open: () => Promise.resolve(Readable.from([])) });

it("the share of all that is done never falls, and is 1 once every file is written or left out", () => {
  const step = fc.record({ file: fc.nat(2), part: fc.double({ min: 0, max: 1, noNaN: true }), isRead: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 1e9 }), { minLength: 3, maxLength: 3 }),
      fc.array(step),
      (sizes, steps) => {
        const inputs = sizes.map(input);
        const shares: number[] = [];
        const meter = createProgressMeter(inputs, ({ share }) => shares.push(share));
        for (const { file, part, isRead } of steps) {
          const one = inputs[file] ?? input(1);
          if (isRead) meter.read(one, part * one.size, 1);
          else meter.wrote(one, part * 100, 100);
        }
        const [first = input(1), ...others] = inputs;
        for (const one of others) meter.skip(one);
        meter.wrote(first, 100, 100);
        expect(shares).toEqual(shares.toSorted((a, b) => a - b));
        expect(shares.at(-1)).toBeCloseTo(1, 6);
        expect(shares.at(-1)).toBeLessThanOrEqual(1);
      },
    ),
  );
});
