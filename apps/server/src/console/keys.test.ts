import { consoleContract } from "@bikeshare/contract/console";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { openFrame, type SignedIn, signIn } from "../../test/sign-in.ts";
import { createPartner } from "../partners/service.ts";

let app: TestApp;
let admin: SignedIn;
let operator: SignedIn;
let otherPartner: string;

beforeAll(async () => {
  app = await startTestApp();
  admin = await signIn(app, { partnerId: app.partnerId });
  operator = await signIn(app, { partnerId: null });
  otherPartner = (await createPartner({ ...app, actor: "test" }, app.systemId, "Other")).id;
});
afterAll(() => app.close());

const system = () => `/console/v1/systems/${app.systemId}`;
const partner = (id = app.partnerId) => `${system()}/partners/${id}`;
const { partnerKeys, systemKeys } = consoleContract;
const made = (body: unknown) => systemKeys.issue.responses[200].parse(body);
const newKey = { scopes: ["rides:read"], name: "From the console", expires_at: null, rate_limit: 30 };

async function answer(who: SignedIn, method: string, path: string, body?: unknown): Promise<[number, unknown]> {
  const response = await who.call(method, path, body);
  return [response.status, await response.json()];
}

const ridesWith = async (key: string) =>
  (await fetch(`${app.url}/v1/rides?limit=1`, { headers: { authorization: `Bearer ${key}` } })).status;

it("the operator issues a key that works at once and revokes it, which the next request learns", async () => {
  const [status, body] = await answer(operator, "POST", `${system()}/keys`, { partner_id: app.partnerId, ...newKey });
  expect(status).toBe(200);
  const { id, key } = made(body);
  expect(await ridesWith(key)).toBe(200);
  const [, list] = await answer(admin, "GET", `${partner()}/keys`);
  const shown = partnerKeys.list.responses[200].parse(list).data.find((each) => each.id === id);
  expect(shown).toMatchObject({ status: "active", prefix: "bss_live_", last4: key.slice(-4), rate_limit: 30 });
  expect(JSON.stringify(list)).not.toContain(key);
  expect((await answer(operator, "POST", `${system()}/keys/${id}/revoke`, {}))[0]).toBe(200);
  await expect.poll(() => ridesWith(key), { timeout: 20_000, interval: 20 }).toBe(401);
});

it("an admin of the partner rotates a key, and both work meanwhile", async () => {
  const issued = await app.issue({ scopes: ["rides:read"] });
  const [status, body] = await answer(admin, "POST", `${partner()}/keys/${issued.id}/rotate`, { overlap_hours: 24 });
  expect(status).toBe(200);
  const { key, replaces } = made(body);
  expect(replaces).toBe(issued.id);
  expect([await ridesWith(key), await ridesWith(issued.key)]).toEqual([200, 200]);
  const again = await answer(admin, "POST", `${partner()}/keys/${issued.id}/rotate`, { overlap_hours: 24 });
  expect(again).toMatchObject([409, { error: "conflict" }]);
});

it("who makes, rotates or revokes a key is in the audit log", async () => {
  const { id } = made(
    (await answer(operator, "POST", `${system()}/keys`, { partner_id: null, ...newKey, scopes: [] }))[1],
  );
  await answer(operator, "POST", `${system()}/keys/${id}/revoke`, {});
  const acts = await app.db.query(
    {
      name: "test.actsOnKey",
      text: "select actor, action from audit_log where system_id = $1 and subject = $2 order by id",
    },
    [app.systemId, id],
  );
  expect(acts).toEqual(["key.issued", "key.revoked"].map((action) => ({ actor: operator.actor, action })));
});

