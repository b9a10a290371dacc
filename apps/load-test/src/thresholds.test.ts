import { describe, expect, it } from "vitest";
import { resultOf } from "../test/results.ts";
import { checkThresholds, parseThreshold } from "./thresholds.ts";

describe("thresholds", () => {
  const result = resultOf({ p99: 40, p50: 4, stream: "walks", unexpected: 3, perSecond: 99.5 });

  it.each([
    ["p99<50ms", 40, true],
    ["p99<40ms", 40, false],
    ["p99<=40ms", 40, true],
    ["p99<0.05s", 40, true],
    ["p50<4500us", 4, true],
    ["walks:p99<50ms", 40, true],
    ["nothing:p99<50ms", undefined, false],
    ["service-p99<50ms", 40, true],
    ["lag-p99<1ms", 0.5, true],
    ["webhook-p99<1s", undefined, false],
    ["unexpected<=2", 3, false],
    ["unexpected<=3", 3, true],
    ["rate>=100", 99.5, false],
    ["rate>90", 99.5, true],
    ["lost<=0", undefined, false],
  ])("%s of a run with %s", (text, value, passed) => {
    expect(checkThresholds([parseThreshold(text)], result)).toEqual([
      { text, value, isTime: text.endsWith("s"), passed },
    ]);
  });

  it.each([
    ...["p99", "p99<50", "p98<50ms", "unexpected<5ms", "rate=5", "walks:rate>5", "p99<-1ms", ""],
    "walks:webhook-p99<5s",
  ])("%j is none, and says what one is", (text) => {
    expect(() => parseThreshold(text)).toThrow("must be such as p99<50ms");
  });
});
