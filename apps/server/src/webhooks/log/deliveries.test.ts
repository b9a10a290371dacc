import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  answered,
  type EndpointsHarness,
  openEndpointsHarness,
  unanswered,
} from "../../../test/webhooks/endpoints.harness.ts";
import { pauseEndpoint, resumeEndpoint, setEndpoint } from "../endpoints/endpoint-settings.ts";
import { claimDeliveries, deleteWorker, updateQueuedToHeld, updateHeartbeat } from "../queue/lane-queries.ts";
import { type DeliveryListInput, listDeliveries, showDelivery } from "./deliveries.ts";
import { redeliver } from "./resend.ts";

let harness: EndpointsHarness;
let endpointId: string;
const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const list = async (filters: Partial<DeliveryListInput> = {}) => listDeliveries(harness, { ...scope(), ...filters });
const newest = async () => {
  const [row] = (await list()).deliveries;
  if (row === undefined) throw new Error("there is no delivery");
  return row;
};
const at = (offset = 0) => new Date(harness.clock() + offset).toISOString();

beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  await updateHeartbeat(harness.db, harness.systemId, "worker", 3_600_000);
});
afterEach(() => harness.close());

describe("the list of deliveries", () => {
  it("pages through every delivery once, newest first, over days and whatever comes meanwhile", async () => {
    for (let day = 0; day < 3; day++) {
      await harness.happen(7);
      harness.clock.advance(86_400_000);
    }
    const all = (await list()).deliveries.map(({ id }) => id);
    expect(all).toHaveLength(21);
    const paged: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await list({ limit: 4, after });
      paged.push(...page.deliveries.map(({ id }) => id));
      await harness.happen(1);
      if (page.next === null) break;
      after = page.next.id;
    }
    expect(paged).toEqual(all);
    expect(
      await harness.rows(
        "select id from webhook_deliveries where system_id = $1 order by created_on desc, id desc offset 6",
      ),
    ).toEqual(all.map((id) => ({ id })));
  });

  it("filters by status, event and time", async () => {
    const { systemId, partnerId } = harness;
    await setEndpoint(harness, { systemId, partnerId, events: ["ride.started", "ride.completed"] });
    await harness.happen(1);
    await harness.send(endpointId);
    const from = new Date(harness.clock());
    await harness.happen(1, "ride.completed");
    await harness.send(endpointId, answered(500));
    const to = new Date(harness.clock());
    await harness.happen(1);
    await pauseEndpoint(harness, { ...scope(), reason: "partner" });
    await harness.happen(2);
    const states = async (filters: Partial<DeliveryListInput>) =>
      (await list(filters)).deliveries.map(({ status, event }) => `${status} ${event}`);
    expect(await states({ status: "succeeded" })).toEqual(["succeeded ride.started"]);
    expect(await states({ status: "pending" })).toEqual(["pending ride.started", "pending ride.completed"]);
    expect(await states({ status: "held" })).toEqual(["held ride.started", "held ride.started"]);
    expect(await states({ status: "failed" })).toEqual([]);
    expect(await states({ event: "ride.completed" })).toEqual(["pending ride.completed"]);
    expect(await states({ since: from, until: to })).toEqual(["pending ride.completed"]);
    expect(await states({ since: to, status: "pending" })).toEqual(["pending ride.started"]);
  });

  it("is of one partner: another's deliveries are not found, by no verb", async () => {
    const other = await harness.partner("Partner 2");
    await harness.endpoint(other);
    await harness.happen(1);
    const mine = await newest();
    const theirs = { ...scope(), partnerId: other };
    expect((await list({ partnerId: other })).deliveries.map(({ id }) => id)).not.toContain(mine.id);
    const notFound = new RegExp(`There is no delivery ${mine.id}`);
    await expect(showDelivery(harness, theirs, mine.id)).rejects.toThrow(notFound);
    await expect(redeliver(harness, theirs, mine.id)).rejects.toThrow(notFound);
    await expect(list({ partnerId: other, after: mine.id })).rejects.toThrow(notFound);
    await expect(showDelivery(harness, { ...scope(), systemId: "other" }, mine.id)).rejects.toThrow(notFound);
    expect((await showDelivery(harness, { systemId: harness.systemId, partnerId: null }, mine.id)).id).toBe(mine.id);
  });

  it.each([0, -1, 201, Number.NaN])("refuses a limit of %s", async (limit) => {
    await expect(list({ limit })).rejects.toThrow("The limit must be from 1 to 200.");
  });
});

