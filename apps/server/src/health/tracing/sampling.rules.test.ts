import { expect, it } from "vitest";
import { createSampling, MAX_TRACES_PER_SECOND, parseTraceparent } from "./sampling.rules.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

it("goes on from a traceparent that W3C's rules allow, and from no other", () => {
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-02`)?.isSampled).toBe(false);
  const wrong = [
    undefined,
    "",
    [`00-${TRACE}-${SPAN}-01`],
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
  ];
  for (const header of wrong) expect(parseTraceparent(header)).toBeUndefined();
});

it("records by chance, one a second for those who ask, and never more than its bound", () => {
  let now = 0;
  const count = (ratio: number, isAskedFor: boolean) => {
    const sampling = createSampling({ ratio, random: () => 0.5, monotonic: () => now });
    return Array.from({ length: 1_000 }, () => sampling.isSampled(isAskedFor)).filter(Boolean).length;
  };
  expect(count(0.4, false)).toBe(0);
  expect(count(0.4, true)).toBe(1);
  expect(count(0.6, false)).toBe(MAX_TRACES_PER_SECOND);
  const sampling = createSampling({ ratio: 0, random: () => 0.5, monotonic: () => now });
  const asked = () => sampling.isSampled(true);
  expect([asked(), asked()]).toEqual([true, false]);
  now = 1_000;
  expect([asked(), asked()]).toEqual([true, false]);
});

it("those who ask for traces take none from requests that chance chooses, nor from webhooks", () => {
  let chance = 0.9;
  const sampling = createSampling({ ratio: 0.5, random: () => chance, monotonic: () => 0 });
  for (let n = 0; n < 10 * MAX_TRACES_PER_SECOND; n++) sampling.isSampled(true);
  chance = 0.1;
  expect([sampling.isSampled(false), sampling.isSampled(false), sampling.isWithinBound()]).toEqual([true, true, true]);
});
