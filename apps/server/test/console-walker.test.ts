import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSystem } from "../src/city/systems/service.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { type ConsoleEndpoint, consoleEndpoints } from "./console-endpoints.ts";
import { addPartners } from "./partners.ts";
import { openFrame, type SignedIn, signIn } from "./sign-in.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
  await createSystem(app.db, "elsewhere", "Elsewhere", 0);
  await addPartners(app.db, app.systemId, ["other-partner"]);
  await addPartners(app.db, "elsewhere", ["foreign-partner"]);
});
// Advances the clock before each test, because requests are limited by session and by address.
beforeEach(() => app.clock.advance(61_000));
afterAll(() => app.close());

const hasBody = ({ method }: ConsoleEndpoint) => method !== "GET" && method !== "DELETE";
const changes = ({ method }: ConsoleEndpoint) => method !== "GET";

function pathOf({ path }: ConsoleEndpoint): string {
  return path.replace(":system_id", app.systemId).replace(":partner_id", app.partnerId).replaceAll(/:\w+/g, "sample-1");
}

/**
 * Calls an endpoint with given headers. The body is always `{}`: an unauthorised caller must be refused before the body is
 * checked.
 */
async function call(endpoint: ConsoleEndpoint, headers: Readonly<Record<string, string>>) {
  const body = hasBody(endpoint) ? { body: "{}" } : {};
  const type: Record<string, string> = hasBody(endpoint) ? { "content-type": "application/json" } : {};
  const response = await fetch(app.url + pathOf(endpoint), {
    method: endpoint.method,
    headers: { ...type, ...headers },
    ...body,
  });
  const answer = (await response.json()) as { error?: string };
  return { status: response.status, error: answer.error, response };
}

/** Signs in a person who may call an endpoint. */
function rightfulCaller({ needs }: ConsoleEndpoint): Promise<SignedIn> {
  return signIn(app, needs.audience === "operator" ? { partnerId: null } : { partnerId: app.partnerId });
}

/** Kinds of callers without a valid session, who must get 401. */
const wrongSessions: Readonly<Record<string, (caller: SignedIn) => Promise<Readonly<Record<string, string>>>>> = {
  "no session": () => Promise.resolve({ origin: app.url }),
  "a session that is not ours": () =>
    Promise.resolve({ origin: app.url, cookie: `bikeshare_session=${"A".repeat(43)}` }),
  "a malformed session": () => Promise.resolve({ origin: app.url, cookie: "bikeshare_session=%00" }),
  "the hash of a session": async ({ personId, headers }) => {
    const text = "select encode(hash, 'base64') as hash from sessions where person_id = $1";
    const [row] = await app.db.query<{ hash: string }>({ name: "walker.hash", text }, [personId]);
    const hash = Buffer.from(row?.hash ?? "", "base64").toString("base64url");
    return { ...headers, cookie: `bikeshare_session=${hash}` };
  },
  "a session that has expired": ({ headers }) => {
    app.clock.advance(8 * 3_600_000);
    return Promise.resolve(headers);
  },
  "a session after signing out": async (caller) => {
    expect((await caller.call("DELETE", "/console/v1/session")).status).toBe(200);
    return caller.headers;
  },
  "a session that was revoked": async ({ personId, headers }) => {
    await app.db.query({ name: "walker.revoke", text: "delete from sessions where person_id = $1" }, [personId]);
    return headers;
  },
};

const withSession = consoleEndpoints.filter(({ needs }) => needs.audience !== "public");
const ofSystem = withSession.filter(({ needs }) => needs.audience !== "person");

