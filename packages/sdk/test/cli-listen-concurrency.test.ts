import { expect, it } from "vitest";
import type { Environment } from "../src/cli/environment.ts";
import { createDispatcher } from "../src/cli/listen/dispatcher.ts";
import type { Ride } from "../src/json-types.generated.ts";
import { useListenHarness } from "./cli-listen.harness.ts";
import { type Received, type Reply, type Run, type RunOptions, until } from "./cli.harness.ts";

const harness = useListenHarness();

function listen(args: readonly string[] = [], options?: RunOptions): Run {
  const target = ["--forward-to", `${harness().receiver.url}/hooks`, "--json", "--since", "oldest"];
  return harness().listen([...target, ...args], options);
}

/** Lets the receiver hold its answers until `release` is called. */
function hold(isHeld: (request: Received) => boolean = () => true): { release(reply?: Reply): void } {
  const held: ((reply: Reply) => void)[] = [];
  const later = () =>
    new Promise<Reply>((resolve) => {
      held.push(resolve);
    });
  harness().answer = (request) => (isHeld(request) ? later() : {});
  return {
    release: (reply = {}) => {
      for (const answer of held.splice(0)) answer(reply);
    },
  };
}

/** Waits until the program has polled for events a few more times. */
async function untilPolledAgain(begun: Run): Promise<void> {
  const before = begun.waits.length;
  await until(() => begun.waits.length > before + 3);
}

/** The longest delay between probes of a receiver that is down. It is reached after four refused requests. */
const LONGEST_PROBE_DELAY_MS = 10_000;

const about = (n: number) => ({ about: `ride-${n}` });
const received = () =>
  harness()
    .numbers()
    .toSorted((a, b) => a - b);

it("a slow response to one delivery delays neither the others nor later events", async () => {
  const { release } = hold(({ body }) => body.includes("_00000listen"));
  for (let n = 0; n < 5; n++) harness().happen(1, about(n));
  const begun = listen();
  await until(() => begun.lines().length === 1 + 4);
  harness().happen(1, about(5));
  await until(() => begun.lines().length === 1 + 5);
  expect(received()).toEqual([0, 1, 2, 3, 4, 5]);
  release();
  await until(() => begun.lines().length === 1 + 6);
});

it.each([
  [[], 10],
  [["--concurrency", "1"], 1],
  [["--concurrency", "3"], 3],
])("with %j at most %i deliveries are in flight", async (args, most) => {
  const { release } = hold();
  for (let n = 0; n < 25; n++) harness().happen(1, about(n));
  const begun = listen(args);
  await until(() => harness().receiver.received.length === most);
  await untilPolledAgain(begun);
  expect(harness().receiver.received).toHaveLength(most);
  while (begun.lines().length < 1 + 25) {
    release();
    await new Promise(setImmediate);
  }
  expect(received()).toEqual(Array.from({ length: 25 }, (_, n) => n));
});

it("events about one ride are delivered in order, one after the other, and others concurrently", async () => {
  const { release } = hold(({ body }) => body.includes(`"ride-1"`));
  harness().happen(2, about(1));
  harness().happen(2, about(2));
  const begun = listen();
  await until(() => begun.lines().length === 1 + 2);
  await untilPolledAgain(begun);
  expect(received()).toEqual([0, 2, 3]);
  release();
  await until(() => harness().receiver.received.length === 4);
  release();
  await until(() => begun.lines().length === 1 + 4);
});

it("takes no more events while a hundred are unfinished", async () => {
  const { release } = hold();
  const { clock } = listen();
  const options = { target: new URL(harness().receiver.url), secret: "whsec_x", start: undefined, concurrency: 100 };
  const wait = () => new Promise<void>(() => {});
  const environment = { clock, wait, stopped: new AbortController().signal } as unknown as Environment; // what it uses
  const dispatcher = createDispatcher({ ...options, environment, output: { result() {}, note() {}, progress() {} } });
  const take = (n: number) => {
    const data = { id: `ride-${n}` } as Ride;
    return dispatcher.write({ id: `event_${n}`, event: "ride.started", occurred_at: "2026-06-01T12:00:00Z", data });
  };
  for (let n = 1; n < 100; n++) await take(n);
  let isTaken = false;
  const hundredth = take(100).then(() => (isTaken = true));
  await until(() => harness().receiver.received.length === 100);
  expect(isTaken).toBe(false);
  release();
  await hundredth;
});

