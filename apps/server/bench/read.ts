import { describeMachine } from "./processes.ts";
import { type BenchContext, cursorBench, pagesBench, stationsBench } from "./reading/benches.ts";
import { curvesBench } from "./reading/curves.ts";
import { openDataSets } from "./reading/data-sets.ts";
import { observingBench } from "./reading/observing.ts";
import { replicaBench } from "./reading/replica.ts";

/*
 * Measures reading, as ratios within one run. The compared programs take turns, so that a slow minute of the machine affects
 * all. `pnpm bench read` runs every part, `pnpm bench read cursor` one. docs/performance.md explains the figures.
 */

const parts: Readonly<Record<string, (context: BenchContext) => Promise<string>>> = {
  cursor: cursorBench,
  pages: pagesBench,
  stations: stationsBench,
  curves: curvesBench,
  observing: observingBench,
  replica: replicaBench,
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !(name in parts));
if (unknown !== undefined) throw new Error(`${unknown} is none of ${Object.keys(parts).join(", ")}`);
const sets = await openDataSets();
try {
  const context: BenchContext = {
    sets,
    directory: sets.directory,
    repetitions: Number(process.env["BENCH_REPETITIONS"] ?? 5),
    seconds: Number(process.env["BENCH_SECONDS"] ?? 3),
    connections: 32,
  };
  process.stdout.write(
    `${describeMachine()}, ${context.connections} connections, ${context.repetitions} repetitions of ${context.seconds} s, medians\n`,
  );
  for (const [name, bench] of Object.entries(parts)) {
    if (wanted.length === 0 || wanted.includes(name)) process.stdout.write(`\n## ${name}\n${await bench(context)}`);
  }
} finally {
  await sets.close();
}