it("keys of another partner, of the operator and of nobody are not found on a partner's page", async () => {
  const foreign = await app.issue({ partnerId: otherPartner });
  const operators = await app.issue({ partnerId: null, scopes: [] });
  for (const id of [foreign.id, operators.id, "key_nobody"]) {
    expect((await answer(admin, "POST", `${partner()}/keys/${id}/revoke`, {}))[0]).toBe(404);
    expect((await answer(admin, "POST", `${partner()}/keys/${id}/rotate`, { overlap_hours: 0 }))[0]).toBe(404);
  }
  expect((await answer(admin, "GET", `${partner(otherPartner)}/keys`))[0]).toBe(404);
  const [, list] = await answer(admin, "GET", `${partner()}/keys`);
  expect(JSON.stringify(list)).not.toContain(foreign.id);
});

it.each([
  ["no scopes for a partner", { scopes: [] }],
  ["scopes for the operator", { partner_id: null }],
  ["an unknown scope", { scopes: ["rides:write"] }],
  ["a rate of 0", { rate_limit: 0 }],
  ["no instant", { expires_at: "tomorrow" }],
])("a key with %s is refused with what is wrong", async (_, wrong) => {
  const body = { partner_id: app.partnerId, ...newKey, ...wrong };
  expect(await answer(operator, "POST", `${system()}/keys`, body)).toMatchObject([400, { error: "invalid_parameter" }]);
});

