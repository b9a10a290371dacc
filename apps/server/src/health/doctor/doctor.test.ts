import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { createTestIds } from "@bikeshare/test-kit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../../test/cli/cli.harness.ts";
import { registerDoctor } from "../../cli/check.ts";
import { readConfig } from "../../config.ts";
import { updateApiHeartbeat } from "../../http/rate-limits/queries.ts";
import { firstIdAt } from "../../ids.ts";
import { statement } from "../../storage/db/statement.ts";
import { createFirstPartitions } from "../../storage/partitions/service.ts";
import { loadSecrets } from "../../storage/secrets/secrets.ts";
import { recordServiceKey } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";
import { acknowledge } from "../checks/acknowledgements.ts";
import { type CheckResult, failure } from "../checks/check.ts";
import { deleteCheckRow, updateCheckRows } from "../checks/queries.ts";
import { checkDatabase, type DoctorResult } from "./checks.ts";
import { checkConfiguration } from "./doctor.rules.ts";

describe("a configuration", () => {
  it.each([
    [{}, "ok"],
    [{ HOST: "0.0.0.0" }, "failure"],
    [{ PUBLIC_URL: "https://bikes.example" }, "failure"],
    [{ HOST: "0.0.0.0", TRUSTED_PROXIES: "10.0.0.1" }, "warning"],
    [{ HOST: "0.0.0.0", TRUSTED_PROXIES: "10.0.0.1", PUBLIC_URL: "https://bikes.example" }, "ok"],
    [{ TLS_CERT_FILE: "a.pem", TLS_KEY_FILE: "b.pem", PUBLIC_URL: "https://bikes.example" }, "ok"],
  ] as const)("whose requests arrive as %j is %s", (env, status) => {
    const found = checkConfiguration(readConfig(env, "/nowhere"));
    expect(found.find(({ check }) => check === "https")?.status).toBe(status);
  });
});

describe("doctor", () => {
  // Uses the real time, because doctor compares the database's clock with ours.
  const clock = () => Date.now();
  let harness: CliHarness;
  beforeEach(async () => {
    harness = await openCliHarness({ register: registerDoctor, clock });
    await createFirstPartitions(harness.db, clock);
    const dataDir = join(harness.directory, "data");
    await mkdir(dataDir);
    const { webhookKeys } = await loadSecrets(join(dataDir, "secrets.json"), randomBytes);
    await recordServiceKey({ clock, cipher: createSecretCipher(webhookKeys) }, harness.db, harness.systemId);
  });
  afterEach(() => harness.close());

  /** Returns the status and name of each check that is not ok. */
  async function complaints(): Promise<string[]> {
    const failed = await harness.run("--json", "doctor").then(
      () => false,
      () => true,
    );
    const { ok, checks } = JSON.parse(harness.written.stdout) as { ok: boolean; checks: CheckResult[] };
    expect(failed).toBe(!ok);
    // The tests' server fails these checks: it is set up for speed, a distributed one is asked as its superuser, and no
    // service makes backups of it.
    const expected = [
      "database role",
      "durability",
      "backup schedule",
      "data directory",
      "autovacuum",
      "citus commits",
      "citus sessions",
      "citus tables",
    ];
    return checks.flatMap(({ check, status, fix }) => {
      expect(fix !== undefined).toBe(status !== "ok");
      return status === "ok" || expected.includes(check) ? [] : [`${status} ${check}`];
    });
  }

  it("finds nothing where all is well, and each problem by its name", async () => {
    expect(await complaints()).toEqual([]);

    for (const name of ["one", "other"]) await updateApiHeartbeat(harness.db, name, 60_000);
    expect(await complaints()).toEqual(["warning rate limit", "failure workers"]);
    await harness.db.query(statement("", "delete from api_processes"));

    const found = { name: "background work", scope: "node-1", severity: "failure", detail: "x", fix: "y" } as const;
    const at = new Date(clock());
    const alert = {
      ...found,
      began_at: new Date(clock() - 300_000),
      seen_at: at,
      mailed_at: at,
      ended_at: null,
      episodes: 1,
      unmailed: null,
      results: null,
    };
    await harness.db.transaction((tx) => updateCheckRows(tx, [alert]));
    expect(await complaints()).toEqual(["failure background work"]);
    const known = { name: found.name, of: found.scope, subject: "", severity: "failure", until: null } as const;
    const operator = { db: harness.db, clock, ids: createTestIds(), actor: "person:operator", longRideAfterMs: 0 };
    await acknowledge(operator, harness.systemId, known);
    // The command fails, because the tests' server fails checks of its settings.
    await harness.run("--json", "doctor").catch(() => undefined);
    const { checks } = JSON.parse(harness.written.stdout) as { checks: DoctorResult[] };
    expect(checks.find(({ check }) => check === found.name)).toMatchObject({
      ...{ status: "failure", acknowledged: { until: null } },
    });
    await harness.db.transaction((tx) => deleteCheckRow(tx, alert));

    const waiting = statement("", "insert into event_outbox values ($1, $2, 'ride.started', $3, null, '{}')");
    const ago = new Date(clock() - 300_000);
    // An event that happened long ago and is recorded only now has not waited.
    await harness.db.query(waiting, [harness.systemId, firstIdAt("event", clock()), ago]);
    expect(await complaints()).toEqual([]);
    await harness.db.query(waiting, [harness.systemId, firstIdAt("event", ago.getTime()), ago]);
    expect(await complaints()).toEqual(["failure events"]);
    await harness.db.query(statement("", "delete from event_outbox"));

    await writeFile(join(harness.directory, "data/secrets.json"), JSON.stringify(otherSecrets()), { mode: 0o644 });
    expect(await complaints()).toEqual(["failure secrets"]);

    await harness.db.query(statement("", "delete from migrations where number > 1"));
    expect(await complaints()).toEqual(["failure schema"]);
  });

  it("what was acknowledged of this machine is marked so, and listed once though a process has found it too", async () => {
    const found = { name: "latest backup", scope: hostname(), severity: "failure", detail: "old", fix: "y" } as const;
    const at = new Date(clock());
    const times = { began_at: at, seen_at: at, mailed_at: at, ended_at: null };
    await harness.db.transaction((tx) =>
      updateCheckRows(tx, [{ ...found, ...times, episodes: 1, unmailed: null, results: null }]),
    );
    const known = { name: found.name, of: found.scope, subject: "", severity: "failure", until: null } as const;
    const operator = { db: harness.db, clock, ids: createTestIds(), actor: "person:operator", longRideAfterMs: 0 };
    await acknowledge(operator, harness.systemId, known);
    const { database, machine } = await checkDatabase({
      ...{ connectionString: harness.db.connectionString, clock },
      config: readConfig({ DATA_DIR: join(harness.directory, "data") }, harness.directory),
      machine: [failure("latest backup", "old", "y"), failure("data directory", "full", "y")],
    });
    expect(machine).toMatchObject([{ acknowledged: { until: null } }, { check: "data directory" }]);
    expect(machine[1]).not.toHaveProperty("acknowledged");
    expect(database.filter(({ check }) => check === "latest backup")).toEqual([]);
  });

  it("makes no database where DATA_DIR does not exist", async () => {
    await rm(join(harness.directory, "data"), { recursive: true });
    expect(await complaints()).toEqual(["failure secrets file", "failure database"]);
  });
});

function otherSecrets(): unknown {
  const keys = [{ id: 1, key: randomBytes(32).toString("base64url") }];
  return { cursor_keys: keys, webhook_keys: keys };
}