describe.each(withSession)("$method $path", (endpoint) => {
  it.each(Object.entries(wrongSessions))("answers 401 to %s", async (_, spoil) => {
    const headers = await spoil(await rightfulCaller(endpoint));
    const { status, error, response } = await call(endpoint, headers);
    expect([status, error]).toEqual([401, "unauthorized"]);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("takes an operator's key for no session", async () => {
    const { key } = await app.issue({ partnerId: null, scopes: [] });
    const { status } = await call(endpoint, { origin: app.url, authorization: `Bearer ${key}` });
    expect(status).toBe(401);
  });
});

describe.each(withSession.filter(changes))("$method $path", (endpoint) => {
  it("refuses what no page of ours has sent", async () => {
    const { headers } = await rightfulCaller(endpoint);
    const { "x-csrf-token": token = "", origin = "", ...cookie } = headers;
    const other = (await signIn(app)).csrfToken;
    const wrong = {
      "no token": { ...cookie, origin },
      "another session's token": { ...cookie, origin, "x-csrf-token": other },
      "another origin": { ...headers, origin: "https://evil.example" },
      "no origin": { ...cookie, "x-csrf-token": token },
      "a page of another site": { ...headers, "sec-fetch-site": "cross-site" },
      "a page of a neighbour": { ...headers, "sec-fetch-site": "same-site" },
      "an opaque origin": { ...headers, origin: "null" },
    };
    for (const [what, sent] of Object.entries(wrong)) {
      const { status, error } = await call(endpoint, sent);
      expect([status, error], what).toEqual([403, "forbidden"]);
    }
  });
});

describe.each(withSession.filter(({ needs }) => needs.confirmed === true))("$method $path", (endpoint) => {
  it("asks for a confirmation after ten minutes", async () => {
    const { headers } = await rightfulCaller(endpoint);
    app.clock.advance(10 * 60_000);
    const { status, error } = await call(endpoint, headers);
    expect([status, error]).toEqual([403, "confirmation_required"]);
  });
});

describe.each(ofSystem)("$method $path", (endpoint) => {
  const strangers: Readonly<Record<string, () => Promise<SignedIn>>> = {
    "a member of nothing": () => signIn(app),
    "another partner's admin": () => signIn(app, { partnerId: "other-partner" }),
    "an admin of another system's partner": () => signIn(app, { partnerId: "foreign-partner", systemId: "elsewhere" }),
    "another system's operator": () => signIn(app, { partnerId: null, systemId: "elsewhere" }),
    "an admin whose membership was taken back": async () => {
      const caller = await rightfulCaller(endpoint);
      const text = "delete from memberships where person_id = $1";
      await app.db.query({ name: "walker.remove", text }, [caller.personId]);
      return caller;
    },
  };

  it.each(Object.entries(strangers))("answers 404 to %s", async (_, stranger) => {
    const { status, error } = await call(endpoint, (await stranger()).headers);
    expect([status, error]).toEqual([404, "not_found"]);
  });
});

const toAdmins = ofSystem.filter(({ needs }) => needs.role === "admin");

describe.each(toAdmins)("$method $path", (endpoint) => {
  it("answers 403 to a viewer", async () => {
    const partnerId = endpoint.needs.audience === "operator" ? null : app.partnerId;
    const { headers } = await signIn(app, { partnerId, role: "viewer" });
    const { status, error } = await call(endpoint, headers);
    expect([status, error]).toEqual([403, "forbidden"]);
  });
});

describe.each(ofSystem.filter(({ needs }) => needs.audience === "operator"))("$method $path", (endpoint) => {
  it("answers 404 to a partner's admin", async () => {
    const { headers } = await signIn(app, { partnerId: app.partnerId });
    expect((await call(endpoint, headers)).status).toBe(404);
  });
});

describe.each(toAdmins.filter(({ needs }) => needs.audience === "partner"))("$method $path", (endpoint) => {
  it("lets the operator's people change nothing of a partner's", async () => {
    const { headers } = await signIn(app, { partnerId: null });
    const { status, error } = await call(endpoint, headers);
    expect([status, error]).toEqual([403, "forbidden"]);
  });
});

describe.each(withSession)("$method $path", (endpoint) => {
  const { needs } = endpoint;

  it("lets a frame of the operator's portal do what the contract says, and nothing else", async () => {
    const { headers } = await openFrame(app, { partnerId: app.partnerId });
    const { status, error } = await call(endpoint, headers);
    if (needs.audience === "operator") expect([status, error]).toEqual([404, "not_found"]);
    else if (needs.embedded) expect([401, 403]).not.toContain(status);
    else expect([status, error]).toEqual([403, "forbidden"]);
  });

  it("lets a frame of another partner, of a viewer, or that is over, do no more", async () => {
    if (needs.audience === "person") return;
    const other = await openFrame(app, { partnerId: "other-partner" });
    expect((await call(endpoint, other.headers)).status).toBe(404);
    const viewer = await openFrame(app, { partnerId: app.partnerId, role: "viewer" });
    if (needs.role === "admin" && needs.audience === "partner")
      expect((await call(endpoint, viewer.headers)).status).toBe(403);
    app.clock.advance(60 * 60_000);
    expect((await call(endpoint, viewer.headers)).status).toBe(401);
  });
});

describe("every endpoint of the console", () => {
  it("stands under /console/v1, and says in its path whose page it is", () => {
    for (const { name, path, needs } of consoleEndpoints) {
      expect(path, name).toMatch(/^\/console\/v1\//);
      expect(path.includes(":system_id"), name).toBe(needs.audience === "partner" || needs.audience === "operator");
      if (needs.audience === "partner") expect(path, name).toContain("/partners/:partner_id");
    }
  });

  it("lets admins alone change what is a system's", () => {
    for (const endpoint of ofSystem.filter(changes)) expect(endpoint.needs.role, endpoint.name).toBe("admin");
  });

  it("declares what any request may meet", () => {
    for (const { name, statuses } of consoleEndpoints)
      expect(statuses, name).toEqual(expect.arrayContaining([400, 401, 403, 404, 405, 429, 500, 503]));
    // Only endpoints that browsers open from another site redirect them.
    const redirecting = consoleEndpoints.filter(({ statuses }) => !statuses.includes(200));
    expect(redirecting.map(({ name, statuses }) => [name, statuses.includes(303)])).toEqual([
      ["signIn.finishAtProvider", true],
    ]);
  });
});

it("writes down once an hour that the operator's people read a partner's pages", async () => {
  const { call: read, actor } = await signIn(app, { partnerId: null, role: "viewer" });
  const path = `/console/v1/systems/${app.systemId}/partners/${app.partnerId}/people`;
  const visits = async () => {
    const text = "select subject from audit_log where action = 'console.partner_viewed' and actor = $1";
    return app.db.query<{ subject: string }>({ name: "walker.visits", text }, [actor]);
  };
  for (let visit = 0; visit < 3; visit++) expect((await read("GET", path)).status).toBe(200);
  expect(await visits()).toEqual([{ subject: app.partnerId }]);
  app.clock.advance(3_600_000);
  await read("GET", path);
  expect(await visits()).toHaveLength(2);
  expect((await read("GET", path.replace(app.partnerId, "no-such-partner"))).status).toBe(404);
});