describe("keys that a partner's own admins make", () => {
  const ALLOWED = { scopes: ["rides:read", "bikes:read"], rate_limit: 100, days: 30, keys: 3 };
  const allow = (allowance: unknown, who = operator) => answer(who, "PUT", `${partner()}/key-allowance`, { allowance });
  const inDays = (days: number) => new Date(app.clock() + days * 86_400_000).toISOString();
  const own = (wanted: object = {}) => ({
    ...{ scopes: ["rides:read"], name: "Own", expires_at: inDays(30), rate_limit: 40 },
    ...wanted,
  });
  const create = (body: unknown, who = admin) => answer(who, "POST", `${partner()}/keys`, body);
  const list = async () => partnerKeys.list.responses[200].parse((await answer(admin, "GET", `${partner()}/keys`))[1]);
  const ownKeys = async () =>
    (await list()).data.filter((key) => key.made_by_partner && key.status === "active").map(({ id }) => id);

  beforeEach(async () => {
    app.clock.advance(61_000);
    [admin, operator] = [await signIn(app, { partnerId: app.partnerId }), await signIn(app, { partnerId: null })];
    expect((await allow(ALLOWED))[0]).toBe(200);
    for (const id of await ownKeys()) await answer(admin, "POST", `${partner()}/keys/${id}/revoke`, {});
  });

  it("work at once with what was asked, are shown once, and both pages show them with what is left", async () => {
    const [status, body] = await create(own());
    expect(status).toBe(200);
    const { id, key } = made(body);
    expect(await ridesWith(key)).toBe(200);
    const shown = await list();
    expect(shown.allowance).toEqual({ ...ALLOWED, rate_limit_left: 60, keys_left: 2 });
    const expected = { id, rate_limit: 40, scopes: ["rides:read"], made_by_partner: true, exceeds_allowance: false };
    expect(shown.data.find((each) => each.id === id)).toMatchObject(expected);
    expect(JSON.stringify(shown)).not.toContain(key);
    const [, read] = await answer(operator, "GET", `${system()}/partners/${app.partnerId}`);
    expect(read).toMatchObject({ key_allowance: ALLOWED, own_keys: 1, own_rate_limit: 40 });
    const text = "select actor, action from audit_log where subject = $1";
    expect(await app.db.query({ name: "test.ownKeyActs", text }, [id])).toEqual([
      { actor: admin.actor, action: "key.issued" },
    ]);
  });

  it.each([
    ["a scope that is not allowed", 409, { scopes: ["reservations:write"] }, /does not allow the scope/],
    ["more than the rate that is left", 409, { rate_limit: 101 }, /100 are left/],
    ["a later expiry", 409, { expires_at: "2200-01-01T00:00:00Z" }, /within 30 days/],
    ["no expiry", 400, { expires_at: null }, /expires_at/],
    ["no rate", 400, { rate_limit: null }, /rate_limit/],
    ["no scopes", 400, { scopes: [] }, /scopes/],
    ["a name that reorders what is shown beside it", 400, { name: "a\u202eb" }, /characters that reorder text/],
    ["another partner", 400, { partner_id: "partner_other" }, /partner_id/],
  ])("with %s are refused with what is wrong", async (_, status, wanted, message) => {
    expect(await create(own(wanted))).toMatchObject([status, { message: expect.stringMatching(message) as string }]);
    expect(await ownKeys()).toEqual([]);
  });

  it("are refused to viewers, other partners' admins, the operator's people, former admins and frames", async () => {
    const former = await signIn(app, { partnerId: app.partnerId });
    await app.db.query({ name: "test.leave", text: "delete from memberships where person_id = $1" }, [former.personId]);
    const callers: readonly (readonly [SignedIn, number])[] = [
      [await signIn(app, { partnerId: app.partnerId, role: "viewer" }), 403],
      [await signIn(app, { partnerId: otherPartner }), 404],
      [operator, 403],
      [former, 404],
      [await openFrame(app, { partnerId: app.partnerId }), 403],
    ];
    for (const [who, status] of callers) expect((await create(own(), who))[0]).toBe(status);
    expect((await allow(ALLOWED, admin))[0]).toBe(404);
    app.clock.advance(11 * 60_000);
    expect(await create(own())).toMatchObject([403, { error: "confirmation_required" }]);
    expect(await allow(ALLOWED)).toMatchObject([403, { error: "confirmation_required" }]);
    expect(await ownKeys()).toEqual([]);
  });

  it("of a suspended partner are refused, by its session and by its key", async () => {
    const { key, id } = made((await create(own()))[1]);
    await answer(operator, "POST", `${partner()}/suspend`, {});
    expect((await create(own()))[0]).toBe(403);
    expect((await answer(admin, "POST", `${partner()}/keys/${id}/rotate`, { overlap_hours: 0 }))[0]).toBe(403);
    await expect.poll(() => ridesWith(key), { timeout: 20_000, interval: 20 }).toBe(401);
    await answer(operator, "POST", `${partner()}/resume`, {});
  });

  it("that came at once leave no more than the allowance", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create(own({ rate_limit: 30 }))));
    expect(answers.filter(([status]) => status === 200)).toHaveLength(3);
    expect(answers.filter(([status]) => status === 409)).toHaveLength(9);
    expect((await list()).allowance).toMatchObject({ rate_limit_left: 10, keys_left: 0 });
  });

  it("exceed an allowance that was lowered, which both pages say, and cannot be rotated", async () => {
    const { id } = made((await create(own()))[1]);
    expect((await allow({ ...ALLOWED, scopes: ["bikes:read"] }))[0]).toBe(200);
    expect((await create(own()))[0]).toBe(409);
    const all = systemKeys.list.responses[200].parse((await answer(operator, "GET", `${system()}/keys`))[1]).data;
    for (const data of [all, (await list()).data])
      expect(data.filter((key) => key.exceeds_allowance).map((key) => key.id)).toEqual([id]);
    const rotation = await answer(admin, "POST", `${partner()}/keys/${id}/rotate`, { overlap_hours: 0 });
    expect(rotation).toMatchObject([409, { message: expect.stringContaining("rides:read") as string }]);
    expect(await allow(null)).toMatchObject([200, { key_allowance: null, own_keys: 1 }]);
    expect((await list()).allowance).toBeNull();
    expect(await create(own())).toMatchObject([409, { message: expect.stringContaining("makes no keys") as string }]);
  });

  it.each([{ keys: 101 }, { keys: 0 }, { days: 3651 }, { rate_limit: 0 }, { scopes: [] }, { scopes: ["rides:write"] }])(
    "are never allowed with %j",
    async (wrong) => {
      expect((await allow({ ...ALLOWED, ...wrong }))[0]).toBe(400);
    },
  );
});
