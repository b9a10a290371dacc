import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import * as model from "../../../test/webhooks/model/dispatcher-pair.ts";
import type { ModelPair } from "../../../test/webhooks/model/dispatcher-pair.ts";
import { openDatabase } from "../../storage/db/database.ts";

const HOUR = 3_600_000;
/** Milliseconds for which random lives run, as many as fit. Another test runs the rules alone many thousands of times. */
const RUN_TIME_MS = randomRuns(1_000);
/**
 * Seeds of the series of lives that run at the same time, each on its own database. More series would only wait for each
 * other.
 */
const SEEDS = [1, 2, 3, 4, 5, 6];

type Command = readonly [name: string, run: (pair: ModelPair) => Promise<void>];

const index = fc.nat(20);
const status = fc.constantFrom(204, 204, 500, 500, 410, 410);
const retryAfter = fc.option(fc.integer({ min: 0, max: 8 * HOUR }));
const answers = fc
  .tuple(index, status, retryAfter)
  .map(([i, said, ms]): Command => [`answer ${i} ${said} ${ms}`, (pair) => model.answer(pair, i, said, ms)]);
const unheard = fc
  .tuple(index, status)
  .map(([i, said]): Command => [`answerUnheard ${i} ${said}`, (pair) => model.answerUnheard(pair, i, said)]);
const happenings = fc.integer({ min: 1, max: 3 }).map((n): Command => [`happen ${n}`, (pair) => model.happen(pair, n)]);
const passing = fc
  .constantFrom(1, 5_500, 60_000, HOUR, 20 * HOUR)
  .map((ms): Command => [`pass ${ms}`, (pair) => model.pass(pair, ms)]);
const redeliveries = index.map((i): Command => [`redeliver ${i}`, (pair) => model.redeliverOne(pair, i)]);
const plain = (run: (pair: ModelPair) => Promise<void>) => fc.constant<Command>([run.name, run]);

const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: happenings },
  { weight: 8, arbitrary: answers },
  { weight: 1, arbitrary: unheard },
  { weight: 4, arbitrary: passing },
  { weight: 1, arbitrary: redeliveries },
  { weight: 1, arbitrary: plain(model.pause) },
  { weight: 2, arbitrary: plain(model.resume) },
  { weight: 1, arbitrary: plain(model.replayAll) },
  { weight: 1, arbitrary: plain(model.crash) },
  { weight: 1, arbitrary: plain(model.restart) },
);

test(
  `random lives over the database go as the rules say, crashes and lost answers included (${RUN_TIME_MS / 1000} s of them)`,
  // Ends a test that hangs. The first life of each series always runs to its end, however long that takes.
  { timeout: 300_000 },
  async () => {
    const lived = await Promise.all(SEEDS.map((seed) => live(seed)));
    expect(Math.min(...lived)).toBeGreaterThan(0);
  },
);

/**
 * Runs as many random lives as fit.
 * @returns how many it ran
 */
async function live(seed: number): Promise<number> {
  const harness = await openDispatchHarness();
  const db = openDatabase({ connectionString: harness.db.connectionString, maxConnections: 4 });
  const end = performance.now() + RUN_TIME_MS;
  let lives = 0;
  const life = fc.asyncProperty(fc.array(commands, { minLength: 5, maxLength: 40, size: "max" }), async (taken) => {
    // The library's own time limit would report a failure if not even one life had ended in time.
    if (lives > 0 && performance.now() > end) return;
    const pair = await model.openModelPair(harness, db, `life-${lives++}`);
    try {
      for (const [name, run] of taken) await during(name, run(pair));
      await during("recover", recover(pair));
      await expectWholeLog(pair);
    } finally {
      await model.closePair(pair);
    }
  });
  try {
    // There is no time for so many runs. Without shrinking, which would take longer than all runs before it.
    await fc.assert(life, { seed, numRuns: 2_000, endOnFailure: true });
    return lives;
  } finally {
    await db.close();
    await harness.close();
  }
}

async function during(name: string, step: Promise<void>): Promise<void> {
  await step.catch((error: unknown) => {
    throw new Error(`at ${name}: ${String(error)}`, { cause: error });
  });
}

/** Lets the receiver succeed again and expects that everything arrives, whatever happened before. */
async function recover(pair: ModelPair): Promise<void> {
  const undelivered = () => [...pair.world.deliveries.values()].filter(({ state }) => state !== "succeeded");
  await model.resume(pair);
  await deliverAll(pair);
  if (undelivered().length > 0) await model.replayAll(pair);
  await deliverAll(pair);
  expect(undelivered()).toEqual([]);
}

async function deliverAll(pair: ModelPair): Promise<void> {
  const pending = () => [...pair.world.deliveries.values()].filter(({ state }) => state === "pending");
  // The first round sends a probe. Later rounds send the other deliveries, which may have to wait until they are due.
  for (let round = 0; round < 20 && pending().length > 0; round++) {
    const underWay = pending().filter((delivery) => delivery.underWay).length;
    for (let left = underWay; left > 0; left--) await model.answer(pair, 0, 204);
    if (pending().length > 0) await model.pass(pair, 20 * HOUR);
  }
}

/** Expects that the log has every attempt by number without a gap, and that the last one succeeded. */
async function expectWholeLog(pair: ModelPair): Promise<void> {
  const log = await model.logOf(pair);
  for (const [id, { attempts }] of pair.world.deliveries) {
    const numbers = (log.get(id) ?? []).map((said) => Number.parseInt(said, 10));
    expect(numbers).toEqual(Array.from({ length: attempts }, (_, made) => made + 1));
    expect(log.get(id)?.at(-1)).toMatch(/succeeded$/);
  }
}
