import { consoleSession, openInvitation, signInOptions } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn, signInAgain } from "../../test/sign-in.ts";
import { invite } from "./people/invitations.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** Invites a person at the command line, or through a partner's admin, who sees the link. */
function inviteTo(partnerId: string | null, email: string, admin?: SignedIn) {
  const { db, clock, ids, systemId } = app;
  const [actor, proves] = admin === undefined ? ["cli:test", "operator" as const] : [admin.actor, null];
  return invite({ db, clock, ids, actor }, { systemId, partnerId, email, role: "admin", proves });
}

function post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(app.url + path, {
    method: "POST",
    headers: { origin: app.url, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

const accept = (token: string, headers: Readonly<Record<string, string>> = {}) =>
  post("/console/v1/invitations/accept", { token, name: "Ada" }, headers);

async function cookieOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  const cookie = response.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/^bikeshare_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  return cookie.split(";", 1)[0] ?? "";
}

it("signs a new person in by an invitation's link, once", async () => {
  const { token } = await inviteTo(app.partnerId, "Ada@Example.com");
  const read = await post("/console/v1/invitations/read", { token });
  expect(openInvitation.parse(await read.json())).toMatchObject({
    email: "ada@example.com",
    partner_name: "Journey Planner",
    role: "admin",
    needs_sign_in: false,
  });
  const cookie = await cookieOf(await accept(token));
  const shown = await fetch(`${app.url}/console/v1/session`, { headers: { cookie } });
  expect(shown.headers.get("cache-control")).toBe("no-store");
  const session = consoleSession.parse(await shown.json());
  expect(session.person).toMatchObject({ email: "ada@example.com", name: "Ada" });
  expect(session.memberships).toEqual([
    {
      system_id: "main",
      system_name: "Test city",
      time_zone: "UTC",
      partner_id: app.partnerId,
      partner_name: "Journey Planner",
      is_sandbox: false,
      is_agency: false,
      role: "admin",
    },
  ]);
  expect(session.confirmed_until).not.toBeNull();
  expect((await accept(token)).status).toBe(404);
});

it.each([
  { "x-forwarded-proto": "https" },
  { "x-forwarded-proto": "http, HTTPS" },
  { forwarded: "for=203.0.113.9;proto=https" },
])("gives a browser that speaks https a cookie for https and this host alone: %j", async (headers) => {
  const { token } = await inviteTo(app.partnerId, `${Object.values(headers)[0]?.length}@example.com`);
  const response = await accept(token, headers);
  expect(response.status).toBe(200);
  const cookie = response.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/^__Host-bikeshare_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  const [pair = ""] = cookie.split(";", 1);
  expect((await fetch(`${app.url}/console/v1/session`, { headers: { ...headers, cookie: pair } })).status).toBe(200);
  // The cookie of an unencrypted connection is ignored, because anybody on the network path may have written it.
  const plain = pair.replace("__Host-", "");
  expect((await fetch(`${app.url}/console/v1/session`, { headers: { ...headers, cookie: plain } })).status).toBe(401);
});

it("lets one of two browsers in that accept an invitation at the same time", async () => {
  const { token } = await inviteTo(null, "race@example.com");
  const answers = await Promise.all([accept(token), accept(token)]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404]);
});

it("signs nobody in by a link whose maker could not open the account's other memberships", async () => {
  await cookieOf(await accept((await inviteTo(null, "boss@example.com")).token));
  const admin = await signIn(app, { partnerId: app.partnerId });
  const { token } = await inviteTo(app.partnerId, "boss@example.com", admin);
  expect((await accept(token)).status).toBe(401);
  const other = await signIn(app, { partnerId: app.partnerId });
  expect((await accept(token, { cookie: other.cookie })).status).toBe(403);
});

it("counts what a person asks for in all sessions together, and what changes something as five requests", async () => {
  const one = await signIn(app);
  const two = await signInAgain(app, one.personId);
  for (let change = 0; change < 119; change++)
    expect((await one.call("DELETE", "/console/v1/account/sessions/none")).status).toBe(404);
  for (let page = 0; page < 5; page++) expect((await two.call("GET", "/console/v1/account")).status).toBe(200);
  expect((await two.call("GET", "/console/v1/account")).status).toBe(429);
  expect((await (await signIn(app)).call("GET", "/console/v1/account")).status).toBe(200);
});

it("ends a session for good when its person signs out", async () => {
  const { cookie, call } = await signIn(app);
  const ended = await call("DELETE", "/console/v1/session");
  expect(ended.status).toBe(200);
  expect(ended.headers.get("set-cookie")).toBe("bikeshare_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
  expect((await fetch(`${app.url}/console/v1/session`, { headers: { cookie } })).status).toBe(401);
});

it("ends a session that nobody used for 8 h, and any after 7 days", async () => {
  const idle = await signIn(app);
  app.clock.advance(8 * 3_600_000);
  expect((await idle.call("GET", "/console/v1/session")).status).toBe(401);
  const used = await signIn(app);
  for (let hour = 0; hour < 7 * 24; hour += 7) {
    expect((await used.call("GET", "/console/v1/session")).status).toBe(200);
    app.clock.advance(7 * 3_600_000);
  }
  expect((await used.call("GET", "/console/v1/session")).status).toBe(401);
});

it("shows anybody how to sign in", async () => {
  const response = await fetch(`${app.url}/console/v1/sign-in`);
  expect(signInOptions.parse(await response.json()).branding.name).toBe("Bike-Sharing Data Service");
});