describe("each delivery is explained", () => {
  const explanation = async () => (await newest()).explanation;

  it("while it waits, is sent, waits again, and when it has arrived", async () => {
    const due = at();
    await harness.happen(1);
    expect(await explanation()).toBe(`queued: attempt 1 of 14 due since ${due}`);
    const request = { endpointId, token: 0, limit: 1, dueFrom: new Date(0) };
    await claimDeliveries(harness.db, harness.systemId, [request], false, new Date(harness.clock()));
    expect(await explanation()).toBe(`being sent since ${at()}: attempt 1 of 14`);
    await harness.rows("update webhook_queue set claim = null, claimed_at = null where system_id = $1");
    await harness.send(endpointId, answered(503));
    const row = await newest();
    expect(row.next_attempt_at?.toISOString()).toBe(at(5_020));
    expect(row.explanation).toBe(`queued: attempt 2 of 14 due at ${at(5_020)}; the latest attempt: answered 503`);
    harness.clock.advance(6_000);
    await harness.send(endpointId);
    expect(await explanation()).toBe(`arrived ${at()} at attempt 2, answered 204`);
  });

  it("when nobody is there to send it, whether it is due or waits", async () => {
    await deleteWorker(harness.db, harness.systemId, "worker");
    await harness.happen(1);
    const nobody = /; no process that sends webhooks is running: start `serve`$/;
    expect(await explanation()).toMatch(nobody);
    await harness.send(endpointId, answered(503));
    expect(await explanation()).toMatch(nobody);
    harness.clock.advance(6_000);
    await harness.send(endpointId);
    expect(await explanation()).not.toMatch(nobody);
  });

  it("when its latest answer was a redirect: with the rule", async () => {
    await harness.happen(1);
    await harness.send(endpointId, answered(302));
    expect(await explanation()).toMatch(/the latest attempt: answered 302, a redirect, which is not followed$/);
  });

  it("when it is given up, with how its last attempt ended, days later too", async () => {
    await harness.happen(1);
    for (let n = 0; n < 14; n++) {
      harness.clock.advance(18 * 3_600_000);
      await harness.send(endpointId, unanswered("reset", "The far side closed the connection."));
    }
    expect(await explanation()).toBe(
      `given up ${at()} after 14 attempts; the latest attempt: no whole answer (reset): The far side closed the connection; \`redeliver\` sends it again`,
    );
  });

  it("when its 30 days are over and it is about to be dropped: no longer with what cannot be done", async () => {
    await harness.happen(2);
    await harness.send(endpointId, answered(400), 1);
    await harness.rows("update webhook_deliveries set status = 'failed' where system_id = $1 and attempts = 1");
    await harness.rows("delete from webhook_queue where system_id = $1 and attempts = 1");
    await pauseEndpoint(harness, { ...scope(), reason: "partner" });
    await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 10);
    const past = /; its 30 days are over, and what it said is no longer kept$/;
    harness.clock.advance(30 * 86_400_000);
    for (const row of (await list()).deliveries) expect(row.explanation).not.toMatch(past);
    harness.clock.advance(86_400_000);
    const late = (await list()).deliveries;
    expect(late.map(({ status }) => status).toSorted()).toEqual(["failed", "held"]);
    for (const row of late) expect(row.explanation).toMatch(past);
  });

  it("while a pause holds it, and after the pause", async () => {
    await pauseEndpoint(harness, { ...scope(), reason: "partner" });
    const paused = at();
    await harness.happen(2);
    const [held] = (await list({ status: "held" })).deliveries;
    expect(held?.explanation).toBe(
      `held since ${held?.created_at.toISOString()} because the endpoint is paused by the partner, ${paused}; kept through 2026-07-01`,
    );
    await resumeEndpoint(harness, scope());
    expect((await list({ status: "held" })).deliveries[0]?.explanation).toMatch(
      /it no longer is: `send-held` sends it/,
    );
    expect((await list({ status: "pending" })).deliveries[0]?.explanation).toMatch(/one delivery at a time until one/);
  });
});

