import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import {
  type DispatchHarness,
  type HarnessEndpoint,
  openDispatchHarness,
} from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, createGate, type Gate } from "../../../test/webhooks/far.ts";
import { resumeEndpoint } from "../endpoints/endpoint-settings.ts";
import { showEndpoint } from "../endpoints/endpoint-view.ts";
import { createReplay } from "../log/resend.ts";

let harness: DispatchHarness;
let endpoint: HarnessEndpoint;
let canary: HarnessEndpoint;
let gate: Gate;
beforeEach(async () => {
  harness = await openDispatchHarness();
  endpoint = await harness.endpoint();
  canary = await harness.endpoint({ event: "ride.completed" });
  gate = createGate();
  harness.far.respond = (request) => (request.url === endpoint.url ? gate.wait(request) : answered(204));
});
afterEach(async () => {
  harness.far.respond = () => answered(204);
  gate.open();
  await harness.close();
});

const scope = () => ({ systemId: harness.systemId, partnerId: endpoint.partnerId });
const received = () => harness.far.received(endpoint.url);
const status = async () => {
  const { status: now, pause_reason: reason } = await showEndpoint(harness, scope());
  return reason === null ? now : `${now}: ${reason}`;
};

/** Waits until the dispatcher has gone through everything twice, so that it has sent all that it can send. */
async function lookedThrough(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const before = harness.far.received(canary.url).length;
    harness.reload();
    await harness.happen(1, { event: "ride.completed" });
    await until(() => harness.far.received(canary.url).length > before);
    await harness.drained(canary.id);
  }
}

async function states(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status: state } of await harness.deliveries(endpoint.id)) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

/** Answers one of the ten attempts in flight with 410, and waits until another takes its place. */
async function firstGone(): Promise<void> {
  gate.open(answered(410), 1);
  await until(async () => (await harness.attempts(endpoint.id)).length === 1 && gate.waiting.length === 10);
}

/** Pauses the endpoint with three answers 410 to eleven attempts. The last two answers come a minute after the first. */
async function pausedAsGone(events: number): Promise<void> {
  await harness.happen(events);
  harness.worker();
  await until(() => gate.waiting.length === 10);
  await firstGone();
  harness.clock.advance(60_000);
  gate.open(answered(410), 2);
  await until(async () => (await status()) === "paused: gone");
}

test("410 three times over a minute pauses: what is in flight ends, all the rest is held, nothing more is sent", async () => {
  await pausedAsGone(40);
  gate.open(answered(204));
  await harness.happen(5);
  await harness.drained(endpoint.id);
  await lookedThrough();
  expect(received()).toHaveLength(11);
  expect(await states()).toEqual({ succeeded: 8, held: 37 });
  expect(await status()).toBe("paused: gone");
});

test("410 any number of times within a minute pauses nothing, and everything arrives afterwards", async () => {
  harness.far.respond = ({ url }) => (url === endpoint.url ? answered(410) : answered(204));
  await harness.happen(40);
  harness.worker();
  await until(async () => (await harness.attempts(endpoint.id)).length === 40);
  expect(await status()).toBe("active");
  harness.far.respond = () => answered(204);
  harness.clock.advance(59_000);
  harness.wake();
  await harness.drained(endpoint.id);
  expect(await states()).toEqual({ succeeded: 40 });
});

test("a pause that nobody is told of is kept from the very answer that caused it", async () => {
  await harness.happen(100);
  harness.worker();
  await until(() => gate.waiting.length === 10);
  await firstGone();
  harness.clock.advance(60_000);
  harness.far.respond = ({ url }) => (url === endpoint.url ? answered(410) : answered(204));
  gate.open(answered(410));
  await until(async () => (await status()) === "paused: gone");
  await harness.drained(endpoint.id);
  await lookedThrough();
  // Eleven attempts were sent, and at most one more after each of two answers 410.
  expect(received().length).toBeLessThanOrEqual(13);
});

test("a resume sends exactly one probe; its success lets everything new through, and a replay the exact rest", async () => {
  await pausedAsGone(40);
  gate.open(answered(204));
  await harness.drained(endpoint.id);
  const resumed = await resumeEndpoint(harness, scope());
  harness.reload();
  await until(() => gate.waiting.length === 1);
  await harness.happen(4);
  await lookedThrough();
  expect(received().slice(11)).toEqual([resumed.probe]);
  gate.open(answered(204));
  await until(() => gate.waiting.length === 4);
  // The new status is written a moment after the dispatcher acts on it.
  await until(async () => (await status()) === "active");
  gate.open(answered(204));
  await harness.drained(endpoint.id);
  expect(await states()).toEqual({ succeeded: 13, held: 31 });

  const held = (await harness.deliveries(endpoint.id)).filter((delivery) => delivery.status === "held");
  const range = { ...scope(), since: new Date(0), statuses: ["held" as const] };
  const counted = await createReplay(harness, { ...range, dryRun: true });
  const replay = await createReplay(harness, range);
  expect([counted.total, replay.total]).toEqual([31, 31]);
  harness.far.respond = () => answered(204);
  await until(async () => (await showEndpoint(harness, scope())).replays[0]?.finished_at !== null);
  await harness.drained(endpoint.id);
  expect(received().slice(16).toSorted()).toEqual(held.map(({ id }) => id).toSorted());
  expect((await showEndpoint(harness, scope())).replays).toMatchObject([{ total: 31, queued: 31 }]);
  expect(await states()).toEqual({ succeeded: 44 });
});

test("a probe that fails pauses the endpoint again, and nothing else was sent", async () => {
  await pausedAsGone(20);
  gate.open(answered(204));
  await harness.drained(endpoint.id);
  await resumeEndpoint(harness, scope());
  harness.reload();
  await until(() => gate.waiting.length === 1);
  await harness.happen(4);
  gate.open(answered(500));
  await until(async () => (await status()) === "paused: probe_failed");
  await harness.drained(endpoint.id);
  await lookedThrough();
  expect(received()).toHaveLength(12);
  expect(await states()).toEqual({ succeeded: 8, held: 16 });
});

test("what happens now is sent before what is replayed, also where much of that is claimed already", async () => {
  await harness.happen(400);
  const free = harness.far.respond;
  harness.far.respond = () => answered(204);
  harness.worker();
  await harness.drained();
  const replayFrom = received().length;
  // The endpoint responds quickly at first, so that the dispatcher claims in advance.
  harness.far.respond = (request) => (received().length > replayFrom + 150 ? free(request) : answered(204));
  await createReplay(harness, { ...scope(), since: new Date(0) });
  await until(() => gate.waiting.length === 10);
  await harness.happen(5);
  await lookedThrough();
  const before = received().length;
  gate.open(answered(204), 5);
  await until(() => gate.waiting.length === 10);
  const live = harness.far.requests.filter(({ n, url }) => url === endpoint.url && n >= 400);
  expect(live).toHaveLength(5);
  expect(received().length).toBe(before + 5);
  harness.far.respond = () => answered(204);
  gate.open();
  await until(() => received().length === 400 + 400 + 5);
  await harness.drained();
});
