import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../../test/until.ts";
import { type EndpointsHarness, openEndpointsHarness, otherCipher } from "../../../test/webhooks/endpoints.harness.ts";
import { createSystem } from "../../city/systems/service.ts";
import { createPartner } from "../../partners/service.ts";
import { activateByAnswers, loadEndpoints, pauseByAnswers } from "./dispatch-endpoints.ts";
import { rotateSecret } from "./endpoint-secrets.ts";
import { pauseEndpoint, resumeEndpoint, setEndpoint } from "./endpoint-settings.ts";

let harness: EndpointsHarness;
beforeEach(async () => {
  harness = await openEndpointsHarness();
});
afterEach(() => harness.close());

const input = (more: object = {}) => ({
  systemId: harness.systemId,
  partnerId: harness.partnerId,
  url: "https://partner.example/hooks",
  events: ["ride.completed", "ride.started"],
  ...more,
});
const actions = async () =>
  (
    await harness.rows<{ action: string }>(
      "select action from audit_log where system_id = $1 and action like 'webhook%' order by at, id",
    )
  ).map(({ action }) => action);

describe("setting an endpoint", () => {
  it("the first time makes it, its lane and its secret, which is shown once and stored encrypted", async () => {
    const { endpoint, outcome, secret } = await setEndpoint(harness, input({ email: "ops@partner.example" }));
    expect(outcome).toBe("created");
    expect(secret).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
    expect(endpoint).toMatchObject({ status: "active", events: ["ride.started", "ride.completed"] });
    expect(await harness.rows("select endpoint_id from webhook_lanes where system_id = $1")).toEqual([
      { endpoint_id: endpoint.id },
    ]);
    const everything = await harness.rows(
      "select s::text, e::text, a::text from webhook_secrets s, webhook_endpoints e, audit_log a where s.system_id = $1",
    );
    expect(JSON.stringify(everything)).not.toContain(secret);
    expect(await loadEndpoints(harness, harness.systemId)).toEqual([
      {
        systemId: harness.systemId,
        id: endpoint.id,
        partnerId: harness.partnerId,
        name: "Main",
        url: "https://partner.example/hooks",
        status: "active",
        email: "ops@partner.example",
        signature: "service",
        maxPerHour: null,
        secrets: [{ text: secret, expiresAt: null }],
      },
    ]);
  });

  it("again keeps id, tag and secret, and changes only what is given", async () => {
    const first = await setEndpoint(harness, input({ email: "ops@partner.example" }));
    const { systemId, partnerId } = harness;
    const again = await setEndpoint(harness, { systemId, partnerId, url: "https://new.example/" });
    expect(again).toMatchObject({ outcome: "changed", secret: null });
    expect(again.endpoint).toMatchObject({
      id: first.endpoint.id,
      tag: first.endpoint.tag,
      url: "https://new.example/",
      events: ["ride.started", "ride.completed"],
      email: "ops@partner.example",
    });
    expect((await loadEndpoints(harness, systemId))[0]?.secrets).toEqual([{ text: first.secret, expiresAt: null }]);
    expect((await setEndpoint(harness, { systemId, partnerId, email: null })).endpoint.email).toBeNull();
    expect((await setEndpoint(harness, { systemId, partnerId, email: null })).outcome).toBe("unchanged");
    expect(await actions()).toEqual(["webhook.created", "webhook.changed", "webhook.changed"]);
  });

  it("twice at once makes one endpoint with one secret, and one of the two is told it", async () => {
    for (let round = 0; round < 10; round++) {
      const partnerId = await harness.partner(`Partner of round ${round}`);
      const both = await Promise.all(
        [1, 2, 3].map((n) => setEndpoint(harness, input({ partnerId, url: `https://h${n}.example/` }))),
      );
      expect(new Set(both.map(({ endpoint }) => endpoint.id)).size).toBe(1);
      const returned = both.flatMap(({ secret }) => secret ?? []);
      const live = (await loadEndpoints(harness, harness.systemId)).filter(
        (endpoint) => endpoint.partnerId === partnerId,
      );
      expect(live.map(({ secrets }) => secrets.map(({ text }) => text))).toEqual([returned]);
      expect(returned).toHaveLength(1);
    }
  });

  it("to another URL leaves a paused endpoint paused, and forgets how the old address answered", async () => {
    const { endpoint } = await setEndpoint(harness, input());
    await harness.rows("update webhook_lanes set failures = 7, failing_since = now() where system_id = $1");
    const finding = { systemId: harness.systemId, endpointId: endpoint.id, now: new Date(harness.clock()) };
    await harness.db.transaction((tx) => pauseByAnswers(tx, { ...finding, reason: "failing" }));
    const changed = await setEndpoint(harness, input({ url: "https://new.example/" }));
    expect(changed.endpoint).toMatchObject({ status: "paused", pause_reason: "failing" });
    expect(await harness.rows("select failures, failing_since from webhook_lanes where system_id = $1")).toEqual([
      { failures: 0, failing_since: null },
    ]);
  });

  it("with a value that is not allowed is refused with the reason, and nothing is changed", async () => {
    const refused: [object, RegExp][] = [
      [{ url: "http://partner.example/" }, /must begin with https/],
      [{ url: "https://127.0.0.1/" }, /WEBHOOK_ALLOW_NETWORKS/],
      [{ url: "https://partner.example:8443/" }, /Port 8443 is not allowed/],
      [{ events: ["ride.started", "ride.begun"] }, /There is no event "ride.begun". There are: ride.started, /],
      [{ events: [] }, /Name at least one event/],
      [{ email: "a@b.example, c@d.example" }, /must be one address/],
      [{ email: "a@b.example\r\nBcc: c@d.example" }, /must be one address/],
      [{ partnerId: "partner_none" }, /There is no partner partner_none/],
      [{ events: undefined }, /needs a URL and at least one event/],
      [{ url: undefined }, /needs a URL and at least one event/],
    ];
    for (const [wrong, message] of refused) await expect(setEndpoint(harness, input(wrong))).rejects.toThrow(message);
    expect(await loadEndpoints(harness, harness.systemId)).toEqual([]);
    expect(await actions()).toEqual([]);
  });
});

