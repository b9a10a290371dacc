import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestIds } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { copyDatabase, dropDatabase, withDatabaseName } from "../../../test/server-commands.ts";
import { resolveSystem } from "../../city/systems/service.ts";
import { type Config, ConfigError, readConfig } from "../../config.ts";
import { openStore } from "../../storage/db/connections.ts";
import { openDatabase } from "../../storage/db/database.ts";
import { DatabaseUnavailable } from "../../storage/db/errors.ts";
import { statement } from "../../storage/db/statement.ts";
import { auditLogOwner } from "../../storage/partitions/service.ts";
import type { ServeOptions } from "../running-service.ts";
import { serve } from "../serve.ts";
import { explainDatabaseFailure, explainFullDisk, explainListenFailure } from "./checks.ts";
import { isOneEditAway, warningsOfTypos } from "./values.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-startup-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe("a start with a wrong value names its variable, what is wrong, and what to do", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.close());
  // Forgets the keys, because each test has a separate directory with its own secrets file.
  afterEach(() => database.db.query(statement("", "delete from webhook_encryption_keys where system_id = 'main'")));

  /** Starts a service as `serve` does. @returns the error that keeps it from starting; empty if it starts */
  async function errorOf(env: Record<string, string>, more: Partial<ServeOptions> = {}): Promise<string> {
    try {
      const service = await serve(optionsFor(env, more));
      await service.close();
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      throw error;
    }
    return "";
  }

  function optionsFor(env: Record<string, string>, more: Partial<ServeOptions> = {}): ServeOptions {
    const config: Config = readConfig(
      {
        DATABASE_URL: database.db.connectionString,
        DATA_DIR: directory,
        PORT: "0",
        LOG_LEVEL: "silent",
        // A service that does start stops without a delay.
        DRAIN_DELAY: "0s",
        ...env,
      },
      directory,
    );
    const clock = () => Date.now();
    const ids = createTestIds();
    return {
      config,
      clock,
      ids,
      resolveSystem: (db, named) => resolveSystem({ db, clock, ids, actor: "test" }, named, config.systemId),
      role: "api",
      ...more,
    };
  }

  const file = async (name: string, text: string) => {
    await writeFile(join(directory, name), text);
    return join(directory, name);
  };

  it("PORT and METRICS_PORT that are in use, before the database is opened", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const port = String((other.address() as AddressInfo).port);
    // An address without a database: the start must fail before it connects.
    const nowhere = { DATABASE_URL: "postgres://127.0.0.1:1/none" };
    expect(await errorOf({ ...nowhere, PORT: port })).toBe(
      `PORT=${port}: 127.0.0.1:${port} is in use. Stop what listens there, or set PORT to another port.`,
    );
    expect(await errorOf({ ...nowhere, METRICS_PORT: port })).toBe(
      `METRICS_PORT=${port}: 127.0.0.1:${port} is in use. Stop what listens there, or set METRICS_PORT to another port.`,
    );
    other.close();
  });

  it("BACKUP_DIR with backups beside an empty database, which stays empty: what to restore", async () => {
    const name = `test_${randomBytes(8).toString("hex")}`;
    await copyDatabase(inject("serverUrl"), inject("templateDatabase"), name);
    const url = withDatabaseName(inject("serverUrl"), name);
    const env = { DATABASE_URL: url, BACKUP_DIR: directory, SECRETS_FILE: join(directory, "secrets.json") };
    for (const day of ["01", "02"]) await writeFile(join(directory, `bikeshare-202605${day}T030000Z.zip`), "");
    const restore = `bikeshare restore ${join(directory, "bikeshare-20260502T030000Z.zip")}`;
    // Twice, because a second start must not succeed either.
    for (const role of ["worker", "api"] as const)
      expect(await errorOf(env, { role })).toContain(
        `has backups, and the database is empty. Restore the newest: \`${restore}\``,
      );
    const empty = openDatabase({ connectionString: url });
    expect(await empty.query(statement("", "select system_id from systems"))).toEqual([]);
    await empty.close();
    // A database with data needs no backups.
    expect(await errorOf({ BACKUP_DIR: directory })).toBe("");
    await dropDatabase(inject("serverUrl"), name);
  });

  it("METRICS_PORT that is PORT", () => {
    expect(() => readConfig({ PORT: "4000", METRICS_PORT: "4000" }, directory)).toThrow(
      "METRICS_PORT=4000: is PORT's too; it must be another port",
    );
  });

  it("HOST that is not an address of this machine", async () => {
    // An address that is reserved for documentation, so no machine has it.
    expect(await errorOf({ HOST: "192.0.2.1" })).toMatch(
      /^HOST=192\.0\.2\.1: is not an address of this machine\. Set it to 127/,
    );
    expect(await errorOf({ METRICS_HOST: "192.0.2.1", METRICS_PORT: "0" })).toMatch(/^METRICS_HOST=192\.0\.2\.1: /);
  });

  it.each([
    ["ENOTFOUND", "HOST=nonsense: is not a known host name. Set it to"],
    ["EACCES", "PORT=80: this account may not listen there; ports below 1024 are usually the system's."],
  ])("what cannot be listened at (%s)", (code, text) => {
    const at = { host: "nonsense", port: 80, hostVariable: "HOST", portVariable: "PORT" };
    const explained = explainListenFailure(Object.assign(new Error(code), { code }), at);
    expect(explained).toBeInstanceOf(ConfigError);
    expect(String(explained)).toContain(text);
  });

  it("DATA_DIR that is a file, or lies in one", async () => {
    const taken = await file("taken", "");
    expect(await errorOf({ DATA_DIR: taken })).toBe(
      `DATA_DIR=${taken}: is a file, and must be a directory. Set DATA_DIR to a directory that this account may write.`,
    );
    expect(await errorOf({ DATA_DIR: join(taken, "deeper") })).toMatch(/a part of it is a file/);
  });

  it.runIf(existsSync("/proc/self"))(
    "DATA_DIR and SECRETS_FILE where nothing can be made, without hanging",
    async () => {
      expect(await errorOf({ DATA_DIR: "/proc/nowhere/deeper" })).toBe(
        "DATA_DIR=/proc/nowhere/deeper: it cannot be made there. Set DATA_DIR to a directory that this account may write.",
      );
      expect(await errorOf({ SECRETS_FILE: "/proc/nowhere/secrets.json" })).toMatch(
        /^SECRETS_FILE=\/proc\/nowhere\/secrets\.json: the secrets file cannot be read or made there\./,
      );
    },
  );

  it.runIf(process.getuid?.() !== 0)("DATA_DIR that may not be written", async () => {
    await chmod(directory, 0o500);
    expect(await errorOf({ DATA_DIR: join(directory, "data") })).toMatch(/this account may not write there/);
  });

  const change = (set: (url: URL) => void) => {
    const changed = new URL(database.db.connectionString);
    set(changed);
    return errorOf({ DATABASE_URL: changed.href });
  };

  it("DATABASE_URL: nobody there, a wrong password, no such database, no file of a certificate", async () => {
    const nobody = "Start PostgreSQL there, or correct the host and the port.";
    for (const [url, place] of [
      ["postgres://127.0.0.1:1/db", "127.0.0.1:1"],
      ["postgres://127.0.0.1:1/db?host=/tmp", "/tmp/.s.PGSQL.1"],
      ["postgres://user@%2Ftmp:1/db", "/tmp/.s.PGSQL.1"],
    ] as const)
      expect(await errorOf({ DATABASE_URL: url })).toContain(`DATABASE_URL: nothing listens at ${place}. ${nobody}`);
    const wrong = await change((to) => (to.password = "hunter2"));
    expect(wrong).toMatch(/^DATABASE_URL: .+ refuses the role "\w+"\. Correct the user and the password/);
    expect(wrong).not.toContain("hunter2");
    expect(await change((to) => (to.pathname = "/nodb"))).toMatch(
      /^DATABASE_URL: there is no database "nodb" at .+\. Create it \(createdb nodb\), or correct the name\./,
    );
    expect(await change((to) => (to.search = "?sslmode=verify-ca&sslrootcert=/nope"))).toMatch(
      /^DATABASE_URL: a file that it names is not there: see sslrootcert/,
    );
  });

  it("DATABASE_URL whose server speaks no TLS", async () => {
    expect(await change((to) => to.searchParams.set("sslmode", "require"))).toMatch(
      /^DATABASE_URL: the server at .+ speaks no TLS\./,
    );
  });

  it("DATABASE_URL whose role may not make tables", async () => {
    const bare = await createTestDatabase();
    const run = (text: string) => bare.db.query(statement("", text));
    await run("drop schema public cascade");
    await run("create schema public");
    await run("revoke create on schema public from current_user");
    const url = bare.db.connectionString;
    const options = { databaseUrl: url, dataDir: directory, statementTimeoutMs: 0 };
    const failure: unknown = await openStore({
      auditLog: auditLogOwner,
      ...options,
      onEmbeddedEvent: () => undefined,
      onConnectionLost: () => undefined,
    }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(String(explainDatabaseFailure(failure, options))).toMatch(
      /ConfigError: DATABASE_URL: the role "\w+" may not create tables in the schema public of "\w+"\. Run there: grant create on schema public to/,
    );
    await bare.close();
  });

  it("a disk that is full", () => {
    const full = Object.assign(new Error("could not extend file"), { code: "53100" });
    expect(String(explainDatabaseFailure(full, { databaseUrl: undefined, dataDir: "/data" }))).toMatch(
      /DATA_DIR=\/data: its disk is full\. Free space there/,
    );
    const ours = { databaseUrl: undefined, dataDir: "/data" };
    const theirs = { databaseUrl: "postgres://db/bikes", dataDir: "/data" };
    const spool = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    expect([
      String(explainFullDisk(full, ours)),
      String(explainFullDisk(full, theirs)),
      String(explainFullDisk(spool, theirs)),
    ]).toEqual([
      "Error: The disk of DATA_DIR (/data) is full: could not extend file. Free space there, and run the command again.",
      "Error: The disk of the database is full: could not extend file. Free space there, and run the command again.",
      "Error: The disk of DATA_DIR (/data) is full: ENOSPC: no space left on device, write. Free space there, and run the command again.",
    ]);
    const other = new Error("other");
    expect(explainFullDisk(other, ours)).toBe(other);
    // Our own PostgreSQL writes the reason of its end only into its log, which is passed as `ended`.
    const ended = 'could not write to file "pg_wal/xlogtemp.1": No space left on device';
    expect(String(explainFullDisk(new DatabaseUnavailable("Connection terminated unexpectedly"), ours, ended))).toBe(
      `Error: The disk of DATA_DIR (/data) is full: ${ended}. Free space there, and run the command again.`,
    );
    expect(explainFullDisk(other, ours, ended)).toBe(other);
  });

  it("SYSTEM_ID that the database does not have", async () => {
    expect(await errorOf({ SYSTEM_ID: "other" })).toMatch(
      /^SYSTEM_ID=other: names the first system of a new database; this one has main, .+`systems create other`\.$/,
    );
    // `main` is the id of the database's system.
    expect(await errorOf({ SYSTEM_ID: "main" })).toBe("");
  });

  it("SECRETS_FILE that is not there, or is another deployment's, though the database was used with one", async () => {
    const first = join(directory, "first.json");
    expect(await errorOf({ SECRETS_FILE: first })).toBe("");
    const mistyped = join(directory, "frist.json");
    expect(await errorOf({ SECRETS_FILE: mistyped })).toMatch(
      /^SECRETS_FILE=.+frist\.json: there is no such file, and this database has been used with one since .+--new-secrets/,
    );
    // Without SECRETS_FILE, no new file may be created silently in DATA_DIR.
    expect(await errorOf({})).toMatch(/secrets\.json \(in DATA_DIR; SECRETS_FILE is not set\): there is no such file/);
    expect(await readdir(directory)).toEqual(["first.json"]);

    const key = (byte: number) => Buffer.alloc(32, byte).toString("base64url");
    const others = await file(
      "others.json",
      JSON.stringify({ cursor_keys: [{ id: 1, key: key(1) }], webhook_keys: [{ id: 1, key: key(2) }] }),
    );
    expect(await errorOf({ SECRETS_FILE: others })).toMatch(
      /^SECRETS_FILE=.+others\.json: is not the secrets file that this database has been used with/,
    );
    expect(await errorOf({ SECRETS_FILE: mistyped }, { newSecrets: true })).toBe("");
    expect(await errorOf({ SECRETS_FILE: mistyped })).toBe("");
    expect(await errorOf({ SECRETS_FILE: first })).toMatch(/is not the secrets file/);
  });
});

