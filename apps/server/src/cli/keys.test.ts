import { createTestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { createIds } from "../ids.ts";
import { issueKey } from "../partners/keys/service.ts";
import { registerKeys } from "./keys.ts";
import { registerPartners } from "./partners.ts";

let harness: CliHarness;
let partner: string;
const clock = createTestClock();
const ids = createIds(clock);

beforeEach(async () => {
  const register: typeof registerKeys = (program, context) => {
    registerKeys(program, context);
    registerPartners(program, context);
  };
  harness = await openCliHarness({ register, clock });
  partner = (await json("partners", "create", "Acme"))["id"] as string;
});
afterEach(() => harness.close());

const text = async (...args: string[]) => (await harness.run(...args)).stdout;
const json = async (...args: string[]) =>
  JSON.parse((await harness.run("--json", ...args)).stdout) as Record<string, unknown>;
const allow = (...args: string[]) => json("partners", "allow-keys", partner, ...args);
const BOUNDS = ["--scopes", "rides:read", "--rate-limit", "100", "--days", "30", "--keys", "2"];

/** Issues a key in the way in which a partner's admin does it in the dashboard. */
const makeOwn = () =>
  issueKey(
    { db: harness.db, clock, ids, actor: "person:test" },
    {
      ...{ systemId: harness.systemId, partnerId: partner, madeByPartner: true },
      ...{ scopes: ["rides:read"], rateLimit: 60, expiresAt: new Date(clock() + 86_400_000) },
    },
  );

it("allow-keys sets what a partner's admins may make, and --none takes it back", async () => {
  await expect(makeOwn()).rejects.toThrow("makes no keys of its own");
  const allowance = { scopes: ["rides:read"], rate_limit: 100, days: 30, keys: 2 };
  expect(await allow(...BOUNDS)).toEqual({ id: partner, key_allowance: allowance });
  expect(await text("partners", "list")).toMatch(/up to 2\n/);
  expect(await text("partners", "allow-keys", partner, ...BOUNDS)).toMatch(
    /^scopes +rides:read\nrate limit +100\ndays +30\nkeys +2\n$/m,
  );
  await makeOwn();
  expect(await allow("--none")).toEqual({ id: partner, key_allowance: null });
  await expect(makeOwn()).rejects.toThrow("makes no keys of its own");
});

it("allow-keys takes all four bounds or --none, and no number that is out of range", async () => {
  const whole = "Give all of --scopes, --rate-limit, --days and --keys, or --none alone.";
  for (const wrong of [[], BOUNDS.slice(2), BOUNDS.slice(0, 6), [...BOUNDS, "--none"]])
    await expect(allow(...wrong)).rejects.toThrow(whole);
  await expect(allow(...BOUNDS.slice(0, 6), "--keys", "101")).rejects.toThrow(
    '--keys is "101": it must be an integer from 1 to 100.',
  );
  await expect(allow("--scopes", "rides:write")).rejects.toThrow("unknown: rides:write");
  await expect(text("partners", "allow-keys", "partner_none", ...BOUNDS)).rejects.toThrow("There is no partner");
});

it("list says which keys the partner made, and which exceed what it may make now", async () => {
  await allow(...BOUNDS);
  const { id } = await makeOwn();
  clock.advance(1);
  await text("keys", "issue", "--partner", partner, "--scopes", "bikes:read");
  expect(await text("keys", "list")).toMatch(/ partner +active +2.*\n.* operator +active +never/);
  await allow(...BOUNDS.slice(2), "--scopes", "stations:read");
  expect(await text("keys", "list")).toContain("active, exceeds the allowance");
  expect((await json("keys", "list"))["keys"]).toMatchObject([
    { id, made_by_partner: true, exceeds_allowance: true },
    { made_by_partner: false, exceeds_allowance: false },
  ]);
  await expect(text("keys", "rotate", id)).rejects.toThrow("does not allow the scope rides:read");
});

it("issue judges --expires-at by the database's clock, whatever this machine's says", async () => {
  const issueUntil = (at: number) =>
    json("keys", "issue", "--operator", "--expires-at", new Date(at).toISOString().replace(/\.\d+/, ""));
  harness.machine.aheadMs = -3_600_000;
  await expect(issueUntil(clock() - 60_000)).rejects.toThrow("it must be in the future.");
  harness.machine.aheadMs = 3_600_000;
  expect(await issueUntil(clock() + 60_000)).toHaveProperty("key");
});
