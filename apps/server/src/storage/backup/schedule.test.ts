import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { readConfig } from "../../config.ts";
import { machineChecks } from "../../health/checks/list.ts";
import type { PeriodicWork } from "../background/periodic.ts";
import { loadSecrets } from "../secrets/secrets.ts";
import { createBackupIn, startScheduledBackups } from "./schedule.ts";

const HOUR_MS = 3_600_000;
/** The time of the first backup. */
const START = Date.parse("2020-06-01T03:00:00Z");
const FIRST = "bikeshare-20200601T030000Z.zip";

let directory: string;
let database: TestDatabase;
let secretsPath: string;
const open: PeriodicWork[] = [];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-schedule-"));
  database = await createTestDatabase();
  secretsPath = join(directory, "secrets.json");
  await loadSecrets(secretsPath, randomBytes);
});
afterAll(async () => {
  await database.close();
  await rm(directory, { recursive: true });
});

let backups: string;
let now: number;
let made: string[];
let failures: unknown[];
beforeEach(async () => {
  backups = await mkdtemp(join(directory, "backups-"));
  now = START;
  made = [];
  failures = [];
});
afterEach(async () => {
  for (const work of open.splice(0)) await work.close();
});

const optionsOf = ({ db }: TestDatabase) => ({ connectionString: db.connectionString, secretsPath, version: "1.2.3" });

/** Starts the schedule of one process: a backup a day, and two are kept. Returns after its first run. */
async function start(options: Partial<ReturnType<typeof optionsOf>> = {}): Promise<PeriodicWork> {
  const work = startScheduledBackups({
    ...{ ...optionsOf(database), ...options, directory: backups, intervalMs: 24 * HOUR_MS, keep: 2 },
    clock: () => now,
    onBackup: (path) => void made.push(path),
    onError: (error) => void failures.push(error),
  });
  open.push(work);
  // Waits for the run that the start has begun.
  await work.runOnce().catch(() => undefined);
  return work;
}

const files = async () => (await readdir(backups)).toSorted();

/** The result of the check of backups. */
async function found(): Promise<string[]> {
  const config = readConfig({ BACKUP_DIR: backups }, directory);
  const [check] = machineChecks(config, () => now).filter(({ name }) => name === "latest backup");
  return [(await check?.find()) ?? []].flat().map(({ status, detail }) => `${status}: ${detail}`);
}

describe("scheduled backups", () => {
  it("are made when the newest is old enough, and the oldest beyond the number to keep are removed", async () => {
    const work = await start();
    for (const hours of [0, 1, 23, 12, 12, 24]) {
      now += hours * HOUR_MS;
      await work.runOnce();
      await writeFile(join(backups, "notes.txt"), "mine");
    }
    expect(made).toHaveLength(4);
    expect(await files()).toEqual(["bikeshare-20200603T030000Z.zip", "bikeshare-20200604T030000Z.zip", "notes.txt"]);
  });

  it("that fail remove none that are there, are tried again, and are found too old after two intervals", async () => {
    await (await start()).close();
    now += 24 * HOUR_MS;
    await (await start()).close();
    const kept = await files();
    expect(kept).toHaveLength(2);
    const contents = await Promise.all(kept.map((name) => readFile(join(backups, name))));
    const failing = await start({ secretsPath: join(directory, "gone.json") });
    for (let day = 0; day < 4; day++) {
      now += 12 * HOUR_MS;
      if (day > 0) await expect(failing.runOnce()).rejects.toThrow("There is no secrets file");
    }
    expect(await files()).toEqual(kept);
    expect(await Promise.all(kept.map((name) => readFile(join(backups, name))))).toEqual(contents);
    expect(await found()).toEqual([`ok: ${kept[1]}, 48.0 h old`]);
    now += 1_000;
    expect(await found()).toEqual([`failure: ${kept[1]}, 48.0 h old`]);
    await start();
    expect(made).toHaveLength(3);
    expect(await found()).toEqual(["ok: bikeshare-20200604T030001Z.zip, 0.0 h old"]);
  });

  it("are made by one of the processes that share a directory, at the start and each time after", async () => {
    const processes = await Promise.all([start(), start(), start()]);
    expect(made).toEqual([join(backups, FIRST)]);
    now += 24 * HOUR_MS;
    await Promise.all(processes.map((work) => work.runOnce()));
    now += 24 * HOUR_MS;
    await Promise.all(processes.map((work) => work.runOnce()));
    expect(made).toHaveLength(3);
    expect(await files()).toEqual(["bikeshare-20200602T030000Z.zip", "bikeshare-20200603T030000Z.zip"]);
  });

  it("go on beside what a killed process has left, and remove it after an hour by the clock that dates files", async () => {
    const draft = join(backups, "bikeshare-20200601T025959Z.zip.part");
    await writeFile(draft, "half of it");
    const writtenAgo = (ms: number) => utimes(draft, new Date(), new Date(Date.now() - ms));
    await writtenAgo(HOUR_MS - 60_000);
    const work = await start();
    expect([made, await files()]).toEqual([[], ["bikeshare-20200601T025959Z.zip.part"]]);
    await writtenAgo(HOUR_MS + 60_000);
    await work.runOnce();
    expect(await files()).toEqual([FIRST]);
  });

  it("that are under way when the service stops end at once, and leave nothing", async () => {
    const isLocked = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const holding = database.db.transaction(async (tx) => {
      await tx.run("lock table rides in access exclusive mode");
      isLocked.resolve();
      await mayEnd.promise;
    });
    await isLocked.promise;
    const starting = start();
    try {
      await vi.waitFor(async () => expect(await files()).toEqual([`${FIRST}.part`]), { timeout: 20_000 });
      await open.at(-1)?.close();
      expect(await files()).toEqual([]);
    } finally {
      mayEnd.resolve();
      await Promise.all([holding, starting]);
    }
    expect([made, failures]).toEqual([[], []]);
  });

  it("do not wait for the time of one that was named by a clock a year ahead", async () => {
    await mkdir(backups, { recursive: true });
    // As many files as backups are kept. They must not cause a new backup to be removed.
    const ofWrongClock = ["bikeshare-20210601T030000Z.zip", "bikeshare-20210602T030000Z.zip"];
    for (const name of ofWrongClock) await writeFile(join(backups, name), "of a wrong clock");
    const work = await start();
    await work.runOnce();
    expect(made).toEqual([join(backups, FIRST)]);
    expect(await files()).toEqual([FIRST, ...ofWrongClock]);
    expect(await found()).toEqual([`ok: ${FIRST}, 0.0 h old`]);
  });
});

it("of several begun in one second in one directory each has a file of its own; one that fails leaves nothing", async () => {
  const instant = Date.parse("2020-06-01T03:00:00.500Z");
  const begin = (options = optionsOf(database)) => createBackupIn(backups, options, instant);
  const written = [...(await Promise.all([begin(), begin()])), await begin()];
  await expect(begin({ ...optionsOf(database), secretsPath: join(directory, "none.json") })).rejects.toThrow();
  const names = ["00", "01", "02"].map((second) => `bikeshare-20200601T0300${second}Z.zip`);
  expect(written.map(({ path }) => path).toSorted()).toEqual(names.map((name) => join(backups, name)));
  expect((await readdir(backups)).toSorted()).toEqual(names);
});
