import { mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock, createTestIds } from "@bikeshare/test-kit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ExportHarness, openExportHarness } from "../../../test/exports/export.harness.ts";
import { rideRow } from "../../../test/rows.ts";
import { until } from "../../../test/until.ts";
import { systemCheckFinders } from "../../health/checks/system-checks.ts";
import type { PeriodicWork } from "../../storage/background/periodic.ts";
import { statement } from "../../storage/db/statement.ts";
import { addSchedule, type ExportChoice, findExport, listExports, removeExport, requestExport } from "./service.ts";
import { type ExportWorkOptions, startExportWork } from "./work.ts";

const setRunning = statement(
  "test.exports.setRunning",
  `update exports set state = 'running', attempts = $3, seen_at = now() - $4::bigint * interval '1 ms'
   where system_id = $1 and id = $2`,
);
const deleteAll = statement(
  "test.exports.deleteAll",
  "with gone as (delete from export_schedules where system_id = $1) delete from exports where system_id = $1",
);
const waitingForLock = statement(
  "",
  "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
);

let harness: ExportHarness;
let directory: string;
const clock = createTestClock();
const ids = createTestIds();
const works: PeriodicWork[] = [];
let errors: unknown[];
beforeAll(async () => {
  harness = await openExportHarness();
  await harness.stations({ id: "A" }, { id: "B" });
  await harness.rides([
    rideRow({ id: "r1", started_at: "2026-05-10T08:00:00.000Z", start_station_id: "A", end_station_id: "B" }),
  ]);
});
afterAll(() => harness.close());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-export-work-"));
  errors = [];
});
afterEach(async () => {
  for (const work of works.splice(0)) await work.close();
  await rm(directory, { recursive: true });
  await harness.db.query(deleteAll, [harness.systemId]);
  expect(errors).toEqual([]);
});

const context = () => ({ db: harness.db, clock, ids, actor: "test" });
const CHOICE: ExportChoice & { readonly month: string } = {
  ...{ kind: "rides", month: "2026-05", format: "csv", privacy: "stations", is_shared: true },
};
const request = (changes: Partial<typeof CHOICE> = {}) =>
  requestExport(context(), harness.systemId, { ...CHOICE, ...changes });
const found = (id: string) => findExport(harness.db, harness.systemId, id);
const all = () => listExports(harness.db, harness.systemId, { before: undefined, limit: 100 });

/** Starts the work of one process. */
function start(options: Partial<ExportWorkOptions> = {}): PeriodicWork {
  const work = startExportWork({
    ...{ db: harness.db, clock, ids, directory, version: "1.2.3" },
    systems: () => Promise.resolve([harness.systemId]),
    onError: (error) => void errors.push(error),
    ...options,
  });
  works.push(work);
  return work;
}

describe("the work of exports", () => {
  it("makes what people ask for, each once, however many processes do it", async () => {
    const asked = [await request(), await request({ format: "parquet" })];
    await Promise.all([start().runOnce(), start().runOnce()]);
    const made = await Promise.all(asked.map(({ id }) => found(id)));
    expect(made.map((each) => [each?.state, each?.attempts, each?.facts?.rows])).toEqual([
      ["ready", 1, 1],
      ["ready", 1, 1],
    ]);
    const files = asked.flatMap(({ id, format }) => {
      const name = `${id}-1.${format === "csv" ? "csv.gz" : "parquet"}`;
      return [name, `${name}.manifest.json`];
    });
    expect((await readdir(directory)).toSorted()).toEqual(files.toSorted());
  });

  it("begins an export of a process that was killed anew, and leaves one that is under way alone", async () => {
    const [killed, busy] = [await request(), await request()];
    await harness.db.query(setRunning, [harness.systemId, killed.id, 1, 200_000]);
    await harness.db.query(setRunning, [harness.systemId, busy.id, 1, 1_000]);
    // Neither has written anything to its draft for long.
    const drafts = [killed, busy].map(({ id }) => `${id}-1.csv.gz.part`);
    for (const name of drafts) {
      await writeFile(join(directory, name), "");
      await utimes(join(directory, name), new Date(0), new Date(0));
    }
    await start().runOnce();
    expect(await found(killed.id)).toMatchObject({ state: "ready", attempts: 2 });
    expect(await found(busy.id)).toMatchObject({ state: "running", attempts: 1 });
    await start().runOnce();
    expect((await readdir(directory)).filter((name) => name.endsWith(".part"))).toEqual(drafts.slice(1));
  });

  it("does not begin an export again that has ended three processes", async () => {
    const asked = await request();
    await harness.db.query(setRunning, [harness.systemId, asked.id, 3, 200_000]);
    await start().runOnce();
    const failed = await found(asked.id);
    expect([failed?.state, failed?.problem?.split(" while")[0]]).toEqual(["failed", "3 processes ended"]);
  });

  it("says why a file cannot be made, and goes on with the next", async () => {
    const [full, next] = [await request(), await request()];
    // Every write to /dev/full fails like a write to a full disk.
    await symlink("/dev/full", join(directory, `${full.id}-1.csv.gz.part`));
    await start().runOnce();
    const problem = `The disk of ${directory} is full. Free space there, then export again.`;
    expect(await found(full.id)).toMatchObject({ state: "failed", problem });
    expect(await found(next.id)).toMatchObject({ state: "ready" });
    expect((await readdir(directory)).filter((name) => name.startsWith(full.id))).toEqual([]);
  });

  it("leaves nothing of an export that is deleted, once its file is old enough", async () => {
    const asked = await request();
    await start().runOnce();
    await removeExport(context(), harness.systemId, asked.id);
    const old = new Date(clock() - 3_600_000);
    for (const name of await readdir(directory)) await utimes(join(directory, name), old, old);
    for (const name of ["export_gone-1.csv.gz.part", "notes.txt"]) {
      await writeFile(join(directory, name), "");
      await utimes(join(directory, name), old, old);
    }
    await start().runOnce();
    expect(await readdir(directory)).toEqual(["notes.txt"]);
  });
});

