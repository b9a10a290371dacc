import { consoleContract, type ShownPartner } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { addSystem } from "../city/systems/service.ts";
import { createPartner } from "../partners/service.ts";

let app: TestApp;
let admin: SignedIn;
let viewer: SignedIn;

const { partners } = consoleContract;

beforeAll(async () => {
  app = await startTestApp();
  admin = await signIn(app, { partnerId: null });
  viewer = await signIn(app, { partnerId: null, role: "viewer" });
});
afterAll(() => app.close());

const base = () => `/console/v1/systems/${app.systemId}/partners`;

async function list(who = viewer): Promise<ShownPartner[]> {
  return partners.list.responses[200].parse(await (await who.call("GET", base())).json()).data;
}

async function change(method: string, path: string, body: unknown, who = admin): Promise<[number, unknown]> {
  const response = await who.call(method, `${base()}${path}`, body);
  return [response.status, await response.json()];
}

it("an admin of the operator makes a partner, renames it and changes its limit", async () => {
  const [status, body] = await change("POST", "", { name: "Map Maker", max_reservations: null });
  expect(status).toBe(200);
  const made = partners.create.responses[200].parse(body);
  expect(made).toMatchObject({ name: "Map Maker", status: "active", has_own_max_reservations: false, active_keys: 0 });
  const [, set] = await change("PATCH", `/${made.id}`, { name: "Map Makers", max_reservations: 7 });
  expect(set).toMatchObject({ name: "Map Makers", max_reservations: 7, has_own_max_reservations: true });
  expect((await list()).find(({ id }) => id === made.id)).toMatchObject({ name: "Map Makers", max_reservations: 7 });
  expect(await change("POST", "", { name: "map makers", max_reservations: null })).toMatchObject([
    409,
    { error: "conflict" },
  ]);
});

it("suspending a partner stops its keys, and resuming it lets them in again", async () => {
  const { key } = await app.issue();
  const status = async () => (await app.get("/v1/me", { key })).status;
  expect(await change("POST", `/${app.partnerId}/suspend`, {})).toMatchObject([200, { status: "suspended" }]);
  await expect.poll(status, { timeout: 20_000, interval: 20 }).toBe(401);
  expect(await change("POST", `/${app.partnerId}/resume`, {})).toMatchObject([
    200,
    { partner: { status: "active", suspended_at: null } },
  ]);
  await expect.poll(status, { timeout: 20_000, interval: 20 }).toBe(200);
});

it("a partner is removed only by its name, with everything that it has", async () => {
  const { id } = await createPartner({ ...app, actor: "test" }, app.systemId, "Short Lived");
  await app.issue({ partnerId: id });
  expect((await list()).find((each) => each.id === id)).toMatchObject({ active_keys: 1 });
  expect(await change("POST", `/${id}/remove`, { name: "Short" })).toMatchObject([400, { error: "invalid_parameter" }]);
  expect((await list()).find((each) => each.id === id)?.status).toBe("active");
  const [status, body] = await change("POST", `/${id}/remove`, { name: "Short Lived" });
  expect(status).toBe(200);
  expect(partners.remove.responses[200].parse(body)).toMatchObject({
    partner: { status: "removed", active_keys: 0 },
    revoked_keys: 1,
  });
  expect((await change("POST", `/${id}/remove`, { name: "Short Lived" }))[0]).toBe(409);
});

it("a viewer, a partner's admin and an operator of another system change nothing", async () => {
  await addSystem({ ...app, actor: "test" }, "elsewhere", "Elsewhere");
  const elsewhere = await createPartner({ ...app, actor: "test" }, "elsewhere", "Not here");
  const strangers = await signIn(app, { partnerId: null, systemId: "elsewhere" });
  const member = await signIn(app, { partnerId: app.partnerId });
  const before = await list();
  const changes = [
    ["POST", "", { name: "Nobody's", max_reservations: null }],
    ["PATCH", `/${app.partnerId}`, { name: "Changed" }],
    ["POST", `/${app.partnerId}/suspend`, {}],
    ["POST", `/${app.partnerId}/resume`, {}],
    ["POST", `/${app.partnerId}/remove`, { name: "Journey Planner" }],
  ] as const;
  for (const [method, path, body] of changes) {
    expect((await change(method, path, body, viewer))[0]).toBe(403);
    expect((await change(method, path, body, member))[0]).toBe(404);
    expect((await change(method, path, body, strangers))[0]).toBe(404);
  }
  expect(await list()).toEqual(before);
  expect(JSON.stringify(before)).not.toContain(elsewhere.id);
  expect((await change("POST", `/${elsewhere.id}/suspend`, {}))[0]).toBe(404);
});

it("refuses a partner's name that would reorder the text around it", async () => {
  for (const name of ["Acme \u202egro", "\u2066Acme", "Acme\u2069"]) {
    expect((await change("POST", "", { name, max_reservations: null }))[0]).toBe(400);
  }
  // Scripts that are written from right to left need such characters.
  expect((await change("POST", "", { name: "\u05d0\u200f!", max_reservations: null }))[0]).toBe(200);
});
