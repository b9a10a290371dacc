import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { type DispatchRoom, openDispatchRoom, type RoomEndpoint } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, createGate, type Gate } from "../../../test/webhooks/far.ts";
import { resumeEndpoint } from "../endpoints/endpoint-status.ts";
import { showEndpoint } from "../endpoints/endpoint-view.ts";
import { createReplay } from "../log/replays.ts";

let room: DispatchRoom;
let endpoint: RoomEndpoint;
let canary: RoomEndpoint;
let gate: Gate;
beforeEach(async () => {
  room = await openDispatchRoom();
  endpoint = await room.endpoint();
  canary = await room.endpoint({ event: "ride.completed" });
  gate = createGate();
  room.far.respond = (request) => (request.url === endpoint.url ? gate.wait(request) : answered(204));
});
afterEach(async () => {
  room.far.respond = () => answered(204);
  gate.open();
  await room.close();
});

const scope = () => ({ systemId: room.systemId, partnerId: endpoint.partnerId });
const received = () => room.far.received(endpoint.url);
const status = async () => {
  const { status: now, pause_reason: reason } = await showEndpoint(room, scope());
  return reason === null ? now : `${now}: ${reason}`;
};

/** Waits until the dispatcher has looked through everything, twice over: what it could send it has. */
async function lookedThrough(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const before = room.far.received(canary.url).length;
    room.reload();
    await room.happen(1, { event: "ride.completed" });
    await until(() => room.far.received(canary.url).length > before);
    await room.drained(canary.id);
  }
}

async function states(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status: state } of await room.deliveries(endpoint.id)) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

/** Answers one of the ten in flight 410, and waits until another is in its place. */
async function firstGone(): Promise<void> {
  gate.open(answered(410), 1);
  await until(async () => (await room.attempts(endpoint.id)).length === 1 && gate.waiting.length === 10);
}

/** Pauses the endpoint by three answers 410 of the eleven that are sent, the last two a minute after the first. */
async function pausedAsGone(events: number): Promise<void> {
  await room.happen(events);
  room.worker();
  await until(() => gate.waiting.length === 10);
  await firstGone();
  room.clock.advance(60_000);
  gate.open(answered(410), 2);
  await until(async () => (await status()) === "paused: gone");
}

test("410 three times over a minute pauses: what is in flight ends, all the rest is held, nothing more is sent", async () => {
  await pausedAsGone(40);
  gate.open(answered(204));
  await room.happen(5);
  await room.drained(endpoint.id);
  await lookedThrough();
  expect(received()).toHaveLength(11);
  expect(await states()).toEqual({ succeeded: 8, held: 37 });
  expect(await status()).toBe("paused: gone");
});

test("410 any number of times within a minute pauses nothing, and everything arrives afterwards", async () => {
  room.far.respond = ({ url }) => (url === endpoint.url ? answered(410) : answered(204));
  await room.happen(40);
  room.worker();
  await until(async () => (await room.attempts(endpoint.id)).length === 40);
  expect(await status()).toBe("active");
  room.far.respond = () => answered(204);
  room.clock.advance(59_000);
  room.wake();
  await room.drained(endpoint.id);
  expect(await states()).toEqual({ succeeded: 40 });
});

test("a pause that nobody is told of is kept from the very answer that caused it", async () => {
  await room.happen(100);
  room.worker();
  await until(() => gate.waiting.length === 10);
  await firstGone();
  room.clock.advance(60_000);
  room.far.respond = ({ url }) => (url === endpoint.url ? answered(410) : answered(204));
  gate.open(answered(410));
  await until(async () => (await status()) === "paused: gone");
  await room.drained(endpoint.id);
  await lookedThrough();
  // Eleven, and the two that followed the first two answers.
  expect(received().length).toBeLessThanOrEqual(13);
});

test("a resume sends exactly one probe; its success lets everything new through, and a replay the exact rest", async () => {
  await pausedAsGone(40);
  gate.open(answered(204));
  await room.drained(endpoint.id);
  const resumed = await resumeEndpoint(room, scope());
  room.reload();
  await until(() => gate.waiting.length === 1);
  await room.happen(4);
  await lookedThrough();
  expect(received().slice(11)).toEqual([resumed.probe]);
  gate.open(answered(204));
  await until(() => gate.waiting.length === 4);
  // Written a moment after it is acted upon.
  await until(async () => (await status()) === "active");
  gate.open(answered(204));
  await room.drained(endpoint.id);
  expect(await states()).toEqual({ succeeded: 13, held: 31 });

  const held = (await room.deliveries(endpoint.id)).filter((delivery) => delivery.status === "held");
  const range = { ...scope(), since: new Date(0), statuses: ["held" as const] };
  const counted = await createReplay(room, { ...range, dryRun: true });
  const replay = await createReplay(room, range);
  expect([counted.total, replay.total]).toEqual([31, 31]);
  room.far.respond = () => answered(204);
  await until(async () => (await showEndpoint(room, scope())).replays[0]?.finished_at !== null);
  await room.drained(endpoint.id);
  expect(received().slice(16).toSorted()).toEqual(held.map(({ id }) => id).toSorted());
  expect((await showEndpoint(room, scope())).replays).toMatchObject([{ total: 31, queued: 31 }]);
  expect(await states()).toEqual({ succeeded: 44 });
});

test("a probe that fails pauses the endpoint again, and nothing else was sent", async () => {
  await pausedAsGone(20);
  gate.open(answered(204));
  await room.drained(endpoint.id);
  await resumeEndpoint(room, scope());
  room.reload();
  await until(() => gate.waiting.length === 1);
  await room.happen(4);
  gate.open(answered(500));
  await until(async () => (await status()) === "paused: probe_failed");
  await room.drained(endpoint.id);
  await lookedThrough();
  expect(received()).toHaveLength(12);
  expect(await states()).toEqual({ succeeded: 8, held: 16 });
});

test("what happens now is sent before what is replayed, also where much of that is claimed already", async () => {
  await room.happen(400);
  const free = room.far.respond;
  room.far.respond = () => answered(204);
  room.worker();
  await room.drained();
  const replayFrom = received().length;
  // A lively endpoint, so that the dispatcher claims ahead.
  room.far.respond = (request) => (received().length > replayFrom + 150 ? free(request) : answered(204));
  await createReplay(room, { ...scope(), since: new Date(0) });
  await until(() => gate.waiting.length === 10);
  await room.happen(5);
  await lookedThrough();
  const before = received().length;
  gate.open(answered(204), 5);
  await until(() => gate.waiting.length === 10);
  const live = room.far.requests.filter(({ n, url }) => url === endpoint.url && n >= 400);
  expect(live).toHaveLength(5);
  expect(received().length).toBe(before + 5);
  room.far.respond = () => answered(204);
  gate.open();
  await until(() => received().length === 400 + 400 + 5);
  await room.drained();
});
