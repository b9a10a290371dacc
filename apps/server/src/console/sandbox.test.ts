import { sandboxStatus } from "@bikeshare/contract/sandbox";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";

let app: TestApp;
let admin: SignedIn;
let live: string;
let sandbox: string;

beforeAll(async () => {
  app = await startTestApp();
  admin = await signIn(app, { partnerId: app.partnerId });
  live = `/console/v1/systems/${app.systemId}/partners/${app.partnerId}`;
});
afterAll(() => app.close());

const bodyOf = async (response: Response) => (await response.json()) as Record<string, never>;

it("a partner's admin creates its sandbox, which its people then enter with their roles", async () => {
  expect(await bodyOf(await admin.call("GET", `${live}/sandbox`))).toEqual({ sandbox: null });
  const viewer = await signIn(app, { partnerId: app.partnerId, role: "viewer" });
  expect((await viewer.call("POST", `${live}/sandbox`, {})).status).toBe(403);
  const made = sandboxStatus.parse(await bodyOf(await admin.call("POST", `${live}/sandbox`, {})));
  sandbox = `/console/v1/systems/${made.system_id}/partners/${app.partnerId}`;
  const session = await bodyOf(await admin.call("GET", "/console/v1/session"));
  expect(session).toMatchObject({
    memberships: [
      { system_id: app.systemId, is_sandbox: false, role: "admin" },
      { system_id: made.system_id, is_sandbox: true, role: "admin" },
    ],
  });
  expect((await viewer.call("GET", `${sandbox}/keys`)).status).toBe(200);
  expect((await viewer.call("POST", `${sandbox}/sandbox/reset`, {})).status).toBe(403);
});

it("the partner's admin makes test keys in the sandbox, though the operator allows no live ones", async () => {
  const expires_at = new Date(app.clock() + 86_400_000).toISOString();
  const wanted = { name: "CI", scopes: ["stations:read"], expires_at, rate_limit: 60 };
  const { key } = await bodyOf(await admin.call("POST", `${sandbox}/keys`, wanted));
  expect(key).toMatch(/^bss_test_/);
  expect((await app.get("/v1/stations", { key: key ?? null })).headers.get("sandbox")).toBe("true");
  expect((await admin.call("POST", `${live}/keys`, wanted)).status).toBe(409);
});

it("scenarios are played in the sandbox, and nowhere else", async () => {
  const played = await bodyOf(await admin.call("POST", `${sandbox}/sandbox/scenarios/ride-corrected`, {}));
  expect(played).toMatchObject({
    scenario: "ride-corrected",
    steps: [expect.any(String), expect.any(String), expect.any(String)],
  });
  expect((await admin.call("POST", `${live}/sandbox/scenarios/ride-corrected`, {})).status).toBe(404);
  expect((await admin.call("POST", `${live}/sandbox/reset`, {})).status).toBe(404);
  const reset = sandboxStatus.parse(await bodyOf(await admin.call("POST", `${sandbox}/sandbox/reset`, {})));
  expect(reset.rides).toBe(0);
});

it("another partner and the operator's people find nothing there", async () => {
  const operator = await signIn(app, { partnerId: null });
  expect((await operator.call("GET", `${sandbox}/keys`)).status).toBe(404);
});
