import { readFileSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import { BikeShare, isBikeShareError } from "../src/index.ts";
import type { RequestOptions } from "../src/options.ts";
import { createFakeBikeShare, type ScriptedAnswer } from "../src/testing.ts";

/**
 * A case: what goes wrong with a call's requests, and the call's expected result. The client in Python has the same cases.
 */
interface Fault {
  readonly name: string;
  readonly call: "get" | "walk" | "changes" | "create" | "extend" | "cancel";
  readonly options?: RequestOptions;
  readonly answers: readonly (ScriptedAnswer | number)[];
  readonly expect: {
    readonly requests: number;
    readonly error?: string;
    readonly code?: string;
    readonly status?: number;
    readonly retryAfterSeconds?: number;
    /** The number of items that a walk returns. */
    readonly items?: number;
    /** The number of active reservations afterwards. */
    readonly reservations?: number;
    /** The minutes that an extension has added. */
    readonly minutes?: number;
  };
}

const faults = JSON.parse(readFileSync(new URL("faults.json", import.meta.url), "utf8")) as readonly Fault[];

afterEach(() => {
  vi.useRealTimers();
});

/** Creates a fake with bikes, five rides and, if the call needs it, a reservation. */
async function setUp({ call, options }: Fault) {
  const bikes = ["b1", "b2"].map((id) => ({ id, station_id: "s1" }));
  const rides = Array.from({ length: 5 }, (_, n) => ({ id: `r${n}`, bike_id: "b1" }));
  const fake = createFakeBikeShare({ stations: [{ id: "s1" }], bikes, rides, rateLimit: 1000 });
  const client = new BikeShare(fake.options);
  const held = call === "extend" || call === "cancel" ? await client.reservations.create({ bike_id: "b1" }) : undefined;
  const id = held?.id ?? "";
  const calls: Record<Fault["call"], () => PromiseLike<unknown>> = {
    get: () => client.stations.get("s1", options),
    walk: () => client.rides.list({ limit: 2 }, options).toArray({ limit: Infinity }),
    changes: () => client.bikes.changesSince(undefined, {}, options).toArray({ limit: Infinity }),
    create: () => client.reservations.create({ station_id: "s1" }, options),
    extend: () => client.reservations.extend(id, { hold_minutes: 5 }, options),
    cancel: () => client.reservations.cancel(id, options),
  };
  return { fake, client, held, run: calls[call] };
}

it.each(faults)("$name", async (fault) => {
  const { fake, client, held, run } = await setUp(fault);
  const { requests, items, reservations, minutes, ...error } = fault.expect;
  const before = fake.requests.length;
  fake.script(fault.answers.map((answer) => (typeof answer === "number" ? { status: answer } : answer)));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  vi.spyOn(Math, "random").mockReturnValue(0);
  const called = Promise.resolve(run()).catch((thrown: unknown) => thrown);
  await vi.runAllTimersAsync();
  const outcome = await called;
  vi.useRealTimers();
  expect(fake.requests.length - before).toBe(requests);
  if (error.error === undefined) expect(outcome).not.toBeInstanceOf(Error);
  else {
    if (!isBikeShareError(outcome)) throw new Error(`it is no error: ${JSON.stringify(outcome)}`);
    const { name, code, status, retryAfterMs } = outcome;
    const { retryAfterSeconds } = error;
    expect({ name, code, status }).toEqual({ name: error.error, code: error.code, status: error.status });
    if (retryAfterSeconds !== undefined) expect(retryAfterMs).toBe(retryAfterSeconds * 1000);
  }
  if (items !== undefined) expect(outcome).toHaveLength(items);
  if (reservations !== undefined) {
    expect((await client.reservations.list({ status: "active" })).data).toHaveLength(reservations);
  }
  if (minutes !== undefined) {
    const { expires_at: ends } = await client.reservations.get(held?.id ?? "");
    expect(Date.parse(ends) - Date.parse(held?.expires_at ?? "")).toBe(minutes * 60_000);
  }
});

it("there are 35 faults", () => {
  expect(faults).toHaveLength(35);
});
