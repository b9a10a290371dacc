import { deliveryNames, type Scope } from "@bikeshare/contract";
import { consoleContract } from "@bikeshare/contract/console";
import { verify } from "@bikeshare/webhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildAnother, type BuiltApp } from "../../test/built-app.ts";
import { startReceiver } from "../../test/servers/raw-receiver.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { type EndpointsHarness, openEndpointsHarness } from "../../test/webhooks/endpoints.harness.ts";
import { loopback } from "../../test/webhooks/sender.harness.ts";
import { issueKey } from "../partners/keys/service.ts";
import { queueReplays } from "../webhooks/log/resend.ts";
import { updateHeartbeat } from "../webhooks/queue/lane-queries.ts";

let harness: EndpointsHarness;
let app: BuiltApp;
let partnerId: string;
let admin: SignedIn;
let viewer: SignedIn;
let operator: SignedIn;
let partners = 0;

beforeAll(async () => {
  harness = await openEndpointsHarness();
  app = await buildAnother(harness, { webhooks: loopback });
  operator = await signInTo(null);
});
afterAll(async () => {
  await app.close();
  await harness.close();
});
beforeEach(async () => {
  partnerId = await harness.partner(`Of test ${++partners}`);
  await giveKey(["rides:read", "stations:read", "bikes:read", "reservations:read"]);
  admin = await signInTo(partnerId);
  viewer = await signInTo(partnerId, "viewer");
});

const giveKey = (scopes: readonly Scope[], id = partnerId) =>
  issueKey(harness, { systemId: harness.systemId, partnerId: id, scopes });
const signInTo = (id: string | null, role: "admin" | "viewer" = "admin") =>
  signIn({ ...harness, url: app.url }, { partnerId: id, role });
const pathOf = (rest = "", id = partnerId) =>
  `/console/v1/systems/${harness.systemId}/partners/${id}/webhook${rest === "" ? "" : `/${rest}`}`;
const endpointPath = (action: string, id = partnerId) =>
  `/console/v1/systems/${harness.systemId}/endpoints/${id}/${action}`;
const { webhook, endpoints } = consoleContract;
const settings = { url: "https://partner.example/hooks", events: ["ride.started"] };

async function answer(who: SignedIn, method: string, path: string, body?: unknown): Promise<[number, unknown]> {
  const response = await who.call(method, path, body);
  return [response.status, await response.json()];
}
const set = (body: object = settings, who = admin) => answer(who, "PATCH", pathOf(), body);
const show = async (who = admin) => webhook.show.responses[200].parse((await answer(who, "GET", pathOf()))[1]).webhook;
const showSecret = async () =>
  webhook.showSecret.responses[200].parse((await answer(admin, "POST", pathOf("secret"), {}))[1]);
const acts = () =>
  harness.rows<{ action: string; detail: unknown }>(
    "select action, detail from audit_log where system_id = $1 and actor = $2 order by id",
    admin.actor,
  );

