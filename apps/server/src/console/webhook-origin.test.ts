import { consoleContract } from "@bikeshare/contract/console";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildAnother, type BuiltApp } from "../../test/built-app.ts";
import { openFrame, type SignedIn, signIn } from "../../test/sign-in.ts";
import { type EndpointsHarness, openEndpointsHarness } from "../../test/webhooks/endpoints.harness.ts";
import { issueKey } from "../partners/keys/service.ts";
import { updateHeartbeat } from "../webhooks/queue/lane-queries.ts";

let harness: EndpointsHarness;
let app: BuiltApp;
let partnerId: string;
let admin: SignedIn;
let frame: SignedIn;

beforeAll(async () => {
  harness = await openEndpointsHarness();
  app = await buildAnother(harness);
});
afterAll(async () => {
  await app.close();
  await harness.close();
});
beforeEach(async () => {
  partnerId = await harness.partner(`Partner ${harness.ids.next("partner")}`);
  await issueKey(harness, { systemId: harness.systemId, partnerId, scopes: ["rides:read"] });
  const at = { ...harness, url: app.url };
  admin = await signIn(at, { partnerId });
  frame = await openFrame(at, { partnerId });
});

const pathOf = (rest = "") => `/console/v1/systems/${harness.systemId}/partners/${partnerId}/webhook${rest}`;
const settings = { url: "https://partner.example/hooks", events: ["ride.started"] };

async function answer(who: SignedIn, method: string, path: string, body?: unknown): Promise<[number, unknown]> {
  const response = await who.call(method, path, body);
  return [response.status, await response.json()];
}
const set = (who: SignedIn, body: object) => answer(who, "PATCH", pathOf(), body);
const shown = async () =>
  consoleContract.webhook.show.responses[200].parse((await answer(admin, "GET", pathOf()))[1]).webhook;
const later = () => harness.clock.advance(10 * 60_000);
const unconfirmed = [403, { error: "confirmation_required" }];
const inFrame = [403, { error: "forbidden", message: expect.stringMatching(/frame of another site/) as string }];

it("asks for a confirmation, and refuses frames, where other signatures need another secret", async () => {
  expect((await set(admin, settings))[0]).toBe(200);
  const before = (await shown())?.secrets;
  later();
  expect(await set(admin, { signature: "both" })).toMatchObject(unconfirmed);
  expect(await set(frame, { signature: "both" })).toMatchObject(inFrame);
  expect((await shown())?.secrets).toEqual(before);
  expect((await set(admin, { signature: "service" }))[0]).toBe(200);
});

describe("where deliveries are sent", () => {
  it("is decided by an admin who has confirmed who they are; another path of the same origin needs no confirmation", async () => {
    later();
    expect(await set(admin, settings)).toMatchObject(unconfirmed);
    expect(await shown()).toBeNull();
    const confirmed = await signIn({ ...harness, url: app.url }, { partnerId });
    expect((await set(confirmed, settings))[0]).toBe(200);
    for (const url of ["https://partner.example/other", "https://PARTNER.example:443/third?a=1"])
      expect((await set(admin, { url }))[0], url).toBe(200);
    for (const url of [
      "https://partner.example.evil.example/hooks",
      "https://sub.partner.example/hooks",
      "https://evil.example/hooks",
    ])
      expect(await set(admin, { url, events: ["ride.completed"] }), url).toMatchObject(unconfirmed);
    expect(await shown()).toMatchObject({ url: "https://partner.example/third?a=1", events: ["ride.started"] });
    expect((await set(confirmed, { url: "https://new.partner.example/hooks" }))[0]).toBe(200);
  });

  it("is decided by nobody in a frame of the portal, also where there is none yet, or none any more", async () => {
    expect(await set(frame, settings)).toMatchObject(inFrame);
    expect((await set(admin, settings))[0]).toBe(200);
    expect(await set(frame, { url: "https://evil.example/hooks" })).toMatchObject(inFrame);
    expect(await shown()).toMatchObject(settings);
    expect((await answer(frame, "POST", pathOf("/remove"), {}))[0]).toBe(200);
    expect(await set(frame, { ...settings, url: "https://evil.example/hooks" })).toMatchObject(inFrame);
    expect(await set(frame, settings)).toMatchObject(inFrame);
    expect(await shown()).toBeNull();
  });

  it("cannot be changed between two requests: of two at once each is judged by what it would change", async () => {
    expect((await set(admin, settings))[0]).toBe(200);
    const confirmed = await signIn({ ...harness, url: app.url }, { partnerId });
    later();
    const [stale, fresh] = await Promise.all([
      set(admin, { url: "https://partner.example/again" }),
      set(await signIn({ ...harness, url: app.url }, { partnerId }), { url: "https://moved.example/hooks" }),
    ]);
    expect(fresh[0]).toBe(200);
    // The first request either came before the second, or was refused because it would have moved the webhook back.
    expect([200, 403]).toContain(stale[0]);
    expect(await shown()).toMatchObject({ url: "https://moved.example/hooks" });
    expect(await set(confirmed, settings)).toMatchObject(unconfirmed);
  });
});

