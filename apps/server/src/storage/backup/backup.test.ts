import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createEmptyDatabase } from "../../../test/database.ts";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { laterProgram } from "../../../test/migrations.ts";
import { withDatabaseName } from "../../../test/server-commands.ts";
import { checkInvariants } from "../../health/check/service.ts";
import { readVersion } from "../../version.ts";
import { recordServiceKey } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";
import type { Database } from "../db/database.ts";
import { migrate } from "../db/migrate/migrate.ts";
import { statement } from "../db/statement.ts";
import { columnTypes } from "../db/tables.generated.ts";
import { eventsTable } from "../partitions/partition.rules.ts";
import { createPartitions } from "../partitions/service.ts";
import { loadSecrets } from "../secrets/secrets.ts";
import { draftOf, entryNames, readArchive, writeArchive } from "./archive.ts";
import { createBackup, readManifest, writeBackup } from "./backup.ts";
import { restoreBackup } from "./restore.ts";

let directory: string;
let harness: FleetHarness;
let backup: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-backup-"));
  harness = await openFleetHarness();
  const { webhookKeys } = await loadSecrets(join(directory, "secrets.json"), randomBytes);
  await recordServiceKey({ ...harness, cipher: createSecretCipher(webhookKeys) }, harness.db, harness.systemId);
  await createPartitions(harness.db, eventsTable, "2026-06-01");
  await harness.stations(stationItem("1"), stationItem("2", { name: 'Tab\t, line\n, \\N, \\., "quoted" and 駅 🚲' }));
  await harness.bikes(...Array.from({ length: 20 }, (_, n) => ({ id: `bike-${n}`, station_id: "1" })));
  const { results } = await harness.past(...Array.from({ length: 50 }, (_, n) => pastRide(n)));
  expect(results.filter(({ outcome }) => outcome !== "created")).toEqual([]);
  backup = join(directory, "whole.zip");
  await createBackup(optionsOf(harness.db), backup);
});
afterAll(async () => {
  await harness.close();
  await rm(directory, { recursive: true });
});

/** A database that is not even migrated, created for each test that needs one. */
let empty: Database;
function useEmptyDatabase(): void {
  let close: () => Promise<void>;
  beforeEach(async () => {
    ({ db: empty, close } = await createEmptyDatabase());
  });
  afterEach(() => close());
}

function optionsOf({ connectionString }: Database) {
  return { connectionString, secretsPath: join(directory, "secrets.json"), version: "1.2.3" };
}

const restoring = (path: string, secrets = `restored-${randomBytes(4).toString("hex")}.json`) => ({
  secretsPath: join(directory, secrets),
  done: () => restoreBackup({ connectionString: empty.connectionString, secretsPath: join(directory, secrets) }, path),
});

function pastRide(n: number) {
  const started = Date.parse("2026-05-01T08:00:00Z") + n * 3_600_000;
  const times = { started_at: new Date(started).toISOString(), ended_at: new Date(started + 600_000).toISOString() };
  return { id: `past-${n}`, bike_id: "bike-0", ...times };
}

/** Every row of every table, as text. */
async function contents(db: Database): Promise<Record<string, unknown>> {
  const tables = Object.keys(columnTypes).filter((name) => name !== "migrations");
  const rows = tables.map(async (name) => [
    name,
    await db.query(statement("", `select array_agg(t::text order by t::text) as rows from ${name} t`)),
  ]);
  return Object.fromEntries(await Promise.all(rows)) as Record<string, unknown>;
}

async function tablesOf(db: Database): Promise<unknown[]> {
  return db.query(
    statement("", "select relname from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace"),
  );
}

/**
 * The definitions of all indexes, keys and foreign keys, except for those of partitions, which follow their table's. Joins
 * the tables, because a distributed database hides its shards only in `pg_class`.
 */
async function indexesOf(db: Database): Promise<unknown[]> {
  return db.query(
    statement(
      "",
      `select pg_get_indexdef(indexrelid) as definition, indisvalid from pg_index join pg_class t on t.oid = indrelid
       where t.relnamespace = 'public'::regnamespace and not relispartition
       union all
       select t.relname || ' ' || conname || ' ' || pg_get_constraintdef(c.oid), convalidated
       from pg_constraint c join pg_class t on t.oid = conrelid
       where t.relnamespace = 'public'::regnamespace and conparentid = 0 and contype <> 'n'
       order by definition`,
    ),
  );
}