it("a schedule makes the month before once it is settled, once, and keeps it for as many of the city's months as it says", async () => {
  await addSchedule(context(), harness.systemId, { ...CHOICE, keep_months: 2 });
  clock.advance(Date.parse("2026-06-03T21:59:59Z") - clock());
  await start().runOnce();
  expect(await all()).toEqual([]);
  // Three days after midnight of the first of June in Oslo.
  clock.advance(1_000);
  await Promise.all([start().runOnce(), start().runOnce()]);
  expect(await all()).toMatchObject([{ state: "ready", month: "2026-05", requested_by: "server", is_shared: true }]);
  clock.advance(Date.parse("2026-07-10T00:00:00Z") - clock());
  await start().runOnce();
  expect((await all()).map(({ month }) => month)).toEqual(["2026-06", "2026-05"]);
  clock.advance(Date.parse("2026-07-31T21:59:59Z") - clock());
  await start().runOnce();
  expect((await all()).map(({ month }) => month)).toEqual(["2026-06", "2026-05"]);
  // Midnight of the first of August in Oslo, when it is still July in UTC.
  clock.advance(1_000);
  await start().runOnce();
  expect((await all()).map(({ month }) => month)).toEqual(["2026-06"]);
  clock.advance(Date.parse("2026-08-10T00:00:00Z") - clock());
  await start().runOnce();
  expect((await all()).map(({ month }) => month)).toEqual(["2026-07", "2026-06"]);
});

it("a schedule does not make a file again that somebody has deleted", async () => {
  await addSchedule(context(), harness.systemId, { ...CHOICE, keep_months: 2 });
  clock.advance(Date.parse("2026-09-10T00:00:00Z") - clock());
  await start().runOnce();
  const [made] = await all();
  expect(made).toMatchObject({ state: "ready", month: "2026-08" });
  await removeExport(context(), harness.systemId, String(made?.id));
  await start().runOnce();
  expect(await all()).toEqual([]);
});

it("a schedule that finds twenty waiting requests nothing, says so, and makes its file once there is space", async () => {
  clock.advance(Date.parse("2026-11-10T00:00:00Z") - clock());
  const asked = [];
  for (let n = 0; n < 20; n++) asked.push(await request());
  // Another process makes them.
  for (const { id } of asked) await harness.db.query(setRunning, [harness.systemId, id, 1, 1_000]);
  await addSchedule(context(), harness.systemId, { ...CHOICE, keep_months: 2 });
  const check = () => systemCheckFinders.exports({ ...context(), longRideAfterMs: 1 }, harness.systemId);
  await start().runOnce();
  expect(await all()).toHaveLength(20);
  expect(await check()).toMatchObject([
    { status: "warning", detail: "1 schedule of main cannot export 2026-10 yet: 20 exports wait or are being made" },
  ]);
  await removeExport(context(), harness.systemId, String(asked[0]?.id));
  await start().runOnce();
  expect((await all())[0]).toMatchObject({ state: "ready", month: "2026-10", requested_by: "server" });
  expect(await check()).toMatchObject([{ status: "ok" }]);
});

describe("a request for an export", () => {
  it.each([
    [{ privacy: null }, /^privacy must be given for rides/],
    [{ kind: "station_status" as const }, /^privacy must be given for rides/],
    [{ kind: "station_status" as const, privacy: null, month: null as never }, /^month must be given/],
    [{ kind: "stations" as const, privacy: null }, /be null for stations/],
    [{ month: "2099-01" }, /^month is 2099-01, which has not begun/],
  ])("is refused in words: %j", async (changes, message) => {
    const asked = request(changes);
    await expect(asked).rejects.toThrow(message);
    expect(await all()).toEqual([]);
  });

  it("is refused when twenty wait already", async () => {
    for (let n = 0; n < 20; n++) await request();
    await expect(request()).rejects.toThrow("20 exports wait");
  });

  it("is refused when another one, which is not committed yet, is the twentieth", async () => {
    for (let n = 0; n < 19; n++) await request();
    let other: Promise<unknown> = Promise.resolve();
    await harness.db.transaction(async (tx) => {
      await requestExport({ ...context(), db: tx }, harness.systemId, CHOICE);
      let hasEnded = false;
      other = request()
        .catch((error: unknown) => error)
        .finally(() => (hasEnded = true));
      await until(async () => hasEnded || (await harness.db.query(waitingForLock)).length > 0);
    });
    expect(String(await other)).toContain("20 exports wait");
    expect(await all()).toHaveLength(20);
  });
});
