import { describe, expect, test } from "vitest";
import { type Delivery, deliveryAfter, type DeliveryEvent, deliveryTransitions, newDelivery } from "./delivery.ts";

const NOW = Date.parse("2026-06-01T12:00:00.000Z");
const failedAttempt = {
  type: "attempt_ended",
  outcome: "rejected",
  status: 500,
  failure: null,
  endedAt: NOW + 1,
  retryAfterMs: null,
  chance: 0,
} as const;
const successfulAttempt = { ...failedAttempt, outcome: "succeeded", status: 200 } as const;
const claimed = { type: "claimed", now: NOW } as const;

/** Applies events to a delivery. @returns the delivery afterwards @throws if an event is not possible */
function after(delivery: Delivery, ...events: readonly DeliveryEvent[]): Delivery {
  let now = delivery;
  for (const event of events) {
    const next = deliveryAfter(now, event);
    if (next === "conflict") throw new Error(`${event.type} cannot happen to ${JSON.stringify(now)}`);
    now = next;
  }
  return now;
}

const pending = newDelivery(false, NOW);
const underWay = after(pending, claimed);
const succeeded = after(underWay, successfulAttempt);
const failed = after({ ...underWay, attempts: 13, tries: 13 }, failedAttempt);
const held = after(pending, { type: "endpoint_paused" });

test("a delivery begins due at once, or held while its endpoint is paused", () => {
  expect(pending).toEqual({ state: "pending", attempts: 0, tries: 0, crashes: 0, dueAt: NOW, underWay: false });
  expect(newDelivery(true, NOW)).toEqual({
    state: "held",
    attempts: 0,
    tries: 0,
    crashes: 0,
    dueAt: null,
    underWay: false,
  });
});

describe("an attempt", () => {
  test("that succeeds ends the delivery", () => {
    expect(succeeded).toEqual({ state: "succeeded", attempts: 1, tries: 1, crashes: 0, dueAt: null, underWay: false });
  });

  test("that fails leaves it pending until the schedule's next time", () => {
    const again = after(underWay, failedAttempt);
    expect(again).toEqual({ state: "pending", attempts: 1, tries: 1, crashes: 0, dueAt: NOW + 5_001, underWay: false });
  });

  test("that is the schedule's last and fails ends it as failed", () => {
    expect(failed).toEqual({ state: "failed", attempts: 14, tries: 14, crashes: 0, dueAt: null, underWay: false });
  });

  test("is possible only when it is due, and by one process at a time", () => {
    expect(deliveryAfter(pending, { ...claimed, now: NOW - 1 })).toBe("conflict");
    expect(deliveryAfter(underWay, claimed)).toBe("conflict");
    for (const at of [succeeded, failed, held]) expect(deliveryAfter(at, claimed)).toBe("conflict");
  });

  test("ends only where one was under way", () => {
    for (const at of [pending, succeeded, failed, held]) expect(deliveryAfter(at, failedAttempt)).toBe("conflict");
  });

  test("that was never made is given back as it was, and counts for nothing", () => {
    expect(after(underWay, { type: "released" })).toEqual(pending);
    expect(deliveryAfter(pending, { type: "released" })).toBe("conflict");
  });
});

describe("a pause", () => {
  test("holds what waits and leaves what is at rest", () => {
    expect(held).toEqual({ state: "held", attempts: 0, tries: 0, crashes: 0, dueAt: null, underWay: false });
    for (const at of [succeeded, failed, held]) expect(deliveryAfter(at, { type: "endpoint_paused" })).toBe(at);
  });

  test("lets an attempt under way end first: it may still succeed, else the delivery is held then", () => {
    const waiting = after(underWay, { type: "endpoint_paused" });
    expect(waiting).toBe(underWay);
    expect(after(waiting, successfulAttempt).state).toBe("succeeded");
    expect(after(waiting, failedAttempt, { type: "endpoint_paused" })).toEqual({ ...held, attempts: 1 });
  });

  test("ends for one held delivery, the probe, which waits for the others' sake no longer than it must", () => {
    expect(after(held, { type: "probe_chosen", now: NOW + 9 })).toEqual({ ...pending, dueAt: NOW + 9 });
    expect(deliveryAfter(failed, { type: "probe_chosen", now: NOW })).toBe("conflict");
  });
});

describe.each(["redelivered", "replayed"] as const)("a delivery that is %s", (type) => {
  test.each([
    ["succeeded", succeeded],
    ["failed", failed],
    ["held", held],
  ])("after it was %s is due at once with a fresh schedule, while its attempts are numbered on", (_, at) => {
    const again = after(at, { type, now: NOW + 7 });
    expect(again).toEqual({
      state: "pending",
      attempts: at.attempts,
      tries: 0,
      crashes: 0,
      dueAt: NOW + 7,
      underWay: false,
    });
    const next = after(again, { type: "claimed", now: NOW + 7 }, failedAttempt);
    expect(next).toMatchObject({ attempts: at.attempts + 1, tries: 1, crashes: 0, dueAt: NOW + 5_001 });
  });

  test("while it is pending stays as it is", () => {
    for (const at of [pending, underWay]) expect(deliveryAfter(at, { type, now: NOW + 7 })).toBe(at);
  });
});

test("no state is a dead end but by success, and every state can be reached", () => {
  const follows = (from: keyof typeof deliveryTransitions) =>
    new Set(Object.values(deliveryTransitions[from]).filter((to) => to !== "same" && to !== "conflict"));
  expect(follows("pending")).toEqual(new Set(["pending", "succeeded", "failed", "held"]));
  for (const from of ["succeeded", "failed"] as const) expect(follows(from)).toEqual(new Set(["pending"]));
  // A held delivery is sent, or dropped on request.
  expect(follows("held")).toEqual(new Set(["pending", "failed"]));
});