it("when stopped, it sends no more, waits for requests in flight, and counts them", async () => {
  const { release } = hold();
  for (let n = 0; n < 15; n++) harness().happen(1, about(n));
  const begun = listen([], { blockedWaitMs: 2_000 });
  await until(() => harness().receiver.received.length === 10);
  begun.stop();
  release();
  expect(await begun.ended).toBe(0);
  expect(received()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(begun.lines().at(-1)).toEqual({ ended: true, delivered: 10, failed: 0, since: "event_00009" });
});

it("requests in flight two seconds after the stop are cut off, and sent again when it continues", async () => {
  hold(({ body }) => body.includes("_00001listen"));
  for (let n = 0; n < 4; n++) harness().happen(1, about(n));
  const begun = listen();
  await until(() => begun.lines().length === 1 + 3 && harness().receiver.received.length === 4);
  begun.stop();
  expect(await begun.ended).toBe(0);
  expect(begun.waits.at(-1)).toBe(2_000);
  const last = begun.lines().at(-1);
  expect(last).toEqual({ ended: true, delivered: 3, failed: 0, since: "event_00000" });
  harness().answer = () => ({});
  listen(["--since", String(last?.["since"])]);
  await until(() => harness().receiver.received.length === 4 + 3);
  expect(received()).toEqual([0, 1, 1, 2, 2, 3, 3]);
});

it("a receiver that fails every second request, and is down for a while, gets every event", async () => {
  let requests = 0;
  harness().answer = () => ({ status: requests++ % 2 === 0 ? 503 : 200 });
  const begun = listen();
  const taken = () => begun.lines().filter(({ status }) => status === 200).length;
  for (let n = 0; n < 20; n++) harness().happen(1, about(n));
  await until(() => taken() === 20);
  await harness().receiver.close();
  for (let n = 20; n < 40; n++) harness().happen(1, about(n));
  await until(() => begun.stderr().includes("Nothing listens"));
  await harness().receiver.listen();
  await until(() => taken() === 40);
  expect(new Set(received())).toEqual(new Set(Array.from({ length: 40 }, (_, n) => n)));
});

it("a single request probes whether something listens again, then all are sent", async () => {
  await harness().receiver.close();
  for (let n = 0; n < 8; n++) harness().happen(1, about(n));
  const begun = listen();
  // The eight requests cause at most four of these delays. At the fifth all were refused, and single requests probe.
  await until(() => begun.waits.filter((ms) => ms === LONGEST_PROBE_DELAY_MS).length >= 5);
  const { release } = hold();
  await harness().receiver.listen();
  await until(() => harness().receiver.received.length > 0);
  await untilPolledAgain(begun);
  expect(received()).toEqual([0]);
  release();
  await until(() => harness().receiver.received.length === 8);
  release();
  await until(() => begun.lines().length === 1 + 8);
  expect(begun.stderr().match(/Nothing listens/g)).toHaveLength(1);
});

it("a retry is sent even if its timer fires a millisecond early by the clock", async () => {
  let requests = 0;
  harness().answer = () => ({ status: requests++ === 0 ? 503 : 200 });
  harness().happen(1);
  const begun = listen([], { earlyMs: 1 });
  await until(() => begun.lines().at(-1)?.["status"] === 200);
  expect(received()).toEqual([0, 0]);
});

it("a receiver that is down is probed even if a timer fires a millisecond early by the clock", async () => {
  await harness().receiver.close();
  harness().happen(1);
  const begun = listen([], { earlyMs: 1 });
  await until(() => begun.stderr().includes("Nothing listens"));
  await harness().receiver.listen();
  await until(() => begun.lines().at(-1)?.["status"] === 200);
  expect(received()).toEqual([0]);
});

it("a program that fails ends at once, though deliveries wait for a retry", async () => {
  harness().answer = () => ({ status: 500 });
  harness().happen(1);
  const begun = listen([], { blockedWaitMs: 1_000 });
  await until(() => begun.lines().length === 2);
  harness().outage = { status: 403, body: { error: "forbidden", message: "Not yours." } };
  expect(await begun.ended).toBe(1);
  expect(begun.lines().at(-1)).toEqual({ ended: true, delivered: 0, failed: 0, since: null });
});

it("--print prints each event as a line of JSON on stdout, and all else on stderr", async () => {
  harness().happen(2, about(1));
  const begun = harness().listen(["--print", "--since", "oldest"]);
  await until(() => begun.lines().length === 2);
  begun.stop();
  expect(await begun.ended).toBe(0);
  expect(begun.lines()).toEqual([
    { id: "event_00000", event: "ride.completed", occurred_at: expect.any(String) as string, data: { id: "ride-1" } },
    { id: "event_00001", event: "ride.completed", occurred_at: expect.any(String) as string, data: { id: "ride-1" } },
  ]);
  expect(begun.stderr()).toBe("Ready. Stop with Ctrl-C.\n2 printed. Continue with --since event_00001\n");
  expect(harness().receiver.received).toEqual([]);
});

it("--print with --forward-to does both", async () => {
  harness().happen(1, about(1));
  const begun = listen(["--print"]);
  await until(() => begun.stderr().includes("  200  ride.completed  event_00000  "));
  begun.stop();
  await begun.ended;
  expect(begun.lines()).toMatchObject([{ id: "event_00000" }]);
  expect(begun.stderr()).toMatch(
    /^Signing with whsec_[^]*1 delivered, 0 failed\. Continue with --since event_00000\n$/,
  );
});
