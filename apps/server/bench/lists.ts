import { listFilters } from "@bikeshare/rules";
import { openDatabase } from "../src/storage/db/database.ts";
import { LIMIT, pagesOf, readerOf } from "./lists/reader.ts";
import { type Combination, combinationsOf } from "./lists/requests.ts";
import type { ListName } from "./lists/rows.ts";
import { openMeter, type Work } from "./lists/work.ts";
import { startWriting } from "./lists/writer.ts";
import { describeMachine, say } from "./processes.ts";
import { openDataSets } from "./reading/data-sets.ts";

/*
 * Measures each filter of a list and each pair of filters: the first page, pages in the middle and at the end, and a page by
 * cursor. Compares them with the first page of the unfiltered list, by PostgreSQL's work and processor time, on which a busy
 * machine has little effect. The filters come from the contract. BENCH_DATABASE_URL measures another database, whatever the
 * number of its rows; all its reservations must belong to a partner named bench.
 *
 *   pnpm bench lists rides 10000000        with this number of rides
 *   pnpm bench lists rides 2000000 300     while 300 rides a second start
 *   pnpm bench lists bikes 100000          another list: bikes, stations, reservations or events
 */

/**
 * The target: the most expensive page of a filter needs at most this multiple of the first page's processor time. The
 * report marks filters above it with `short`.
 */
const MAX_PROCESSOR_RATIO = 8;
/** How often each page is measured. The least of the measurements counts. */
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 5);
/** Reads before the first measurement, and measurements of the page with which all others are compared. */
const FIRST_PAGE_REPETITIONS = 50;

// The cast is safe: `ListName` is the type of these keys.
const LISTS = Object.keys(listFilters) as ListName[];

/** The work to answer one page of a filtered list. `page` is its name in `pagesOf`. */
interface Measured {
  readonly combination: Combination;
  readonly page: string;
  readonly work: Work;
}

async function main(): Promise<void> {
  const [list = "rides", rows = "2000000", ridesPerSecond = "0"] = process.argv.slice(2);
  const name = LISTS.find((each) => each === list);
  if (name === undefined) throw new Error(`the lists are ${LISTS.join(", ")}`);
  const given = process.env["BENCH_DATABASE_URL"];
  const sets = given === undefined ? await openDataSets() : undefined;
  // Never empty: without a given address there are data sets.
  const connectionString = given ?? (await sets?.of(Number(rows), name)) ?? "";
  const db = openDatabase({ connectionString, statementTimeoutMs: 0 });
  const meter = await openMeter(connectionString);
  const writing = Number(ridesPerSecond) > 0 ? startWriting(db, Number(ridesPerSecond)) : undefined;
  try {
    say(`${describeMachine()}, ${name}`);
    const read = await readerOf(name, db, meter);
    const first = () => read({}, { kind: "first", limit: LIMIT });
    // A warm-up.
    for (let times = 0; times < FIRST_PAGE_REPETITIONS; times++) await first();
    const plain = await meter.measure(first, FIRST_PAGE_REPETITIONS);
    const found: Measured[] = [];
    for (const combination of await combinationsOf(db, name)) {
      const filters = Object.fromEntries(new URLSearchParams(combination.query));
      for (const [page, request] of await pagesOf(read, filters))
        found.push({ combination, page, work: await meter.measure(() => read(filters, request), REPETITIONS) });
    }
    process.stdout.write(report(found, plain));
  } finally {
    await writing?.close();
    await db.close();
    await meter.close();
    await sets?.close();
  }
}

/** The columns of the report. */
const MEASURES: Readonly<Record<string, (work: Work) => number>> = {
  buffers: ({ buffers }) => buffers,
  execution: ({ executionMs }) => executionMs,
  "with planning": ({ executionMs, planningMs }) => executionMs + planningMs,
  processor: ({ processorMs }) => processorMs,
};

/**
 * Returns a table with the most expensive page of each filter and pair, as a multiple of the first page of the unfiltered
 * list.
 */
function report(found: readonly Measured[], plain: Work): string {
  const measures = Object.entries(MEASURES);
  const rows = [...new Set(found.map(({ combination }) => combination.filters))].map((filters) => {
    const pages = found.filter(({ combination }) => combination.filters === filters);
    const ratios = measures.map(([name, of]) => {
      const ratio = Math.max(...pages.map(({ work }) => of(work))) / of(plain);
      return `${ratio.toFixed(1)}${name === "processor" && ratio > MAX_PROCESSOR_RATIO ? " **short**" : ""}`;
    });
    const [dearest] = pages.toSorted((a, b) => b.work.processorMs - a.work.processorMs);
    return `| ${filters} | ${ratios.join(" | ")} | ${dearest?.page}, ${dearest?.combination.text} |\n`;
  });
  const unfiltered = measures.map(([name, of]) => `${name} ${of(plain).toFixed(3)}`).join(", ");
  const head = `| filters | ${measures.map(([name]) => name).join(" | ")} | where, by processor |\n`;
  return `first page of all: ${unfiltered}; ${found.length} pages\n${head}|---|${"---|".repeat(measures.length + 1)}\n${rows.join("")}`;
}

await main();
