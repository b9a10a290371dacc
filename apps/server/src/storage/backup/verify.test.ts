import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { openCliHarness } from "../../../test/cli/cli.harness.ts";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { copyDatabase, dropDatabase, withDatabaseName } from "../../../test/server-commands.ts";
import { registerBackup } from "../../cli/maintenance.ts";
import { recordServiceKey } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";
import { openServer } from "../db/connections.ts";
import { statement } from "../db/statement.ts";
import { loadSecrets } from "../secrets/secrets.ts";
import {
  type ArchiveWriter,
  BackupFileError,
  entryNames,
  type Manifest,
  readArchive,
  writeArchive,
} from "./archive.ts";
import { createBackup } from "./backup.ts";
import { restoreBackup, verifyBackup, verifyInto } from "./restore.ts";

let directory: string;
let harness: FleetHarness;
let backup: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-verified-"));
  harness = await openFleetHarness();
  const secretsPath = join(directory, "secrets.json");
  const { webhookKeys } = await loadSecrets(secretsPath, randomBytes);
  await recordServiceKey({ ...harness, cipher: createSecretCipher(webhookKeys) }, harness.db, harness.systemId);
  await harness.stations(stationItem("1"));
  await harness.bikes(...Array.from({ length: 3 }, (_, n) => ({ id: `bike-${n}`, station_id: "1" })));
  await harness.start({ id: "ride-1", bike_id: "bike-0" });
  backup = join(directory, "whole.zip");
  await createBackup({ connectionString: harness.db.connectionString, secretsPath, version: "1.2.3" }, backup);
});
afterAll(async () => {
  await harness.close();
  await rm(directory, { recursive: true });
});

type Entries = Map<string, string>;

/** Makes a copy of the backup with other contents, but with correct checksums and sizes. */
async function changed(change: (entries: Entries) => Promise<void> | void): Promise<string> {
  const entries: Entries = new Map();
  await readArchive(backup, async (archive) => {
    const manifest = await archive.read(entryNames.manifest);
    const tables = (JSON.parse(manifest) as Manifest).tables.map(({ name }) => entryNames.table(name));
    entries.set(entryNames.manifest, manifest);
    for (const name of [entryNames.secrets, ...tables]) entries.set(name, await archive.read(name));
  });
  await change(entries);
  stateSizes(entries);
  const path = join(directory, `changed-${randomBytes(4).toString("hex")}.zip`);
  const write = (archive: ArchiveWriter) => {
    for (const [name, content] of entries) archive.add(name, content);
    return Promise.resolve();
  };
  await writeArchive(path, write, () => Promise.resolve());
  return path;
}

/** Corrects the sizes of the tables in the manifest, if it can be read. */
function stateSizes(entries: Entries): void {
  if (entries.get(entryNames.manifest)?.startsWith("{") !== true) return;
  inManifest(({ tables, ...rest }) => ({
    ...rest,
    tables: tables.map((table) => ({
      ...table,
      bytes: Buffer.byteLength(entries.get(entryNames.table(table.name)) ?? ""),
    })),
  }))(entries);
}

/** Changes the manifest's entry of one table. */
function inTable(name: string, change: (table: Manifest["tables"][number]) => Partial<Manifest["tables"][number]>) {
  return inManifest(({ tables, ...rest }) => ({
    ...rest,
    tables: tables.map((table) => (table.name === name ? { ...table, ...change(table) } : table)),
  }));
}

/** Changes a text of a table's rows. */
function replaceIn(table: string, from: string | RegExp, to: string) {
  return (entries: Entries) => {
    const name = entryNames.table(table);
    const rows = entries.get(name) ?? "";
    expect(rows).toMatch(from);
    entries.set(name, rows.replace(from, to));
  };
}

/** Removes a table's last row, and reduces the number of rows in the manifest. */
function loseRow(table: string) {
  return (entries: Entries) => {
    const name = entryNames.table(table);
    const rows = (entries.get(name) ?? "").trimEnd().split("\n");
    entries.set(
      name,
      rows
        .slice(0, -1)
        .map((row) => `${row}\n`)
        .join(""),
    );
    inTable(table, (each) => ({ rows: each.rows - 1 }))(entries);
  };
}

