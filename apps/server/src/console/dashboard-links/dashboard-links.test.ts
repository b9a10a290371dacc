import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../../test/app.ts";
import { buildAnother } from "../../../test/built-app.ts";
import { signIn } from "../../../test/sign-in.ts";

let app: TestApp;
let operatorKey: string;

beforeAll(async () => {
  app = await startTestApp();
  operatorKey = (await app.issue({ partnerId: null, scopes: [] })).key;
});
beforeEach(() => app.clock.advance(61_000));
afterAll(() => app.close());

const json = { "content-type": "application/json" };

function ask(body: object, { url = app.url, partnerId = app.partnerId, headers = {} } = {}) {
  return fetch(`${url}/operator/v1/partners/${partnerId}/dashboard_links`, {
    method: "POST",
    headers: { authorization: `Bearer ${operatorKey}`, ...json, ...headers },
    body: JSON.stringify(body),
  });
}

async function makeLink(body: object = { viewer: "ada@transit.example" }) {
  const response = await ask(body);
  expect(response.status).toBe(200);
  const link = (await response.json()) as { id: string; url: string; expires_at: string };
  return { ...link, token: new URL(link.url).hash.slice(1) };
}

async function open(token: string) {
  const response = await fetch(`${app.url}/console/v1/embedded-sessions`, {
    method: "POST",
    headers: { ...json, origin: app.url },
    body: JSON.stringify({ token }),
  });
  const [header = ""] = response.headers.getSetCookie();
  const body = (await response.json()) as { csrf_token: string; memberships: object[]; person: object };
  return { status: response.status, header, cookie: header.split(";", 1)[0] ?? "", body };
}

const get = (path: string, headers: Readonly<Record<string, string>>) => fetch(app.url + path, { headers });
const inFrame = (cookie: string) => ({ cookie, "x-dashboard-frame": "1" });
const acts = () =>
  app.db.query<{ actor: string; action: string; detail: object }>(
    {
      name: "links.acts",
      text: "select actor, action, detail from audit_log where partner_id = $1 and action like 'dashboard_link.%' order by at, id",
    },
    [app.partnerId],
  );

it("a link opens a partner's pages once, in a session that the audit log and its end are known of", async () => {
  const { id, url, expires_at, token } = await makeLink({
    viewer: "ada@transit.example",
    page: "deliveries?status=failed",
  });
  expect(url.split("#")[0]).toBe(
    `http://127.0.0.1/dashboard/embedded/partners/${app.partnerId}/deliveries?status=failed&system=${app.systemId}`,
  );
  expect(Date.parse(expires_at) - app.clock()).toBe(5 * 60_000);
  const { status, header, cookie, body } = await open(token);
  expect(status).toBe(200);
  expect(header).toMatch(/^bikeshare_frame=[\w-]{43}; Path=\/; HttpOnly; SameSite=None; Secure; Partitioned$/);
  expect(body).toMatchObject({
    person: { id, email: "ada@transit.example", name: "ada@transit.example" },
    memberships: [{ system_id: app.systemId, partner_id: app.partnerId, role: "viewer" }],
    confirmed_until: null,
  });
  expect((await open(token)).status).toBe(404);
  expect((await get("/console/v1/session", inFrame(cookie))).status).toBe(200);
  expect((await acts()).slice(-2)).toEqual([
    {
      actor: expect.stringMatching(/^key:/) as string,
      action: "dashboard_link.created",
      detail: { id, viewer: "ada@transit.example", role: "viewer" },
    },
    { actor: "embedded:ada@transit.example", action: "dashboard_link.opened", detail: { id } },
  ]);
  app.clock.advance(59 * 60_000);
  expect((await get("/console/v1/session", inFrame(cookie))).status).toBe(200);
  app.clock.advance(60_000);
  expect((await get("/console/v1/session", inFrame(cookie))).status).toBe(401);
});

it("two who open a link at the same time get one session", async () => {
  const { token } = await makeLink();
  const statuses = (await Promise.all([open(token), open(token), open(token)])).map(({ status }) => status);
  expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 404, 404]);
});

it("a link is of no use after five minutes, when its partner is removed, or when it never was a link", async () => {
  const { token } = await makeLink();
  app.clock.advance(5 * 60_000);
  for (const wrong of [token, "", "A".repeat(43), "%"]) expect((await open(wrong)).status).toBe(404);
  expect((await ask({ viewer: "ada" }, { partnerId: "nobody" })).status).toBe(404);
});

it("the cookie of a frame is nobody's sign-in outside of it, and what a page outside sends means the person", async () => {
  const { cookie } = await open((await makeLink()).token);
  expect((await get("/console/v1/session", { cookie })).status).toBe(401);
  const overview = `/console/v1/systems/${app.systemId}/partners/${app.partnerId}/overview`;
  // The cookie alone is enough, because streams and downloads cannot send the header.
  expect((await get(overview, { cookie })).status).toBe(200);
  const person = await signIn(app, { partnerId: app.partnerId });
  const both = `${person.cookie}; ${cookie}`;
  const whoIs = async (headers: Readonly<Record<string, string>>) =>
    ((await (await get("/console/v1/session", headers)).json()) as { person: { id: string } }).person.id;
  expect(await whoIs({ cookie: both })).toBe(person.personId);
  expect(await whoIs(inFrame(both))).not.toBe(person.personId);
});

it("signing out ends the frame's session and takes its cookie back", async () => {
  const { cookie, body } = await open((await makeLink()).token);
  const headers = { ...inFrame(cookie), origin: app.url, "x-csrf-token": body.csrf_token };
  const response = await fetch(`${app.url}/console/v1/session`, { method: "DELETE", headers });
  expect(response.status).toBe(200);
  expect(response.headers.getSetCookie()[0]).toMatch(/^bikeshare_frame=;.*Partitioned; Max-Age=0$/);
  expect((await get("/console/v1/session", inFrame(cookie))).status).toBe(401);
});

it("a request that is repeated with its Idempotency-Key gets the same link", async () => {
  const headers = { "idempotency-key": "once" };
  const first = await (await ask({ viewer: "ada" }, { headers })).json();
  const again = await ask({ viewer: "ada" }, { headers });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await again.json()).toEqual(first);
  const text = "select body from idempotency_keys where key = 'once'";
  const [kept] = await app.db.query<{ body: string }>({ name: "links.kept", text });
  const { hash } = new URL((first as { url: string }).url);
  expect(hash).toMatch(/^#[\w-]{43}$/);
  expect(kept?.body).not.toContain(hash.slice(1));
});

it.each([
  [{ viewer: "" }, "viewer"],
  [{ viewer: "two\nlines" }, "viewer"],
  [{ viewer: "gnp.exe\u202egro.evil" }, "viewer"],
  [{ viewer: "ada", page: "https://evil.example" }, "page"],
  [{ viewer: "ada", page: "../../../v1" }, "page"],
  [{ viewer: "ada", page: "overview#token" }, "page"],
  [{ viewer: "ada", role: "owner" }, "role"],
])("%j is refused by name", async (body, field) => {
  const response = await ask(body);
  expect(response.status).toBe(400);
  expect(((await response.json()) as { message: string }).message).toContain(field);
});

it("where no site may show the dashboard, the portal is told what to set", async () => {
  const other = await buildAnother(app);
  try {
    const response = await ask({ viewer: "ada" }, { url: other.url });
    expect(response.status).toBe(409);
    expect(((await response.json()) as { message: string }).message).toContain("DASHBOARD_FRAME_ANCESTORS");
  } finally {
    await other.close();
  }
});
