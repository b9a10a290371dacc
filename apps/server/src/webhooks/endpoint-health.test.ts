import { describe, expect, test } from "vitest";
import {
  type AfterResult,
  afterResult,
  type EndpointHealth,
  type EndpointResult,
  type EndpointStatus,
  HEALTHY,
} from "./endpoint-health.ts";

const START = Date.parse("2026-06-01T12:00:00.000Z");
const HOUR = 3_600_000;

/** A failed attempt, so many hours after the start. */
function failure(deliveryId: string, hours: number, status: number | null = 500): EndpointResult {
  return { deliveryId, outcome: status === null ? "failed" : "rejected", status, endedAt: START + hours * HOUR };
}
function success(deliveryId: string, hours: number): EndpointResult {
  return { deliveryId, outcome: "succeeded", status: 200, endedAt: START + hours * HOUR };
}
function unknown(deliveryId: string, hours: number): EndpointResult {
  return { deliveryId, outcome: "unknown", status: null, endedAt: START + hours * HOUR };
}
const gone = (deliveryId: string, hours = 0) => failure(deliveryId, hours, 410);

/** What each result in turn makes of the endpoint. */
function follow(
  results: readonly EndpointResult[],
  from: { readonly health?: EndpointHealth; readonly status?: EndpointStatus } = {},
): AfterResult[] {
  let { health = HEALTHY, status = "active" } = from;
  return results.map((result) => {
    const after = afterResult(health, status, result);
    ({ health, status } = after);
    return after;
  });
}

/** So many failures at once, of three deliveries. */
const manyFailures = (count: number, hours: number) =>
  Array.from({ length: count }, (_, index) => failure(`d${index % 3}`, hours));

const last = (steps: readonly AfterResult[]) => steps.at(-1);
const warnings = (steps: readonly AfterResult[]) => steps.map(({ warn }) => warn).filter((warn) => warn !== null);

describe("an endpoint that fails", () => {
  test("is paused when 72 h have passed, 20 attempts failed, of 3 deliveries", () => {
    const before = follow([...manyFailures(19, 0), failure("d0", 71.999)]);
    expect(last(before)?.status).toBe("active");
    const after = last(follow([failure("d0", 72)], last(before)));
    expect(after).toMatchObject({ status: "paused", pauseReason: "failing", warn: 100 });
  });

  test("is not paused by 19 failures, however long they last, and is by the 20th", () => {
    const steps = follow([...manyFailures(18, 0), failure("d0", 200), failure("d1", 300)]);
    expect(steps.map(({ status }) => status === "paused").indexOf(true)).toBe(19);
  });

  test("is not paused by one or two deliveries, however often they fail, and is by the third", () => {
    const two = Array.from({ length: 40 }, (_, index) => failure(index % 2 === 0 ? "a" : "b", index * 10));
    const steps = follow([...two, failure("c", 401)]);
    expect(steps.slice(0, 40).every(({ status }) => status === "active")).toBe(true);
    expect(last(steps)).toMatchObject({ status: "paused", pauseReason: "failing", warn: 100 });
  });

  test("begins anew after any success", () => {
    const steps = follow([...manyFailures(30, 0), success("d0", 71), failure("d1", 72.5), failure("d2", 143)]);
    expect(last(steps)).toMatchObject({ status: "active", pauseReason: null });
    expect(last(steps)?.health.failures).toBe(2);
  });

  test("keeps no more ids than the rule needs", () => {
    const steps = follow(Array.from({ length: 50 }, (_, index) => failure(`d${index}`, 0, 410)));
    expect(last(steps)?.health.failedDeliveries).toHaveLength(3);
    expect(last(steps)?.health.goneDeliveries.length).toBeLessThanOrEqual(3);
  });
});

