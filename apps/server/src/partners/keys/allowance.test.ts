import type { KeyAllowance } from "@bikeshare/contract/console";
import { RATE_WINDOW_MS } from "@bikeshare/rules";
import { createTestClock, createTestIds } from "@bikeshare/test-kit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { createPartner, setKeyAllowance } from "../service.ts";
import { removePartner, suspendPartner } from "../suspend-or-remove.ts";
import { exceedingKeys } from "./key.rules.ts";
import { issueKey, keysOf, MAX_OVERLAP_MS, revokeKey, rotateKey } from "./service.ts";

const DAY_MS = 86_400_000;
const ALLOWED: KeyAllowance = { scopes: ["rides:read", "stations:read"], rate_limit: 100, days: 30, keys: 5 };

let database: TestDatabase;
const clock = createTestClock();
const ids = createTestIds();
let partnerId: string;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  partnerId = (await createPartner(context(), database.systemId, `Partner ${ids.next("name")}`)).id;
  await allow(ALLOWED);
});
afterAll(() => database.close());

const context = () => ({ db: database.db, clock, ids, actor: "person:test" });
const allow = (allowance: KeyAllowance | null) => setKeyAllowance(context(), database.systemId, partnerId, allowance);

interface Wanted {
  readonly scopes?: KeyAllowance["scopes"];
  readonly rateLimit?: number;
  readonly expiresAt?: Date;
}

const make = ({ scopes = ["rides:read"], rateLimit = 10, expiresAt = daysAhead(30) }: Wanted = {}) =>
  issueKey(context(), {
    ...{ systemId: database.systemId, partnerId, madeByPartner: true },
    ...{ scopes, rateLimit, expiresAt },
  });
const issueByOperator = (rateLimit: number) =>
  issueKey(context(), { systemId: database.systemId, partnerId, scopes: ["bikes:read"], rateLimit });
const rotate = (id: string, overlap = 0) => rotateKey(context(), database.systemId, id, overlap);
const revoke = (id: string) => revokeKey(context(), database.systemId, id);
const daysAhead = (days: number) => new Date(clock() + days * DAY_MS);
const keys = () => keysOf(context(), database.systemId, partnerId);
const working = async () => (await keys()).filter(({ revoked_at: at }) => at === null || at.getTime() > clock());
const exceeding = async (key_allowance: KeyAllowance | null) => [
  ...exceedingKeys([{ id: partnerId, key_allowance }], await keys(), clock()),
];

/** Runs calls at the same time. @returns how many succeed, and the refusals of the others */
async function race(calls: readonly (() => Promise<unknown>)[]): Promise<{ made: number; refusals: Set<string> }> {
  const results = await Promise.allSettled(calls.map((call) => call()));
  const refused = results.filter((result) => result.status === "rejected");
  const refusals = new Set(
    refused.map(({ reason }) => String((reason as Error).message).replaceAll(/\d+|key_\w+/g, "#")),
  );
  return { made: results.length - refused.length, refusals };
}

const times = (count: number, call: () => Promise<unknown>) => Array.from({ length: count }, () => call);

