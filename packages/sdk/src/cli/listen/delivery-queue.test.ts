import { expect, it } from "vitest";
import type { EventRecord } from "../../json-types.generated.ts";
import { createDeliveryQueue, type DeliveryQueue } from "./delivery-queue.ts";

/** Returns an event about a resource, which may have no id. */
function event(id: string, about?: string): EventRecord {
  return { id, event: "ride.started", occurred_at: "2026-06-01T12:00:00.000Z", data: { id: about } } as EventRecord;
}

/** Starts all deliveries that may start, and returns their ids. */
function startAll(queue: DeliveryQueue, now = 0): string[] {
  const started: string[] = [];
  for (let next = queue.next(now); next !== undefined; next = queue.next(now)) started.push(next.event.id);
  return started;
}

const [a1, a2, a3, b1, b2] = [event("a1", "a"), event("a2", "a"), event("a3", "a"), event("b1", "b"), event("b2", "b")];

it("starts as many deliveries as the concurrency allows, the oldest first", () => {
  const queue = createDeliveryQueue(undefined, 3);
  const events = Array.from({ length: 5 }, (_, n) => event(`e${n}`, `thing-${n}`));
  for (const each of events) queue.add(each);
  expect([startAll(queue), queue.inFlight, queue.size]).toEqual([["e0", "e1", "e2"], 3, 5]);
  queue.remove(events[1]!);
  expect([startAll(queue), queue.inFlight, queue.size]).toEqual([["e3"], 3, 4]);
});

it("delivers events about one resource one after the other, and those about others concurrently", () => {
  const queue = createDeliveryQueue(undefined, 10);
  for (const each of [a1, a2, b1, a3, b2]) queue.add(each);
  expect(startAll(queue)).toEqual(["a1", "b1"]);
  queue.remove(b1);
  expect(startAll(queue)).toEqual(["b2"]);
  queue.remove(a1);
  expect(startAll(queue)).toEqual(["a2"]);
});

it("treats events about resources without an id as unrelated", () => {
  const queue = createDeliveryQueue(undefined, 10);
  for (const id of ["x", "y"]) queue.add(event(id));
  expect(startAll(queue)).toEqual(["x", "y"]);
});

it("retries a failed delivery when it is due, and sends others about the same resource meanwhile", () => {
  const queue = createDeliveryQueue(undefined, 10);
  for (const each of [a1, a2]) queue.add(each);
  expect(queue.next(0)).toEqual({ event: a1, attempts: 0 });
  queue.retryAt(a1, 1, 1000);
  expect(startAll(queue, 999)).toEqual(["a2"]);
  queue.remove(a2);
  expect([queue.next(999), queue.next(1000)]).toEqual([undefined, { event: a1, attempts: 1 }]);
});

it("has the event before the oldest unfinished one as its checkpoint, and the last event when all are finished", () => {
  const queue = createDeliveryQueue("start", 10);
  expect(queue.checkpoint()).toBe("start");
  for (const each of [b1, a1, b2]) queue.add(each);
  startAll(queue);
  queue.remove(a1);
  expect(queue.checkpoint()).toBe("start");
  queue.remove(b1);
  expect(queue.checkpoint()).toBe("a1");
  startAll(queue);
  queue.retryAt(b2, 1, 9_000);
  expect(queue.checkpoint()).toBe("a1");
  queue.remove(b2);
  expect(queue.checkpoint()).toBe("b2");
});