/** Changes the manifest. */
function inManifest(change: (manifest: Manifest) => Manifest) {
  return (entries: Entries) => {
    const manifest = JSON.parse(entries.get(entryNames.manifest) ?? "") as Manifest;
    entries.set(entryNames.manifest, JSON.stringify(change(manifest)));
  };
}

/** Adds a table without rows to the manifest. */
function withTable(named: Pick<Manifest["tables"][number], "name" | "columns">) {
  const table = { ...named, rows: 0, bytes: 0 };
  return (entries: Entries) => {
    if (!entries.has(entryNames.table(table.name))) entries.set(entryNames.table("rows"), "");
    inManifest((manifest) => ({ ...manifest, tables: [...manifest.tables, table] }))(entries);
  };
}

/** Verifies a backup in a separate, migrated database on the tests' server, and returns the broken invariants. */
async function brokenIn(path: string): Promise<string[]> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  await copyDatabase(inject("serverUrl"), inject("templateDatabase"), name);
  try {
    const connectionString = withDatabaseName(inject("serverUrl"), name);
    const { systems } = await verifyInto(path, { connectionString, secretsPath: join(directory, `${name}.json`) });
    return systems.flatMap(({ id, invariants }) =>
      invariants.filter(({ broken }) => broken > 0).map((invariant) => `${id}: ${invariant.name}`),
    );
  } finally {
    await dropDatabase(inject("serverUrl"), name);
  }
}

describe("a backup on trial", () => {
  it("is good as it was written", async () => {
    expect(await brokenIn(backup)).toEqual([]);
  });

  it.each([
    ["a ride was lost", loseRow("rides"), "main: bike_ride"],
    ["a bike was lost", loseRow("bikes"), "main: list_counts"],
    ["an event was lost", loseRow("event_outbox"), "main: ride_started_event"],
    ["a ride was changed", replaceIn("rides", "bike-0", "bike-2"), "main: bike_ride"],
  ])("is broken where %s inside it, and says what", async (_, change, invariant) => {
    expect(await brokenIn(await changed(change))).toContain(invariant);
  });

  it.each([
    [
      "a table is missing",
      (entries: Entries) => void entries.delete(entryNames.table("rides")),
      "rides.copy is missing",
    ],
    ["a row is missing", replaceIn("bikes", /.*\n$/, ""), "damaged: bikes has 2 rows instead of 3"],
    [
      "its secrets are missing",
      (entries: Entries) => void entries.delete(entryNames.secrets),
      "secrets.json is missing",
    ],
    [
      "a value is not of its type",
      replaceIn("rides", "ride-1", "ride-1\tx"),
      "PostgreSQL refuses a row of rides: extra data",
    ],
    [
      "a value contradicts its column",
      replaceIn("bikes", /(bike-1\t.*?)available/, "$1teleported"),
      /damaged: PostgreSQL refuses a row of bikes|rows contradict each other/,
    ],
    [
      "two rows have one key",
      (entries: Entries) => {
        replaceIn("bikes", /^(.*)$/m, "$1\n$1")(entries);
        inTable("bikes", ({ rows }) => ({ rows: rows + 1 }))(entries);
      },
      "its rows contradict each other: could not create unique index",
    ],
    ["a table is one that nobody has", withTable({ name: "no_such_table", columns: ["a"] }), "no_such_table"],
    ["a table is another's", withTable({ name: "pg_authid", columns: ["rolname"] }), "pg_authid"],
    ["a table is the list of migrations", withTable({ name: "migrations", columns: ["number"] }), "migrations"],
    ["a table has a name that is SQL", withTable({ name: '"; drop table rides; --', columns: ["a"] }), "drop"],
    ["a table is listed twice", withTable({ name: "rides", columns: ["id"] }), 'the table "rides"'],
    [
      "a column is one that nobody has",
      inTable("rides", () => ({ columns: ["no_such_column"] })),
      'the table "rides" with its columns',
    ],
    ["no migration is listed", inManifest((manifest) => ({ ...manifest, migrations: [] })), "its manifest.json is not"],
    ["no table is listed", inManifest((manifest) => ({ ...manifest, tables: [] })), "its manifest.json is not"],
    [
      "there are days of thousands of years",
      inTable("audit_log", () => ({ days: Array<string>(5_000).fill("2026-01-01") })),
      "its manifest.json is not",
    ],
    [
      "its manifest is larger than any",
      (entries: Entries) => void entries.set(entryNames.manifest, " ".repeat(17 * 1024 * 1024)),
      "manifest.json is too large",
    ],
    [
      "a row is longer than any",
      (entries: Entries) => void entries.set(entryNames.table("rides"), "x".repeat(65 * 1024 * 1024)),
      "rides has a row that is longer than any of ours",
    ],
    [
      "it has more files than tables",
      (entries: Entries) => {
        for (let n = 0; n < 1_000; n++) entries.set(`tables/t${n}.copy`, "");
      },
      /it has 1\d{3} files/,
    ],
    ["its secrets are not those of its data", otherSecrets, "is not the one that the database is used with"],
  ])("is refused where %s", async (_, change, message) => {
    await expect(brokenIn(await changed(change))).rejects.toThrow(message);
  });
});

