import { consoleContract, MAX_SANDBOX_HAPPENINGS } from "@bikeshare/contract/console";
import { MAX_SANDBOX_FAULTS, sandboxEvent, sandboxStatus } from "@bikeshare/contract/sandbox";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { keyContext } from "../../test/built-app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { createSequencer } from "../events/sequencer.ts";
import { resumePartner, suspendPartner } from "../partners/suspend-or-remove.ts";
import { emptySandbox } from "../sandbox/service.ts";
import { statement } from "../storage/db/statement.ts";

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

/** Returns the sandbox's system, which is in the path of the sandbox's pages. */
const sandboxSystem = () => sandbox.split("/")[4] ?? "";

const numberEvents = () =>
  createSequencer({ db: app.db, clock: app.clock, onError: () => undefined, pollIntervalMs: 0 }).runOnce(
    sandboxSystem(),
  );

const activityOf = async () =>
  consoleContract.partnerSandbox.activity.responses[200].parse(
    await bodyOf(await admin.call("GET", `${sandbox}/sandbox/activity`)),
  );

it("an event is caused, and seen in the feed with what became of its deliveries, the newest first", async () => {
  const url = "https://receiver.example/";
  await admin.call("PATCH", `${sandbox}/webhook`, { url, events: ["station.offline", "station.updated"] });
  const cause = async (name: string, station_id?: string) =>
    sandboxEvent.parse(await bodyOf(await admin.call("POST", `${sandbox}/sandbox/events/${name}`, { station_id })));
  const closed = await cause("station.offline");
  await cause("ride.completed");
  await numberEvents();
  const { happenings } = await activityOf();
  const names = happenings.map(({ event }) => event);
  expect(names).toEqual(expect.arrayContaining(["ride.completed", "ride.started", "station.offline"]));
  expect(happenings.map(({ at }) => at)).toEqual(
    happenings
      .map(({ at }) => at)
      .toSorted()
      .toReversed(),
  );
  const told = happenings.find(({ resource_id: id }) => id === closed.resource_id);
  expect(told?.deliveries).toMatchObject([{ endpoint_name: "Main", status: "pending", attempts: 0, code: null }]);
  expect(happenings.find(({ event }) => event === "ride.completed")?.deliveries).toEqual([]);
  const unknown = await admin.call("POST", `${sandbox}/sandbox/events/station.offline`, { station_id: "none" });
  expect([unknown.status, (await bodyOf(unknown))["error"]]).toEqual([404, "not_found"]);
});

it("the feed is bounded, however much happens", async () => {
  for (let rush = 0; rush < 2; rush++) await admin.call("POST", `${sandbox}/sandbox/scenarios/rush-hour`, {});
  await numberEvents();
  expect((await activityOf()).happenings).toHaveLength(MAX_SANDBOX_HAPPENINGS);
});

it("time is let pass, and faults are set, seen and ended as by a key", async () => {
  const call = (path: string, body: object = {}) => admin.call("POST", `${sandbox}/sandbox/${path}`, body);
  expect((await call("clock/advance", { seconds: 600 })).status).toBe(200);
  expect(await activityOf()).toMatchObject({ clock: { advanced_seconds: 600 }, faults: [], webhook_faults: null });
  for (let n = 0; n < MAX_SANDBOX_FAULTS; n++)
    expect((await call("faults", { status: 503, share: 0.5 })).status).toBe(200);
  expect((await call("faults", { status: 503 })).status).toBe(409);
  await call("webhooks/faults", { down: true, until: new Date(app.clock() + 60_000).toISOString() });
  const failing = await activityOf();
  expect(failing.faults).toHaveLength(MAX_SANDBOX_FAULTS);
  expect(failing.faults[0]).toMatchObject({ route: null, status: 503, share: 0.5 });
  expect(failing.webhook_faults).toMatchObject({ down: true, delay: 0 });
  await call("faults/end");
  await call("webhooks/faults");
  expect(await activityOf()).toMatchObject({ faults: [], webhook_faults: null });
});

it("the key of `key-expires` is shown to those alone who have just confirmed who they are", async () => {
  const play = () => admin.call("POST", `${sandbox}/sandbox/scenarios/key-expires`, {});
  expect(await bodyOf(await play())).toMatchObject({ key: expect.stringMatching(/^bss_test_/) as string });
  await app.db.query(statement("", "update sessions set confirmed_at = confirmed_at - interval '1 hour'"));
  expect(await bodyOf(await play())).toMatchObject({ error: "confirmation_required" });
});

it("a viewer looks on, and a page of live data has no feed and no buttons", async () => {
  const viewer = await signIn(app, { partnerId: app.partnerId, role: "viewer" });
  expect((await viewer.call("GET", `${sandbox}/sandbox/activity`)).status).toBe(200);
  const calls = [
    ["events/ride.started", {}],
    ["clock/advance", { seconds: 60 }],
    ["faults", { status: 500 }],
    ["faults/end", {}],
    ["webhooks/faults", {}],
  ] as const;
  for (const [path, body] of calls) {
    expect((await viewer.call("POST", `${sandbox}/sandbox/${path}`, body)).status, path).toBe(403);
    expect((await admin.call("POST", `${live}/sandbox/${path}`, body)).status, path).toBe(404);
  }
  expect((await admin.call("GET", `${live}/sandbox/activity`)).status).toBe(404);
});

it("a sandbox that was emptied says that it wakes up until its city is there", async () => {
  expect((await activityOf()).is_waking).toBe(false);
  await emptySandbox(app, sandboxSystem());
  expect((await activityOf()).is_waking).toBe(true);
});

it("nobody is invited to a sandbox alone: its people are the partner's, and leave it with the partner", async () => {
  const confirmed = await signIn(app, { partnerId: app.partnerId });
  const invitation = { email: "other@partner.example", role: "admin" };
  expect((await confirmed.call("POST", `${sandbox}/people/invitations`, invitation)).status).toBe(404);
});

it("another partner and the operator's people find nothing there", async () => {
  const operator = await signIn(app, { partnerId: null });
  expect((await operator.call("GET", `${sandbox}/keys`)).status).toBe(404);
});

it("the people of a suspended partner read its sandbox, and change nothing there", async () => {
  await suspendPartner(keyContext(app), app.systemId, app.partnerId);
  expect((await admin.call("GET", `${sandbox}/keys`)).status).toBe(200);
  const refused = await admin.call("POST", `${sandbox}/sandbox/reset`, {});
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("suspended")]);
  await resumePartner(keyContext(app), app.systemId, app.partnerId);
  expect((await admin.call("POST", `${sandbox}/sandbox/reset`, {})).status).toBe(200);
});