describe("a variable one letter away from one of ours", () => {
  it("is warned of", () => {
    const env = {
      DATABSE_URL: "postgres://x/y",
      SECRET_FILE: "/a",
      LOG_LEVLE: "debug",
      METRICS_PORTS: "",
      NODE: "/usr/bin/node",
      PORTS: "1",
      DATABASE_URL: "postgres://127.0.0.1/y",
      HOME: "/root",
    };
    expect(readConfig(env, "/").warnings).toEqual([
      "DATABSE_URL is set and has no effect. Did you mean DATABASE_URL?",
      "SECRET_FILE is set and has no effect. Did you mean SECRETS_FILE?",
      "LOG_LEVLE is set and has no effect. Did you mean LOG_LEVEL?",
    ]);
  });

  it("is found whichever letter is added, lost, changed or swapped with its neighbour", () => {
    const name = "DATABASE_URL";
    fc.assert(
      fc.property(
        fc.constantFrom("add", "lose", "change", "swap"),
        fc.nat({ max: name.length - 2 }),
        fc.constantFrom("A", "B", "T", "X", "_", "1"),
        (edit, at, letter) => {
          const [before, here, next, after] = [name.slice(0, at), name[at], name[at + 1], name.slice(at + 2)];
          const edited = {
            add: `${before}${letter}${here}${next}${after}`,
            lose: `${before}${next}${after}`,
            change: `${before}${letter}${next}${after}`,
            swap: `${before}${next}${here}${after}`,
          }[edit];
          expect(isOneEditAway(edited, name)).toBe(edited !== name);
          expect(isOneEditAway(name, edited)).toBe(edited !== name);
          expect(isOneEditAway(`${edited}QQ`, name)).toBe(false);
        },
      ),
    );
    expect(warningsOfTypos({ SYSTEM_IDS: "x" }, ["SYSTEM_ID"])).toHaveLength(1);
  });
});