describe("a key of a partner's own people", () => {
  it("is made within the allowance, and says in the audit log that they made it", async () => {
    const { id } = await make();
    expect(await keys()).toMatchObject([{ id, made_by_partner: true, rate_limit: 10, scopes: ["rides:read"] }]);
    const text = "select actor, detail from audit_log where subject = $1";
    const acts = await database.db.query({ name: "test.actsOnAllowedKey", text }, [id]);
    expect(acts).toMatchObject([{ actor: "person:test", detail: { partner_id: partnerId, made_by_partner: true } }]);
  });

  it.each<[string, Wanted, RegExp]>([
    ["another scope", { scopes: ["rides:read", "bikes:read"] }, /does not allow the scope bikes:read/],
    ["a rate above that of all together", { rateLimit: 101 }, /allows 100 requests .* 100 are left, .* asks for 101/],
    ["a later expiry", { expiresAt: daysAhead(31) }, /expire within 30 days/],
    ["an expiry that has passed", { expiresAt: daysAhead(-1) }, /expire within 30 days/],
  ])("with %s is refused", async (_, wanted, message) => {
    await expect(make(wanted)).rejects.toThrow(message);
    expect(await keys()).toEqual([]);
  });

  it("is refused without an allowance, and to a partner that is suspended, removed or not there", async () => {
    await allow(null);
    await expect(make()).rejects.toThrow("makes no keys of its own");
    await allow(ALLOWED);
    await suspendPartner(context(), database.systemId, partnerId);
    await expect(make()).rejects.toThrow("is suspended");
    await removePartner(context(), database.systemId, partnerId);
    await expect(make()).rejects.toThrow("There is no partner");
    partnerId = "partner_nobody";
    await expect(make()).rejects.toThrow("There is no partner");
  });

  it("counts while it works, and no longer: revoking one makes room, keys of the operator take none", async () => {
    await issueByOperator(1000);
    const first = await make({ rateLimit: 60 });
    await make({ rateLimit: 40 });
    await expect(make({ rateLimit: 1 })).rejects.toThrow("0 are left");
    await revoke(first.id);
    await make({ rateLimit: 60 });
    clock.advance(30 * DAY_MS);
    expect((await make({ rateLimit: 100 })).rate_limit).toBe(100);
  });
});

describe("of requests that come at once", () => {
  it("as many make a key as the allowance has keys left", async () => {
    expect(await race(times(20, () => make({ rateLimit: 1 })))).toEqual({
      made: ALLOWED.keys,
      refusals: new Set([expect.stringContaining("of # that the operator allows")]),
    });
    expect(await working()).toHaveLength(ALLOWED.keys);
  });

  it("the rates together stay within the allowance's", async () => {
    expect((await race(times(20, () => make({ rateLimit: 40 })))).made).toBe(2);
    expect((await working()).reduce((sum, { rate_limit: rate }) => sum + (rate ?? Infinity), 0)).toBe(80);
  });

  it("none makes a key by an allowance that was taken back before", async () => {
    const calls = times(10, () => make({ rateLimit: 1 }));
    const [, { made }] = await Promise.all([allow(null), race(calls)]);
    await expect(make()).rejects.toThrow("makes no keys of its own");
    expect(await exceeding(null)).toHaveLength(made);
  });

  it.each([0, DAY_MS])("one rotates a key, whoever made it, with an overlap of %i ms", async (overlap) => {
    for (const { id } of [await make(), await issueByOperator(10)]) {
      expect((await race(times(10, () => rotate(id, overlap)))).made).toBe(1);
    }
    expect(await working()).toHaveLength(overlap === 0 ? 2 : 4);
  });

  it("revoking, rotating, making, suspending and removing end without a deadlock", async () => {
    const { id } = await make();
    const calls = [
      ...times(5, () => make({ rateLimit: 1 })),
      ...times(5, () => rotate(id, DAY_MS)),
      ...times(5, () => revoke(id)),
      () => suspendPartner(context(), database.systemId, partnerId),
      () => removePartner(context(), database.systemId, partnerId),
    ];
    const { refusals } = await race(calls);
    expect([...refusals].filter((message) => message.includes("deadlock"))).toEqual([]);
    expect(await working()).toEqual([]);
  });
});

