import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock, createTestIds } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkInvariants } from "../src/health/check/service.ts";
import { restoreBackup } from "../src/storage/backup/restore.ts";
import type { Database } from "../src/storage/db/database.ts";
import { isMigrated } from "../src/storage/db/migrate/migrate.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";
import { createEmptyDatabase } from "./database.ts";

/**
 * A backup of a database of version 0.1.0 after an hour of use. It has stations and bikes of a feed and of the operator,
 * rides, imports, reservations, events, deliveries with their attempts, people and requests.
 */
const RELEASED = join(import.meta.dirname, "released/0.1.0.zip");
/** The time of the backup. */
const NOW = "2026-11-25T22:40:00.000Z";
/** The key of the partner in the backup. */
const KEY = "bss_live_H6fGq0cWW5cmjaeU2SElK9pOnD7DjiBcJv3knfbH";

let db: Database;
let close: () => Promise<void>;
let app: BuiltApp;
let rows: number;
beforeAll(async () => {
  ({ db, close } = await createEmptyDatabase());
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-released-"));
  ({ rows } = await restoreBackup(
    { connectionString: db.connectionString, secretsPath: join(directory, "secrets.json") },
    RELEASED,
  ));
  await rm(directory, { recursive: true });
  app = await buildAnother({ db, clock: createTestClock(NOW), ids: createTestIds() });
});
afterAll(async () => {
  await app.close();
  await close();
});

const LISTS = { stations: 4, rides: 43, bikes: 13, reservations: 3, events: 13 };

test("a database of 0.1.0 with data is brought up to date, and its data agree with each other", async () => {
  expect(rows).toBe(369);
  expect(await isMigrated(db)).toBe(true);
  expect((await checkInvariants(db, "seaside")).filter(({ broken }) => broken > 0)).toEqual([]);
});

test("its partner's key lists everything that was there", async () => {
  const counts = Object.keys(LISTS).map(async (name) => {
    const response = await fetch(`${app.url}/v1/${name}?limit=200`, { headers: { authorization: `Bearer ${KEY}` } });
    const { data } = (await response.json()) as { readonly data: unknown[] | undefined };
    return [name, data?.length];
  });
  expect(Object.fromEntries(await Promise.all(counts))).toEqual(LISTS);
});
