import { join } from "node:path";
import { findFreePort } from "@bikeshare/test-kit";
import { DEPLOYED } from "../processes.ts";
import { type BenchContext, measureOn } from "./benches.ts";
import type { Subject } from "./measure.ts";
import { type Ratio, report } from "./report.ts";
import { type MeasuredService, startService } from "./service.ts";

/** The Node options of a service without the request log. */
const WITHOUT_LOG = `${DEPLOYED.NODE_OPTIONS} --import=${join(import.meta.dirname, "without-request-log.ts")}`;
const RIDES = 100_000;
/** Enough keys to reach the request log's limit of entries, because each key may use only a share of it. */
const KEYS = 32;
/**
 * Milliseconds measured after each load. The service writes the log once a second, so the last entries are written after the
 * load.
 */
const TRAILING_MS = 1_100;

const pages = {
  stations: ["/v1/stations?limit=200"],
  rides: Array.from({ length: 50 }, (_, index) => `/v1/rides?limit=50&page=${index + 1}`),
};

/** Measures what it costs to observe requests: a service with each way of observing, compared with a service without any. */
export async function observingBench(context: BenchContext): Promise<string> {
  const connectionString = await context.sets.of(RIDES);
  const dataDir = join(context.directory, `service-${RIDES}`);
  const none = { NODE_OPTIONS: WITHOUT_LOG, SLOW_REQUEST_MS: "0" };
  const variants: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    "not observed": none,
    "with the request log": { SLOW_REQUEST_MS: "0" },
    "with metrics": { ...none, METRICS_PORT: String(await findFreePort()) },
    // SLOW_REQUEST_MS has its default here. 0 switches the log of slow requests off.
    "with metrics and the log of slow requests": {
      NODE_OPTIONS: WITHOUT_LOG,
      METRICS_PORT: String(await findFreePort()),
    },
  };
  const services: [name: string, service: MeasuredService][] = [];
  try {
    for (const [name, env] of Object.entries(variants))
      services.push([name, await startService(connectionString, dataDir, { keys: KEYS, env })]);
    const subjects: Subject[] = [];
    const ratios: Ratio[] = [];
    for (const [page, paths] of Object.entries(pages)) {
      const by = `${page}, not observed`;
      for (const [name, service] of services) {
        const of = `${page}, ${name}`;
        subjects.push(service.subject(of, paths));
        if (of !== by) ratios.push({ text: `${of} / ${by}`, of, by, better: "more", must: 0.95, aim: 0.98 });
      }
    }
    return report(await measureOn({ ...context, trailingMs: TRAILING_MS }, RIDES, subjects), ratios);
  } finally {
    await Promise.all(services.map(([, service]) => service.stop()));
  }
}