describe("the settings", () => {
  it("add no event that no key of the partner may read, unless the operator has chosen it", async () => {
    partnerId = await harness.partner("Stations alone");
    await giveKey(["stations:read"]);
    const [own, path] = [await signInTo(partnerId), endpointPath("").slice(0, -1)];
    const events = ["station.offline", "ride.started"];
    const refused = [403, { error: "forbidden", message: expect.stringMatching(/about: ride\.started\./) as string }];
    expect(await set({ ...settings, events }, own)).toEqual(refused);
    expect(await show(own)).toBeNull();
    expect((await set({ ...settings, events: ["station.offline"] }, own))[0]).toBe(200);
    expect((await answer(operator, "PATCH", path, { events }))[0]).toBe(200);
    expect((await set({ events: events.toReversed() }, own))[0]).toBe(200);
    expect((await set({ events: [...events, "ride.completed"] }, own))[0]).toBe(403);
    // A pattern, another webhook and a preview with such events are refused as well.
    expect((await set({ events: ["ride.*"] }, own))[0]).toBe(403);
    const more = { name: "Second", url: "https://second.example/", events: ["station.offline", "ride.*"] };
    expect((await answer(own, "POST", `${pathOf()}s`, more))[0]).toBe(403);
    expect(await answer(own, "POST", pathOf("preview"), { events: ["ride.*"], places: null })).toMatchObject([403, {}]);
    expect(await answer(own, "POST", pathOf("preview"), { events: ["station.*"], places: null })).toMatchObject([
      200,
      { deliveries: 0, is_complete: true },
    ]);
  });

  it("are none at first, then set, shown with the status in words, and changed by what is given alone", async () => {
    expect(await show()).toBeNull();
    const created = { outcome: "created", has_new_secret: true, old_secrets_end_at: null };
    expect(await set()).toEqual([200, { ...created, id: expect.stringMatching(/^endpoint_/) as string }]);
    const made = await show();
    expect(made).toMatchObject({ ...settings, status: "active", status_text: "active", email: null, pending: 0 });
    expect(made?.secrets).toEqual([{ id: expect.any(String) as string, expires_at: null }]);
    expect((await set({ email: "ops@partner.example" }))[1]).toMatchObject({ outcome: "changed" });
    expect(await show()).toMatchObject({ ...settings, email: "ops@partner.example" });
    expect((await set({ events: ["ride.started"] }))[1]).toMatchObject({ outcome: "unchanged" });
  });

  it("name thresholds and a limit an hour, which a preview counts and a second editor is told of", async () => {
    const threshold = { count: "bikes", fewer_than: 2, for_minutes: 10, station_ids: [], region_ids: [] };
    const more = { events: ["station.below_threshold"], thresholds: [threshold], max_per_hour: 5 };
    await set();
    const seen = await show();
    expect((await set(more))[1]).toMatchObject({ outcome: "changed" });
    expect(await show()).toMatchObject({ ...more, this_hour: null });
    expect((await set({ ...more, max_per_hour: 0 }))[0]).toBe(400);
    const { name, url, events, email, signature, places } = seen ?? {};
    const old = { name, url, events, email, signature, places, thresholds: [], max_per_hour: null };
    expect((await set({ email: "a@partner.example", seen: old }))[0]).toBe(409);
    expect(await answer(admin, "POST", pathOf("preview"), { ...more, places: null })).toMatchObject([
      200,
      { deliveries: 0, skipped: 0, by_event: [], is_complete: true },
    ]);
  });

  it("of two admins who have opened them, the second one to save is told, and undoes nothing", async () => {
    const none = { url: null, events: [], email: null, signature: "service" };
    expect((await set({ ...settings, seen: none }))[1]).toMatchObject({ outcome: "created" });
    const conflict = {
      error: "conflict",
      message: expect.stringMatching(/Somebody else.*Nothing was saved/) as string,
    };
    expect(await set({ ...settings, events: ["ride.cancelled"], seen: none })).toEqual([409, conflict]);
    const seen = { ...none, ...settings };
    const moved = { ...settings, url: "https://partner.example/new" };
    expect((await set({ ...moved, seen }))[1]).toMatchObject({ outcome: "changed" });
    const later = { ...settings, events: ["ride.started", "ride.completed"] };
    expect(await set({ ...later, seen })).toEqual([409, conflict]);
    expect(await answer(operator, "PATCH", endpointPath("").slice(0, -1), { ...later, seen })).toEqual([409, conflict]);
    expect(await show()).toMatchObject(moved);
    // A client that still shows the removed webhook cannot create it again by mistake. A client that shows its removal can.
    await answer(admin, "POST", pathOf("remove"), {});
    expect(await set({ ...moved, email: null, seen: { ...none, ...moved } })).toEqual([409, conflict]);
    expect((await set({ ...moved, seen: none }))[1]).toMatchObject({ outcome: "created" });
  });

  const nowhere = { station_ids: [], region_ids: ["nowhere"] };
  const below = (regions: readonly string[]) => ({
    ...{ count: "bikes", fewer_than: 1, for_minutes: 10, station_ids: [], region_ids: regions },
  });
  it.each([
    ["an address inside the machine's own network", { url: "https://10.0.0.1/" }, /^url cannot be used: .*10\.0\.0\.1/],
    ["an address that is none", { url: "hooks" }, /^url cannot be used: .*cannot be read/],
    ["no event", { events: [] }, /at least one event/],
    ["an unknown event", { events: ["ride.teleported"] }, /no event "ride\.teleported"/],
    ["two mail addresses", { email: "a@b.example, c@d.example" }, /^email must be one address/],
    ["an empty name", { name: "" }, /^name must be one line of 1 to 60 characters/],
    ["an unknown region", { places: { ...nowhere, bbox: null } }, /^places\.region_ids cannot have "nowhere"/],
    ["no box", { places: { station_ids: [], region_ids: [], bbox: "1,2" } }, /^places\.bbox must be four numbers/],
    [
      "an unknown region of an alarm",
      { thresholds: [below([]), below(["nowhere"])] },
      /^thresholds\.1\.region_ids cannot/,
    ],
    ["an alarm without its events", { thresholds: [below([])] }, /^events must have station\.below_threshold/],
  ])("with %s are refused with what is wrong, and no command is named", async (_, wrong, message) => {
    const [status, body] = await set({ ...settings, ...wrong });
    expect([status, body]).toMatchObject([
      400,
      { error: "invalid_parameter", message: expect.stringMatching(message) as string },
    ]);
    expect(JSON.stringify(body)).not.toContain("`");
    expect(await show()).toBeNull();
  });

  it("of the events name every field and a sample as it is sent", async () => {
    const { data } = webhook.events.responses[200].parse((await answer(viewer, "GET", pathOf("events")))[1]);
    expect(data.map(({ name }) => name)).toEqual(deliveryNames);
    for (const { name, fields, sample } of data) {
      const body = JSON.parse(sample) as { event: string; data: object };
      expect(body.event).toBe(name);
      expect(fields.map((field) => field.name)).toEqual(expect.arrayContaining(Object.keys(body.data)));
      for (const { type } of fields) expect(type).not.toMatch(/any|undefined|object Object/);
    }
  });
});

