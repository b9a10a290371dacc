import { deliveryNames } from "@bikeshare/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { removeEndpoint } from "../endpoints/endpoint-removal.ts";
import { pauseEndpoint } from "../endpoints/endpoint-settings.ts";
import { deleteWorker, updateHeartbeat } from "../queue/lane-queries.ts";
import { listDeliveries, showDelivery } from "./deliveries.ts";
import { createReplay, redeliver, sendTestDelivery } from "./resend.ts";

let harness: EndpointsHarness;
let endpointId: string;
const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const send = (event?: string) => sendTestDelivery(harness, { ...scope(), event });
const show = (id: string) => showDelivery(harness, scope(), id);

beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  await updateHeartbeat(harness.db, harness.systemId, "worker", 3_600_000);
});
afterEach(() => harness.close());

describe("a test delivery", () => {
  it("is queued as any other, of the endpoint's first event where none is named", async () => {
    const id = await send();
    expect(id).toMatch(/^delivery_[0-9A-Za-z]+_test$/);
    expect(await show(id)).toMatchObject({ event: "ride.started", status: "pending", attempts: 0 });
    expect((await show(id)).explanation).toMatch(/^queued: the one attempt of a test due since /);
    const [sent] = await harness.send(endpointId);
    expect(sent).toMatchObject({ delivery_id: id, event: "ride.started", replay: false });
    expect(await show(id)).toMatchObject({ status: "succeeded", attempts: 1, exchanges: [{ number: 1 }] });
  });

  it("of any event carries the documentation's example, chosen by the endpoint or not", async () => {
    for (const name of deliveryNames) await send(name);
    const sent = await harness.send(endpointId);
    expect(sent.map(({ event }) => event).toSorted()).toEqual(deliveryNames.toSorted());
    for (const { data } of sent) expect(JSON.parse(data)).toMatchObject({ id: expect.any(String) as unknown });
  });

  it("that fails is not tried again, and says so", async () => {
    const id = await send();
    await harness.send(endpointId, answered(500, "not today"));
    expect(await show(id)).toMatchObject({ status: "failed", attempts: 1, next_attempt_at: null });
    expect((await show(id)).explanation).toMatch(
      /after 1 attempt; the latest attempt: answered 500; a test is tried once$/,
    );
    await expect(redeliver(harness, scope(), id)).rejects.toThrow(/is a test: `webhooks test` sends another/);
  });

  it("stands among the others by its time, and is in no replay", async () => {
    await harness.happen(1);
    await harness.send(endpointId);
    const id = await send();
    await harness.send(endpointId);
    harness.clock.advance(5);
    await harness.happen(1);
    await harness.send(endpointId);
    const { deliveries } = await listDeliveries(harness, scope());
    expect(deliveries.map((row) => row.id.endsWith("_test"))).toEqual([false, true, false]);
    expect(deliveries[1]?.id).toBe(id);
    const range = { ...scope(), since: new Date(0) };
    expect(await createReplay(harness, { ...range, dryRun: true })).toMatchObject({ total: 2 });
    expect(await createReplay(harness, range)).toMatchObject({ total: 2 });
  });

  it("is written into the audit log", async () => {
    const id = await send();
    expect(
      await harness.rows("select subject, detail from audit_log where system_id = $1 and action = 'webhook.tested'"),
    ).toEqual([{ subject: endpointId, detail: { delivery_id: id, event: "ride.started" } }]);
  });
});

describe("a test delivery is refused, and nothing is queued,", () => {
  const refused = async (words: RegExp, event?: string) => {
    await expect(send(event)).rejects.toThrow(words);
    expect((await listDeliveries(harness, scope())).deliveries).toEqual([]);
  };

  it("of an event that there is not", () => refused(/There is no event "ride.begun"/, "ride.begun"));

  it("while no process is there that sends", async () => {
    await deleteWorker(harness.db, harness.systemId, "worker");
    await refused(/No process is running that sends webhooks, so nothing was sent: start `serve`/);
  });

  it("while the endpoint is paused", async () => {
    await pauseEndpoint(harness, { ...scope(), reason: "operator" });
    await refused(/is paused: `webhooks resume` sends it a delivery as a probe/);
  });

  it("when the endpoint was removed", async () => {
    await removeEndpoint(harness, scope());
    await refused(/was removed/);
  });
});