describe("warnings", () => {
  test("come at 25, 50 and 100 %, each once", () => {
    const hours = Array.from({ length: 80 }, (_, index) => index);
    const steps = follow(hours.map((hour) => failure(`d${hour % 5}`, hour)));
    expect(warnings(steps)).toEqual([25, 50, 100]);
    expect([25, 50, 100].map((level) => steps.findIndex(({ warn }) => warn === level))).toEqual([18, 36, 72]);
  });

  test("a jump from 10 to 60 % gives 50 alone, and no 25 afterwards", () => {
    expect(warnings(follow([failure("a", 0), failure("a", 7.2), failure("a", 43.2), failure("a", 44)]))).toEqual([50]);
  });

  test("a jump from the start to the end gives 100 alone", () => {
    expect(warnings(follow([...manyFailures(20, 0), failure("d0", 80)]))).toEqual([100]);
  });

  test("at 25 and 50 % need neither many failures nor several deliveries; without these no 100 follows", () => {
    const steps = follow([0, 18, 36, 72, 100].map((hour) => failure("only", hour)));
    expect(warnings(steps)).toEqual([25, 50]);
    expect(last(steps)?.status).toBe("active");
  });

  test("are given again after a success", () => {
    const steps = follow([failure("a", 0), failure("a", 20), success("a", 21), failure("b", 22), failure("b", 41)]);
    expect(warnings(steps)).toEqual([25, 25]);
  });

  test("are not given again when a result comes late", () => {
    expect(warnings(follow([failure("a", 0), failure("a", 40), failure("b", 20), failure("b", -1)]))).toEqual([50]);
  });
});

describe("410 Gone", () => {
  test("for three deliveries in a row pauses", () => {
    const steps = follow([gone("a"), gone("b"), gone("c")]);
    expect(steps.map(({ status }) => status)).toEqual(["active", "active", "paused"]);
    expect(last(steps)).toMatchObject({ pauseReason: "gone", warn: null });
  });

  test("for the same deliveries again and again does not", () => {
    const steps = follow([gone("a"), gone("a"), gone("b"), gone("a"), gone("b"), gone("a")]);
    expect(last(steps)?.status).toBe("active");
  });

  test.each([
    ["another status", failure("x", 0, 500)],
    ["another status for one of them", failure("a", 0, 404)],
    ["a success", success("x", 0)],
  ])("%s in between begins the row anew", (_, between) => {
    const steps = follow([gone("a"), gone("b"), between, gone("c"), gone("d")]);
    expect(last(steps)?.status).toBe("active");
    expect(last(follow([gone("e")], last(steps)))?.pauseReason).toBe("gone");
  });

  test.each([
    ["a time-out", failure("x", 0, null)],
    ["an unknown result", unknown("x", 0)],
    ["an answer that broke off", { ...failure("x", 0, 500), outcome: "failed" as const }],
  ])("%s in between is no answer and leaves the row", (_, between) => {
    expect(last(follow([gone("a"), gone("b"), between, gone("c")]))?.pauseReason).toBe("gone");
  });

  test("that broke off counts as a failure, not as 410", () => {
    const cut = (id: string) => ({ ...gone(id), outcome: "failed" as const });
    expect(last(follow([cut("a"), cut("b"), cut("c")]))).toMatchObject({ status: "active", health: { failures: 3 } });
  });
});

describe("a probed endpoint", () => {
  const probing = { health: HEALTHY, status: "probing" } as const;

  test("is active and has nothing against it after the first success", () => {
    expect(follow([success("a", 0)], probing)).toEqual([
      { health: HEALTHY, status: "active", pauseReason: null, warn: null },
    ]);
  });

  test.each([
    ["a refusal", failure("a", 0)],
    ["no answer", failure("a", 0, null)],
    ["410", gone("a")],
  ])("is paused again by %s", (_, result) => {
    const [after] = follow([result], probing);
    expect(after).toMatchObject({ status: "paused", pauseReason: "probe_failed", warn: null });
  });

  test("goes on being probed when a result is unknown", () => {
    expect(follow([unknown("a", 0)], probing)).toEqual([{ ...probing, pauseReason: null, warn: null }]);
  });
});

test("a result that nobody knows is no failure of the receiver", () => {
  const health = { ...HEALTHY, failingSince: START, failures: 19, failedDeliveries: ["a", "b", "c"], warned: 50 };
  const steps = follow([unknown("d", 100)], { health });
  expect(steps).toEqual([{ health, status: "active", pauseReason: null, warn: null }]);
});

test.each([success("a", 1), failure("a", 90), gone("c", 1), unknown("a", 1)])(
  "what ends at a paused endpoint changes nothing: $outcome",
  (result) => {
    const health = { ...HEALTHY, failingSince: START, failures: 40, failedDeliveries: ["a", "b", "c"], warned: 50 };
    const paused = { health: { ...health, goneDeliveries: ["a", "b"] }, status: "paused" } as const;
    expect(follow([result], paused)).toEqual([{ ...paused, pauseReason: null, warn: null }]);
  },
);
