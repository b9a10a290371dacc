import { ServiceError } from "@bikeshare/rules";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answered, type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { suspendPartner, removePartner, resumePartner } from "../../partners/suspend-or-remove.ts";
import { listDeliveries, showDelivery } from "../log/deliveries.ts";
import { createReplay, redeliver, startResend } from "../log/resend.ts";
import { loadEndpoints } from "./dispatch-endpoints.ts";
import { MAX_ENDPOINTS } from "./endpoint-context.ts";
import { removeEndpoint } from "./endpoint-removal.ts";
import { rotateSecret, showSecret } from "./endpoint-secrets.ts";
import { addEndpoint, pauseEndpoint, resumeEndpoint, setEndpoint } from "./endpoint-settings.ts";
import { listEndpointsWithStatus, showEndpoint } from "./endpoint-view.ts";
import { sendHeld, showHeld } from "./held.ts";

let harness: EndpointsHarness;
let main: string;
beforeEach(async () => {
  harness = await openEndpointsHarness();
  main = (await harness.endpoint()).endpoint.id;
});
afterEach(() => harness.close());

const scope = (endpointRef?: string) => ({ systemId: harness.systemId, partnerId: harness.partnerId, endpointRef });
const add = (name: string, events: readonly string[] = ["ride.completed"]) =>
  addEndpoint(harness, { ...scope(), name, url: "https://other.example/hooks", events });
const idsOf = async (endpointRef: string) =>
  (await listDeliveries(harness, scope(endpointRef))).deliveries.map(({ id }) => id);
const listed = async () => (await listEndpointsWithStatus(harness, harness.systemId)).endpoints;
const codeOf = (error: unknown) => (error instanceof ServiceError ? `${error.code}: ${error.message}` : String(error));

describe("a partner's endpoints", () => {
  it("have each their own events, secret, state and log", async () => {
    const staging = await add("Staging", ["ride.started", "ride.completed"]);
    const other = staging.endpoint.id;
    await harness.happen(2);
    await harness.happen(1, "ride.completed");
    expect([(await idsOf(main)).length, (await idsOf(other)).length]).toEqual([2, 3]);

    await pauseEndpoint(harness, { ...scope("staging"), reason: "partner" });
    await harness.happen(1);
    expect((await listed()).map(({ name, status, pending, held }) => [name, status, pending, held])).toEqual([
      ["Main", "active", 3, 0],
      ["Staging", "paused", 3, 1],
    ]);
    expect(await showHeld(harness, scope(main))).toMatchObject({ total: 0 });
    expect(await showHeld(harness, scope(other))).toMatchObject({ total: 1 });
    await resumeEndpoint(harness, scope(other));
    expect(await sendHeld(harness, scope(main))).toBe(0);

    const secretOfMain = await showSecret(harness, scope(main));
    const { secret } = await rotateSecret(harness, { ...scope("STAGING"), overlap: 0 });
    expect((await showSecret(harness, scope(other))).secret).toBe(secret);
    expect(await showSecret(harness, scope("Main"))).toEqual(secretOfMain);
    const signing = (await loadEndpoints(harness, harness.systemId)).map(({ name, secrets }) => [name, secrets.length]);
    expect(Object.fromEntries(signing)).toEqual({ Main: 1, Staging: 1 });
  });

  it("are resent, replayed and redelivered one by one, and a delivery says whose it is", async () => {
    const { endpoint } = await add("Staging", ["ride.started"]);
    await harness.happen(2);
    await harness.send(main);
    await harness.send(endpoint.id, answered(204));
    const range = { since: new Date(0), dryRun: true };
    expect(await createReplay(harness, { ...scope("staging"), ...range })).toMatchObject({ total: 2 });
    expect(await startResend(harness, scope(main), { filter: {} })).toMatchObject({ total: 2 });
    const [latest = ""] = await idsOf(endpoint.id);
    expect(await showDelivery(harness, scope(), latest)).toMatchObject({
      endpoint_id: endpoint.id,
      endpoint_name: "Staging",
    });
    await pauseEndpoint(harness, { ...scope(main), reason: "partner" });
    expect(await redeliver(harness, scope(), latest), "only the other is paused").toMatchObject({
      outcome: "redelivered",
    });
  });

  it("are named where there are several; else the error lists them", async () => {
    expect((await showEndpoint(harness, scope())).name).toBe("Main");
    const { endpoint } = await add("Staging");
    const said = `"Main" (${main}), "Staging" (${endpoint.id})`;
    for (const act of [
      () => showEndpoint(harness, scope()),
      () => pauseEndpoint(harness, { ...scope(), reason: "partner" as const }),
      () => setEndpoint(harness, { ...scope(), events: ["ride.started"] }),
    ])
      expect(await act().catch(codeOf)).toBe(
        `invalid_parameter: Partner ${harness.partnerId} has several webhook endpoints: name one with --endpoint. It has: ${said}.`,
      );
    expect(await showEndpoint(harness, scope("stagin")).catch(codeOf)).toMatch(
      `not_found: Partner ${harness.partnerId} has no webhook endpoint "stagin". It has: ${said}.`,
    );
    await removeEndpoint(harness, scope("Staging"));
    expect((await showEndpoint(harness, scope())).id, "the only one that is left").toBe(main);
  });

  it("are nobody else's, whatever id is named", async () => {
    const partnerId = await harness.partner("Partner 2");
    const foreign = { systemId: harness.systemId, partnerId, endpointRef: main };
    await expect(showEndpoint(harness, foreign)).rejects.toThrow(/has no webhook endpoint/);
    await harness.endpoint(partnerId);
    await expect(showSecret(harness, foreign)).rejects.toThrow(/has no webhook endpoint/);
    await expect(listDeliveries(harness, foreign)).rejects.toThrow(/has no webhook endpoint/);
    await expect(removeEndpoint(harness, foreign)).rejects.toThrow(/has no webhook endpoint/);
  });

  it("keep names apart, whatever their capitals, and are renamed", async () => {
    await add("Staging");
    await expect(add("STAGING")).rejects.toThrow(/has an endpoint "Staging"/);
    await expect(setEndpoint(harness, { ...scope(main), name: "staging" })).rejects.toThrow(
      /has an endpoint "Staging"/,
    );
    await expect(add("two\nlines")).rejects.toThrow(/one line of 1 to 60 characters/);
    expect((await setEndpoint(harness, { ...scope(main), name: "Production" })).endpoint.name).toBe("Production");
    expect((await showEndpoint(harness, scope("production"))).id).toBe(main);
  });
});