describe("rotating a secret", () => {
  const rotate = (overlap: number, more: object = {}) =>
    rotateSecret(harness, { systemId: harness.systemId, partnerId: harness.partnerId, overlap, ...more });
  const live = async () =>
    ((await loadEndpoints(harness, harness.systemId))[0]?.secrets ?? []).filter(
      ({ expiresAt }) => expiresAt === null || expiresAt > harness.clock(),
    );

  it("puts a new one first, the old one beside it until the overlap ends", async () => {
    const { secret: old } = await harness.endpoint();
    const { secret, old_secrets_end_at: end } = await rotate(3_600_000);
    expect(end.getTime()).toBe(harness.clock() + 3_600_000);
    expect(await live()).toEqual([
      { text: secret, expiresAt: null },
      { text: old, expiresAt: end.getTime() },
    ]);
    harness.clock.advance(3_600_000);
    expect((await live()).map(({ text }) => text)).toEqual([secret]);
  });

  it("with an overlap of 0 ends the old ones now, and a later rotation never lengthens an earlier end", async () => {
    const { secret: first } = await harness.endpoint();
    const { secret: second } = await rotate(60_000);
    const { secret: third } = await rotate(3_600_000);
    const at = harness.clock();
    expect(await live()).toEqual([
      { text: third, expiresAt: null },
      { text: second, expiresAt: at + 3_600_000 },
      { text: first, expiresAt: at + 60_000 },
    ]);
    const { secret: fourth } = await rotate(0);
    expect(await live()).toEqual([{ text: fourth, expiresAt: null }]);
  });

  it("several times at once gives each asker a secret of its own, all of which sign; one is the current", async () => {
    const { secret } = await harness.endpoint();
    const rotated = await Promise.all([1, 2, 3, 4].map(() => rotate(3_600_000)));
    const secrets = await live();
    expect(new Set(secrets.map(({ text }) => text))).toEqual(new Set([secret, ...rotated.map((each) => each.secret)]));
    expect(secrets.map(({ expiresAt }) => expiresAt === null)).toEqual([true, false, false, false, false]);
  });

  it("is refused while five sign already, and outside of 0 h to 7 d", async () => {
    await harness.endpoint();
    for (let n = 0; n < 4; n++) await rotate(3_600_000);
    await expect(rotate(3_600_000)).rejects.toThrow("5 secrets sign already");
    expect(await live()).toHaveLength(5);
    await rotate(0);
    await expect(rotate(7 * 86_400_000 + 1)).rejects.toThrow("between 0 h and 7 d");
    await expect(rotate(-1)).rejects.toThrow("between 0 h and 7 d");
  });
});

