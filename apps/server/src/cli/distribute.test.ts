import { randomBytes } from "node:crypto";
import { createTestIds } from "@bikeshare/test-kit";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { dropDatabase, runOnServer, withDatabaseName } from "../../test/server-commands.ts";
import { addSystem } from "../city/systems/service.ts";
import { type Database, openDatabase } from "../storage/db/database.ts";
import { migrate } from "../storage/db/migrate/migrate.ts";
import { sharesShard } from "../storage/distribution/own-shard.ts";
import { listDistributedTables } from "../storage/distribution/queries.ts";
import { distribute, planDistribution } from "../storage/distribution/service.ts";
import { listPartitions } from "../storage/partitions/partition-queries.ts";
import { dailyTables, eventsTable } from "../storage/partitions/partition.rules.ts";
import { createPartitions, createPartitionsBesideDefault } from "../storage/partitions/service.ts";
import { registerDistribute } from "./maintenance.ts";

let harness: CliHarness;
beforeEach(async () => {
  harness = await openCliHarness({ register: registerDistribute, clock: () => 0 });
});
afterEach(() => harness.close());

it("says what is missing where Citus is not there, and changes nothing, dry or not", async () => {
  for (const options of [[], ["--dry-run"], ["--json"]]) {
    const failure = await harness.run("distribute", ...options).catch((error: unknown) => error);
    const { message } = failure as Error;
    expect(message).toMatch(/^This database cannot be distributed yet:\n- The extension citus is not installed/);
    expect(message).toMatch(/\n- .* shared_preload_libraries .* restart PostgreSQL/);
    expect(harness.written.stdout).toBe("");
  }
});

describe.skipIf(process.env["TEST_CITUS_URL"] === undefined)("where Citus is there", () => {
  let db: Database;
  let name: string;
  beforeEach(async () => {
    const serverUrl = inject("serverUrl");
    name = `test_${randomBytes(8).toString("hex")}`;
    await runOnServer(serverUrl, `create database ${name}`);
    // Without a time limit for statements, as the command line opens the database: distributing a table takes long.
    const connectionString = withDatabaseName(serverUrl, name);
    db = openDatabase({ connectionString, maxConnections: 1, statementTimeoutMs: 0 });
    await migrate(db);
  });
  afterEach(async () => {
    await db.close();
    await dropDatabase(inject("serverUrl"), name);
  });

  const rows = <Row>(text: string) => db.query<Row>({ name: "", text });
  const isOwnShard = async (systemId: string) => !(await sharesShard(db, systemId));
  const context = () => ({ db, clock: () => 0, ids: createTestIds(), actor: "cli:test" });

  it("a database with data goes on where it was interrupted, and systems get shards of their own", async () => {
    await addSystem(context(), "oslo", "Oslo");
    await createPartitions(db, eventsTable, "2026-06-01");
    await rows("insert into events values ('oslo', '2026-06-01', 1, 'event_1', 'ride.started', now(), null, '{}')");
    const interrupted = distribute(db, (step) => {
      if (step === "rides") throw new Error("killed");
    });
    await expect(interrupted).rejects.toThrow("killed");
    const planned = await planDistribution(db);
    expect(planned.tables).toContain("rides");
    expect(planned.tables).not.toContain("partners");
    expect(await distribute(db, () => undefined)).toEqual({
      extension: false,
      tables: planned.tables,
      systems: ["oslo"],
    });
    expect(await distribute(db, () => undefined)).toEqual({ extension: false, tables: [], systems: [] });
    expect(await rows("select id from events where system_id = 'oslo'")).toEqual([{ id: "event_1" }]);
    await addSystem(context(), "bergen", "Bergen");
    expect([await isOwnShard("oslo"), await isOwnShard("bergen")]).toEqual([true, true]);
  });

  it("partitions, a column and an index that are made later are distributed", async () => {
    await distribute(db, () => undefined);
    await addSystem(context(), "oslo", "Oslo");
    for (const table of dailyTables)
      await (table.hasDefault ? createPartitionsBesideDefault : createPartitions)(db, table, "2026-06-01");
    const distributed = await listDistributedTables(db);
    for (const table of dailyTables) {
      const partitions = await listPartitions(db, table);
      expect(partitions.length).toBeGreaterThan(1);
      expect(partitions.filter((partition) => distributed.get(partition) !== "system")).toEqual([]);
    }
    await rows("alter table rides add column added integer not null default 1");
    await rows("create index concurrently rides_added on rides (system_id, added)");
    // Citus hides its shards in the catalogue unless this is off.
    await rows("select set_config('citus.override_table_visibility', 'off', false)");
    const [shards] = await rows<{ n: number }>(
      "select count(*)::int as n from pg_indexes where indexname ~ '^rides_added_[0-9]+$'",
    );
    expect(shards?.n).toBeGreaterThan(1);
  });
});
