import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { listDeliveries, showDelivery } from "../log/deliveries.ts";
import { createReplay, queueReplays, redeliver } from "../log/resend.ts";
import { updateQueuedToHeld } from "../queue/lane-queries.ts";
import { loadEndpoints } from "./dispatch-endpoints.ts";
import { removeEndpoint } from "./endpoint-removal.ts";
import { rotateSecret } from "./endpoint-secrets.ts";
import { pauseEndpoint, resumeEndpoint, setEndpoint } from "./endpoint-settings.ts";
import { showEndpoint } from "./endpoint-view.ts";

let harness: EndpointsHarness;
let endpointId: string;
const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const remove = () => removeEndpoint(harness, scope());
const anew = () => setEndpoint(harness, { ...scope(), url: "https://new.example/", events: ["ride.started"] });
const hold = () => updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 100);

beforeEach(async () => {
  harness = await openEndpointsHarness();
  await setEndpoint(harness, {
    ...scope(),
    url: "https://partner.example/hooks",
    events: ["ride.started"],
    email: "ops@partner.example",
  });
  endpointId = (await showEndpoint(harness, scope())).id;
});
afterEach(() => harness.close());

describe("removing an endpoint", () => {
  it("destroys its secrets and forgets its address, events and mail address", async () => {
    await rotateSecret(harness, { ...scope(), overlap: 3_600_000 });
    expect(await remove()).toMatchObject({ changed: true, unsent: 0 });
    expect(await harness.rows("select id from webhook_secrets where system_id = $1")).toEqual([]);
    const kept = await harness.rows("select e::text as row from webhook_endpoints e where system_id = $1");
    expect(JSON.stringify(kept)).not.toMatch(/partner\.example/);
    expect(await loadEndpoints(harness, harness.systemId)).toMatchObject([
      { id: endpointId, status: "paused", secrets: [] },
    ]);
    expect(await showEndpoint(harness, scope())).toMatchObject({
      url: null,
      events: [],
      email: null,
      secrets: [],
      pause_reason: "removed",
      status_text: expect.stringMatching(/^removed, /) as unknown,
    });
  });

  it("keeps the log, holds what waits, and takes in nothing new", async () => {
    await harness.happen(2);
    await harness.send(endpointId, undefined, 1);
    expect(await remove()).toMatchObject({ changed: true, unsent: 1 });
    await harness.happen(3);
    await hold();
    const { deliveries } = await listDeliveries(harness, scope());
    expect(deliveries.map(({ status }) => status)).toEqual(["held", "succeeded"]);
    expect(deliveries[0]?.explanation).toMatch(/because the endpoint is removed, .+ once `set` has made it anew/);
    const arrived = await showDelivery(harness, scope(), deliveries[1]?.id ?? "");
    expect(arrived.exchanges).toMatchObject([{ url: "https://partner.example/hooks", request: {} }]);
  });

  it("ends its replays where they are, for good", async () => {
    await harness.happen(3);
    await harness.send(endpointId);
    await createReplay(harness, { ...scope(), since: new Date(0) });
    await remove();
    expect(await harness.rows("select replay_id from webhook_replay_items where system_id = $1")).toEqual([]);
    await anew();
    expect(await queueReplays(harness, harness.systemId)).toBe(0);
    expect((await showEndpoint(harness, scope())).replays).toMatchObject([{ total: 3, queued: 0 }]);
  });

  it("again changes nothing; of a partner without an endpoint, or of no partner, it is refused", async () => {
    const first = await remove();
    harness.clock.advance(60_000);
    expect(await remove()).toEqual({ ...first, changed: false });
    const without = { systemId: harness.systemId, partnerId: await harness.partner("Partner 2") };
    await expect(removeEndpoint(harness, without)).rejects.toThrow(/has no webhook endpoint/);
    await expect(removeEndpoint(harness, { ...scope(), partnerId: "nobody" })).rejects.toThrow(
      /There is no partner nobody/,
    );
    const acts = await harness.rows<{ action: string }>(
      "select action from audit_log where system_id = $1 and action like 'webhook%' order by id",
    );
    expect(acts.map(({ action }) => action)).toEqual(["webhook.created", "webhook.removed"]);
  });

  it.each([
    ["paused", () => pauseEndpoint(harness, { ...scope(), reason: "operator" })],
    ["resumed", () => resumeEndpoint(harness, scope())],
    ["rotated", () => rotateSecret(harness, { ...scope(), overlap: 0 })],
    ["replayed", () => createReplay(harness, { ...scope(), since: new Date(0) })],
    ["changed by an address alone", () => setEndpoint(harness, { ...scope(), url: "https://new.example/" })],
  ])("after it, the endpoint is not %s", async (_, verb) => {
    await remove();
    await expect(verb()).rejects.toThrow(/was removed .+ creates it again|needs a URL and at least one event/);
    expect(await showEndpoint(harness, scope())).toMatchObject({ pause_reason: "removed", secrets: [] });
  });
});

describe("setting an endpoint that was removed", () => {
  it("creates it again with another secret, under the id that its log has", async () => {
    await harness.rows("update webhook_lanes set failures = 9 where system_id = $1");
    await remove();
    const { endpoint, outcome, secret } = await anew();
    expect({ outcome, id: endpoint.id, status: endpoint.status }).toEqual({
      outcome: "created",
      id: endpointId,
      status: "active",
    });
    expect(await loadEndpoints(harness, harness.systemId)).toMatchObject([
      { url: "https://new.example/", email: null, secrets: [{ text: secret }] },
    ]);
    expect(await showEndpoint(harness, scope())).toMatchObject({ failures: 0 });
    await harness.happen(1);
    expect(await harness.send(endpointId)).toHaveLength(1);
  });

  it("lets what was held be sent by a replay, and one by one", async () => {
    await harness.happen(3);
    await remove();
    await hold();
    const [newest] = (await listDeliveries(harness, scope())).deliveries;
    await expect(redeliver(harness, scope(), newest?.id ?? "")).rejects.toThrow(
      /was removed: `webhooks set` creates it again/,
    );
    await anew();
    expect((await redeliver(harness, scope(), newest?.id ?? "")).outcome).toBe("redelivered");
    expect(await createReplay(harness, { ...scope(), since: new Date(0), statuses: ["held"] })).toMatchObject({
      total: 2,
    });
    expect(await queueReplays(harness, harness.systemId)).toBe(2);
    expect(await harness.send(endpointId)).toHaveLength(3);
  });

  it("twice at once makes one secret", async () => {
    await remove();
    const both = await Promise.all([anew(), anew(), anew()]);
    expect(both.flatMap(({ secret }) => secret ?? [])).toHaveLength(1);
    expect(await harness.rows("select id from webhook_secrets where system_id = $1")).toHaveLength(1);
  });
});
