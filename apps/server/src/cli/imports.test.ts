import { createTestIds } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { recordImport } from "../feeds/imports/service.ts";
import { registerImports } from "./imports.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
let harness: CliHarness;
beforeAll(async () => {
  harness = await openCliHarness({ register: registerImports, clock: () => NOW });
});
afterAll(() => harness.close());

it("lists imports, the newest first, with what each did", async () => {
  expect((await harness.run("list")).stdout).toBe("No imports.\n");
  const acting = { clock: () => NOW, ids: createTestIds(), actor: "cli" };
  const counts = { created: 5, updated: 0, unchanged: 1, rejected: 2, stationsCreated: 3 };
  const start = { systemId: harness.systemId, kind: "gbfs", source: "oslo", detail: { location: "/feeds" } } as const;
  const report = { path: null, reasons: {}, first: [] };
  await recordImport(harness.db, acting, { ...start, id: "gbfs_1", at: new Date(NOW - 1000) }, counts, report);
  const written = { ...report, path: "/reports/gbfs_2.ndjson" };
  await recordImport(harness.db, acting, { ...start, id: "gbfs_2", at: new Date(NOW) }, counts, written);
  expect(JSON.parse((await harness.run("list", "--json")).stdout)).toMatchObject({
    imports: [
      { id: "gbfs_2", kind: "gbfs", source: "oslo", at: "2026-06-01T12:00:00.000Z", created: 5, status: "done" },
      { id: "gbfs_1" },
    ],
  });
  expect((await harness.run("list")).stdout.split("\n").map((line) => line.split(/\s+/)[0])).toEqual([
    "id",
    "gbfs_2",
    "gbfs_1",
    "",
  ]);
});
