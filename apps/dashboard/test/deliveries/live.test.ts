import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { follow } from "../../src/pages/deliveries/live.ts";

/** The browser's streams: each can report an event, or be refused by the server. */
class Streams extends EventTarget {
  static readonly CLOSED = 2;
  static all: Streams[] = [];
  readyState = 1;
  constructor() {
    super();
    Streams.all.push(this);
  }
  refuse(): void {
    this.readyState = Streams.CLOSED;
    this.dispatchEvent(new Event("error"));
  }
  close(): void {
    this.readyState = Streams.CLOSED;
  }
}

beforeEach(() => {
  Streams.all = [];
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Streams);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("a stream that a restarting server has refused is opened again, and what was missed is read", () => {
  const changed = vi.fn();
  const stop = follow("/live", changed);
  Streams.all[0]?.refuse();
  vi.advanceTimersByTime(60_000);
  expect(Streams.all).toHaveLength(2);
  expect(changed).toHaveBeenCalledTimes(1);
  Streams.all[1]?.dispatchEvent(new Event("deliveries"));
  expect(changed).toHaveBeenCalledTimes(2);
  stop();
  vi.advanceTimersByTime(60_000);
  expect(Streams.all).toHaveLength(2);
});

it("a page that is left opens no stream again", () => {
  const stop = follow("/live", () => undefined);
  Streams.all[0]?.refuse();
  stop();
  vi.advanceTimersByTime(60_000);
  expect(Streams.all).toHaveLength(1);
});