describe("the status", () => {
  it("is paused, resumed and removed by an admin of the partner", async () => {
    await set();
    expect(await answer(admin, "POST", pathOf("pause"), {})).toEqual([200, { changed: true }]);
    expect(await show()).toMatchObject({ status: "paused", pause_reason: "partner" });
    expect(await answer(admin, "POST", pathOf("retry-now"), {})).toMatchObject([409, { error: "conflict" }]);
    expect(await answer(admin, "POST", pathOf("resume"), {})).toEqual([200, { changed: true, sent: 0 }]);
    expect(await show()).toMatchObject({ status: "probing" });
    expect(await answer(admin, "POST", pathOf("retry-now"), {})).toEqual([200, { deliveries: 0 }]);
    expect(await answer(admin, "POST", pathOf("remove"), {})).toEqual([200, { changed: true }]);
    expect(await show()).toBeNull();
  });

  it("that the operator has paused stays, whatever the partner tries, until the operator resumes it", async () => {
    await set();
    await answer(admin, "POST", pathOf("pause"), {});
    expect(await answer(operator, "POST", endpointPath("pause"), {})).toEqual([200, { changed: true }]);
    for (const attempt of ["resume", "remove"]) {
      expect(await answer(admin, "POST", pathOf(attempt), {})).toMatchObject([
        409,
        { error: "conflict", message: expect.stringContaining("only the operator") as string },
      ]);
    }
    await set({ url: "https://elsewhere.example/" });
    expect(await show()).toMatchObject({ status: "paused", pause_reason: "operator" });
    expect(await answer(operator, "POST", endpointPath("resume"), {})).toEqual([200, { changed: true, sent: 0 }]);
    expect(await show()).toMatchObject({ status: "probing" });
  });

  it("of every endpoint is listed for the operator, and for nobody else", async () => {
    await set();
    const list = `/console/v1/systems/${harness.systemId}/endpoints`;
    const { data, workers } = endpoints.list.responses[200].parse((await answer(operator, "GET", list))[1]);
    expect(data.find(({ partner_id }) => partner_id === partnerId)).toMatchObject({
      ...{ url: settings.url, status: "active", pending: 0, oldest_due: null, held: 0, log_bytes: 0 },
    });
    expect(workers).toBe(0);
    expect((await answer(admin, "GET", list))[0]).toBe(404);
    expect((await answer(admin, "POST", endpointPath("pause"), {}))[0]).toBe(404);
    const reader = await signInTo(null, "viewer");
    expect((await answer(reader, "POST", endpointPath("pause"), {}))[0]).toBe(403);
    expect((await answer(operator, "POST", endpointPath("retry-now", "partner_nobody"), {}))[0]).toBe(404);
  });
});

