import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore } from "../src/storage/db/connections.ts";
import { isMigrated, migrate } from "../src/storage/db/migrate/migrate.ts";
import type { Program } from "../src/storage/db/migrate/program.ts";
import { columnTypes } from "../src/storage/db/tables.generated.ts";
import { auditLogOwner } from "../src/storage/partitions/service.ts";
import { readVersion } from "../src/version.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother } from "./built-app.ts";
import { type Calls, callsOn } from "./calls.ts";
import { guarded } from "./endpoints.ts";
import { laterProgram } from "./migrations.ts";
import { fillWorld, restoreWorld } from "./walker-world.ts";

let app: TestApp;
let calls: Calls;
let next: Program;

/**
 * Simulates a migration of the next version on the database of a running service: new columns in every table, an index, a
 * check constraint, and a backfill. The present version does not fill the new columns, and its writes satisfy the
 * constraint.
 */
beforeAll(async () => {
  app = await startTestApp();
  await fillWorld(app);
  calls = callsOn(app);
  const tables = Object.keys(columnTypes).filter((name) => name !== "migrations");
  next = await laterProgram(
    "99.0.0",
    `-- oldest program: ${readVersion()}
    -- step: transaction
    ${tables.map((name) => `alter table ${name} add column added text, add column counted integer not null default 1;`).join("\n")}
    alter table rides add constraint rides_added check (counted >= 0) not valid;
    -- step: backfill rides
    update rides set added = id where :batch;
    -- step: autocommit
    create index concurrently rides_added_index on rides (system_id, added);
    -- step: transaction
    alter table rides drop constraint rides_added;
    alter table rides add constraint rides_added check (counted > 0) not valid;
    -- step: autocommit
    alter table rides validate constraint rides_added;`,
  );
});

afterAll(() => app.close());

/** Calls every endpoint that needs a key, on this service or another. @returns the endpoints that failed */
async function failuresOf(url = app.url): Promise<string[]> {
  const there = url === app.url ? calls : callsOn({ ...app, url });
  const failed: string[] = [];
  for (const endpoint of guarded) {
    const { key } = await there.keyFor(endpoint);
    const response = await there.send(endpoint, { authorization: `Bearer ${key}` });
    if (response.status !== endpoint.successStatus && !(endpoint.scope === "events:read" && response.status === 404))
      failed.push(`${endpoint.method} ${endpoint.path}: ${response.status} ${await response.text()}`);
    else await response.arrayBuffer();
  }
  await restoreWorld(app);
  return failed;
}

test("this version serves while the next one migrates, afterwards, and started anew; then the next one starts again", async () => {
  expect(await failuresOf()).toEqual([]);

  const migrating = migrate(app.db, { program: next });
  expect(await failuresOf()).toEqual([]);
  expect(await migrating).toEqual([next.migrations.at(-1)?.name]);
  expect(await failuresOf()).toEqual([]);

  const store = await openStore({
    auditLog: auditLogOwner,
    databaseUrl: app.db.connectionString,
    dataDir: "/nowhere",
    onEmbeddedEvent: () => undefined,
    onConnectionLost: () => undefined,
    statementTimeoutMs: 10_000,
  });
  expect(store.applied).toEqual([]);
  const anew = await buildAnother(
    { ...app, db: store.db },
    {
      dashboard: { directory: "/nowhere", ready: () => Promise.resolve(), frameAncestors: ["https://portal.example"] },
    },
  );
  expect(await failuresOf(anew.url)).toEqual([]);
  await anew.close();
  await store.close();

  expect([await isMigrated(app.db, next), await migrate(app.db, { program: next })]).toEqual([true, []]);
});
