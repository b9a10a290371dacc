import { chmod, mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import autocannon from "autocannon";
import { openDatabase } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { createCursorCipher } from "../src/http/cursor.ts";
import { createIds } from "../src/ids.ts";
import { issueKey } from "../src/keys/service.ts";
import { timePosition } from "../src/lists/page.ts";
import { createPartner } from "../src/partners/service.ts";
import { loadSecrets } from "../src/secrets.ts";
import { createSystem } from "../src/systems/service.ts";
import { fillWithRides } from "./dataset.ts";
import { cpuMicroseconds, startServer } from "./processes.ts";

/*
 * Reading, measured as ratios within one run: what is compared takes turns, so that a slow minute of the machine
 * meets all of it. `pnpm bench` runs it; the figures stand in RESULTS.md.
 */

const RIDES = Number(process.env["BENCH_RIDES"] ?? 2_000_000);
const REPETITIONS = Number(process.env["BENCH_ROUNDS"] ?? 5);
/** Seconds of each turn. */
const TURN = Number(process.env["BENCH_SECONDS"] ?? 4);
const CONNECTIONS = 32;
const MIDDLE = { started_at: "2025-07-02T12:00:00.000Z", id: "M" };

interface Subject {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly headers: Record<string, string>;
}

interface Figure {
  readonly perSecond: number[];
  /** The server process's own processor time, microseconds a request. */
  readonly cpu: number[];
}

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
const db = openDatabase({ connectionString: postgres.connectionString, statementTimeoutMs: 0 });
try {
  await prepare();
  const key = await makeKey();
  const ours = await startServer(join(import.meta.dirname, "../src/main.ts"), ["serve", "--json"], {
    DATABASE_URL: postgres.connectionString,
    DATA_DIR: join(directory, "service"),
    PORT: "0",
    LOG_LEVEL: "warn",
  });
  const { url } = JSON.parse(ours.firstLine) as { url: string };
  const headers = { authorization: `Bearer ${key}` };
  const stationsBody = await (await fetch(`${url}/v1/stations?limit=200`, { headers })).arrayBuffer();
  const plain = await startServer(
    join(import.meta.dirname, "plain-server.ts"),
    [postgres.connectionString, String(stationsBody.byteLength)],
    {},
  );
  try {
    const page = (query: string) => ({ url: `${url}/v1/rides?limit=50${query}`, pid: ours.pid, headers });
    const cursor = await cursorInTheMiddle();
    const subjects: Subject[] = [
      {
        name: "plain page",
        url: `${plain.firstLine}/rides?${new URLSearchParams(MIDDLE).toString()}`,
        pid: plain.pid,
        headers: {},
      },
      { name: "cursor page", ...page(`&cursor=${cursor}`) },
      { name: "first page", ...page("") },
      { name: "page 1", ...page("&page=1") },
      { name: "page at 1,000,000", ...page(`&page=${Math.min(20_000, RIDES / 50)}`) },
      { name: "constant buffer", url: `${plain.firstLine}/stations`, pid: plain.pid, headers: {} },
      { name: "stations", url: `${url}/v1/stations?limit=200`, pid: ours.pid, headers },
    ];
    const load = loadavg()[0]?.toFixed(2);
    const figures = await measure(subjects);
    process.stdout.write(report(figures, { load, stationsBytes: stationsBody.byteLength }));
  } finally {
    await plain.stop();
    await ours.stop();
  }
} finally {
  await db.close();
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

async function prepare(): Promise<void> {
  process.stderr.write(`making ${RIDES} rides …\n`);
  await migrate(db);
  await createSystem(db, "main", "Bench", Date.now());
  await fillWithRides(db, RIDES);
  await db.query({ name: "", text: "vacuum (analyze) rides" });
  await db.query({ name: "", text: "vacuum (analyze) ride_counts" });
}

async function makeKey(): Promise<string> {
  const clock = () => Date.now();
  const context = { db, clock, ids: createIds(clock), actor: "bench" };
  const partner = await createPartner(context, "main", "Bench");
  const issued = await issueKey(context, {
    systemId: "main",
    kind: "live",
    partnerId: partner.id,
    scopes: ["rides:read", "stations:read"],
    rateLimit: 1_000_000_000,
  });
  return issued.key;
}

/** A cursor half-way down the list, encrypted as the service does: walking there would take 20,000 requests. */
async function cursorInTheMiddle(): Promise<string> {
  const secrets = await loadSecrets(join(directory, "service", "secrets.json"), () => new Uint8Array());
  return createCursorCipher(secrets.cursorKeys).encrypt(
    "main\nrides",
    timePosition.encode({ at: MIDDLE.started_at, id: MIDDLE.id }),
  );
}

async function measure(subjects: readonly Subject[]): Promise<Map<string, Figure>> {
  const figures = new Map<string, Figure>(subjects.map(({ name }) => [name, { perSecond: [], cpu: [] }]));
  for (let round = 0; round <= REPETITIONS; round++) {
    for (const subject of subjects) {
      const before = await cpuMicroseconds(subject.pid);
      const result = await autocannon({
        url: subject.url,
        headers: subject.headers,
        connections: CONNECTIONS,
        duration: round === 0 ? 2 : TURN,
      });
      const used = (await cpuMicroseconds(subject.pid)) - before;
      if (result.non2xx > 0 || result.errors > 0)
        throw new Error(`${subject.name}: ${result.non2xx} refused, ${result.errors} errors`);
      // The first round warms up: compiled code, prepared statements, caches.
      if (round === 0) continue;
      figures.get(subject.name)?.perSecond.push(result.requests.total / result.duration);
      figures.get(subject.name)?.cpu.push(used / result.requests.total);
    }
    process.stderr.write(`round ${round} of ${REPETITIONS}\n`);
  }
  return figures;
}

function report(
  figures: ReadonlyMap<string, Figure>,
  { load, stationsBytes }: { load: string | undefined; stationsBytes: number },
): string {
  const at = (name: string): Figure => figures.get(name) ?? { perSecond: [], cpu: [] };
  const ratio = (a: string, b: string, of: keyof Figure = "perSecond") =>
    median(at(a)[of].map((value, round) => value / (at(b)[of][round] ?? Number.NaN))).toFixed(2);
  const lines = [
    `${cpus().length} cores, load before ${load}, Node ${process.versions.node}, ${RIDES} rides, ${CONNECTIONS} connections, ${REPETITIONS} rounds of ${TURN} s, station page ${stationsBytes} bytes`,
    "",
    ...[...figures].map(
      ([name, { perSecond, cpu }]) =>
        `${name.padEnd(20)} ${median(perSecond).toFixed(0).padStart(7)} requests/s  ${median(cpu).toFixed(0).padStart(5)} µs of the server's processor a request`,
    ),
    "",
    `cursor page / plain page            ${ratio("cursor page", "plain page")}   (aim ≥ 3)`,
    `cursor page / first page            ${ratio("cursor page", "first page")}   (aim ≤ 1.2)`,
    `page 1 / page at 1,000,000          ${ratio("page 1", "page at 1,000,000")}   (aim ≤ 1.3)`,
    `stations / constant buffer          ${ratio("stations", "constant buffer")}   (aim ≥ 0.6)`,
    "",
  ];
  return lines.join("\n");
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
