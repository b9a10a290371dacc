import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { scopeNames } from "@bikeshare/contract";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { createSystem } from "../src/city/systems/service.ts";
import { createIds } from "../src/ids.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { openDatabase } from "../src/storage/db/database.ts";
import { migrate } from "../src/storage/db/migrate/migrate.ts";
import { type HeavyPartnerFigures, measureHeavyPartner } from "./bursts/heavy-partner.ts";
import { fillWithRides } from "./dataset.ts";
import { startServer } from "./processes.ts";

/*
 * One partner within its rate of 60 a minute, walking filtered lists of every ride at depths that cost most, and
 * everybody else. `BENCH_RIDES`, `BENCH_SECONDS`; with `BENCH_DATABASE_URL` on rides that are there.
 */

const RIDES = Number(process.env["BENCH_RIDES"] ?? 2_000_000);
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 60);
/** What another partner's p99 must stay below, milliseconds. */
const AIM_MS = 100;

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const given = process.env["BENCH_DATABASE_URL"];
const own =
  given === undefined
    ? await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined })
    : undefined;
const connectionString = given ?? own?.connectionString ?? "";
try {
  const keys = await prepare();
  // A database that was used before knows the secrets of that run, which are gone.
  const args = ["serve", "--json", ...(given === undefined ? [] : ["--new-secrets"])];
  const server = await startServer(join(import.meta.dirname, "../src/main.ts"), args, {
    DATABASE_URL: connectionString,
    DATA_DIR: join(directory, "service"),
    PORT: "0",
    LOG_LEVEL: "warn",
  });
  try {
    const { url } = JSON.parse(server.firstLine) as { url: string };
    const load = loadavg()[0]?.toFixed(2) ?? "?";
    process.stdout.write(report(await measureHeavyPartner({ url, pid: server.pid, ...keys, seconds: SECONDS }), load));
  } finally {
    await server.stop();
  }
} finally {
  await own?.close();
  await rm(directory, { recursive: true, force: true });
}

async function prepare(): Promise<{ readonly heavyKey: string; readonly lightKey: string }> {
  const db = openDatabase({ connectionString, statementTimeoutMs: 0 });
  await migrate(db);
  const clock = () => Date.now();
  const context = { db, clock, ids: createIds(clock), actor: "bench" };
  if (given === undefined) {
    process.stderr.write(`making ${RIDES} rides …\n`);
    await createSystem(db, "main", "Bench", clock());
    await fillWithRides(db, RIDES);
    await db.query({ name: "", text: "vacuum (analyze) rides" });
  }
  const keyOf = async (name: string, rateLimit: number | null) => {
    const partner = await createPartner(context, "main", `${name} ${clock()}`);
    const input = { systemId: "main", kind: "live", partnerId: partner.id, scopes: scopeNames, rateLimit } as const;
    return (await issueKey(context, input)).key;
  };
  const made = { heavyKey: await keyOf("Heavy", null), lightKey: await keyOf("Light", 1_000_000) };
  await db.close();
  return made;
}

function report(figures: HeavyPartnerFigures, load: string): string {
  const { statuses, pageMilliseconds: page, others, failed, memoryMiB } = figures;
  const ms = (value: number) => value.toFixed(1);
  const worst = Math.max(...Object.values(others).map(({ busy }) => busy.p99));
  return [
    `A partner walks filtered lists of every ride in bursts of 10 a 10 s, ${SECONDS} s; load of the machine before: ${load}.`,
    `its answers: ${JSON.stringify(statuses)}; a page p50 ${ms(page.p50)}, max ${ms(page.max)} ms`,
    ...Object.entries(others).map(
      ([path, { quiet, busy }]) =>
        `${path.padEnd(18)} alone p50 ${ms(quiet.p50)} p99 ${ms(quiet.p99)} max ${ms(quiet.max)} ms; beside it p50 ${ms(busy.p50)} p99 ${ms(busy.p99)} max ${ms(busy.max)} ms`,
    ),
    `others' requests that failed: ${failed}; memory ${memoryMiB.before} MiB before, ${memoryMiB.after} MiB after`,
    `p99 of the others below ${AIM_MS} ms: ${worst < AIM_MS && failed === 0 ? "yes" : "NO"}`,
    "",
  ].join("\n");
}
