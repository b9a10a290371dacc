import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type EndpointRoom, openEndpointRoom } from "../../../test/webhooks/endpoints.harness.ts";
import { listDeliveries, showDelivery } from "../log/deliveries.ts";
import { createReplay, queueReplays } from "../log/replays.ts";
import { redeliver } from "../log/resend.ts";
import { updateDueToHeld } from "../queue/claim-queries.ts";
import { loadEndpoints } from "./dispatch-endpoints.ts";
import { rotateSecret } from "./endpoint-secrets.ts";
import { setEndpoint } from "./endpoint-settings.ts";
import { pauseEndpoint, resumeEndpoint, removeEndpoint } from "./endpoint-status.ts";
import { showEndpoint } from "./endpoint-view.ts";

let room: EndpointRoom;
let endpointId: string;
const scope = () => ({ systemId: room.systemId, partnerId: room.partnerId });
const remove = () => removeEndpoint(room, scope());
const anew = () => setEndpoint(room, { ...scope(), url: "https://new.example/", events: ["ride.started"] });
const hold = () => updateDueToHeld(room.db, room.systemId, endpointId, new Date(room.clock()), 100);

beforeEach(async () => {
  room = await openEndpointRoom();
  await setEndpoint(room, {
    ...scope(),
    url: "https://partner.example/hooks",
    events: ["ride.started"],
    email: "ops@partner.example",
  });
  endpointId = (await showEndpoint(room, scope())).id;
});
afterEach(() => room.close());

describe("removing an endpoint", () => {
  it("destroys its secrets and forgets its address, events and mail address", async () => {
    await rotateSecret(room, { ...scope(), overlap: 3_600_000 });
    expect(await remove()).toMatchObject({ changed: true, unsent: 0 });
    expect(await room.rows("select id from webhook_secrets where system_id = $1")).toEqual([]);
    const kept = await room.rows("select e::text as row from webhook_endpoints e where system_id = $1");
    expect(JSON.stringify(kept)).not.toMatch(/partner\.example/);
    expect(await loadEndpoints(room, room.systemId)).toMatchObject([{ id: endpointId, status: "paused", secrets: [] }]);
    expect(await showEndpoint(room, scope())).toMatchObject({
      url: null,
      events: [],
      email: null,
      secrets: [],
      pause_reason: "removed",
      status_text: expect.stringMatching(/^removed, /) as unknown,
    });
  });

  it("keeps the log, holds what waits, and takes in nothing new", async () => {
    await room.happen(2);
    await room.send(endpointId, undefined, 1);
    expect(await remove()).toMatchObject({ changed: true, unsent: 1 });
    await room.happen(3);
    await hold();
    const { deliveries } = await listDeliveries(room, scope());
    expect(deliveries.map(({ status }) => status)).toEqual(["held", "succeeded"]);
    expect(deliveries[0]?.explanation).toMatch(/because the endpoint is removed, .+ once `set` has made it anew/);
    const arrived = await showDelivery(room, scope(), deliveries[1]?.id ?? "");
    expect(arrived.exchanges).toMatchObject([{ url: "https://partner.example/hooks", request: {} }]);
  });

  it("ends its replays where they are, for good", async () => {
    await room.happen(3);
    await room.send(endpointId);
    await createReplay(room, { ...scope(), since: new Date(0) });
    await remove();
    expect(await room.rows("select replay_id from webhook_replay_items where system_id = $1")).toEqual([]);
    await anew();
    expect(await queueReplays(room, room.systemId)).toBe(0);
    expect((await showEndpoint(room, scope())).replays).toMatchObject([{ total: 3, queued: 0 }]);
  });

  it("again changes nothing; of a partner without an endpoint, or of no partner, it is refused", async () => {
    const first = await remove();
    room.clock.advance(60_000);
    expect(await remove()).toEqual({ ...first, changed: false });
    const without = { systemId: room.systemId, partnerId: await room.partner("Partner 2") };
    await expect(removeEndpoint(room, without)).rejects.toThrow(/has no webhook endpoint/);
    await expect(removeEndpoint(room, { ...scope(), partnerId: "nobody" })).rejects.toThrow(
      /There is no partner nobody/,
    );
    const acts = await room.rows<{ action: string }>(
      "select action from audit_log where system_id = $1 and action like 'webhook%' order by id",
    );
    expect(acts.map(({ action }) => action)).toEqual(["webhook.created", "webhook.removed"]);
  });

  it.each([
    ["paused", () => pauseEndpoint(room, { ...scope(), reason: "operator" })],
    ["resumed", () => resumeEndpoint(room, scope())],
    ["rotated", () => rotateSecret(room, { ...scope(), overlap: 0 })],
    ["replayed", () => createReplay(room, { ...scope(), since: new Date(0) })],
    ["changed by an address alone", () => setEndpoint(room, { ...scope(), url: "https://new.example/" })],
  ])("after it, the endpoint is not %s", async (_, verb) => {
    await remove();
    await expect(verb()).rejects.toThrow(/was removed .+ makes it anew|needs a URL and at least one event/);
    expect(await showEndpoint(room, scope())).toMatchObject({ pause_reason: "removed", secrets: [] });
  });
});

describe("setting an endpoint that was removed", () => {
  it("makes it anew with another secret, under the id that its log has", async () => {
    await room.rows("update webhook_lanes set failures = 9 where system_id = $1");
    await remove();
    const { endpoint, outcome, secret } = await anew();
    expect({ outcome, id: endpoint.id, status: endpoint.status }).toEqual({
      outcome: "created",
      id: endpointId,
      status: "active",
    });
    expect(await loadEndpoints(room, room.systemId)).toMatchObject([
      { url: "https://new.example/", email: null, secrets: [{ text: secret }] },
    ]);
    expect(await showEndpoint(room, scope())).toMatchObject({ failures: 0 });
    await room.happen(1);
    expect(await room.send(endpointId)).toHaveLength(1);
  });

  it("lets what was held be sent by a replay, and one by one", async () => {
    await room.happen(3);
    await remove();
    await hold();
    const [newest] = (await listDeliveries(room, scope())).deliveries;
    await expect(redeliver(room, scope(), newest?.id ?? "")).rejects.toThrow(
      /was removed: `webhooks set` makes it anew/,
    );
    await anew();
    expect((await redeliver(room, scope(), newest?.id ?? "")).outcome).toBe("redelivered");
    expect(await createReplay(room, { ...scope(), since: new Date(0), statuses: ["held"] })).toMatchObject({
      total: 2,
    });
    expect(await queueReplays(room, room.systemId)).toBe(2);
    expect(await room.send(endpointId)).toHaveLength(3);
  });

  it("twice at once makes one secret", async () => {
    await remove();
    const both = await Promise.all([anew(), anew(), anew()]);
    expect(both.flatMap(({ secret }) => secret ?? [])).toHaveLength(1);
    expect(await room.rows("select id from webhook_secrets where system_id = $1")).toHaveLength(1);
  });
});
