import { expect, it } from "vitest";
import type { EventRecord } from "../wire.generated.ts";
import { createDeliveryLine, type DeliveryLine } from "./delivery-line.ts";

/** An event about a thing, which may have no id. */
function event(id: string, about?: string): EventRecord {
  return { id, event: "ride.started", occurred_at: "2026-06-01T12:00:00.000Z", data: { id: about } } as EventRecord;
}

/** Sends all on their way that may go. */
function depart(line: DeliveryLine, now = 0): string[] {
  const gone: string[] = [];
  for (let next = line.depart(now); next !== undefined; next = line.depart(now)) gone.push(next.event.id);
  return gone;
}

const [a1, a2, a3, b1, b2] = [event("a1", "a"), event("a2", "a"), event("a3", "a"), event("b1", "b"), event("b2", "b")];

it("lets as many go at once as there is room for, the oldest first", () => {
  const line = createDeliveryLine(undefined, 3);
  const events = Array.from({ length: 5 }, (_, n) => event(`e${n}`, `thing-${n}`));
  for (const each of events) line.add(each);
  expect([depart(line), line.open, line.size]).toEqual([["e0", "e1", "e2"], 3, 5]);
  line.done(events[1]!);
  expect([depart(line), line.open, line.size]).toEqual([["e3"], 3, 4]);
});

it("lets events about one thing go one after the other, and those about others beside them", () => {
  const line = createDeliveryLine(undefined, 10);
  for (const each of [a1, a2, b1, a3, b2]) line.add(each);
  expect(depart(line)).toEqual(["a1", "b1"]);
  line.done(b1);
  expect(depart(line)).toEqual(["b2"]);
  line.done(a1);
  expect(depart(line)).toEqual(["a2"]);
});

it("takes events about things without an id for unrelated", () => {
  const line = createDeliveryLine(undefined, 10);
  for (const id of ["x", "y"]) line.add(event(id));
  expect(depart(line)).toEqual(["x", "y"]);
});

it("lets what failed go again when it is due, and lets others about the same thing pass it meanwhile", () => {
  const line = createDeliveryLine(undefined, 10);
  for (const each of [a1, a2]) line.add(each);
  expect(line.depart(0)).toEqual({ event: a1, tries: 0 });
  line.again(a1, 1, 1000);
  expect(depart(line, 999)).toEqual(["a2"]);
  line.done(a2);
  expect([line.depart(999), line.depart(1000)]).toEqual([undefined, { event: a1, tries: 1 }]);
});

it("is continued behind the last event before the oldest that is not done, and behind the last when all are", () => {
  const line = createDeliveryLine("start", 10);
  expect(line.checkpoint()).toBe("start");
  for (const each of [b1, a1, b2]) line.add(each);
  depart(line);
  line.done(a1);
  expect(line.checkpoint()).toBe("start");
  line.done(b1);
  expect(line.checkpoint()).toBe("a1");
  depart(line);
  line.again(b2, 1, 9_000);
  expect(line.checkpoint()).toBe("a1");
  line.done(b2);
  expect(line.checkpoint()).toBe("b2");
});
