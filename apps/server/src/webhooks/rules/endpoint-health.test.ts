import { describe, expect, test } from "vitest";
import {
  type AfterResult,
  afterResult,
  type EndpointHealth,
  type EndpointResult,
  type EndpointStatus,
  HEALTHY,
  RETRY_DELAYS_MS,
  SILENCE_MS,
} from "./after-attempt.ts";

const START = Date.parse("2026-06-01T12:00:00.000Z");
const HOUR = 3_600_000;

/** Returns a failed attempt, `hours` after the start. */
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

/** Returns what each result in turn makes of the endpoint. */
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

/** Returns `count` failures of three deliveries, spread evenly over `hours`. */
const manyFailures = (count: number, hours = 0) =>
  Array.from({ length: count }, (_, index) => failure(`d${index % 3}`, (hours * index) / Math.max(1, count - 1)));

const last = (steps: readonly AfterResult[]) => steps.at(-1);
const warnings = (steps: readonly AfterResult[]) =>
  steps.map(({ warning }) => warning).filter((warning) => warning !== null);

describe("an endpoint that fails", () => {
  test("is paused when 72 h have passed, 20 attempts failed, of 3 deliveries", () => {
    const before = follow([...manyFailures(19, 60), failure("d0", 71.999)]);
    expect(last(before)?.status).toBe("active");
    const after = last(follow([failure("d0", 72)], last(before)));
    expect(after).toMatchObject({ status: "paused", pauseReason: "failing", warning: 100 });
  });

  test("is not paused by 19 failures, however long they last, and is by the 20th", () => {
    const steps = follow(manyFailures(20, 19 * 24));
    expect(steps.map(({ status }) => status === "paused").indexOf(true)).toBe(19);
  });

  test("is not paused by one or two deliveries, however often they fail, and is by the third", () => {
    const two = Array.from({ length: 40 }, (_, index) => failure(index % 2 === 0 ? "a" : "b", index * 10));
    const steps = follow([...two, failure("c", 401)]);
    expect(steps.slice(0, 40).every(({ status }) => status === "active")).toBe(true);
    expect(last(steps)).toMatchObject({ status: "paused", pauseReason: "failing", warning: 100 });
  });

  test("begins anew after any success", () => {
    const steps = follow([...manyFailures(30, 70), success("d0", 71), failure("d1", 72.5), failure("d2", 90)]);
    expect(last(steps)).toMatchObject({ status: "active", pauseReason: null });
    expect(last(steps)?.health).toMatchObject({ failures: 2, failingSince: START + 72.5 * HOUR });
  });

  test("keeps no more ids than the rule needs", () => {
    const steps = follow(Array.from({ length: 50 }, (_, index) => failure(`d${index}`, 0, 410)));
    expect(last(steps)?.health.failedDeliveries).toHaveLength(3);
    expect(last(steps)?.health.goneAnswers).toBe(3);
  });
});

describe("warnings", () => {
  test("come at 25, 50 and 100 %, each once", () => {
    const hours = Array.from({ length: 80 }, (_, index) => index);
    const steps = follow(hours.map((hour) => failure(`d${hour % 5}`, hour)));
    expect(warnings(steps)).toEqual([25, 50, 100]);
    expect([25, 50, 100].map((level) => steps.findIndex(({ warning }) => warning === level))).toEqual([18, 36, 72]);
  });

  test("a jump from 24 to 58 % gives 50 alone, and no 25 afterwards", () => {
    const hours = [0, 7.2, 17.9, 41.8, 44];
    expect(warnings(follow(hours.map((hour) => failure("a", hour))))).toEqual([50]);
  });

  test("at 25 and 50 % need neither many failures nor several deliveries; without these no 100 follows", () => {
    const steps = follow([0, 18, 36, 54, 72, 90].map((hour) => failure("only", hour)));
    expect(warnings(steps)).toEqual([25, 50]);
    expect(last(steps)?.status).toBe("active");
  });

  test("are given again after a success", () => {
    const steps = follow([failure("a", 0), failure("a", 20), success("a", 21), failure("b", 22), failure("b", 41)]);
    expect(warnings(steps)).toEqual([25, 25]);
  });

  test("are not given again when a result comes late", () => {
    const hours = [0, 20, 40, 19, -1, 41];
    expect(warnings(follow(hours.map((hour) => failure("a", hour))))).toEqual([25, 50]);
  });
});

