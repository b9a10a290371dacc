import { createTestClock, createTestIds, type TestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { CITY_TIME } from "../../../test/gbfs/city.ts";
import { addPartners } from "../../../test/partners.ts";
import { reportBikes } from "../../city/fleet/bike-commands.ts";
import { runCommand } from "../../city/fleet/command.ts";
import { createReservation } from "../../city/fleet/create-reservation.ts";
import { endRides } from "../../city/fleet/finish-rides.ts";
import { cancelReservation } from "../../city/fleet/reservation-commands.ts";
import { startRides } from "../../city/fleet/start-rides.ts";
import { bringStationsOnline, takeStationsOffline, upsertStations } from "../../city/fleet/station-commands.ts";
import { createSystem } from "../../city/systems/service.ts";
import { applySnapshot } from "./apply.ts";
import { readStationInformation, readStationStatus, readVehicles } from "./documents.ts";
import type { GbfsSnapshot } from "./snapshot.ts";

let database: TestDatabase;
let systemId: string;
let systems = 0;
let clock: TestClock;
const ids = createTestIds();
const partnerId = "partner";
beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.close());
beforeEach(async () => {
  systemId = `s${++systems}`;
  await createSystem(database.db, systemId, systemId, 0);
  await addPartners(database.db, systemId, [partnerId]);
  clock = createTestClock(new Date(CITY_TIME).toISOString());
});

const context = () => ({ db: database.db, clock, ids });
const instant = (minute: number) => new Date(CITY_TIME + minute * 60_000).toISOString();
const document = (minute: number, data: object) => ({ last_updated: CITY_TIME / 1000 + minute * 60, data });
const bike = (bike_id: string, over: object = {}) => ({
  bike_id,
  station_id: "dock",
  is_reserved: false,
  is_disabled: false,
  ...over,
});

/** The feed as of a minute: one station with three available bikes, and the vehicles. */
function feed(minute: number, ...vehicles: object[]): GbfsSnapshot {
  const now = clock();
  const status = {
    station_id: "dock",
    num_bikes_available: 3,
    is_installed: true,
    is_renting: true,
    is_returning: true,
  };
  return {
    information: readStationInformation(
      document(minute, { stations: [{ station_id: "dock", name: "Dock", lat: 1, lon: 2 }] }),
      now,
    ),
    status: readStationStatus(document(minute, { stations: [status] }), now),
    vehicles: readVehicles("free_bike_status", document(minute, { bikes: vehicles }), now),
  };
}

/** Applies the feed as of a minute, at that minute. */
function apply(minute: number, ...vehicles: object[]) {
  clock.advance(CITY_TIME + minute * 60_000 - clock());
  return applySnapshot(database.db, { systemId, source: "gbfs", now: clock(), ids }, feed(minute, ...vehicles));
}

const rows = <Row>(text: string) => database.db.query<Row>({ name: "", text }, [systemId]);
const bikes = async () =>
  (
    await rows<{ id: string; state: string; station: string | null }>(
      "select id, vehicle_state as state, station_id as station from bikes where system_id = $1 order by id",
    )
  ).map(({ id, state, station }) => [id, state, station].join(" ").trim());
const counters = async () =>
  (
    await rows<object>(
      "select num_bikes_available as available, num_bikes_reserved as reserved from stations where system_id = $1 and id = 'dock'",
    )
  )[0];
const eventNames = async () =>
  (await rows<{ name: string }>("select name from event_outbox where system_id = $1 order by id")).map(
    ({ name }) => name,
  );
const reserve = (bike_id: string) =>
  createReservation(context(), { systemId, partnerId, request: { bike_id, hold_minutes: 15 } });
const reservedBike = (id: string) =>
  runCommand(context(), systemId, async (command) => (await command.lockBikes([id])).get(id));

test("a change by a feed whose process began before the operator's last command comes after it, in rows, events and history", async () => {
  await apply(0, bike("a"));
  clock.advance(300_000);
  const last = clock();
  await takeStationsOffline(context(), systemId, [{ item: { id: "dock" } }]);
  await bringStationsOnline(context(), systemId, [{ item: { id: "dock" } }]);
  await rows(`update bikes set updated_at = '${instant(5)}' where system_id = $1`);
  clock.advance(-60_000);
  const closed = { station_id: "dock", num_bikes_available: 3, is_installed: true, is_renting: false };
  const status = readStationStatus(document(4, { stations: [{ ...closed, is_returning: false }] }), clock());
  const snapshot = { ...feed(4, bike("a", { is_disabled: true })), status };
  const changes = await applySnapshot(database.db, { systemId, source: "gbfs", now: clock(), ids }, snapshot);
  expect(changes.bikes).toMatchObject({ updated: 1 });
  const events = await rows<{ name: string; at: Date }>(
    "select name, occurred_at as at from event_outbox where system_id = $1 order by occurred_at, id",
  );
  expect(events.map(({ name, at }) => [name, at.getTime() - last])).toEqual([
    ["station.offline", 0],
    ["station.online", 1],
    ["station.offline", 2],
  ]);
  const times = await rows<{ at: Date; since: Date | null }>(
    `select updated_at as at, state_since as since from stations where system_id = $1
     union all select updated_at, null from bikes where system_id = $1`,
  );
  expect(times.map(({ at, since }) => [at.getTime() - last, since && since.getTime() - last])).toEqual([
    [2, 2],
    [1, null],
  ]);
});

