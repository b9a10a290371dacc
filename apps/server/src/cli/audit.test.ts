import { afterAll, beforeAll, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { statement } from "../storage/db/statement.ts";
import { registerKeys } from "./keys.ts";
import { registerAudit, registerPartners } from "./partners.ts";
import { registerSystems } from "./systems.ts";

const START = Date.parse("2026-06-01T08:00:00.000Z");
let now = START;
let harness: CliHarness;

beforeAll(async () => {
  harness = await openCliHarness({
    register: (program, context) => {
      for (const register of [registerSystems, registerPartners, registerKeys, registerAudit])
        register(program, context);
    },
    clock: () => now,
  });
});
afterAll(() => harness.close());

interface Entry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly detail: unknown;
}

async function run<Result>(...args: string[]): Promise<Result> {
  return JSON.parse((await harness.run("--json", ...args)).stdout) as Result;
}
const entries = async (...args: string[]) => (await run<{ entries: Entry[] }>("audit", "list", ...args)).entries;

it("what is done on the command line is listed with the account that did it, the newest first, by time, actor and subject", async () => {
  const partner = await run<{ id: string }>("partners", "create", "Journey Planner");
  now += 3_600_000;
  const key = await run<{ id: string }>("keys", "issue", "--partner", partner.id, "--scopes", "rides:read");
  await run("keys", "revoke", key.id);
  const all = await entries();
  expect(all.map(({ action, subject }) => [action, subject])).toEqual([
    ["key.revoked", key.id],
    ["key.issued", key.id],
    ["partner.created", partner.id],
  ]);
  expect(all[0]).toMatchObject({ at: new Date(now).toISOString(), actor: "cli:test", detail: {} });
  expect(await entries("--since", "30m")).toEqual(all.slice(0, 2));
  harness.machine.aheadMs = 3_600_000;
  expect(await entries("--since", "30m"), "of a machine whose clock is ahead").toEqual(all.slice(0, 2));
  harness.machine.aheadMs = 0;
  expect(await entries("--since", "2026-06-01T08:00:00Z")).toEqual(all);
  expect(await entries("--actor", "cli")).toEqual(all);
  expect(await entries("--actor", "server")).toEqual([]);
  expect(await entries("--subject", partner.id)).toEqual(all.slice(2));
  expect(await entries("--limit", "1")).toEqual(all.slice(0, 1));
  expect((await harness.run("audit", "list")).stdout).toMatch(new RegExp(`cli:test +key.revoked +${key.id} +{}$`, "m"));
});

it("a system that is made is an act in its own log", async () => {
  await run("systems", "create", "second", "--name", "Second City");
  expect(await entries("--system", "second")).toMatchObject([
    { action: "system.created", subject: "second", actor: "cli:test", detail: { name: "Second City" } },
  ]);
});

it("`keys list` shows the rate that holds and the last use", async () => {
  const { stdout } = await harness.run("keys", "list");
  expect(stdout).toMatch(/ 60 +operator +revoked +never +never$/m);
  await harness.db.query(
    statement(
      "",
      "update keys set last_used_at = '2026-06-01T09:00:00Z', last_used_path = '/v1/rides', last_used_address = '192.0.2.7'",
    ),
  );
  expect((await harness.run("keys", "list")).stdout).toContain("2026-06-01T09:00:00.000Z /v1/rides from 192.0.2.7");
  expect((await run<{ keys: unknown[] }>("keys", "list")).keys).toMatchObject([{ effective_rate_limit: 60 }]);
});

it.each(["update audit_log set actor = 'nobody'", "delete from audit_log", "truncate audit_log"])(
  "the service's role cannot take an act back: %s",
  async (text) => {
    await expect(harness.db.query(statement("", text))).rejects.toThrow(/permission denied for table audit_log/);
    expect((await entries()).length).toBeGreaterThan(0);
  },
);
