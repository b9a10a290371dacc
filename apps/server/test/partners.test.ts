import { afterAll, beforeAll, expect, it } from "vitest";
import { keysOf } from "../src/partners/keys/service.ts";
import { createPartner, partnersOf, setPartner } from "../src/partners/service.ts";
import { removePartner, resumePartner, suspendPartner } from "../src/partners/suspend-or-remove.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp, keyContext } from "./built-app.ts";
import { expectWithin } from "./expect-within.ts";
import { until } from "./until.ts";

let app: TestApp;
let other: BuiltApp;
beforeAll(async () => {
  app = await startTestApp();
  other = await buildAnother(app);
});
afterAll(async () => {
  await other.close();
  await app.close();
});

const ask = (url: string, key: string, path = "/v1/me") =>
  fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
const status = async (url: string, key: string) => (await ask(url, key)).status;

/** Creates a partner with a key, and lets both processes cache the key. */
async function partnerWithKey(name: string): Promise<{ readonly id: string; readonly key: string }> {
  const { id } = await createPartner(keyContext(app), app.systemId, name);
  const { key } = await app.issue({ partnerId: id });
  for (const url of [app.url, other.url]) expect(await status(url, key)).toBe(200);
  return { id, key };
}

const acts = (subject: string) =>
  app.db.query<{ action: string; actor: string; detail: object }>(
    statement("", "select action, actor, detail from audit_log where system_id = $1 and subject = $2 order by at, id"),
    [app.systemId, subject],
  );

it("a suspended partner's keys are refused on every process within a second, and only they; resumed, they work again", async () => {
  const [suspended, untouched] = [await partnerWithKey("Late Payer"), await partnerWithKey("Good Payer")];
  await expectWithin(1000, async () => {
    await suspendPartner(keyContext(app), app.systemId, suspended.id);
    const took = await until(async () => (await status(other.url, suspended.key)) === 401);
    await resumePartner(keyContext(app), app.systemId, suspended.id);
    await until(async () => (await status(other.url, suspended.key)) === 200);
    return took;
  });
  await suspendPartner(keyContext(app), app.systemId, suspended.id);
  for (const url of [app.url, other.url]) {
    await until(async () => (await status(url, suspended.key)) === 401);
    const refused = await ask(url, suspended.key);
    expect(refused.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect(await refused.json()).toMatchObject({
      error: "unauthorized",
      message: expect.stringMatching(
        /^The partner of the key key_\S+ \(….{4}\) is suspended\. Ask the operator\.$/,
      ) as string,
    });
    expect(await status(url, untouched.key)).toBe(200);
  }
  // A key that is created while the partner is suspended does not work either.
  expect(await status(app.url, (await app.issue({ partnerId: suspended.id })).key)).toBe(401);
  await resumePartner(keyContext(app), app.systemId, suspended.id);
  for (const url of [app.url, other.url]) await until(async () => (await status(url, suspended.key)) === 200);
  const [, ...changes] = (await acts(suspended.id)).map(({ action, actor }) => `${action} by ${actor}`);
  expect(changes.slice(-3)).toEqual([
    "partner.resumed by test",
    "partner.suspended by test",
    "partner.resumed by test",
  ]);
});

it("suspending and resuming again changes nothing, and is not recorded as an act", async () => {
  const { id } = await partnerWithKey("Twice");
  expect((await resumePartner(keyContext(app), app.systemId, id)).changed).toBe(false);
  expect((await suspendPartner(keyContext(app), app.systemId, id)).changed).toBe(true);
  const first = (await suspendPartner(keyContext(app), app.systemId, id)).partner;
  app.clock.advance(1_000);
  expect(await suspendPartner(keyContext(app), app.systemId, id)).toEqual({ partner: first, changed: false });
  expect((await acts(id)).filter(({ action }) => action === "partner.suspended")).toHaveLength(1);
});

it("a removed partner's keys are revoked, it cannot be brought back, and its name is free again", async () => {
  const { id, key } = await partnerWithKey("Gone Company");
  await app.issue({ partnerId: id });
  const removed = await removePartner(keyContext(app), app.systemId, id);
  expect(removed).toMatchObject({ revoked_keys: 2, cancelled_reservations: 0, endpoint_removed: false });
  for (const url of [app.url, other.url]) await until(async () => (await status(url, key)) === 401);
  expect(((await (await ask(app.url, key)).json()) as { message: string }).message).toContain("is revoked");
  const keys = await keysOf(app, app.systemId, id);
  expect(keys.every(({ revoked_at: at }) => at !== null)).toBe(true);
  for (const verb of [removePartner, suspendPartner, resumePartner]) {
    await expect(verb(keyContext(app), app.systemId, id)).rejects.toThrow(/^Partner \S+ was removed .+, for good\.$/);
  }
  // A key that was created at the last moment does not work either.
  expect(await status(app.url, (await app.issue({ partnerId: id })).key)).toBe(401);
  expect((await createPartner(keyContext(app), app.systemId, "Gone Company")).id).not.toBe(id);
  expect((await acts(id)).at(-1)).toMatchObject({
    action: "partner.removed",
    detail: { name: "Gone Company", revoked_keys: 2 },
  });
});

it("no two partners of a system have one name, whatever its capitals and however many are made at once", async () => {
  const context = keyContext(app);
  const made = await Promise.allSettled(
    ["Same Name", "same name", "SAME NAME", "Same Name"].map((name) => createPartner(context, app.systemId, name)),
  );
  expect(made.filter((each) => each.status === "fulfilled")).toHaveLength(1);
  const [refused] = made.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
  expect(refused).toMatch(/^ServiceError: Partner partner_\S+ has the name "same name"\. Choose another\.$/i);
  const { id } = await createPartner(context, app.systemId, "Another Name");
  await expect(setPartner(context, app.systemId, id, { name: "same NAME" })).rejects.toThrow("Choose another");
  expect(await setPartner(context, app.systemId, id, { name: "ANOTHER name" })).toMatchObject({ changed: true });
});

it("a partner's name and limit are set one without the other, and audited", async () => {
  const context = keyContext(app);
  const { id } = await createPartner(context, app.systemId, "Old Name", { maxReservations: 7 });
  await setPartner(context, app.systemId, id, { name: "New Name" });
  expect((await setPartner(context, app.systemId, id, {})).changed).toBe(false);
  const found = async () => (await partnersOf(app, app.systemId)).find((partner) => partner.id === id);
  expect(await found()).toMatchObject({ name: "New Name", max_reservations: 7 });
  await setPartner(context, app.systemId, id, { maxReservations: null });
  expect(await found()).toMatchObject({ name: "New Name", max_reservations: null });
  expect((await acts(id)).map(({ action }) => action)).toEqual([
    "partner.created",
    "partner.changed",
    "partner.changed",
  ]);
  await expect(setPartner(context, app.systemId, "partner_none", { name: "X" })).rejects.toThrow("There is no partner");
});
