import { join } from "node:path";
import { type BenchContext, measureOn } from "./benches.ts";
import type { Subject } from "./measure.ts";
import { type Ratio, report } from "./report.ts";
import { startService } from "./service.ts";

const WITHOUT_LOG = join(import.meta.dirname, "without-request-log.ts");
const RIDES = 100_000;
/** Enough for the log to be written as much as its bound allows: each key has a share of it. */
const KEYS = 32;
/** Time after a load in which what it caused is written: the log is written once a second. */
const TRAILING_MS = 1_100;

const pages = {
  stations: ["/v1/stations?limit=200"],
  rides: Array.from({ length: 50 }, (_, index) => `/v1/rides?limit=50&page=${index + 1}`),
};

/** What the log of requests, the counts by key and their writes cost: the service with them beside the service without. */
export async function requestLogBench(context: BenchContext): Promise<string> {
  const connectionString = await context.sets.of(RIDES);
  const dataDir = join(context.directory, `service-${RIDES}`);
  const [logging, plain] = [
    await startService(connectionString, dataDir, { keys: KEYS }),
    await startService(connectionString, dataDir, { keys: KEYS, env: { NODE_OPTIONS: `--import=${WITHOUT_LOG}` } }),
  ];
  try {
    const subjects: Subject[] = [];
    const ratios: Ratio[] = [];
    for (const [name, paths] of Object.entries(pages)) {
      const [of, by] = [`${name}, logged`, `${name}, not logged`];
      subjects.push(logging.subject(of, paths), plain.subject(by, paths));
      ratios.push({ text: `${of} / ${by}`, of, by, better: "more", must: 0.95, aim: 0.98 });
    }
    return report(await measureOn({ ...context, trailingMs: TRAILING_MS }, RIDES, subjects), ratios);
  } finally {
    await logging.stop();
    await plain.stop();
  }
}
