import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@bikeshare/test-kit";
import { expect, it, onTestFinished } from "vitest";
import { superviseService } from "../../../test/bad-days/service-process.ts";
import { createTestDatabase } from "../../../test/database.ts";
import { checkPartitions } from "../../health/checks/machine-checks.ts";
import { createFirstPartitions } from "./service.ts";

it("a process that answers requests makes today's partitions before its first row, where no worker has run for days", async () => {
  const { db, close } = await createTestDatabase();
  onTestFinished(close);
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-partitions-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await createFirstPartitions(db, () => Date.now() - 40 * 86_400_000);
  const detail = async () => (await checkPartitions(db, Date.now())).detail;
  expect(await detail()).toMatch(/^today's are missing of webhook_deliveries,/);
  const env = { DATABASE_URL: db.connectionString, DATA_DIR: directory, PORT: `${await findFreePort()}` };
  const api = superviseService("api", env);
  onTestFinished(() => api.stop());
  await api.untilUp();
  // The process drops nothing: that is work of the workers.
  expect(await detail()).toMatch(/^no longer kept, and still there: events of /);
});