describe("a restored backup", () => {
  useEmptyDatabase();

  it("has every row of every table, every index and key, and the secrets, whatever texts the rows contain", async () => {
    const { done, secretsPath } = restoring(backup);
    const { rows } = await done();
    const [source, copy] = [await contents(harness.db), await contents(empty)];
    expect(copy).toEqual(source);
    expect(rows).toBeGreaterThan(70);
    expect(await indexesOf(empty)).toEqual(await indexesOf(harness.db));
    expect(await readFile(secretsPath, "utf8")).toBe(await readFile(join(directory, "secrets.json"), "utf8"));
    for (const path of [backup, secretsPath]) expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("is of one instant, although rides began and ended while it was made", async () => {
    let isDone = false;
    const riding = (async () => {
      for (let ride = 0; !isDone; ride++) {
        const bikes = Array.from({ length: 20 }, (_, n) => ({ id: `ride-${ride}-${n}`, bike_id: `bike-${n}` }));
        await harness.start(...bikes);
        await harness.end(...bikes.map(({ id }) => ({ id, end_station_id: "2" })));
      }
    })();
    const path = join(directory, "busy.zip");
    await createBackup(optionsOf(harness.db), path).finally(() => (isDone = true));
    await riding;
    await restoring(path).done();
    const broken = (await checkInvariants(empty, harness.systemId)).filter((invariant) => invariant.broken > 0);
    expect(broken).toEqual([]);
  });
});

describe("a backup that cannot be restored changes nothing:", () => {
  useEmptyDatabase();

  it("into a database with data", async () => {
    await restoring(backup).done();
    const before = await contents(empty);
    await expect(restoring(backup).done()).rejects.toThrow(
      /^The database has data already \(in \w+\); nothing was changed/,
    );
    expect(await contents(empty)).toEqual(before);
  });

  it("beside another secrets file", async () => {
    await writeFile(join(directory, "other.json"), "{}");
    await expect(restoring(backup, "other.json").done()).rejects.toThrow(/is not the one of the backup; nothing was/);
    expect(await readFile(join(directory, "other.json"), "utf8")).toBe("{}");
    expect(await tablesOf(empty)).toEqual([]);
  });

  it.each([
    ["a file of something else", () => Promise.resolve(Buffer.from("PK, but no archive"))],
    ["half of it", async () => (await readFile(backup)).subarray(0, -2_000)],
    ["one of whose rides a bit was lost", async () => flipped(await readFile(backup), "tables/rides.copy")],
    ["one of whose secrets a bit was lost", async () => flipped(await readFile(backup), "secrets.json")],
  ])("%s", async (_, bytes) => {
    const path = join(directory, `damaged-${randomBytes(4).toString("hex")}.zip`);
    await writeFile(path, await bytes());
    const { done, secretsPath } = restoring(path);
    await expect(done()).rejects.toThrow(/damaged/);
    await expect(stat(secretsPath)).rejects.toThrow("ENOENT");
    if ((await tablesOf(empty)).length > 0)
      for (const rows of Object.values(await contents(empty))) expect(rows).toEqual([{ rows: null }]);
  });
});

/** Flips a bit in the data of a file in an archive. The data follow the first occurrence of the file's name. */
function flipped(archive: Buffer, name: string): Buffer {
  const index = archive.indexOf(name) + name.length + 40;
  archive[index] = (archive[index] ?? 0) ^ 4;
  return archive;
}

describe("a backup is not made", () => {
  it("over a file that is there", async () => {
    const before = await readFile(backup);
    await expect(createBackup(optionsOf(harness.db), backup)).rejects.toThrow("exists already");
    expect((await readFile(backup)).equals(before)).toBe(true);
  });

  it("by two processes in one file", async () => {
    const path = join(directory, "twice.zip");
    const begin = () => createBackup(optionsOf(harness.db), path);
    const ends = await Promise.allSettled([begin(), begin()]);
    expect(ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : []))).toEqual([
      `BackupFileError: ${path}.part exists: another backup is being written there. If none runs, remove it.`,
    ]);
    expect((await readdir(directory)).filter((name) => name.startsWith("twice"))).toEqual(["twice.zip"]);
  });

  it("in a directory that is not there", async () => {
    const path = join(directory, "none", "new.zip");
    await expect(createBackup(optionsOf(harness.db), path)).rejects.toThrow(`There is no directory ${dirname(path)}: `);
    const folder = `${join(directory, "no-folder")}/`;
    await expect(createBackup(optionsOf(harness.db), folder)).rejects.toThrow(`There is no directory ${folder}: `);
  });

  it("without the secrets with which the database is used", async () => {
    await loadSecrets(join(directory, "wrong.json"), randomBytes);
    for (const [secretsPath, message] of [
      ["none.json", /There is no secrets file/],
      ["wrong.json", /is not the one that/],
    ] as const) {
      const options = { ...optionsOf(harness.db), secretsPath: join(directory, secretsPath) };
      await expect(createBackup(options, join(directory, "without.zip"))).rejects.toThrow(message);
    }
    expect((await readdir(directory)).filter((name) => name.startsWith("without"))).toEqual([]);
  });

  it("when its database goes away, which leaves no part of it", async () => {
    const options = optionsOf(harness.db);
    const gone = withDatabaseName(options.connectionString, "no_such_database");
    const path = join(directory, "gone.zip");
    await expect(createBackup({ ...options, connectionString: gone }, path)).rejects.toThrow();
    expect((await readdir(directory)).filter((name) => name.startsWith("gone"))).toEqual([]);
  });
});