describe("the secret", () => {
  it("is shown to an admin who has confirmed who they are, and that is written down without it", async () => {
    await set();
    const { id, secret } = await showSecret();
    expect(secret).toMatch(/^whsec_/);
    expect((await show())?.secrets.map((each) => each.id)).toEqual([id]);
    expect(await acts()).toContainEqual({ action: "webhook.secret_shown", detail: { secret_id: id } });
    harness.clock.advance(11 * 60_000);
    expect(await answer(admin, "POST", pathOf("secret"), {})).toMatchObject([403, { error: "confirmation_required" }]);
    expect(await answer(admin, "POST", pathOf("secret/rotate"), { overlap_hours: 0 })).toMatchObject([403, {}]);
  });

  it("is rotated: both sign until the overlap ends, and the newest is shown", async () => {
    await set();
    const before = await showSecret();
    const [status, body] = await answer(admin, "POST", pathOf("secret/rotate"), { overlap_hours: 2 });
    expect(status).toBe(200);
    const rotated = webhook.rotateSecret.responses[200].parse(body);
    expect((await showSecret()).secret).toBe(rotated.secret);
    expect(rotated.secret).not.toBe(before.secret);
    expect((await show())?.secrets.map(({ expires_at }) => expires_at)).toEqual([null, rotated.old_secrets_end_at]);
    harness.clock.advance(2 * 3_600_000);
    expect((await show())?.secrets).toHaveLength(1);
  });

  it("is in no line of the log, no act and no other answer", async () => {
    await set();
    const before = await showSecret();
    await answer(admin, "POST", pathOf("secret/rotate"), { overlap_hours: 24 });
    const after = await showSecret();
    await answer(admin, "POST", pathOf("probe"), { url: "https://10.0.0.1/" });
    const seen = JSON.stringify([app.logged, await acts(), await show()]);
    for (const { secret } of [before, after]) expect(seen).not.toContain(secret.slice("whsec_".length));
  });
});

describe("a test", () => {
  it("is queued as a delivery, which the delivery's own page shows", async () => {
    await set();
    expect(await answer(admin, "POST", pathOf("test"), {})).toMatchObject([409, { error: "conflict" }]);
    await updateHeartbeat(harness.db, harness.systemId, "worker", 3_600_000);
    const [status, body] = await answer(admin, "POST", pathOf("test"), { event: "station.offline" });
    expect(status).toBe(200);
    const { delivery_id: id } = webhook.test.responses[200].parse(body);
    const path = `${pathOf().replace(/webhook$/, "deliveries")}/${id}`;
    expect((await answer(viewer, "GET", path))[1]).toMatchObject({ id, event: "station.offline", status: "pending" });
    await harness.send((await show())?.id ?? "");
    expect((await answer(viewer, "GET", path))[1]).toMatchObject({ status: "succeeded", exchanges: [{ number: 1 }] });
  });
});

