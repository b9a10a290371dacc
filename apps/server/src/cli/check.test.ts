import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock, serviceProgram } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { addSystem } from "../city/systems/service.ts";
import { createIds } from "../ids.ts";

const main = await serviceProgram();
let database: TestDatabase;
let directory: string;
beforeEach(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-check-"));
});
afterEach(async () => {
  await database.close();
  await rm(directory, { recursive: true, force: true });
});

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function check(...args: string[]): Promise<Ended> {
  const env = { ...process.env, DATABASE_URL: database.db.connectionString, DATA_DIR: directory };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ["--conditions=@bikeshare/source", main, ...args, "check"],
      { env },
      (error, stdout, stderr) => resolve({ status: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

it("says of every invariant that it holds, and ends with 0", async () => {
  const { status, stdout } = await check();
  expect(status).toBe(0);
  const [titles, ...lines] = stdout.trim().split("\n");
  expect(titles).toMatch(/^status +invariant +violations +examples$/);
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.every((line) => /^ok +\w+ +0 +-$/.test(line))).toBe(true);
});

it("names what is broken, with examples, and ends with 1; as JSON too", async () => {
  await database.db.query({
    name: "",
    text: "insert into list_counts (system_id, list, slot, n) values ('main', 'bikes', 0, 7)",
  });
  const { status, stdout, stderr } = await check();
  expect(status).toBe(1);
  expect(stdout).toMatch(/^BROKEN +list_counts +1 +.*7/m);
  expect(stdout).toMatch(/^list_counts means: ./m);
  expect(stderr).toMatch(/^1 of \d+ invariants are broken in system main\.\n$/);
  const json = await check("--json");
  expect(json.status).toBe(1);
  const report = JSON.parse(json.stdout) as { ok: boolean; invariants: { name: string; broken: number }[] };
  expect(report.ok).toBe(false);
  expect(report.invariants.filter(({ broken }) => broken > 0)).toMatchObject([{ name: "list_counts", broken: 1 }]);
});

it("checks every system where none is named, and says in which one it is broken", async () => {
  const clock = createTestClock();
  await addSystem({ db: database.db, clock, ids: createIds(clock), actor: "test" }, "second", "Second");
  expect((await check()).status).toBe(0);
  await database.db.query({
    name: "",
    text: "insert into list_counts (system_id, list, slot, n) values ('second', 'bikes', 0, 7)",
  });
  const { status, stdout, stderr } = await check();
  expect(status).toBe(1);
  expect(stdout).toMatch(/^system +status +invariant/);
  expect(stdout).toMatch(/^main +ok +list_counts/m);
  expect(stdout).toMatch(/^second +BROKEN +list_counts +1/m);
  expect(stdout).toMatch(/^second: list_counts means: ./m);
  expect(stderr).toMatch(/^1 of \d+ invariants are broken in systems second\.\n$/);
  expect(JSON.parse((await check("--json")).stdout)).toMatchObject({
    ok: false,
    systems: [
      { system: "main", ok: true },
      { system: "second", ok: false },
    ],
  });
  expect((await check("--system", "main")).status).toBe(0);
});
