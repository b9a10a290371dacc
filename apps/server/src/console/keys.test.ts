import { consoleContract } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
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
      name: "test.acts",
      text: "select actor, action from audit_log where system_id = $1 and subject = $2 order by id",
    },
    [app.systemId, id],
  );
  expect(acts).toEqual(["key.issued", "key.revoked"].map((action) => ({ actor: operator.actor, action })));
});

it("keys of another partner, of the operator and of nobody are not found on a partner's page", async () => {
  const foreign = await app.issue({ partnerId: otherPartner });
  const operators = await app.issue({ partnerId: null, kind: "operator", scopes: [] });
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
