import { afterEach, beforeEach, expect, it } from "vitest";
import { type EndpointRoom, openEndpointRoom } from "../../../test/webhooks/endpoints.harness.ts";
import { issueKey, revokeKey } from "../../keys/service.ts";
import { updateHeartbeat } from "../queue/lane-queries.ts";
import { setEndpoint } from "./endpoint-settings.ts";
import { removeEndpoint, pauseEndpoint } from "./endpoint-status.ts";
import { listEndpointsWithStatus, showEndpoint } from "./endpoint-view.ts";

const DAY = 86_400_000;
let room: EndpointRoom;
beforeEach(async () => {
  room = await openEndpointRoom();
});
afterEach(() => room.close());

const overview = () => listEndpointsWithStatus(room, room.systemId);

it("lists every partner's endpoint by name, with what waits and what is held", async () => {
  expect(await overview()).toEqual({ endpoints: [], workers: 0 });
  const [b, a] = [await room.partner("B"), await room.partner("A")];
  await room.endpoint(a);
  const paused = { systemId: room.systemId, partnerId: b, reason: "operator" as const };
  await room.endpoint(b);
  await pauseEndpoint(room, paused);
  await room.happen(2);
  await updateHeartbeat(room.db, room.systemId, "worker", 3_600_000);
  expect(await overview()).toMatchObject({
    workers: 1,
    endpoints: [
      { partner_id: a, partner_name: "A", status_text: "active", pending: 2, held: 0, failing_since: null },
      { partner_id: b, partner_name: "B", status_text: expect.stringMatching(/^paused by/) as unknown, held: 2 },
    ],
  });
});

it("lists a removed endpoint as long as its log is kept", async () => {
  await room.endpoint();
  await removeEndpoint(room, room);
  expect(await overview()).toMatchObject({ endpoints: [{ url: null, pause_reason: "removed" }] });
  room.clock.advance(30 * DAY);
  expect(await overview()).toMatchObject({ endpoints: [] });
});

it("names the events that tell of what no key of the partner may read, now", async () => {
  const { systemId, partnerId } = room;
  const events = ["ride.started", "station.offline", "reservation.created", "bike.state_changed"];
  await setEndpoint(room, { systemId, partnerId, url: "https://partner.example/", events });
  const unreadable = async () => (await showEndpoint(room, { systemId, partnerId })).unreadable_events;
  expect(await unreadable()).toEqual(events);
  const issue = { systemId, kind: "live" as const, partnerId };
  await issueKey(room, { ...issue, scopes: ["rides:read", "events:read"] });
  const expiresAt = new Date(room.clock() + DAY);
  await issueKey(room, { ...issue, scopes: ["stations:read", "bikes:read"], expiresAt });
  const { id } = await issueKey(room, { ...issue, scopes: ["reservations:read"] });
  await issueKey(room, { ...issue, partnerId: await room.partner("Another"), scopes: ["reservations:read"] });
  expect(await unreadable()).toEqual([]);
  await revokeKey(room, systemId, id);
  expect(await unreadable()).toEqual(["reservation.created"]);
  room.clock.advance(2 * DAY);
  expect(await unreadable()).toEqual(["station.offline", "reservation.created", "bike.state_changed"]);
});
