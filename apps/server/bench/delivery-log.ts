import { cpus, loadavg } from "node:os";
import { type DeliveryListInput, listDeliveries } from "../src/webhooks/log/deliveries.ts";
import { openDeliveryLog } from "./delivery-log/data-set.ts";

/*
 * How long the delivery log takes to find a page by each filter: the first page, and one that begins in the middle of what
 * is kept. Half of all deliveries are of the endpoint that is searched. docs/performance.md says what the figures mean.
 */
const DELIVERIES = Number(process.env["BENCH_DELIVERIES"] ?? 10_000_000);
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 20);
const DAY_MS = 86_400_000;

const log = await openDeliveryLog(DELIVERIES);
const now = Date.now();
const back = (days: number) => new Date(now - days * DAY_MS);
const [sample] = (
  await listDeliveries({ db: log.db, clock: () => now }, { ...log, event: "ride.started", until: back(14) })
).deliveries;
const night = { since: back(1.5), until: back(1) };

const filters: readonly (readonly [string, Partial<DeliveryListInput>])[] = [
  ["none", {}],
  ["a night", night],
  ["status succeeded", { status: "succeeded" }],
  ["status pending", { status: "pending" }],
  ["status failing", { status: "failing" }],
  ["status failed", { status: "failed" }],
  ["status held", { status: "held" }],
  ["status unsuccessful, a night", { status: "unsuccessful", ...night }],
  ["status failed, a night", { status: "failed", ...night }],
  ["event ride.started (48 %)", { event: "ride.started" }],
  ["event reservation.expired (1 in 50,000)", { event: "reservation.expired" }],
  ["code 204", { code: { exact: 204 } }],
  ["code 503", { code: { exact: 503 } }],
  ["code 507 (1 in 100,000)", { code: { exact: 507 } }],
  ["code 418 (none)", { code: { exact: 418 } }],
  ["code 202 (none, a success)", { code: { exact: 202 } }],
  ["code 4xx", { code: { firstDigit: 4 } }],
  ["code 5xx", { code: { firstDigit: 5 } }],
  ["failure timeout", { failure: "timeout" }],
  ["failure tls (1 in 100,000)", { failure: "tls" }],
  ["resource: a ride", { resourceId: sample?.resource_id ?? "" }],
  ["resource: a station", { resourceId: "station-17" }],
  ["resource: none such", { resourceId: "ride_none" }],
  ["failed, code 404, ride.completed", { status: "failed", code: { exact: 404 }, event: "ride.completed" }],
  ["failed, reservation.expired", { status: "failed", event: "reservation.expired" }],
  ["succeeded, code 5xx (impossible)", { status: "succeeded", code: { firstDigit: 5 } }],
  ["failure tls, station.offline", { failure: "tls", event: "station.offline" }],
];

try {
  const load = loadavg()[0]?.toFixed(2);
  process.stdout.write(`${DELIVERIES} deliveries, ${cpus().length} cores, load ${load}, ${REPETITIONS} repetitions\n`);
  process.stdout.write(
    "| filter | first page: median ms | worst | rows | from the middle: median ms | worst | rows |\n",
  );
  process.stdout.write("|---|---|---|---|---|---|---|\n");
  for (const [name, filter] of filters) {
    const first = await measure(filter);
    const middle = await measure({ ...filter, after: { created_at: back(15), id: "" } });
    process.stdout.write(`| ${name} | ${describe(first)} | ${describe(middle)} |\n`);
  }
} finally {
  await log.close();
}

interface Measured {
  readonly times: readonly number[];
  readonly rows: string;
}

async function measure(filter: Partial<DeliveryListInput>): Promise<Measured> {
  const context = { db: log.db, clock: () => now };
  const times: number[] = [];
  let rows = "";
  for (let i = 0; i < REPETITIONS; i++) {
    const from = performance.now();
    const page = await listDeliveries(context, { systemId: log.systemId, partnerId: log.partnerId, ...filter });
    times.push(performance.now() - from);
    rows = `${page.deliveries.length}${page.searchedTo === null ? "" : " (stopped)"}`;
  }
  return { times: times.toSorted((a, b) => a - b), rows };
}

function describe({ times, rows }: Measured): string {
  const median = times[Math.floor(times.length / 2)] ?? 0;
  return `${median.toFixed(1)} | ${(times.at(-1) ?? 0).toFixed(1)} | ${rows}`;
}
