import { createSystem } from "../../../src/city/systems/service.ts";
import type { Database } from "../../../src/storage/db/database.ts";
import { statement } from "../../../src/storage/db/statement.ts";
import { pauseEndpoint, resumeEndpoint } from "../../../src/webhooks/endpoints/endpoint-settings.ts";
import { createReplay, redeliver } from "../../../src/webhooks/log/resend.ts";
import type { DispatchHarness } from "../dispatcher.harness.ts";
import { answered } from "../far.ts";
import { CHANCE, type Process, startProcess } from "../process.ts";
import { agreed, MAX_DELIVERIES, storedDeliveries } from "./dispatcher-compare.ts";
import { createWorld, type Step, takeStep, type World } from "./world.ts";

/** A system with one endpoint: a real dispatcher with a real database, next to the model with the rules. */
export interface ModelPair {
  readonly harness: DispatchHarness;
  /** The connections, which all pairs share. */
  readonly db: Database;
  readonly systemId: string;
  readonly partnerId: string;
  readonly world: World;
  process: Process;
  readonly dead: Process[];
}

export async function openModelPair(harness: DispatchHarness, db: Database, systemId: string): Promise<ModelPair> {
  await createSystem(harness.db, systemId, "Model city", 0);
  const { partnerId } = await harness.endpoint({ systemId });
  const process = startProcess(harness, db, systemId);
  return { harness, db, systemId, partnerId, world: createWorld(harness.clock()), process, dead: [] };
}

export async function closePair({ process, dead }: ModelPair): Promise<void> {
  const all = [process, ...dead];
  const closing = all.map(({ dispatcher }) => dispatcher.close());
  for (const { gate } of all) gate.open();
  await Promise.all(closing);
}

function step({ world, harness }: ModelPair, taken: Step): void {
  world.now = harness.clock();
  if (takeStep(world, taken) === "refused") throw new Error(`refused: ${JSON.stringify(taken)}`);
}

/** Makes events happen on both sides, up to `MAX_DELIVERIES`. */
export async function happen(pair: ModelPair, n: number): Promise<void> {
  const { harness, world, systemId } = pair;
  for (let left = Math.min(n, MAX_DELIVERIES - world.deliveries.size); left > 0; left--) {
    const at = harness.clock();
    await harness.happen(1, { systemId });
    const made = (await storedDeliveries(pair)).find(({ id }) => !world.deliveries.has(id));
    if (made === undefined) throw new Error("an event made no delivery");
    world.now = at;
    takeStep(world, { do: "create", id: made.id });
  }
  await agreed(pair);
}

/** Answers one of the requests under way. */
export async function answer(pair: ModelPair, index: number, status: number, retryAfterMs: number | null = null) {
  const { gate } = pair.process;
  const request = gate.waiting[index % Math.max(1, gate.waiting.length)];
  if (request === undefined) return;
  const outcome = status < 300 ? "succeeded" : "rejected";
  step(pair, { do: "end", id: request.deliveryId, outcome, status, retryAfterMs, chance: CHANCE });
  gate.answer(request, answered(status, retryAfterMs));
  await agreed(pair);
}

/** Answers one of the requests under way, and hides from the process that its result was committed. */
export async function answerUnheard(pair: ModelPair, index: number, status: number): Promise<void> {
  if (pair.process.gate.waiting.length > 0) pair.process.db.loseNextAnswer();
  await answer(pair, index, status);
}

export async function pass(pair: ModelPair, milliseconds: number): Promise<void> {
  pair.harness.clock.advance(milliseconds);
  await agreed(pair);
}

export async function pause(pair: ModelPair): Promise<void> {
  const { changed } = await pauseEndpoint(pair.harness, { ...scopeOf(pair), reason: "partner" });
  if (changed) step(pair, { do: "pause" });
  await agreed(pair);
}

export async function resume(pair: ModelPair): Promise<void> {
  // Advances the clock, because an endpoint's status can change only once in each millisecond.
  pair.harness.clock.advance(1);
  const { changed } = await resumeEndpoint(pair.harness, scopeOf(pair));
  if (changed) step(pair, { do: "resume" });
  await agreed(pair);
}

/** Redelivers one delivery that is not pending. */
export async function redeliverOne(pair: ModelPair, index: number): Promise<void> {
  const { harness, world } = pair;
  const atRest = [...world.deliveries].filter(([, { state }]) => state !== "pending").map(([id]) => id);
  const id = atRest[index % Math.max(1, atRest.length)];
  if (id === undefined || world.status === "paused") return;
  await redeliver(harness, scopeOf(pair), id);
  step(pair, { do: "redeliver", id });
  await agreed(pair);
}

/** Replays all deliveries, if the endpoint is active. Otherwise the replay would wait, which the rules do not describe. */
export async function replayAll(pair: ModelPair): Promise<void> {
  if (pair.world.status !== "active") return;
  await createReplay(pair.harness, { ...scopeOf(pair), since: new Date(0) });
  step(pair, { do: "replay" });
  await agreed(pair);
}

const expireLeases = statement(
  "test.model.expire_leases",
  "update webhook_lanes set leased_until = now() - interval '1 s' where system_id = $1",
);
const bury = statement("test.model.bury", "delete from webhook_workers where system_id = $1");

/** Simulates a crash: the process dies, its leases expire, and another process starts. */
export async function crash(pair: ModelPair): Promise<void> {
  const { harness, db, systemId, process, dead } = pair;
  process.db.die();
  dead.push(process);
  for (const { deliveryId: id } of process.gate.waiting) {
    step(pair, { do: "end", id, outcome: "unknown", status: null, retryAfterMs: null, chance: 0 });
  }
  await harness.db.query(expireLeases, [systemId]);
  await harness.db.query(bury, [systemId]);
  pair.process = startProcess(harness, db, systemId);
  await agreed(pair);
}

/** Stops the process in order, while its requests are answered, and starts another process. */
export async function restart(pair: ModelPair): Promise<void> {
  const { harness, db, systemId, process } = pair;
  const closing = process.dispatcher.close();
  for (const { deliveryId: id } of process.gate.waiting) {
    step(pair, { do: "end", id, outcome: "succeeded", status: 204, retryAfterMs: null, chance: CHANCE });
  }
  process.gate.open();
  await closing;
  pair.process = startProcess(harness, db, systemId);
  await agreed(pair);
}

const attempts = statement(
  "test.model.attempts",
  `select delivery_id, number || ' ' || outcome as said from webhook_attempts where system_id = $1
   order by delivery_id, number`,
);

/** Returns every logged attempt, by delivery: `<number> <outcome>`. */
export async function logOf({ harness, systemId }: ModelPair): Promise<Map<string, string[]>> {
  const rows = await harness.db.query<{ delivery_id: string; said: string }>(attempts, [systemId]);
  const byDelivery = Map.groupBy(rows, (row) => row.delivery_id);
  return new Map([...byDelivery].map(([id, all]) => [id, all.map(({ said }) => said)]));
}

function scopeOf({ systemId, partnerId }: ModelPair) {
  return { systemId, partnerId };
}
