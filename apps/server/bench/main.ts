import { spawnSync } from "node:child_process";
import { join } from "node:path";

/*
 * `pnpm bench <name> …` runs one of these programs. Without a name, it lists them. Further arguments go to the program. The
 * file of each program says what it measures or proves, and lists its options and variables.
 */

/** A program, and what it measures or does, for the list. */
interface Bench {
  readonly file: string;
  readonly does: string;
  /** If defined, the file is a slow test, which vitest runs with these environment variables. */
  readonly testEnv?: Readonly<Record<string, string>>;
}

const BENCHES: Readonly<Record<string, Bench>> = {
  read: {
    file: "read.ts",
    does: "pages beside peers, by size of the list, and their cost; or the parts that are named",
  },
  lists: { file: "lists.ts", does: "every filter of a list and every pair of them, at every kind of page" },
  "lists-memory": { file: "lists-memory.ts", does: "memory that ten partners' filters of a million reservations cost" },
  history: { file: "history.ts", does: "how stations were, and the console's first page, at 13 million changes" },
  console: { file: "delivery-log.ts", does: "pages of the dashboard at ten million deliveries" },
  streams: { file: "streams.ts", does: "open pages of the delivery log" },
  start: { file: "start.ts", does: "time until the service is ready, and its memory" },
  live: { file: "live.ts", does: "commands on the fleet, beside one durable row" },
  against: { file: "against.ts", does: "rides, polls and an import of trips, beside another checkout" },
  "import-trips": { file: "import-trips.ts", does: "an import of trips beside PostgreSQL's copy" },
  "export-rides": { file: "export-rides.ts", does: "time and memory of an export of a month of rides" },
  "mds-hour": { file: "mds-hour.ts", does: "memory while an agency reads an hour of 100,000 trips" },
  "gbfs-snapshots": { file: "gbfs-snapshots.ts", does: "reading and applying GBFS snapshots" },
  "gbfs-documents": { file: "gbfs-documents.ts", does: "making the GBFS documents of a large city anew" },
  "hostile-stations": { file: "hostile-stations.ts", does: "memory that a hostile GBFS feed costs" },
  webhooks: { file: "webhooks.ts", does: "deliveries beside job queues; or endpoints, fair, held or places" },
  "sender-memory": { file: "sender-memory.ts", does: "memory that 500 hostile receivers cost" },
  bursts: { file: "bursts.ts", does: "what a hostile caller, a heavy partner or a viewer costs the others" },
  chaos: { file: "chaos.ts", does: "kills every part of a deployment in turn under load" },
  "bad-days": { file: "bad-days.ts", does: "a number of kills at random, or one bad day by its name" },
  crash: { file: "crash.ts", does: "kills workers and PostgreSQL while webhooks are sent" },
  distributed: { file: "distributed.ts", does: "moves a system of a Citus database under load" },
  fuzz: { file: "test/fuzz", does: "100,000 requests drawn from the contracts", testEnv: { TEST_RUNS_FACTOR: "200" } },
  poison: { file: "test/poison.test.ts", does: "a row that ends workers is set aside", testEnv: { TEST_POISON: "1" } },
};

const [name = "", ...args] = process.argv.slice(2);
const bench = BENCHES[name];
if (bench === undefined) {
  const list = Object.entries(BENCHES).map(([each, { does }]) => `  ${each.padEnd(18)}${does}\n`);
  process.stdout.write(`pnpm bench <name> …\n\n${list.join("")}`);
  if (name !== "") process.exitCode = 2;
} else if (bench.testEnv === undefined) {
  // Removes the name, because the program reads its own arguments from `process.argv`.
  process.argv.splice(2, 1);
  await import(join(import.meta.dirname, bench.file));
} else {
  // The caller may set other values.
  const env = { ...bench.testEnv, ...process.env };
  const vitest = ["vitest", "run", join("apps/server", bench.file), ...args];
  process.exitCode = spawnSync("npx", vitest, { env, stdio: "inherit" }).status ?? 1;
}