describe("silence", () => {
  test("of more than a day ends a stretch of failing: nothing of it counts any more but answers 410", () => {
    const before = follow([...manyFailures(30, 60), gone("d9", 60)]);
    const joined = last(follow([failure("d0", 84, null)], last(before)));
    expect(joined).toMatchObject({ status: "paused", pauseReason: "failing", health: { failures: 32 } });
    const anew = last(follow([failure("d0", 84.001, null)], last(before)));
    const endedAt = START + 84.001 * HOUR;
    expect(anew).toEqual({
      health: {
        failingSince: endedAt,
        lastFailedAt: endedAt,
        failures: 1,
        failedDeliveries: ["d0"],
        goneAnswers: 1,
        goneSince: START + 60 * HOUR,
        warned: 0,
      },
      status: "active",
      pauseReason: null,
      warning: null,
    });
  });

  test("is not taken for the wait between two attempts of one delivery, jitter and time-out included", () => {
    expect(SILENCE_MS).toBeGreaterThan(Math.max(...RETRY_DELAYS_MS) * 1.1 + 15_000);
  });

  test("lets an endpoint that gets an event a week be warned of each and never paused", () => {
    const tries = RETRY_DELAYS_MS.map((_, index) =>
      RETRY_DELAYS_MS.slice(0, index + 1).reduce((sum, ms) => sum + ms, 0),
    );
    const weeks = Array.from({ length: 52 }, (_, week) => week * 7 * 24);
    const steps = follow(weeks.flatMap((week) => tries.map((ms) => failure(`w${week}`, week + ms / HOUR))));
    expect(new Set(steps.map(({ status }) => status))).toEqual(new Set(["active"]));
    expect(warnings(steps)).toEqual(weeks.flatMap(() => [25, 50]));
  });

  test("between answers 410 changes nothing: three events a month apart pause", () => {
    expect(last(follow([gone("a", 0), gone("b", 720), gone("c", 1_440)]))?.pauseReason).toBe("gone");
  });
});

describe("410 Gone", () => {
  const MINUTE = 1 / 60;

  test("three times over a minute pauses", () => {
    const steps = follow([gone("a", 0), gone("b", MINUTE / 2), gone("c", MINUTE)]);
    expect(steps.map(({ status }) => status)).toEqual(["active", "active", "paused"]);
    expect(last(steps)).toMatchObject({ pauseReason: "gone", warning: null });
  });

  test("any number of times within a minute does not, and the first after the minute does", () => {
    const burst = Array.from({ length: 40 }, (_, index) => gone(`d${index}`, (0.999 * MINUTE * index) / 39));
    expect(last(follow(burst))?.status).toBe("active");
    expect(last(follow([...burst, gone("late", MINUTE)]))?.pauseReason).toBe("gone");
  });

  test("twice does not, however far apart; for one delivery alone it does, as for several", () => {
    expect(last(follow([gone("a", 0), gone("b", 10)]))?.status).toBe("active");
    expect(last(follow([gone("a", 0), gone("a", 10), gone("a", 11)]))?.pauseReason).toBe("gone");
  });

  test.each([
    ["another status", failure("x", 1, 500)],
    ["another status for one of them", failure("a", 1, 404)],
    ["a success", success("x", 1)],
  ])("%s in between begins the row anew", (_, between) => {
    const steps = follow([gone("a", 0), gone("b", 1), between, gone("c", 2), gone("d", 3)]);
    expect(last(steps)?.status).toBe("active");
    expect(last(follow([gone("e", 3)], last(steps)))?.pauseReason).toBe("gone");
  });

  test.each([
    ["a time-out", failure("x", 1, null)],
    ["an unknown result", unknown("x", 1)],
    ["an answer that broke off", { ...failure("x", 1, 500), outcome: "failed" as const }],
  ])("%s in between does not count as an answer and does not interrupt a series of 410 responses", (_, between) => {
    expect(last(follow([gone("a", 0), gone("b", 1), between, gone("c", 2)]))?.pauseReason).toBe("gone");
  });

  test("that broke off counts as a failure, not as 410", () => {
    const cut = (id: string, hours: number) => ({ ...gone(id, hours), outcome: "failed" as const });
    expect(last(follow([cut("a", 0), cut("b", 1), cut("c", 2)]))).toMatchObject({
      status: "active",
      health: { failures: 3 },
    });
  });
});

describe("a probed endpoint", () => {
  const probing = { health: HEALTHY, status: "probing" } as const;

  test("is active and has nothing against it after the first success", () => {
    expect(follow([success("a", 0)], probing)).toEqual([
      { health: HEALTHY, status: "active", pauseReason: null, warning: null },
    ]);
  });

  test.each([
    ["a connection failure", failure("a", 0)],
    ["no answer", failure("a", 0, null)],
    ["410", gone("a")],
  ])("is paused again by %s", (_, result) => {
    const [after] = follow([result], probing);
    expect(after).toMatchObject({ status: "paused", pauseReason: "probe_failed", warning: null });
  });

  test("goes on being probed when a result is unknown", () => {
    expect(follow([unknown("a", 0)], probing)).toEqual([{ ...probing, pauseReason: null, warning: null }]);
  });
});

test("an unknown result does not count as a failure of the receiver", () => {
  const health = {
    ...HEALTHY,
    failingSince: START,
    lastFailedAt: START,
    failures: 19,
    failedDeliveries: ["a", "b", "c"],
    warned: 50,
  };
  const steps = follow([unknown("d", 100)], { health });
  expect(steps).toEqual([{ health, status: "active", pauseReason: null, warning: null }]);
});

test.each([success("a", 1), failure("a", 90), gone("c", 1), unknown("a", 1)])(
  "what ends at a paused endpoint changes nothing: $outcome",
  (result) => {
    const health = {
      ...HEALTHY,
      failingSince: START,
      lastFailedAt: START,
      failures: 40,
      failedDeliveries: ["a", "b", "c"],
      warned: 50,
    };
    const paused = { health: { ...health, goneAnswers: 2, goneSince: START }, status: "paused" } as const;
    expect(follow([result], paused)).toEqual([{ ...paused, pauseReason: null, warning: null }]);
  },
);
