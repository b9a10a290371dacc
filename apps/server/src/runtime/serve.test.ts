import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestIds } from "@bikeshare/test-kit";
import { expect, it, vi } from "vitest";
import { createTestDatabase } from "../../test/database.ts";
import { readConfig } from "../config.ts";
import { statement } from "../storage/db/statement.ts";
import { serve } from "./serve.ts";

it("a part that cannot be closed does not keep the others open", async () => {
  const database = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-serve-"));
  const env = {
    DATABASE_URL: database.db.connectionString,
    DATA_DIR: directory,
    PORT: "0",
    LOG_LEVEL: "silent",
    DRAIN_DELAY: "0s",
  };
  const others = statement(
    "",
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  const connections = async () => (await database.db.query<{ n: number }>(others))[0]?.n;
  try {
    const before = await connections();
    const service = await serve({
      config: readConfig(env, directory),
      clock: () => Date.now(),
      ids: createTestIds(),
      resolveSystem: () => Promise.resolve(database.systemId),
      role: "api",
      // The pages are closed after the listener, and before the database.
      dashboard: {
        directory,
        ready: () => Promise.resolve(),
        close: () => Promise.reject(new Error("the pages cannot be closed")),
      },
    });
    expect(await connections()).not.toBe(before);
    await service.close();
    await expect(fetch(service.url ?? "")).rejects.toThrow("fetch failed");
    await vi.waitUntil(async () => (await connections()) === before, { timeout: 10_000 });
  } finally {
    await database.close();
    await rm(directory, { recursive: true, force: true });
  }
});