it("a damaged secret pauses its endpoint while it signs, and no longer once it has ended", async () => {
  await harness.endpoint();
  const { systemId, partnerId } = harness;
  const { secret } = await rotateSecret(harness, { systemId, partnerId, overlap: 3_600_000 });
  const damaged: string[] = [];
  const load = async () =>
    (await loadEndpoints(harness, systemId, ({ message }) => void damaged.push(message))).map(({ status, secrets }) => [
      status,
      secrets.map(({ text }) => text),
    ]);
  const damage = `update webhook_secrets set encrypted = substr(encrypted, 1, length(encrypted) - 4) || 'AAAA',
    expires_at = now() + $2::interval where system_id = $1 and expires_at is not null`;
  await harness.rows(damage, "1 hour");
  expect(await load()).toEqual([["paused", []]]);
  expect(damaged.splice(0)).toHaveLength(1);
  await harness.rows(damage, "-1 hour");
  expect(await load()).toEqual([["active", [secret]]]);
  expect(damaged).toEqual([]);
});

it("every change is told to the dispatchers", async () => {
  const heard: (string | undefined)[] = [];
  const listener = new pg.Client(harness.db.connectionString);
  listener.on("notification", ({ payload }) => heard.push(payload));
  await listener.connect();
  await listener.query("listen webhook_endpoints");
  /**
   * Makes a change and waits for its notification, which comes a moment after the commit. Changes within that moment share
   * one.
   */
  const heardOf = async <Result>(change: Promise<Result>): Promise<Result> => {
    const before = heard.length;
    const result = await change;
    await until(() => heard.length > before);
    return result;
  };
  try {
    const { endpoint } = await heardOf(harness.endpoint());
    const { db, systemId, partnerId } = harness;
    await heardOf(rotateSecret(harness, { systemId, partnerId, overlap: 0 }));
    const finding = { systemId, endpointId: endpoint.id, now: new Date(harness.clock()) };
    await heardOf(db.transaction((tx) => pauseByAnswers(tx, { ...finding, reason: "gone" })));
    await heardOf(resumeEndpoint(harness, { systemId, partnerId }));
    await heardOf(db.transaction((tx) => activateByAnswers(tx, finding)));
    await heardOf(pauseEndpoint(harness, { systemId, partnerId, reason: "partner" }));
    expect(heard).toEqual(Array.from({ length: 6 }, () => systemId));
  } finally {
    await listener.end();
  }
});