describe("a bike that our reservation holds", () => {
  beforeEach(async () => {
    await apply(0, bike("a"), bike("b"));
    await reserve("a");
  });

  test("is not set back by the feed: neither freed, nor moved, nor deleted", async () => {
    for (const vehicles of [[bike("a"), bike("b")], [bike("a", { station_id: "other" }), bike("b")], [bike("b")]]) {
      expect((await apply(1, ...vehicles)).bikes).toMatchObject({ updated: 0, removed: 0 });
    }
    expect(await bikes()).toEqual(["a reserved dock", "b available dock"]);
    expect(await eventNames()).toEqual(["reservation.created"]);
  });

  test("loses its reservation when the feed says that it cannot be ridden", async () => {
    expect((await apply(1, bike("a", { is_disabled: true }), bike("b"))).bikes).toMatchObject({
      updated: 1,
      cancelled: 1,
    });
    expect(await bikes()).toEqual(["a non_operational dock", "b available dock"]);
    expect(await eventNames()).toEqual(["reservation.created", "reservation.cancelled"]);
    expect(await rows("select status, cancel_reason from reservations where system_id = $1")).toEqual([
      { status: "cancelled", cancel_reason: "bike_unavailable" },
    ]);
    expect(await counters()).toEqual({ available: 3, reserved: 0 });
    expect((await apply(2, bike("a", { is_disabled: true }), bike("b"))).bikes).toMatchObject({
      unchanged: 2,
      cancelled: 0,
    });
  });

  test("follows the feed again when it is given back", async () => {
    const [held] = await rows<{ id: string }>("select id from reservations where system_id = $1");
    await cancelReservation(context(), { systemId, partnerId }, held?.id ?? "");
    await apply(1, bike("a", { station_id: null, lat: 5, lon: 6 }));
    expect(await bikes()).toEqual(["a available"]);
    expect(await reservedBike("a")).toMatchObject({
      reported_state: "available",
      reported_station_id: null,
      reported_lat: 5,
      reported_lon: 6,
    });
    // A later command starts from the state that the feed gave, not from the state before.
    await reserve("a");
    expect(await bikes()).toEqual(["a reserved"]);
  });
});

describe("a bike on our ride", () => {
  beforeEach(async () => {
    await apply(0, bike("a"), bike("b"));
    await startRides(context(), systemId, [{ item: { id: "ride", bike_id: "a", started_at: instant(0) } }]);
  });

  test("is neither brought back nor deleted nor disabled", async () => {
    await apply(1, bike("a", { is_disabled: true }), bike("b"));
    await apply(2, bike("b"));
    expect(await bikes()).toEqual(["a on_trip", "b available dock"]);
  });

  test("stays where the ride ended when the feed is from before, and follows the feed from then on", async () => {
    clock.advance(10 * 60_000);
    await endRides(context(), systemId, [{ item: { id: "ride", ended_at: instant(10), lat: 7, lon: 8 } }]);
    clock.advance(60_000);
    await applySnapshot(database.db, { systemId, source: "gbfs", now: clock(), ids }, feed(9, bike("b")));
    await applySnapshot(database.db, { systemId, source: "gbfs", now: clock(), ids }, feed(9, bike("a"), bike("b")));
    expect(await bikes()).toEqual(["a available", "b available dock"]);
    await apply(12, bike("a"), bike("b"));
    expect(await bikes()).toEqual(["a available dock", "b available dock"]);
    // The same feed again changes nothing. Neither does a report that is older than the feed.
    expect((await apply(13, bike("a"), bike("b"))).bikes).toMatchObject({ unchanged: 2, updated: 0 });
    await reportBikes(context(), systemId, [{ item: { id: "a", at: instant(11), vehicle_state: "missing" } }]);
    expect(await bikes()).toEqual(["a available dock", "b available dock"]);
  });
});

test("an operated station keeps its own counters, which count the feed's bikes that stand there", async () => {
  await upsertStations(context(), systemId, [{ item: { id: "dock", name: "Ours", lat: 1, lon: 2 } }]);
  const { stations } = await apply(1, bike("a"), bike("b", { is_disabled: true }));
  expect(stations.ownedByOthers).toEqual(["dock"]);
  expect(await counters()).toEqual({ available: 1, reserved: 0 });
  await apply(2, bike("c", { station_id: null, lat: 1, lon: 2 }));
  expect(await counters()).toEqual({ available: 0, reserved: 0 });
});

test("a station given up by its source keeps operated counters when another feed takes it over", async () => {
  await apply(0, bike("a"));
  const giveUp =
    "update stations set source = 'old', counters = 'operated', num_bikes_available = 1, status = 'offline', offline_reason = 'removed_from_source', absent_snapshots = 2 where system_id = $1";
  await rows(giveUp);
  expect((await apply(1, bike("a"))).stations).toMatchObject({ updated: 1, events: ["station.online"] });
  expect(await counters()).toEqual({ available: 1, reserved: 0 });
  expect((await apply(2, bike("a"))).stations).toMatchObject({ updated: 0, unchanged: 1 });
});

test("snapshots and reservations at once leave every bike free and every counter right", async () => {
  const names = Array.from({ length: 30 }, (_, i) => `bike-${i}`);
  await apply(0, ...names.map((name) => bike(name)));
  const reserving = names.map(async (name) => {
    const json = JSON.parse(await reserve(name)) as { id: string };
    await cancelReservation(context(), { systemId, partnerId }, json.id);
  });
  const applying = [1, 2, 3, 4, 5, 6].map((minute) =>
    applySnapshot(
      database.db,
      { systemId, source: "gbfs", now: clock(), ids },
      feed(minute % 5, ...names.map((name, i) => bike(name, { current_range_meters: minute * i }))),
    ),
  );
  await Promise.all([...reserving, ...applying]);
  await apply(10, ...names.map((name) => bike(name)));
  expect(new Set((await bikes()).map((text) => text.split(" ")[1]))).toEqual(new Set(["available"]));
  expect(await counters()).toEqual({ available: 3, reserved: 0 });
});
