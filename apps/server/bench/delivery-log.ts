import { listDeliveries, searchOf } from "../src/webhooks/log/deliveries.ts";
import type { DeliveryFilter } from "../src/webhooks/log/delivery-filter.rules.ts";
import { openDeliveryLog } from "./delivery-log/data-set.ts";
import { openPages } from "./delivery-log/pages.ts";
import { searchMilliseconds } from "./delivery-log/search-time.ts";
import { describeMachine, say } from "./processes.ts";

/*
 * Measures the dashboard with ten million deliveries of 500 partners: a page of the delivery log by each filter, at its
 * newest end and in the middle, and the pages with counts. Requests are sent over HTTP with a session, one at a time. For
 * comparison, the time of the search in PostgreSQL alone is shown. `pnpm bench console` runs everything, `pnpm bench console
 * pages` one part.
 */
const DELIVERIES = Number(process.env["BENCH_DELIVERIES"] ?? 10_000_000);
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 50);
const DAY_MS = 86_400_000;

const log = await openDeliveryLog(DELIVERIES);
/** The dashboard's pages over HTTP. `measure` returns cells of the report: rows, p50 and p99. */
const pages = await openPages(log, REPETITIONS);
const now = Date.now();
const clock = () => now;
const back = (days: number) => new Date(now - days * DAY_MS);
/** Periods of the log: a short one, and the older half of the 30 days. */
const night = { since: back(1.5), until: back(1) };
const middle = { until: back(15) };

/**
 * Returns the filters by their names in the report. The rates in the names, such as "1 in 25,000", are those in the log of
 * the searched endpoint.
 */
async function filters(): Promise<Readonly<Record<string, DeliveryFilter>>> {
  const { deliveries } = await listDeliveries(
    { db: log.db, clock },
    { ...log, event: "ride.started", until: back(14) },
  );
  const resourceId = deliveries[0]?.resource_id ?? "";
  return {
    none: {},
    "a night": night,
    "status succeeded": { status: "succeeded" },
    "status pending": { status: "pending" },
    "status failing": { status: "failing" },
    "status failed": { status: "failed" },
    "status held": { status: "held" },
    "status unsuccessful, a night": { status: "unsuccessful", ...night },
    "event ride.started (48 %)": { event: "ride.started" },
    "event reservation.expired (1 in 25,000)": { event: "reservation.expired" },
    "code 204": { code: { exact: 204 } },
    "code 503": { code: { exact: 503 } },
    "code 507 (1 in 50,000)": { code: { exact: 507 } },
    "code 418 (none)": { code: { exact: 418 } },
    "code 202 (none, a success)": { code: { exact: 202 } },
    "code 4xx": { code: { firstDigit: 4 } },
    "code 5xx": { code: { firstDigit: 5 } },
    "failure timeout": { failure: "timeout" },
    "failure tls (1 in 50,000)": { failure: "tls" },
    "resource: a ride": { resourceId },
    "resource: a station": { resourceId: "station-16" },
    "resource: none such": { resourceId: "ride_none" },
    "failed, code 404, ride.completed": { status: "failed", code: { exact: 404 }, event: "ride.completed" },
    "failed, reservation.expired": { status: "failed", event: "reservation.expired" },
    "succeeded, code 5xx (impossible)": { status: "succeeded", code: { firstDigit: 5 } },
    "failure tls, station.offline": { failure: "tls", event: "station.offline" },
  };
}

/** Measures a page of the delivery log by every filter. */
async function measureFilters(): Promise<void> {
  say("| filter | rows | p50 ms | p99 ms | PostgreSQL ms | middle: rows | p50 ms | p99 ms |");
  say("|---|---|---|---|---|---|---|---|");
  for (const [name, filter] of Object.entries(await filters())) {
    const search = { ...searchOf({ clock }, { systemId: log.systemId, filter }), endpointIds: [log.endpointId] };
    const first = await pages.measure(deliveriesPath(filter));
    const ofSearch = await searchMilliseconds(log.db, search);
    const further =
      filter.until === undefined ? await pages.measure(deliveriesPath({ ...filter, ...middle })) : undefined;
    say(`| ${name} | ${first} | ${ofSearch.toFixed(1)} | ${further ?? "| |"} |`);
  }
}

/** Returns the path of a page of the delivery log, below the system's path. */
function deliveriesPath({ status, event, failure, code, resourceId, since, until }: DeliveryFilter): string {
  const query = new URLSearchParams({
    ...(status && { status }),
    ...(event && { event }),
    ...(failure && { failure }),
  });
  if (code !== undefined) query.set("code", "exact" in code ? String(code.exact) : `${code.firstDigit}xx`);
  if (resourceId !== undefined) query.set("resource_id", resourceId);
  if (since !== undefined) query.set("since", since.toISOString());
  if (until !== undefined) query.set("until", until.toISOString());
  return `partners/${log.partnerId}/deliveries?${query.toString()}`;
}

/** Measures the pages that count, or that list all partners. */
async function measurePages(): Promise<void> {
  say("| page | rows | p50 ms | p99 ms |");
  say("|---|---|---|---|");
  const own = `partners/${log.partnerId}`;
  for (const path of ["overview", "endpoints", "partners", "keys", `${own}/overview`, `${own}/webhook`, `${own}/keys`])
    say(`| ${path.replace(log.partnerId, ":id")} | ${await pages.measure(path)} |`);
}

const parts = { filters: measureFilters, pages: measurePages };
try {
  say(`${DELIVERIES} deliveries, ${describeMachine()}, ${REPETITIONS} repetitions`);
  for (const [name, measure] of Object.entries(parts)) if (isWanted(name)) await measure();
} finally {
  await pages.close();
  await log.close();
}

function isWanted(name: string): boolean {
  const wanted = process.argv.slice(2);
  return wanted.length === 0 || wanted.includes(name);
}