it("a frame chooses events, pauses, resumes and tests; it sees no secret and tries no address", async () => {
  expect((await set(admin, settings))[0]).toBe(200);
  expect((await set(frame, { events: ["ride.completed"], url: "https://partner.example/other" }))[0]).toBe(200);
  for (const [rest, body] of [
    ["/pause", {}],
    ["/resume", {}],
    ["/retry-now", {}],
  ] as const)
    expect((await answer(frame, "POST", pathOf(rest), body))[0], rest).toBe(200);
  await updateHeartbeat(harness.db, harness.systemId, "worker", 3_600_000);
  expect((await answer(frame, "POST", pathOf("/test"), {}))[0]).toBe(200);
  for (const [rest, body] of [
    ["/secret", {}],
    ["/secret/rotate", { overlap_hours: 0 }],
    ["/probe", { url: settings.url }],
  ] as const)
    expect(await answer(frame, "POST", pathOf(rest), body), rest).toMatchObject(inFrame);
});

it("test deliveries and probes share a budget of 6 a minute for one person, which the operator's people have too", async () => {
  expect((await set(admin, settings))[0]).toBe(200);
  await updateHeartbeat(harness.db, harness.systemId, "worker", 3_600_000);
  const probe = { url: "https://10.0.0.1/" };
  const spend = async (who: SignedIn, path: string) => {
    for (let n = 0; n < 3; n++) {
      expect((await answer(who, "POST", `${path}/test`, {}))[0]).toBe(200);
      expect((await answer(who, "POST", `${path}/probe`, probe))[0]).toBe(200);
    }
    for (const [rest, body] of [
      ["/test", {}],
      ["/probe", probe],
    ] as const) {
      const refused = await who.call("POST", path + rest, body);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
      expect(await refused.json()).toMatchObject({ error: "rate_limited" });
    }
  };
  await spend(admin, pathOf());
  const operator = await signIn({ ...harness, url: app.url }, { partnerId: null });
  await spend(operator, `/console/v1/systems/${harness.systemId}/endpoints/${partnerId}`);
  harness.clock.advance(60_000);
  expect((await answer(admin, "POST", pathOf("/test"), {}))[0]).toBe(200);
});

describe("of several webhooks", () => {
  const add = (who: SignedIn, body: object) =>
    answer(who, "POST", `/console/v1/systems/${harness.systemId}/partners/${partnerId}/webhooks`, body);
  const more = { ...settings, name: "Staging", url: "https://staging.example/hooks" };

  it("each is added, and each moved to another origin, only by an admin who has confirmed who they are", async () => {
    expect((await set(admin, settings))[0]).toBe(200);
    expect((await add(admin, more))[0]).toBe(200);
    later();
    expect(await add(admin, { ...more, name: "Third" })).toMatchObject(unconfirmed);
    expect(await add(frame, { ...more, name: "Third" })).toMatchObject(inFrame);
    const list = `/console/v1/systems/${harness.systemId}/partners/${partnerId}/webhooks`;
    const { data } = consoleContract.webhook.list.responses[200].parse((await answer(admin, "GET", list))[1]);
    expect(data.map(({ name }) => name)).toEqual(["Main", "Staging"]);
    for (const { id, url } of data) {
      const path = `${pathOf()}?endpoint_id=${id}`;
      // The other endpoint's origin counts as another origin, though the partner already uses it.
      const other = data.find((each) => each.id !== id)?.url;
      expect(await answer(admin, "PATCH", path, { url: other })).toMatchObject(unconfirmed);
      expect(await answer(frame, "PATCH", path, { url: other })).toMatchObject(inFrame);
      expect((await answer(admin, "PATCH", path, { url: `${url}/deeper` }))[0]).toBe(200);
    }
    expect(await answer(admin, "GET", pathOf())).toMatchObject([
      400,
      { error: "invalid_parameter", message: expect.stringContaining('There are: "Main" (') as string },
    ]);
  });
});