describe("a delivery with its attempts", () => {
  it("shows everything the log keeps, oldest first", async () => {
    await harness.happen(1);
    const started = harness.clock();
    await harness.send(endpointId, answered(500, "Störung"));
    harness.clock.advance(3_600_000 * 30);
    await harness.send(endpointId, unanswered("reset", "The far side closed the connection."));
    harness.clock.advance(3_600_000 * 30);
    await harness.send(endpointId);
    const { id } = await newest();
    const { exchanges, partner_id: partner } = await showDelivery(harness, scope(), id);
    expect(partner).toBe(harness.partnerId);
    expect(exchanges.map(({ number, summary }) => [number, summary])).toEqual([
      [1, "answered 500"],
      [2, "no whole answer (reset)"],
      [3, "answered 204"],
    ]);
    expect(exchanges[1]).toMatchObject({
      detail: "The far side closed the connection.",
      answer: null,
      failure: "reset",
    });
    expect(exchanges[0]).toEqual({
      number: 1,
      started_at: new Date(started),
      outcome: "rejected",
      failure: null,
      detail: null,
      url: "https://partner.example/hooks",
      remote_address: "192.0.2.7",
      summary: "answered 500",
      request: {
        headers: [
          ["Host", "partner.example"],
          ["Content-Type", "application/json"],
        ],
        body: `{"delivery_id":"${id}"}`,
      },
      answer: {
        status: 500,
        headers: [["Server", "test"]],
        body: { encoding: "utf-8", text: "Störung", truncated: false },
        truncation_reason: null,
      },
      timings: { dns: 1, connect: 2, tls: 3, first_byte: 4, total: 20 },
      next_attempt_at: new Date(started + 5_020),
      next_attempt_reason: "after attempt 1 of 14: answered 500",
    });
  });

  it("says after its latest attempt when the next one is due, and nothing once it is held or sent again", async () => {
    await harness.happen(1);
    await harness.send(endpointId, answered(500));
    const { id } = await newest();
    const next = async () => (await showDelivery(harness, scope(), id)).exchanges.at(-1);
    expect(await next()).toMatchObject({ next_attempt_reason: "after attempt 1 of 14: answered 500" });
    expect((await next())?.next_attempt_at).toEqual((await newest()).next_attempt_at);
    await redeliver(harness, scope(), id);
    expect(await next()).toMatchObject({ next_attempt_at: new Date(harness.clock()), next_attempt_reason: null });
    await pauseEndpoint(harness, { ...scope(), reason: "partner" });
    await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 10);
    expect(await next()).toMatchObject({ next_attempt_at: null, next_attempt_reason: null });
  });

  it("shows a binary response body as base64, and marks a truncated one", async () => {
    await harness.happen(1);
    const half = Buffer.from("aé").subarray(0, 2);
    await harness.send(endpointId, answered(500, Uint8Array.of(0xff, 0, 1)));
    harness.clock.advance(10_000);
    await harness.send(endpointId, { ...answered(500, half), answerCut: true });
    harness.clock.advance(60_000);
    await harness.send(endpointId, answered(500, half));
    const { exchanges } = await showDelivery(harness, scope(), (await newest()).id);
    expect(exchanges.map(({ answer }) => answer?.body)).toEqual([
      { encoding: "base64", text: "/wAB", truncated: false },
      { encoding: "utf-8", text: "a", truncated: true },
      { encoding: "base64", text: half.toString("base64"), truncated: false },
    ]);
  });

  it("is found whatever day it was made on, and whatever its id says of that", async () => {
    await harness.happen(1);
    const { id } = await newest();
    await harness.rows("update webhook_deliveries set created_on = created_on - 20 where system_id = $1");
    expect((await showDelivery(harness, scope(), id)).id).toBe(id);
    await harness.rows("update webhook_deliveries set id = 'delivery_1' where system_id = $1");
    expect((await showDelivery(harness, scope(), "delivery_1")).id).toBe("delivery_1");
  });

  it.each(["", "delivery_", "delivery_zzzzzzzzzzzzzzzzzzzzzzzzzzzz", "delivery_00000000", "x'; drop", "délivery_é"])(
    "is not found under %j",
    async (id) => {
      await expect(showDelivery(harness, scope(), id)).rejects.toThrow(/There is no delivery/);
    },
  );
});

