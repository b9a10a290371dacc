import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import { openDatabase } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { createFirstPartitions } from "../../storage/partitions/service.ts";
import { findServerUse } from "../database-health/service.ts";
import type { CheckResult } from "./check.ts";
import { checkDatabaseSize, checkPartitions, checkTransactions } from "./machine-checks.ts";
import { systemCheckFinders } from "./system-checks.ts";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.close());

const named = (findings: readonly CheckResult[]) => findings.map(({ status, check }) => `${status} ${check}`);

describe("what is looked at in the database finds", () => {
  it("a database that nears the size that it may have", async () => {
    const gigabytes = (await findServerUse(database.db)).size_bytes / 1e9;
    const statusOf = async (share: number) =>
      (await checkDatabaseSize(database.db, { databaseSizeLimitGb: gigabytes / share })).status;
    expect([await statusOf(0.8), await statusOf(0.9), await statusOf(0.99)]).toEqual(["ok", "warning", "failure"]);
  });

  it("a transaction that has been open for long; the statement that it names ends it", async () => {
    const { db } = database;
    expect(named(await checkTransactions(db))).toEqual(["ok long transactions"]);
    const other = openDatabase({ connectionString: db.connectionString, onConnectionLost: () => undefined });
    const begun = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<void>();
    const running = other.transaction(async (tx) => {
      const [row] = await tx.query<{ pid: number }>(statement("", "select pg_backend_pid() as pid"));
      begun.resolve(row?.pid ?? 0);
      await ended.promise;
      await tx.query(statement("", "select 1"));
    });
    running.catch(() => undefined);
    const pid = await begun.promise;
    // The check's own query is a transaction too, which has just begun.
    const find = async () =>
      (await checkTransactions(db, -1_000)).find(({ detail }) => detail.includes(`(pid ${pid})`));
    const found = await find();
    expect(found).toMatchObject({ status: "warning", check: "long transactions" });
    await db.query(statement("", found?.fix?.split(": ").at(-1) ?? ""));
    await until(async () => (await find()) === undefined);
    ended.resolve();
    await expect(running).rejects.toThrow();
    await other.close();
  });

  it("work that is set aside, and work that fails", async () => {
    const { db, systemId } = database;
    const clock = () => Date.now();
    const setAside = () => systemCheckFinders["set aside"]({ db, clock, longRideAfterMs: 0 }, systemId);
    expect(named(await setAside())).toEqual(["ok set aside"]);
    const insert = (unit: string, due: string) =>
      db.query(
        statement(
          "",
          `insert into work_failures (system_id, work, unit, failures, crashes, message, due_at)
           values ($1, 'reservations', $2, 3, 3, 'it fails', ${due})`,
        ),
        [systemId, unit],
      );
    await insert("one", "null");
    expect(named(await setAside())).toEqual(["failure set aside"]);
    await insert("other", "now()");
    expect(named(await setAside())).toEqual(["failure set aside", "warning set aside"]);
  });

  it("partitions of today that nobody has made", async () => {
    const today = Date.parse("2026-06-01T12:00:00Z");
    expect((await checkPartitions(database.db, today)).status).toBe("warning");
    await createFirstPartitions(database.db, () => today);
    expect((await checkPartitions(database.db, today)).status).toBe("ok");
    expect((await checkPartitions(database.db, today + 10 * 86_400_000)).status).toBe("warning");
  });

  it("no partition that nobody can make, because rows came before it", async () => {
    const today = Date.parse("2026-06-01T12:00:00Z");
    await database.db.query(
      statement(
        "",
        `insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
         values ($1, '2026-06-01', 'event_1', 'ride.started', now(), '{}')`,
      ),
      [database.systemId],
    );
    await createFirstPartitions(database.db, () => today);
    expect(await checkPartitions(database.db, today)).toMatchObject({
      status: "ok",
      detail: expect.stringMatching(/webhook_bodies.+default partition/) as string,
    });
  });
});
