import { eventList, eventRecord } from "@bikeshare/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { rethrow } from "../../test/events/events.harness.ts";
import { rideRow, stationRow } from "../../test/rows.ts";
import { refused, slice, walkByCursor, walkByPage } from "../../test/walk.ts";
import { createPartner } from "../partners/service.ts";
import { type NewEvent, recordEvents } from "./outbox.ts";
import { createSequencer } from "./sequencer.ts";

let app: TestApp;
/** Ids in the order of the list. */
let ids: readonly string[];

beforeAll(async () => {
  app = await startTestApp();
  const sequencer = createSequencer({ db: app.db, clock: app.clock, onError: rethrow, pollIntervalMs: 0 });
  const events = Array.from({ length: 60 }, (_, i): NewEvent => {
    const occurredAt = new Date(app.clock() + i);
    const ride = rideRow({ id: `ride-${i}`, started_at: occurredAt.toISOString() });
    return i % 3 === 0
      ? {
          name: "station.offline",
          occurredAt,
          partnerId: null,
          data: JSON.stringify(stationRow({ id: `station-${i}` })),
        }
      : { name: "ride.completed", occurredAt, partnerId: null, data: JSON.stringify(ride) };
  });
  await app.db.transaction((tx) =>
    recordEvents(tx, { ids: app.ids, systemId: app.systemId, now: new Date(app.clock()) }, events),
  );
  await sequencer.runOnce(app.systemId);
  await sequencer.close();
  ids = (await slice(app, "/v1/events?limit=200")).data.map(({ id }) => id);
});
afterAll(() => app.close());

describe("GET /v1/events", () => {
  it("shows the events oldest first, in the contract's form, with all three markers on the first slice", async () => {
    const page = await slice(app, "/v1/events?limit=20");
    expect(eventList.parse(page)).toEqual(page);
    expect(page.data.map((event) => event["occurred_at"])).toEqual(
      page.data.map((_, i) => new Date(app.clock() + i).toISOString()),
    );
    expect(page).toMatchObject({ page: 1, total_pages: 3 });
    expect(page.next_cursor).toEqual(expect.any(String));
  });

  it("gives the same events by page and by cursor, with and without filters", async () => {
    for (const [query, expected] of [
      ["", ids],
      ["?event=station.offline", ids.filter((_, i) => i % 3 === 0)],
      [`?after=${ids[29]}`, ids.slice(30)],
      [`?after=${ids[29]}&event=ride.completed`, ids.filter((_, i) => i > 29 && i % 3 !== 0)],
      ["?event=reservation.created", []],
    ] as const) {
      expect(
        (await walkByCursor(app, `/v1/events${query}`, 7)).map(({ id }) => id),
        query,
      ).toEqual(expected);
      expect(
        (await walkByPage(app, `/v1/events${query}`, 7)).map(({ id }) => id),
        query,
      ).toEqual(expected);
    }
  });

  it("shows a key only what its scopes let it read, and counts only that", async () => {
    const { key } = await app.issue({ scopes: ["events:read", "stations:read"] });
    const page = (await (await app.get("/v1/events?limit=19", { key })).json()) as {
      data: { event: string }[];
      total_pages: number;
    };
    expect(new Set(page.data.map(({ event }) => event))).toEqual(new Set(["station.offline"]));
    expect(page.total_pages).toBe(2);
    const { key: none } = await app.issue({ scopes: ["events:read"] });
    expect(await (await app.get("/v1/events", { key: none })).json()).toEqual({ data: [], page: 1, total_pages: 1 });
    expect((await app.get(`/v1/events/${ids[1]}`, { key })).status).toBe(404);
  });

  it("refuses a cursor that was made where other events are to be seen: other scopes, another partner, other filters", async () => {
    const { next_cursor: cursor } = await slice(app, "/v1/events?limit=5");
    const partner = await createPartner({ ...app, actor: "test" }, app.systemId, "Another");
    const keys = [
      await app.issue({ scopes: ["events:read", "rides:read"] }),
      await app.issue({ partnerId: partner.id }),
    ];
    for (const { key } of keys) {
      const response = await app.get(`/v1/events?cursor=${cursor}`, { key });
      expect([response.status, await response.json()]).toMatchObject([400, { error: "invalid_cursor" }]);
    }
    expect(await refused(app, `/v1/events?cursor=${cursor}&event=ride.completed`)).toMatchObject({
      error: "invalid_cursor",
    });
    const { key: otherKey } = await app.issue();
    expect((await app.get(`/v1/events?cursor=${cursor}`, { key: otherKey })).status).toBe(200);
  });

  it("rejects an unknown event name, an unknown id to begin after, and a page past the last, by name", async () => {
    expect(await refused(app, "/v1/events?event=ride.stolen")).toMatchObject({
      status: 400,
      error: "invalid_parameter",
    });
    const malformed = await refused(app, "/v1/events?after=garbage");
    expect(malformed).toMatchObject({ status: 400, error: "invalid_parameter" });
    expect(malformed.message).toMatch(/^after must be the id of an event/);
    const lost = await refused(app, "/v1/events?after=event_unknown");
    expect(lost).toMatchObject({ status: 410, error: "checkpoint_lost" });
    expect(lost.message).toMatch(/^The event event_unknown is no longer kept/);
    expect(await refused(app, "/v1/events?page=4&limit=20")).toMatchObject({ status: 400, error: "page_out_of_range" });
  });
});

describe("GET /v1/events/{id}", () => {
  it("shows an event as the list does", async () => {
    const [first] = (await slice(app, "/v1/events?limit=1")).data;
    const event: unknown = await (await app.get(`/v1/events/${first?.id}`)).json();
    expect(event).toEqual(first);
    expect(eventRecord.parse(event)).toEqual(event);
  });

  it("answers 404 where there is none", async () => {
    expect(await refused(app, "/v1/events/event_unknown")).toMatchObject({ status: 404, error: "not_found" });
  });
});