describe("the number of a partner's endpoints", () => {
  it(`is ${MAX_ENDPOINTS} at most, however many are added at once`, async () => {
    const attempts = Array.from({ length: 16 }, (_, n) => add(`Endpoint ${n}`).then(() => "added", codeOf));
    const outcomes = Map.groupBy((await Promise.all(attempts)).toSorted(), (outcome) => outcome);
    expect([...outcomes].map(([outcome, { length }]) => [outcome, length])).toEqual([
      ["added", MAX_ENDPOINTS - 1],
      ["conflict: The partner has 10 webhook endpoints, which is the most. Remove one first.", 16 - MAX_ENDPOINTS + 1],
    ]);
    expect(await listed()).toHaveLength(MAX_ENDPOINTS);
  });

  it("is held by PostgreSQL, also against a program that does not lock the partner", async () => {
    const insert = (slot: number, id: string) =>
      harness.rows(
        `insert into webhook_endpoints (system_id, id, partner_id, tag, name, slot, url, events, status, created_at, updated_at)
         values ($1, $2, $3, $4, $2, $5, 'https://a.example/', '{ride.started}', 'active', now(), now())`,
        id,
        harness.partnerId,
        id,
        slot,
      );
    const racing = Array.from({ length: 24 }, (_, n) => insert((n % 12) + 1, `end${String(n).padStart(3, "0")}`));
    const settled = await Promise.allSettled(racing);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(MAX_ENDPOINTS - 1);
    expect(await harness.rows("select slot from webhook_endpoints where system_id = $1")).toHaveLength(MAX_ENDPOINTS);
  });

  it("counts removed ones once all slots are used: the one removed first is created anew, and so is a namesake", async () => {
    const { endpoint } = await add("Staging");
    await removeEndpoint(harness, scope("Staging"));
    expect((await add("staging")).endpoint.id, "the same name has the same log").toBe(endpoint.id);
    for (let n = 2; n < MAX_ENDPOINTS; n++) await add(`Endpoint ${n}`);
    await removeEndpoint(harness, scope("Endpoint 3"));
    harness.clock.advance(1_000);
    await removeEndpoint(harness, scope("Endpoint 2"));
    const anew = await add("Team");
    expect(anew.secret).toMatch(/^whsec_/);
    expect(await listed()).toHaveLength(MAX_ENDPOINTS);
    await expect(showEndpoint(harness, scope("Endpoint 3"))).rejects.toThrow(/no webhook endpoint/);
    expect(await showEndpoint(harness, scope("Endpoint 2"))).toMatchObject({ pause_reason: "removed" });
  });
});

describe("a partner's suspension, return and removal", () => {
  it("are those of all its endpoints", async () => {
    await add("Staging", ["ride.started"]);
    await add("Team", ["ride.started"]);
    await pauseEndpoint(harness, { ...scope("Team"), reason: "partner" });
    await suspendPartner(harness, harness.systemId, harness.partnerId);
    await harness.happen(1);
    await expect(add("Fourth")).rejects.toThrow(/is suspended/);
    const { endpoints } = await resumePartner(harness, harness.systemId, harness.partnerId);
    expect(endpoints.map(({ endpoint, probe }) => [endpoint.name, endpoint.status, probe === null])).toEqual([
      ["Main", "probing", false],
      ["Staging", "probing", false],
    ]);
    expect((await listed()).map(({ status, pause_reason: reason }) => [status, reason])).toEqual([
      ["probing", null],
      ["probing", null],
      ["paused", "partner"],
    ]);
    expect(await removePartner(harness, harness.systemId, harness.partnerId)).toMatchObject({
      endpoint_removed: true,
      endpoints_removed: 3,
      unsent_deliveries: 3,
    });
    expect(await harness.rows("select id from webhook_secrets where system_id = $1")).toEqual([]);
  });
});