describe("a table that unpacks to more than it should", () => {
  const BOMB_BYTES = 64 * 1024 * 1024;
  let path: string;
  beforeAll(async () => {
    path = await bomb();
  });

  it("is refused before anything is unpacked, where the archive says its size", async () => {
    const onTable = vi.fn();
    const connectionString = "postgres://nobody@127.0.0.1:1/none";
    await expect(
      restoreBackup({ connectionString, secretsPath: join(directory, "none"), onTable }, path),
    ).rejects.toThrow(/rides\.copy unpacks to 67108864 bytes instead of \d+/);
    expect(onTable).not.toHaveBeenCalled();
  });

  it("is refused as soon as one byte more comes, where the archive lies about it", async () => {
    const archive = await readFile(path);
    const said = Buffer.alloc(4);
    said.writeUInt32LE(1_000_000);
    // In the archive's central directory, the size is 22 bytes before the name.
    said.copy(archive, archive.lastIndexOf(entryNames.table("rides")) - 22);
    const lying = join(directory, "lying.zip");
    await writeFile(lying, archive);
    let came = 0;
    const reading = readArchive(lying, async ({ checkedSize, open }) => {
      checkedSize(entryNames.table("rides"), 1_000_000);
      for await (const chunk of await open(entryNames.table("rides"))) came += (chunk as Buffer).length;
    });
    await expect(reading).rejects.toThrow(/damaged: too many bytes/);
    expect(came).toBeLessThanOrEqual(1_000_000);
  });

  it("is refused at the first row more than the manifest says", async () => {
    const longer = await changed((entries) => void entries.set(entryNames.table("rides"), "\n".repeat(10_000_000)));
    await expect(brokenIn(longer)).rejects.toThrow("rides has more rows than the 1 that its manifest.json says");
  });

  it.skipIf(!existsSync("/proc/self"))("is refused where the disk has no room for what the manifest says", async () => {
    // A file system without free space.
    const options = { connectionString: "postgres://nobody@127.0.0.1:1/none", dataDirectory: "/proc" };
    await expect(restoreBackup({ ...options, secretsPath: join(directory, "none") }, backup)).rejects.toThrow(
      /has 1 MB of rows, and the disk of \/proc has 0 MB free/,
    );
  });

  /** A backup of some kilobytes with 64 MiB of zeros as rides. Its manifest is unchanged. */
  async function bomb(): Promise<string> {
    const made = join(directory, "bomb.zip");
    await readArchive(backup, async (from) => {
      const manifest = await from.read(entryNames.manifest);
      const write = async (archive: ArchiveWriter) => {
        archive.add(entryNames.manifest, manifest);
        archive.add(entryNames.secrets, await from.read(entryNames.secrets));
        for (const { name } of (JSON.parse(manifest) as Manifest).tables) {
          if (name !== "rides") archive.add(entryNames.table(name), await from.read(entryNames.table(name)));
        }
        const zeros = Buffer.alloc(1024 * 1024);
        const rides = Readable.from(Array.from({ length: BOMB_BYTES / zeros.length }, () => zeros));
        await archive.addStream(entryNames.table("rides"), rides);
      };
      await writeArchive(made, write, () => Promise.resolve());
    });
    expect((await stat(made)).size).toBeLessThan(BOMB_BYTES / 100);
    return made;
  }
});