describe("a process with another secrets file", () => {
  it("signs nothing: it is told so, with what to do", async () => {
    const { endpoint } = await harness.endpoint();
    await expect(loadEndpoints({ db: harness.db, cipher: otherCipher() }, harness.systemId)).rejects.toThrow(
      `The secret of ${endpoint.id} was encrypted with a key that this SECRETS_FILE does not have.`,
    );
  });

  it("stores no secret, neither for another partner nor in another system", async () => {
    await harness.endpoint();
    const stranger = { ...harness, cipher: otherCipher() };
    const partnerId = await harness.partner("Partner 2");
    const before = await harness.rows("select * from webhook_secrets where system_id = $1");
    await expect(setEndpoint(stranger, input({ partnerId }))).rejects.toThrow(/SECRETS_FILE.*Nothing was changed/);
    const { systemId } = harness;
    await expect(rotateSecret(stranger, { systemId, partnerId: harness.partnerId, overlap: 0 })).rejects.toThrow(
      /SECRETS_FILE/,
    );
    expect(await harness.rows("select * from webhook_secrets where system_id = $1")).toEqual(before);
    expect(await loadEndpoints(harness, systemId)).toHaveLength(1);
    await createSystem(harness.db, "other", "Other city", 0);
    const elsewhere = await createPartner(harness, "other", "Partner 3");
    const foreign = input({ systemId: "other", partnerId: elsewhere.id });
    await expect(setEndpoint(stranger, foreign)).rejects.toThrow(/SECRETS_FILE/);
    expect((await setEndpoint(harness, foreign)).outcome).toBe("created");
  });

  it("may change everything but the secrets", async () => {
    await harness.endpoint();
    const { outcome } = await setEndpoint(
      { ...harness, cipher: otherCipher() },
      input({ url: "https://new.example/" }),
    );
    expect(outcome).toBe("changed");
  });

  it("can take over when the old file is lost: each endpoint gets a new secret, its old ones end", async () => {
    await harness.endpoint();
    const stranger = { ...harness, cipher: otherCipher() };
    const { systemId, partnerId } = harness;
    const { secret } = await rotateSecret(stranger, { systemId, partnerId, overlap: 3_600_000, lost: true });
    expect((await loadEndpoints(stranger, systemId))[0]?.secrets).toEqual([{ text: secret, expiresAt: null }]);
  });
});

describe("what the dispatcher finds out", () => {
  const finding = (endpointId: string) => ({ systemId: harness.systemId, endpointId, now: new Date(harness.clock()) });
  const status = async () => (await loadEndpoints(harness, harness.systemId))[0]?.status;

  it("pauses an active endpoint that fails or is gone and a probed one whose probe failed, and no other", async () => {
    const { endpoint } = await harness.endpoint();
    const reasons = ["failing", "gone", "probe_failed"] as const;
    const paused: string[] = [];
    for (const from of ["active", "probing", "paused"] as const) {
      for (const reason of reasons) {
        await forceStatus(from);
        harness.clock.advance(1);
        const done = await harness.db.transaction((tx) => pauseByAnswers(tx, { ...finding(endpoint.id), reason }));
        expect(await status()).toBe(done ? "paused" : from);
        if (done) paused.push(`${from}: ${reason}`);
      }
    }
    expect(paused).toEqual(["active: failing", "active: gone", "probing: probe_failed"]);
    expect(await actions()).toEqual(["webhook.created", "webhook.paused", "webhook.paused", "webhook.paused"]);
  });

  it("a success ends probing, and nothing else", async () => {
    const { endpoint } = await harness.endpoint();
    for (const from of ["active", "probing", "paused"] as const) {
      await forceStatus(from);
      expect(await harness.db.transaction((tx) => activateByAnswers(tx, finding(endpoint.id)))).toBe(
        from === "probing",
      );
      expect(await status()).toBe(from === "paused" ? "paused" : "active");
    }
  });

  it("of many workers that pause an endpoint at once, one does", async () => {
    const { endpoint } = await harness.endpoint();
    const all = await Promise.all(
      [1, 2, 3, 4].map(() =>
        harness.db.transaction((tx) => pauseByAnswers(tx, { ...finding(endpoint.id), reason: "failing" })),
      ),
    );
    expect(all.filter(Boolean)).toHaveLength(1);
    expect((await actions()).filter((action) => action === "webhook.paused")).toHaveLength(1);
  });

  const forceStatus = (to: string) =>
    harness.rows(
      `update webhook_endpoints set status = $2, pause_reason = case when $2 = 'paused' then 'operator' end,
         paused_at = case when $2 = 'paused' then created_at end where system_id = $1`,
      to,
    );
});