describe("a probe", () => {
  const probe = async (url: string, who = admin) => {
    const [status, body] = await answer(who, "POST", pathOf("probe"), { url });
    expect(status, JSON.stringify(body)).toBe(200);
    return webhook.probe.responses[200].parse(body);
  };
  const results = ({ steps }: Awaited<ReturnType<typeof probe>>) =>
    Object.fromEntries(steps.map(({ step, result }) => [step, result]));

  it("sends one request, signed with the endpoint's secret, and shows the whole exchange", async () => {
    await set();
    const receiver = await startReceiver((socket) => socket.end("HTTP/1.1 202 OK\r\ncontent-length: 2\r\n\r\nok"));
    const url = `${receiver.url}/hooks?a=1`;
    const probed = await probe(url);
    expect(probed).toMatchObject({ is_allowed: true, is_accepted: true, is_signed_with_secret: true, advice: null });
    expect(probed.response).toMatchObject({ status: 202, body: { text: "ok" } });
    expect(results(probed)).toEqual({
      ...{ address: "passed", dns: "not_needed", connect: "passed", tls: "not_needed", response: "passed" },
    });
    expect(receiver.connections).toBe(1);
    const [arrived = ""] = receiver.received;
    const body = arrived.slice(arrived.indexOf("\r\n\r\n") + 4);
    expect(probed.request?.body.text).toBe(body);
    const header = /service-signature: (.*)\r\n/i.exec(arrived)?.[1] ?? "";
    const now = () => harness.clock();
    await expect(verify(body, header, (await showSecret()).secret, { now })).resolves.toMatchObject({
      event: "ride.completed",
    });
    expect(await show()).toMatchObject({ url: settings.url, pending: 0 });
    expect(await acts()).toContainEqual({
      action: "webhook.probed",
      detail: { url, outcome: "succeeded", status: 202, failure: null },
    });
    await receiver.close();
  });

  it("before there is an endpoint is signed with a secret that nobody has, and follows no redirect", async () => {
    const sink = await startReceiver((socket) => socket.end());
    const receiver = await startReceiver((socket) =>
      socket.end(`HTTP/1.1 307 Moved\r\nlocation: ${sink.url}\r\ncontent-length: 0\r\n\r\n`),
    );
    const probed = await probe(receiver.url);
    expect(probed).toMatchObject({ is_allowed: true, is_accepted: false, is_signed_with_secret: false });
    expect(probed.steps.at(-1)).toMatchObject({
      result: "failed",
      text: "Answered 307, a redirect, which is not followed",
    });
    expect(probed.response?.headers).toContainEqual(["location", sink.url]);
    expect(sink.connections).toBe(0);
    await Promise.all([sink.close(), receiver.close()]);
  });

  it("reaches no address inside the network: a sink sees no connection, whatever the spelling", async () => {
    const guarded = await buildAnother(harness, {
      webhooks: { ...loopback, allowNetworks: harness.rules.allowNetworks },
    });
    const sink = await startReceiver((socket) => socket.end());
    const spellings = ["127.0.0.1", "2130706433", "0x7f.1", "localhost", "[::ffff:127.0.0.1]", "127.1"];
    const people = await Promise.all(spellings.map(() => signIn({ ...harness, url: guarded.url }, { partnerId })));
    for (const [index, host] of spellings.entries()) {
      for (const scheme of ["http", "https"]) {
        const url = `${scheme}://${host}:${sink.port}/`;
        const response = await people[index]?.call("POST", pathOf("probe"), { url });
        const probed = webhook.probe.responses[200].parse(await response?.json());
        expect(probed).toMatchObject({ is_allowed: false, is_accepted: false, request: null, response: null });
        expect(results(probed)).toMatchObject({ address: "failed", connect: "not_reached", response: "not_reached" });
        expect(probed.steps[0]?.text).toMatch(/loopback|https|127\.0\.0\.1|::/);
      }
    }
    expect(sink.connections).toBe(0);
    await Promise.all([sink.close(), guarded.close()]);
  });

  it("names no password of an address in the audit log", async () => {
    expect(await probe("https://user:hunter2@partner.example/")).toMatchObject({ is_allowed: false });
    expect(JSON.stringify([await acts(), app.logged])).not.toContain("hunter2");
  });

  it("is sent 6 times a minute for one person, and again afterwards", async () => {
    for (let i = 0; i < 6; i++) await probe("https://10.0.0.1/");
    const response = await admin.call("POST", pathOf("probe"), { url: "https://10.0.0.1/" });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await response.json()).toMatchObject({
      error: "rate_limited",
      message: expect.stringContaining("6 test requests") as string,
    });
    expect(await probe("https://10.0.0.1/", await signInTo(partnerId))).toMatchObject({ is_allowed: false });
    harness.clock.advance(60_000);
    expect(await probe("https://10.0.0.1/")).toMatchObject({ is_allowed: false });
  });
});