it("a damaged backup is said to be damaged, although PostgreSQL refuses one of its rows first", async () => {
  // More data than the buffers between the file and PostgreSQL hold.
  const path = await changed((entries) => {
    replaceIn("rides", /^/, "no ride\n".repeat(1_000_000))(entries);
    inTable("rides", ({ rows }) => ({ rows: rows + 1_000_000 }))(entries);
  });
  const archive = await readFile(path);
  // The checksum is in the header before the last occurrence of the name.
  const checksum = archive.lastIndexOf(entryNames.table("rides")) - 30;
  archive[checksum] = (archive[checksum] ?? 0) ^ 4;
  await writeFile(path, archive);
  await expect(brokenIn(path)).rejects.toThrow("the checksum of tables/rides.copy is wrong");
});

it.each([
  ["a pipe", (path: string) => execFileSync("mkfifo", [path])],
  ["a directory", (path: string) => mkdirSync(path)],
  ["a device", (path: string) => symlinkSync("/dev/zero", path)],
])("%s is refused in words, and nobody waits for it", async (_, make) => {
  const path = join(directory, `special-${randomBytes(4).toString("hex")}`);
  make(path);
  const refused = await brokenIn(path).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(BackupFileError);
  expect(String(refused)).toContain("is not a file: a backup is read from its end");
});

async function otherSecrets(entries: Entries): Promise<void> {
  const path = join(directory, "other.json");
  await loadSecrets(path, randomBytes);
  entries.set(entryNames.secrets, await readFile(path, "utf8"));
}

it("`backup verify` has a PostgreSQL of its own, of which nothing stays when it is stopped either, and fails for a backup that is broken", async () => {
  const temporary = await mkdtemp(join(directory, "temporary-"));
  // A process that runs as root runs PostgreSQL as another account.
  for (const path of [directory, temporary]) await chmod(path, 0o711);
  vi.stubEnv("TMPDIR", temporary);
  const cli = await openCliHarness({ register: registerBackup, clock: () => Date.now() });
  try {
    const broken = await changed(loseRow("event_outbox"));
    await expect(cli.run("backup", "verify", broken)).rejects.toThrow(/^1 of \d+ checks of .* are broken\.$/);
    expect(cli.written.stdout).toMatch(/^main: ride_started_event +./m);
    expect(await readdir(temporary)).toEqual([basename(cli.directory)]);
    const stop = new AbortController();
    const onTable = () => stop.abort(new Error("Stopped."));
    await expect(verifyBackup(backup, { onTable, signal: stop.signal })).rejects.toThrow("Stopped.");
    expect(await readdir(temporary)).toEqual([basename(cli.directory)]);
  } finally {
    await cli.close();
    vi.unstubAllEnvs();
  }
});

it.skipIf(!existsSync("/proc/self"))(
  "`restore` into our own PostgreSQL begins only where its disk has room",
  async () => {
    // A process that runs as root runs PostgreSQL as another account.
    await chmod(directory, 0o711);
    const dataDir = join(directory, "own");
    const cli = await openCliHarness({
      clock: () => Date.now(),
      register: (program, open) =>
        registerBackup(program, () => ({
          ...open(),
          openDatabaseAsIs: async () => {
            const server = await openServer({ databaseUrl: undefined, dataDir, onEmbeddedEvent: () => undefined });
            expect(server.dataDirectory).toBe(dataDir);
            // A file system without free space.
            return { ...server, dataDirectory: "/proc" };
          },
        })),
    });
    try {
      await expect(cli.run("restore", backup)).rejects.toThrow(
        /MB of rows, and the disk of \/proc has 0 MB free: free space there, or name a directory on another disk in DATA_DIR/,
      );
    } finally {
      await cli.close();
    }
  },
);

it("of a restore for which the disk is full, the command says what to do, and nothing is restored", async () => {
  const cli = await openCliHarness({ register: registerBackup, clock: () => Date.now() });
  try {
    const run = (text: string) => cli.db.transaction((tx) => tx.run(text));
    // What PostgreSQL says of a full disk, for the first row of a bike.
    await run(`truncate systems, placed_systems cascade;
      create function fail() returns trigger language plpgsql as $$
        begin raise 'could not extend file' using errcode = 'disk_full'; end $$;
      create trigger full_disk before insert on bikes for each row execute function fail()`);
    await expect(cli.run("restore", backup)).rejects.toThrow(
      /^The disk of DATA_DIR \(.+\) is full: could not extend file\. Free space there, and run the command again\.$/,
    );
    expect(await cli.db.query(statement("", "select id from stations"))).toEqual([]);
    expect(await readdir(cli.directory)).toEqual([]);
  } finally {
    await cli.close();
  }
});
