import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../src/db/database.ts";
import { combinationsOf, type Combination, type ListName } from "./lists/requests.ts";
import { startWriting } from "./lists/writer.ts";
import { openDataSets } from "./reading/data-sets.ts";
import { type MeasuredService, startService } from "./reading/service.ts";

/*
 * Every filter of a list and every pair of them, at the first page, in the middle, at the end and by cursor, beside the
 * unfiltered page: one caller, one request at a time. The filters are those of the contract.
 *
 *   pnpm bench:lists rides 10000000        of as many rides
 *   pnpm bench:lists rides 2000000 300     while 300 rides a second start
 */

const MUST = 8;
/** Requests of each page. The least of them counts: what is slower is somebody else's. */
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 5);

interface Measured {
  readonly combination: Combination;
  readonly page: string;
  readonly ms: number;
  readonly status: number;
}

async function main(): Promise<void> {
  const [list = "rides", rides = "2000000", written = "0"] = process.argv.slice(2);
  const given = process.env["BENCH_DATABASE_URL"];
  const sets = given === undefined ? await openDataSets() : undefined;
  const connectionString = given ?? (await sets?.of(Number(rides))) ?? "";
  const directory = sets?.directory ?? process.env["BENCH_DATA_DIR"] ?? "";
  const service = await startService(connectionString, join(directory, `service-lists`));
  const db = openDatabase({ connectionString, statementTimeoutMs: 0 });
  const writing = Number(written) > 0 ? startWriting(db, Number(written)) : undefined;
  try {
    process.stdout.write(`${cpus().length} cores, load ${loadavg()[0]?.toFixed(2)}, ${list}\n`);
    const found: Measured[] = [];
    const plain: number[] = [];
    const path = `/v1/${list}?limit=50`;
    for (const combination of await combinationsOf(db, list as ListName)) {
      // They take turns, so that a slow minute of the machine meets both.
      plain.push((await leastOf(service, path)).ms);
      for (const measured of await measurePages(service, `${path}&${combination.query}`))
        found.push({ combination, ...measured });
    }
    plain.sort((a, b) => a - b);
    process.stdout.write(report(found, plain[Math.floor(plain.length / 2)] ?? 0));
  } finally {
    await writing?.close();
    await db.close();
    await service.stop();
    await sets?.close();
  }
}

interface Envelope {
  readonly total_pages?: number;
  readonly next_cursor?: string;
}

async function measurePages(service: MeasuredService, path: string) {
  const first = await ask(service, path);
  const { total_pages: pages = 1, next_cursor: cursor } = first.body;
  const measured = [{ page: "cold first", ...first }];
  const targets = new Map([
    ["first", path],
    ["middle", `${path}&page=${Math.ceil(pages / 2)}`],
    ["late", `${path}&page=${Math.ceil(pages * 0.83)}`],
    ["last", `${path}&page=${pages}`],
    ...(cursor === undefined ? [] : [["cursor", `${path}&cursor=${encodeURIComponent(cursor)}`] as const]),
  ]);
  for (const [page, target] of targets) measured.push({ page, ...(await leastOf(service, target)) });
  return measured;
}

async function leastOf(service: MeasuredService, path: string) {
  let least = await ask(service, path);
  for (let n = 1; n < REPETITIONS; n++) {
    const next = await ask(service, path);
    if (next.ms < least.ms) least = next;
  }
  return least;
}

async function ask(service: MeasuredService, path: string): Promise<{ ms: number; status: number; body: Envelope }> {
  const begun = performance.now();
  const response = await service.fetch(path);
  const body = (await response.json()) as Envelope;
  return { ms: performance.now() - begun, status: response.status, body };
}

/** The dearest page of each filter and pair, as a multiple of the unfiltered one. */
function report(found: readonly Measured[], unfiltered: number): string {
  const rows = [...new Set(found.map(({ combination }) => combination.filters))].map((filters) => {
    const own = found.filter(({ combination, page }) => combination.filters === filters && page !== "cold first");
    const cold = found.filter(({ combination, page }) => combination.filters === filters && page === "cold first");
    const dearest = own.toSorted((a, b) => b.ms - a.ms)[0];
    const coldest = cold.toSorted((a, b) => b.ms - a.ms)[0];
    const failed = [...own, ...cold].filter(({ status }) => status !== 200);
    if (dearest === undefined || coldest === undefined) return "";
    const ratio = dearest.ms / unfiltered;
    return `| ${filters} | ${ratio.toFixed(1)}${ratio > MUST ? " **short**" : ""} | ${dearest.page}, ${dearest.combination.text} | ${(coldest.ms / unfiltered).toFixed(1)}, ${coldest.combination.text} | ${failed.length} |\n`;
  });
  const all = found.map(({ ms }) => ms).sort((a, b) => a - b);
  const median = all[Math.floor(all.length / 2)] ?? 0;
  return `unfiltered ${unfiltered.toFixed(2)} ms, ${found.length} pages, median ${(median / unfiltered).toFixed(1)} ×\n| filters | × | where | first request | not 200 |\n|---|---|---|---|---|\n${rows.join("")}`;
}

await main();