describe("rotating a key of a partner's own people", () => {
  it("needs room for both while both work, and none without an overlap", async () => {
    await allow({ ...ALLOWED, keys: 1 });
    const { id } = await make({ rateLimit: 60 });
    await expect(rotate(id, DAY_MS)).rejects.toThrow("1 keys of the partner's own people work");
    await allow({ ...ALLOWED, keys: 2 });
    await expect(rotate(id, DAY_MS)).rejects.toThrow("40 are left");
    expect(await working()).toMatchObject([{ id, revoked_at: null }]);
    expect(await rotate(id)).toMatchObject({ replaces: id, rate_limit: 60 });
    expect(await working()).toMatchObject([{ made_by_partner: true, rate_limit: 60 }]);
  });

  it("keeps its scopes and its expiry, and is refused once the allowance has neither", async () => {
    const made = await make();
    clock.advance(10 * DAY_MS);
    const { id, expires_at } = await rotate(made.id);
    expect(expires_at).toEqual(made.expires_at);
    clock.advance(RATE_WINDOW_MS);
    await allow({ ...ALLOWED, scopes: ["stations:read"] });
    await expect(rotate(id)).rejects.toThrow("does not allow the scope rides:read");
    await allow({ ...ALLOWED, days: 10 });
    await expect(rotate(id)).rejects.toThrow("expire within 10 days");
    await allow(null);
    await expect(rotate(id)).rejects.toThrow("makes no keys of its own");
  });
});

it("a chain of rotations never has three keys whose requests count, so that it multiplies no rate", async () => {
  const first = await issueByOperator(10);
  const second = await rotate(first.id, MAX_OVERLAP_MS);
  const expectRefused = async () => {
    for (const overlap of [0, MAX_OVERLAP_MS])
      await expect(rotate(second.id, overlap)).rejects.toThrow(`replaces ${first.id}, whose requests count until`);
  };
  await expectRefused();
  await revoke(first.id);
  await expectRefused();
  clock.advance(RATE_WINDOW_MS);
  await rotate(second.id, MAX_OVERLAP_MS);
  expect(await working()).toHaveLength(2);
});

it("keys that are made and revoked one after the other have twice the allowance's requests in a window, and no more", async () => {
  await revoke((await make({ rateLimit: 100 })).id);
  const second = await make({ rateLimit: 100 });
  await revoke(second.id);
  clock.advance(RATE_WINDOW_MS - 1);
  await expect(make({ rateLimit: 1 })).rejects.toThrow("keys that ended in the last 60 s still count");
  clock.advance(1);
  await make({ rateLimit: 100 });
});

it("a lower allowance stops new keys at once, and says of the older ones which exceed it", async () => {
  const [first, second, third] = [
    await make({ rateLimit: 40 }),
    await make({ rateLimit: 40, scopes: ["stations:read"] }),
    await make({ rateLimit: 20, expiresAt: daysAhead(5) }),
  ];
  await issueByOperator(1000);
  expect(await exceeding(ALLOWED)).toEqual([]);
  expect(await exceeding(null)).toEqual([first.id, second.id, third.id]);
  expect(await exceeding({ ...ALLOWED, scopes: ["stations:read"] })).toEqual([first.id, third.id]);
  expect(await exceeding({ ...ALLOWED, keys: 1 })).toEqual([second.id, third.id]);
  expect(await exceeding({ ...ALLOWED, rate_limit: 85 })).toEqual([third.id]);
  expect(await exceeding({ ...ALLOWED, days: 5 })).toEqual([first.id, second.id]);
  await allow({ ...ALLOWED, rate_limit: 85 });
  await expect(make({ rateLimit: 1 })).rejects.toThrow("0 are left");
  await revoke(first.id);
  expect(await exceeding({ ...ALLOWED, rate_limit: 85 })).toEqual([]);
});

it("whoever makes and revokes keys all day is stopped at a hundred, and what has ended for 30 days is deleted", async () => {
  for (let n = 0; n < 100; n++) await revoke((await make({ rateLimit: 1 })).id);
  await expect(make()).rejects.toThrow("made 100 keys in the last 24 hours");
  clock.advance(DAY_MS);
  const kept = await make();
  expect(await keys()).toHaveLength(101);
  clock.advance(30 * DAY_MS);
  const last = await make();
  expect((await keys()).map(({ id }) => id)).toEqual([kept.id, last.id]);
});