it("is set, tested, rotated, replayed, sent again and removed by the operator, and the partner reads of each", async () => {
  const chief = await signInTo(null);
  const operate = (rest: string, body: object, who = chief) => answer(who, "POST", endpointPath(rest), body);
  const path = endpointPath("").slice(0, -1);
  const made = endpoints.set.responses[200].parse((await answer(chief, "PATCH", path, settings))[1]);
  expect(made).toMatchObject({ outcome: "created", has_new_secret: true });
  expect((await showSecret()).secret).toBe(made.secret);
  const endpointId = (await show())?.id ?? "";

  await updateHeartbeat(harness.db, harness.systemId, "worker", 3_600_000);
  expect((await operate("test", {}))[0]).toBe(200);
  const [sentTest] = await harness.send(endpointId);
  expect(sentTest?.event).toBe("ride.started");
  const rotated = endpoints.rotateSecret.responses[200].parse(
    (await operate("secret/rotate", { overlap_hours: 2 }))[1],
  );
  expect((await showSecret()).secret).toBe(rotated.secret);

  const since = new Date(harness.clock()).toISOString();
  await harness.happen(3);
  const [first] = await harness.send(endpointId);
  const replay = async (more: object) =>
    endpoints.replay.responses[200].parse((await operate("replays", { since, dry_run: false, ...more }))[1]);
  expect(await replay({ dry_run: true })).toMatchObject({ id: null, total: 3, endpoint_status: "active" });
  expect(await replay({ dry_run: true, statuses: ["failed", "held"] })).toMatchObject({ total: 0 });
  expect((await show())?.replays).toEqual([]);
  expect(await replay({ statuses: ["succeeded"] })).toMatchObject({ total: 3 });
  expect(await queueReplays(harness, harness.systemId)).toBe(3);
  expect(await harness.send(endpointId)).toHaveLength(3);
  const { id: stopped } = await replay({});
  const stop = `/console/v1/systems/${harness.systemId}/replays/${stopped}/stop`;
  expect(await answer(chief, "POST", stop, {})).toEqual([200, { changed: true }]);
  expect(await answer(chief, "POST", stop, {})).toEqual([200, { changed: false }]);
  expect(await queueReplays(harness, harness.systemId)).toBe(0);

  const resend = `deliveries/${first?.delivery_id}/resend`;
  const other = await harness.partner(`Other ${++partners}`);
  expect((await answer(chief, "POST", endpointPath(resend, other), {}))[0]).toBe(404);
  expect(await operate(resend, {})).toMatchObject([200, { outcome: "redelivered" }]);
  const reader = await signInTo(null, "viewer");
  for (const rest of ["test", "secret/rotate", "replays", resend, "remove"])
    expect((await operate(rest, {}, reader))[0], rest).toBe(403);
  expect(await operate("remove", {})).toEqual([200, { changed: true }]);
  expect(await show()).toBeNull();

  const [, log] = await answer(admin, "GET", pathOf().replace(/webhook$/, "audit"));
  const seen = consoleContract.partnerAudit.list.responses[200].parse(log).data;
  expect(seen.filter(({ actor }) => actor === chief.actor).map(({ action }) => action)).toEqual([
    ...["webhook.removed", "webhook.redelivered", "webhook.replay_stopped", "webhook.replayed", "webhook.replayed"],
    ...["webhook.secret_rotated", "webhook.tested", "webhook.created"],
  ]);
  for (const secret of [made.secret ?? "", rotated.secret]) expect(JSON.stringify(seen)).not.toContain(secret.slice(6));
});

it.each([
  ["PATCH", "", settings],
  ["POST", "pause", {}],
  ["POST", "resume", {}],
  ["POST", "retry-now", {}],
  ["POST", "remove", {}],
  ["POST", "probe", { url: settings.url }],
  ["POST", "test", {}],
  ["POST", "secret", {}],
  ["POST", "secret/rotate", { overlap_hours: 0 }],
])(
  "%s %s is an admin's: a viewer, the operator's people and another partner change nothing",
  async (method, rest, body) => {
    await set();
    const before = await show();
    expect((await answer(viewer, method, pathOf(rest), body))[0]).toBe(403);
    expect((await answer(operator, method, pathOf(rest), body))[0]).toBe(403);
    const other = await signInTo(await harness.partner(`Other ${++partners}`));
    expect((await answer(other, method, pathOf(rest), body))[0]).toBe(404);
    expect(await show(viewer)).toEqual(before);
    expect((await answer(other, "GET", pathOf()))[0]).toBe(404);
  },
);

it("the operator resends what a filter lets through, with its own right alone", async () => {
  await set();
  await answer(admin, "POST", pathOf("pause"), {});
  await harness.happen(3);
  const body = { filters: { status: "held" } };
  expect(await answer(operator, "POST", endpointPath("resends/count"), body)).toEqual([200, { total: 3 }]);
  const [status, made] = await answer(operator, "POST", endpointPath("resends"), body);
  const { id, total } = consoleContract.systemResends.create.responses[200].parse(made);
  expect([status, total]).toEqual([200, 3]);
  expect(await answer(operator, "GET", endpointPath(`resends/${id}`))).toMatchObject([200, { status: "waiting" }]);
  expect(await answer(operator, "POST", endpointPath(`resends/${id}/cancel`), {})).toMatchObject([
    200,
    { status: "cancelled" },
  ]);
  expect(await answer(admin, "POST", endpointPath("resends"), body)).toMatchObject([404, {}]);
});