describe("redelivering", () => {
  const again = (id: string) => redeliver(harness, scope(), id);

  it("begins a fresh schedule now; the numbers of the attempts go on, the delivery's id stays", async () => {
    await harness.happen(1);
    await harness.send(endpointId);
    const { id } = await newest();
    expect(await again(id)).toEqual({ id, outcome: "redelivered" });
    const [sent] = await harness.send(endpointId, answered(500));
    expect(sent).toMatchObject({ delivery_id: id, attempts: 1, tries: 0, replay: false });
    expect(await newest()).toMatchObject({ id, status: "pending", attempts: 2, finished_at: null });
    const acts = await harness.rows(
      "select action, subject from audit_log where system_id = $1 and action like 'webhook.re%'",
    );
    expect(acts).toEqual([{ action: "webhook.redelivered", subject: id }]);
  });

  it("makes what waits for its next attempt due now, in its own schedule", async () => {
    await harness.happen(1);
    await harness.send(endpointId, answered(500));
    const { id } = await newest();
    expect(await harness.send(endpointId)).toEqual([]);
    expect(await again(id)).toEqual({ id, outcome: "retried_now" });
    expect((await harness.send(endpointId)).map(({ tries }) => tries)).toEqual([1]);
  });

  it("changes nothing at what is due or being sent", async () => {
    await harness.happen(1);
    const { id } = await newest();
    expect((await again(id)).outcome).toBe("already_due");
    const request = { endpointId, token: 0, limit: 1, dueFrom: new Date(0) };
    await claimDeliveries(harness.db, harness.systemId, [request], false, new Date(harness.clock()));
    expect((await again(id)).outcome).toBe("already_due");
  });

  it("many times at once queues it once", async () => {
    await harness.happen(1);
    await harness.send(endpointId);
    const { id } = await newest();
    const all = await Promise.all([1, 2, 3, 4, 5].map(() => again(id)));
    expect(all.filter(({ outcome }) => outcome === "redelivered")).toHaveLength(1);
    expect(all.filter(({ outcome }) => outcome === "already_due")).toHaveLength(4);
    expect(await harness.send(endpointId)).toHaveLength(1);
  });

  it("queues what is pending and got lost from the queue", async () => {
    await harness.happen(1);
    await harness.rows("delete from webhook_queue where system_id = $1");
    const { id, explanation } = await newest();
    expect(explanation).toBe("pending, but not queued, which must not be: `redeliver` queues it");
    expect((await again(id)).outcome).toBe("redelivered");
    expect((await again(id)).outcome).toBe("already_due");
    expect(await harness.send(endpointId)).toHaveLength(1);
  });

  it("takes one out of those held, after the pause; while it lasts it is refused", async () => {
    await harness.happen(2);
    await pauseEndpoint(harness, { ...scope(), reason: "partner" });
    await updateQueuedToHeld(harness.db, harness.systemId, endpointId, new Date(harness.clock()), 10);
    const { id } = await newest();
    await expect(again(id)).rejects.toThrow(/is paused: `webhooks resume` it first/);
    await resumeEndpoint(harness, scope());
    expect((await again(id)).outcome).toBe("redelivered");
  });

  it("is refused when what it said is no longer kept", async () => {
    await harness.happen(1);
    await harness.send(endpointId);
    await harness.rows("delete from webhook_bodies where system_id = $1");
    await expect(again((await newest()).id)).rejects.toThrow(/older than 30 days/);
    expect((await newest()).status).toBe("succeeded");
  });
});
