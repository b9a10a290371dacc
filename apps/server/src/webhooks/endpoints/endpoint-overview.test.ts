import { afterEach, beforeEach, expect, it } from "vitest";
import { type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { issueKey, revokeKey } from "../../partners/keys/service.ts";
import { updateHeartbeat } from "../queue/lane-queries.ts";
import { removeEndpoint } from "./endpoint-removal.ts";
import { pauseEndpoint, setEndpoint } from "./endpoint-settings.ts";
import { listEndpointsWithStatus, showEndpoint } from "./endpoint-view.ts";

const DAY = 86_400_000;
let harness: EndpointsHarness;
beforeEach(async () => {
  harness = await openEndpointsHarness();
});
afterEach(() => harness.close());

const overview = () => listEndpointsWithStatus(harness, harness.systemId);

it("lists every partner's endpoint by name, with what waits and what is held", async () => {
  expect(await overview()).toEqual({ endpoints: [], workers: 0 });
  const [b, a] = [await harness.partner("B"), await harness.partner("A")];
  await harness.endpoint(a);
  const paused = { systemId: harness.systemId, partnerId: b, reason: "operator" as const };
  await harness.endpoint(b);
  await pauseEndpoint(harness, paused);
  await harness.happen(2);
  await updateHeartbeat(harness.db, harness.systemId, "worker", 3_600_000);
  expect(await overview()).toMatchObject({
    workers: 1,
    endpoints: [
      { partner_id: a, partner_name: "A", status_text: "active", pending: 2, held: 0, failing_since: null },
      { partner_id: b, partner_name: "B", status_text: expect.stringMatching(/^paused by/) as unknown, held: 2 },
    ],
  });
  const oldestDue = (await overview()).endpoints[0]?.oldest_due;
  expect(await listEndpointsWithStatus(harness, harness.systemId, { most: 1 }), "counted up to one").toMatchObject({
    endpoints: [
      { pending: 1, held: 0, oldest_due: oldestDue },
      { pending: 0, held: 1 },
    ],
  });
});

it("lists a removed endpoint as long as its log is kept", async () => {
  await harness.endpoint();
  await removeEndpoint(harness, harness);
  expect(await overview()).toMatchObject({ endpoints: [{ url: null, pause_reason: "removed" }] });
  harness.clock.advance(30 * DAY);
  expect(await overview()).toMatchObject({ endpoints: [] });
});

it("names the events that tell of what no key of the partner may read, now", async () => {
  const { systemId, partnerId } = harness;
  const events = ["ride.started", "station.offline", "reservation.created", "bike.state_changed"];
  await setEndpoint(harness, { systemId, partnerId, url: "https://partner.example/", events });
  const unreadable = async () => (await showEndpoint(harness, { systemId, partnerId })).unreadable_events;
  expect(await unreadable()).toEqual(events);
  const issue = { systemId, partnerId };
  await issueKey(harness, { ...issue, scopes: ["rides:read", "events:read"] });
  const expiresAt = new Date(harness.clock() + DAY);
  await issueKey(harness, { ...issue, scopes: ["stations:read", "bikes:read"], expiresAt });
  const { id } = await issueKey(harness, { ...issue, scopes: ["reservations:read"] });
  await issueKey(harness, { ...issue, partnerId: await harness.partner("Another"), scopes: ["reservations:read"] });
  expect(await unreadable()).toEqual([]);
  await revokeKey(harness, systemId, id);
  expect(await unreadable()).toEqual(["reservation.created"]);
  harness.clock.advance(2 * DAY);
  expect(await unreadable()).toEqual(["station.offline", "reservation.created", "bike.state_changed"]);
});
