import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AttemptOutcome } from "../../../src/webhooks/rules/after-attempt.ts";
import {
  besiege,
  claimDue,
  createPair,
  endAll,
  notDue,
  type Pair,
  passToNextDue,
  recover,
  take,
  underWay,
} from "./pair.ts";
import type { Answer } from "./world.ts";

const HOUR = 3_600_000;
/** The number of random runs. Too low: misses bugs that need three failures at the same time. Too high: takes long. */
const RUNS = randomRuns(1_000);

type Command = fc.Command<Pair, object>;

function command(name: string, run: (pair: Pair) => void): Command {
  return { check: () => true, run: (pair) => run(pair), toString: () => name };
}

/** Returns a command for one delivery, which a random number chooses among some. */
function toOne(
  name: string,
  among: (pair: Pair) => readonly string[],
  run: (pair: Pair, id: string) => void,
): fc.Arbitrary<Command> {
  return fc.nat(20).map((number) =>
    command(`${name}(${number})`, (pair) => {
      const ids = among(pair);
      const id = ids[number % Math.max(1, ids.length)];
      if (id !== undefined) run(pair, id);
    }),
  );
}
const all = ({ world }: Pair) => [...world.deliveries.keys()];

const chance = fc.double({ min: 0, max: 1, noNaN: true });
const retryAfterMs = fc.option(fc.integer({ min: 0, max: 10 * HOUR }), { freq: 3 });
function answer(outcome: AttemptOutcome, status: number | null): fc.Arbitrary<Answer> {
  return fc.record({ outcome: fc.constant(outcome), status: fc.constant(status), retryAfterMs, chance });
}
const answers = fc.oneof(
  { weight: 4, arbitrary: answer("rejected", 500) },
  { weight: 2, arbitrary: answer("rejected", 410) },
  { weight: 2, arbitrary: answer("failed", null) },
  { weight: 1, arbitrary: answer("failed", 410) },
  { weight: 1, arbitrary: answer("unknown", null) },
  { weight: 2, arbitrary: answer("succeeded", 204) },
);
const UNKNOWN: Answer = { outcome: "unknown", status: null, retryAfterMs: null, chance: 0 };

const commands: fc.Arbitrary<Command>[] = [
  fc.integer({ min: 1, max: 4 }).map((count) =>
    command(`create(${count})`, (pair) => {
      for (let made = 0; made < count; made += 1) take(pair, { do: "create", id: `d${pair.world.deliveries.size}` });
    }),
  ),
  fc.constant(command("claimDue", claimDue)),
  toOne("claimWrongly", notDue, (pair, id) => take(pair, { do: "claim", id })),
  answers.chain((came) => toOne(`end:${came.outcome}`, underWay, (pair, id) => take(pair, { do: "end", id, ...came }))),
  toOne("endWrongly", all, (pair, id) => underWay(pair).includes(id) || take(pair, { do: "end", id, ...UNKNOWN })),
  fc.constant(command("crash", (pair) => endAll(pair, [UNKNOWN]))),
  toOne("release", underWay, (pair, id) => take(pair, { do: "release", id })),
  fc.constant(command("pause", (pair) => take(pair, { do: "pause" }))),
  fc.constant(command("resume", (pair) => take(pair, { do: "resume" }))),
  toOne("redeliver", all, (pair, id) => take(pair, { do: "redeliver", id })),
  fc.constant(command("replay", (pair) => take(pair, { do: "replay" }))),
  fc
    .integer({ min: 0, max: 40 * HOUR })
    .map((milliseconds) => command(`pass(${milliseconds})`, (pair) => take(pair, { do: "pass", milliseconds }))),
  fc.constant(command("passToNextDue", passToNextDue)),
  fc
    .tuple(fc.integer({ min: 1, max: 20 }), fc.array(answers, { minLength: 1, maxLength: 3 }))
    .map(([repeats, came]) => {
      const name = `besiege(${repeats}, ${came.map(({ outcome, status }) => `${outcome} ${status}`).join(", ")})`;
      return command(name, (pair) => besiege(pair, repeats, came));
    }),
];

/** Rare events that must have occurred in some run. Otherwise the runs would not have tested them. */
const RARE = [
  ...["paused: failing", "paused: gone", "paused: probe_failed", "warned: 25", "warned: 50"],
  ...["refused", "release", "end at paused", "claim at probing", "create at probing", "redeliver at probing"],
];

test(`${RUNS} random lives of an endpoint's deliveries go as foretold, and end with everything delivered`, () => {
  const seen = new Map<string, number>();
  const lives = fc.commands(commands, { maxCommands: 60, size: "+1" });
  fc.assert(
    fc.property(lives, (life) => {
      const pair = createPair(seen);
      fc.modelRun(() => ({ model: pair, real: {} }), life);
      recover(pair);
    }),
    { numRuns: RUNS },
  );
  for (const label of RARE) expect(seen.get(label) ?? 0, label).toBeGreaterThan(RUNS / 200);
});
