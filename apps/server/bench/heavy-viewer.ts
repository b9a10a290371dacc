import { loadavg } from "node:os";
import { join } from "node:path";
import { scopeNames } from "@bikeshare/contract";
import { upsertBikes } from "../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../src/city/fleet/station-commands.ts";
import { startSession } from "../src/console/sessions/service.ts";
import { createIds } from "../src/ids.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { type HeavyViewerFigures, measureHeavyViewer } from "./bursts/heavy-viewer.ts";
import { type DeliveryLog, openDeliveryLog } from "./delivery-log/data-set.ts";
import { makePerson } from "./delivery-log/pages.ts";
import { startService } from "./reading/service.ts";

/*
 * A viewer of a partner with 600,000 deliveries, who downloads 300 files that match nothing and opens 120 pages that take long, all
 * at once, at the beginning of every other period; and another partner. `BENCH_DELIVERIES` (half are the viewer's), `BENCH_PERIODS`.
 */

const DELIVERIES = Number(process.env["BENCH_DELIVERIES"] ?? 1_200_000);
const PERIODS = Number(process.env["BENCH_PERIODS"] ?? 6);
/** With the quiet one beside it, two in a minute and a session's rate. */
const PERIOD_SECONDS = 15;
/** What another partner's p99 must stay below, milliseconds. */
const AIM_MS = 100;

const log = await openDeliveryLog(DELIVERIES);
try {
  const prepared = await prepare(log);
  const dataDir = join(log.directory, "service");
  const service = await startService(log.connectionString, dataDir, { args: ["--role", "api", "--new-secrets"] });
  try {
    const load = loadavg()[0]?.toFixed(2) ?? "?";
    const subject = { ...prepared, url: service.url, systemId: log.systemId, partnerId: log.partnerId };
    const figures = await measureHeavyViewer({ ...subject, periods: PERIODS, periodSeconds: PERIOD_SECONDS });
    process.stdout.write(report(figures, load));
  } finally {
    await service.stop();
  }
} finally {
  await log.close();
}

async function prepare({ db, systemId, partnerId }: DeliveryLog) {
  const clock = () => Date.now();
  const context = { db, clock, ids: createIds(clock), actor: "bench" };
  const other = await createPartner(context, systemId, `Light ${clock()}`);
  const input = { systemId, kind: "live", partnerId: other.id, scopes: scopeNames, rateLimit: 1_000_000 } as const;
  const { key: lightKey } = await issueKey(context, input);
  const stationId = "bench-station";
  await upsertStations(context, systemId, [{ item: { id: stationId, name: stationId, lat: 1, lon: 2 } }]);
  const bikes = Array.from({ length: 20 }, (_, n) => `bench-bike-${n}`);
  const state = { station_id: stationId, vehicle_state: "available" as const };
  await upsertBikes(
    context,
    systemId,
    bikes.map((id) => ({ item: { id, ...state } })),
  );
  const personId = await makePerson(context, { systemId, partnerId });
  const token = await startSession(context, personId, { address: "127.0.0.1", userAgent: "bench" });
  return { lightKey, stationId, cookie: `bikeshare_session=${token}` };
}

function report({ answers, others, failed }: HeavyViewerFigures, load: string): string {
  const show = ({ p50, p99, max }: { p50: number; p99: number; max: number }) =>
    [p50, p99, max].map((value) => value.toFixed(1)).join(" / ");
  const worst = Math.max(...Object.values(others).map(({ busy }) => busy.p99));
  return [
    `${DELIVERIES / 2} deliveries, ${PERIODS} periods of ${PERIOD_SECONDS} s; load before: ${load}.`,
    `The viewer's answers: ${JSON.stringify(answers)}`,
    "| another partner's | quiet p50 / p99 / max ms | beside it p50 / p99 / max ms |",
    "|---|---|---|",
    ...Object.entries(others).map(([name, { quiet, busy }]) => `| ${name} | ${show(quiet)} | ${show(busy)} |`),
    `others' requests that failed: ${failed}; p99 of the others below ${AIM_MS} ms: ${worst < AIM_MS && failed === 0 ? "yes" : "NO"}`,
    "",
  ].join("\n");
}