it("a file has the name of a backup only once it has been checked: a failed or stopped check leaves nothing", async () => {
  const path = join(directory, "unchecked.zip");
  const names = async () => (await readdir(directory)).filter((name) => name.startsWith("unchecked"));
  const closing = new AbortController();
  const endings: readonly (() => Promise<void>)[] = [
    () => Promise.reject(new Error("the archive is damaged")),
    () => Promise.resolve(closing.abort()),
  ];
  for (const end of endings) {
    const check = async (draft: string) => {
      expect([draft, await names()]).toEqual([draftOf(path), ["unchecked.zip.part"]]);
      await end();
    };
    await expect(writeArchive(path, () => Promise.resolve(), check, closing.signal)).rejects.toThrow();
    expect(await names()).toEqual([]);
  }
});

// This test is the last one, because it changes the schema.
it.skipIf(!existsSync("/dev/full"))(
  "a backup whose disk is full says so, leaves no file and no transaction behind, and ends no process",
  async () => {
    const path = join(directory, "full.zip");
    // More data than the buffers between PostgreSQL and the file hold.
    await harness.db.query(
      statement(
        "test.insertMuch",
        `insert into audit_log (system_id, id, at, logged_on, actor, action, subject, detail)
         select $1, 'much-' || n, now(), current_date, 'test', 'test', 'test', to_jsonb(repeat(md5(n::text), 40))
         from generate_series(1, 8000) as n`,
      ),
      [harness.systemId],
    );
    await symlink("/dev/full", `${path}.part`);
    const failing = writeBackup(optionsOf(harness.db), path);
    await expect(failing).rejects.toThrow(`The disk of ${directory} is full: free space there`);
    expect((await readdir(directory)).filter((name) => name.startsWith("full"))).toEqual([]);
  },
);

it("after going back one version, a backup also has the columns and tables that only the newer version knows", async () => {
  const added =
    "alter table rides add column price integer default 7; create table fares (system_id text primary key);";
  const program = await laterProgram("99.0.0", `-- oldest program: ${readVersion()}\n${added}`);
  await migrate(harness.db, { program });
  const path = join(directory, "newer.zip");
  await createBackup(optionsOf(harness.db), path);
  const manifest = await readArchive(path, async (archive) =>
    readManifest(path, await archive.read(entryNames.manifest)),
  );
  expect(manifest.migrations).toEqual(program.migrations.map(({ number }) => number));
  expect(manifest.tables.find(({ name }) => name === "rides")?.columns).toContain("price");
  expect(manifest.tables.map(({ name }) => name)).toContain("fares");
  const target = { ...optionsOf(harness.db), secretsPath: join(directory, "unused.json") };
  await expect(restoreBackup(target, path)).rejects.toThrow("which this program does not know");
});
