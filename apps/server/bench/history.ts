import { loadavg } from "node:os";
import { percentile } from "@bikeshare/load";
import { createRandom } from "@bikeshare/simulator";
import { stationHistory, stationsAt } from "../src/city/history/station-history.ts";
import { cityAtAGlance, sumsOfStations, summaryAgainst, systemSummary } from "../src/city/history/summary.ts";
import { oneRow } from "../src/storage/db/rows.ts";
import { statement } from "../src/storage/db/statement.ts";
import type { Page } from "../src/storage/lists/page.ts";
import { historyBegins, HISTORY_ENDS, STATIONS } from "./history/changes.ts";
import { openMeter } from "./lists/work.ts";
import { describeMachine, say } from "./processes.ts";
import { openDataSets } from "./reading/data-sets.ts";

/*
 * Measures reading the history of stations at random instants, with as many changes as Citi Bike has: PostgreSQL's plans,
 * processor time and elapsed time. The rows are in the table's partitions, as in production. `pnpm bench history [changes]
 * [repetitions]`
 */
const [changes = 13_000_000, repetitions = 200] = process.argv.slice(2).map(Number);
const PAGE_SIZE = 200;
const DAY_MS = 86_400_000;
const LONG_RIDE_MS = DAY_MS;

const mostChanges = statement(
  "historyBench.mostChanges",
  "select station_id as id from station_changes where changed_on = date '2026-03-29' group by 1 order by count(*) desc limit 1",
);

const sets = await openDataSets();
const meter = await openMeter(await sets.of(changes, "station_changes"));
const { filtered } = meter.context;
const clock = () => HISTORY_ENDS;
const context = { filtered, clock };
const whose = { systemId: "main", partnerId: "bench" };
const random = createRandom(1);
const begins = historyBegins(changes);
const iso = (at: number) => new Date(at).toISOString();
const anInstant = () => iso(random.between(begins, HISTORY_ENDS));
const station = (n: number) => `station-${String(n).padStart(4, "0")}`;

/** Reads one page of the stations as they were at an instant. */
const pageAt = (at: string, page: number) =>
  stationsAt(context, whose, { at }, { kind: "page", page, limit: PAGE_SIZE });
/** Reads all stations as they were at an instant, page after page by cursor. */
const walkAt = async (at: string) => {
  let found = 0;
  for (let after: string | undefined = ""; after !== undefined;) {
    const page: Page<string> = await stationsAt(context, whose, { at }, { kind: "cursor", after, limit: PAGE_SIZE });
    found += countOf(page);
    after = page.next;
  }
  if (found !== STATIONS) throw new Error(`${found} stations were there at ${at}, not ${STATIONS}`);
};
/** Returns how many stations a page's JSON text has: each has one `as_of`. */
const countOf = ({ items }: Page<string>) => items.split('"as_of"').length - 1;
/** Reads all stations as they were at an instant, page after page by number. */
const allAt = async (at: string) => {
  let found = 0;
  for (let page = 1; page <= Math.ceil(STATIONS / PAGE_SIZE); page++) found += countOf(await pageAt(at, page));
  if (found !== STATIONS) throw new Error(`${found} stations were there at ${at}, not ${STATIONS}`);
};
/** Reads the history of a station over a random period. */
const history = async (days: number, step: "PT15M" | "PT1H" | "P1D", id = station(random.between(1, STATIONS))) => {
  const to = random.between(Math.min(HISTORY_ENDS, begins + days * DAY_MS), HISTORY_ENDS);
  const query = { from: iso(to - days * DAY_MS), to: iso(to), step };
  if ((await stationHistory(context, whose, id, query)) === undefined) throw new Error(`${id} has no history`);
};
/** Reads the sums of the whole system over the last days. */
const summary = (days: number, step: "PT15M" | "PT1H" | "P1D") => {
  const query = { from: iso(HISTORY_ENDS - days * DAY_MS), to: iso(HISTORY_ENDS), step };
  return filtered.read(whose, (db) => systemSummary({ db, clock }, whose.systemId, query));
};
const busiest = await filtered.read(whose, async (db) => oneRow(await db.query<{ id: string }>(mostChanges)).id);

/** The reads to measure, by name, each with the most milliseconds of processor time at its p99; undefined: no limit. */
const reads: Readonly<Record<string, readonly [read: () => Promise<unknown>, most?: number]>> = {
  "at= of all stations, ten pages by cursor": [() => walkAt(anInstant()), 50],
  "at= of all stations, ten pages by number": [() => allAt(anInstant())],
  "at= of a page of 200": [() => pageAt(anInstant(), random.between(1, 9))],
  "a station's month by hours": [() => history(30, "PT1H"), 20],
  "the busiest station's month by hours": [() => history(30, "PT1H", busiest), 20],
  "a station's day by quarters": [() => history(1, "PT15M")],
  glance: [() => filtered.read(whose, (db) => cityAtAGlance({ db, clock }, whose.systemId, LONG_RIDE_MS)), 100],
  "summary of a day by hours, beside the day before": [
    () =>
      filtered.read(whose, (db) =>
        summaryAgainst({ db, clock }, whose.systemId, {
          from: iso(HISTORY_ENDS - DAY_MS),
          to: iso(HISTORY_ENDS),
          step: "PT1H",
          against: "previous",
        }),
      ),
    100,
  ],
  "summary of a month by hours": [() => summary(31, "PT1H"), 100],
  "summary of all days": [() => summary(Math.floor((HISTORY_ENDS - begins) / DAY_MS), "P1D"), 100],
  "sums of all stations today": [
    () => filtered.read(whose, (db) => sumsOfStations({ db, clock }, whose.systemId, {})),
    100,
  ],
};

try {
  say(`${describeMachine()}, ${changes} changes of ${STATIONS} stations, ${repetitions} times each`);
  for (const [name, [read, most = Infinity]] of Object.entries(reads)) {
    // Not measured: fills the caches of PostgreSQL and lets V8 compile the code.
    for (let n = 0; n < 10; n++) await read();
    const processor: number[] = [];
    const elapsed: number[] = [];
    for (let n = 0; n < repetitions; n++) {
      const begun = performance.now();
      processor.push(await meter.processor(read));
      elapsed.push(performance.now() - begun);
    }
    const shown = (times: readonly number[]) =>
      `least ${Math.min(...times).toFixed(1)}, p50 ${percentile(times, 0.5).toFixed(1)}, p99 ${percentile(times, 0.99).toFixed(1)} ms`;
    const verdict = percentile(processor, 0.99) > most ? `; **short** of ${most} ms` : "";
    say(`${name}: processor ${shown(processor)}; passed ${shown(elapsed)}; load ${loadavg()[0]?.toFixed(1)}${verdict}`);
  }
  for (const [name, [read]] of Object.entries(reads)) {
    say(`\n== ${name}`);
    for (const plan of await meter.plans(read)) say(plan);
  }
} finally {
  await meter.close();
  await sets.close();
}
