import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, outcomes, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { recordUpdated, stateOf, stateSince } from "../history/changes-sql-fragments.ts";

/* A command on one thing also changes the things that depend on it, so that none contradicts it. */

let harness: FleetHarness;
let made = 0;
let bike: string;
let station: string;
// Writes stations as feeds and imports do: with the change in their history.
const written = (name: string, assignments: string) =>
  statement(
    name,
    `with updated as (
       update stations s set ${assignments}, ${stateSince("s", "s.updated_at")} where system_id = $1 and id = $2
       returning id, ${stateOf("s")}),
     ${recordUpdated("updated")}
     select`,
  );
const ofFeed = written("test.ofFeed", "source = 'city-feed', counters = 'mirrored', num_bikes_available = 4");
const placeholder = written(
  "test.placeholder",
  `source = 'trips', counters = 'mirrored', is_installed = false, is_renting = false, is_returning = false,
     status = 'offline', offline_reason = 'removed_from_source'`,
);
const openClosure = statement(
  "test.openClosure",
  "select id from rider_alerts where system_id = $1 and closes_station = $2 and ended_at is null",
);
const changesOf = statement(
  "test.changesOf",
  `select name, occurred_at as at from event_outbox where system_id = $1
     and (data::json ->> 'id' = $2 or data::jsonb -> 'station_ids' ? $2) order by occurred_at, id`,
);
const bikeOfFeed = statement(
  "test.bikeOfFeed",
  "update bikes set source = 'city-feed' where system_id = $1 and id = $2",
);

beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("other"));
});
afterAll(() => harness.close());

beforeEach(async () => {
  made++;
  bike = `bike-${made}`;
  station = `station-${made}`;
  await harness.stations(stationItem(station));
  await harness.bikes({ id: bike, station_id: station });
  harness.clock.advance(60_000);
});

const messageOf = ({ results }: Awaited<ReturnType<FleetHarness["bikes"]>>) => results[0]?.error?.message;

describe("a reservation", () => {
  test("says where its bike was moved to, by a van, a report or a correction", async () => {
    const { id } = await harness.reserve({ bike_id: bike });
    harness.clock.advance(1_000);
    await harness.bikes({ id: bike, station_id: "other" });
    const moved = await harness.reservation(id);
    expect(moved).toMatchObject({ status: "active", station_id: "other", updated_at: new Date(harness.clock()) });
    await harness.report({ id: bike, at: new Date(harness.clock() + 1).toISOString(), lat: 1, lon: 2 });
    harness.clock.advance(1_000);
    await harness.report({ id: bike, at: new Date(harness.clock()).toISOString(), lat: 1, lon: 2, station_id: null });
    expect(await harness.reservation(id)).toMatchObject({ status: "active", station_id: null });
    await harness.giveBack(id);
    // A reservation that is over does not change.
    await harness.bikes({ id: bike, station_id: station });
    expect(await harness.reservation(id)).toMatchObject({ status: "cancelled", station_id: null });
    await harness.expectSound();
  });

  test("that was fulfilled says when its ride was cancelled, and stays fulfilled, with no other event", async () => {
    const { id } = await harness.reserve({ bike_id: bike });
    await harness.start({ id: `ride-${made}`, bike_id: bike });
    expect((await harness.reservation(id))["ride_cancelled_at"]).toBeNull();
    harness.clock.advance(30_000);
    await harness.cancel({ id: `ride-${made}` });
    const now = new Date(harness.clock());
    expect(await harness.reservation(id)).toMatchObject({
      status: "fulfilled",
      ride_id: `ride-${made}`,
      ride_cancelled_at: now,
      updated_at: now,
    });
    expect((await harness.events()).filter((event) => event.endsWith(` ${id}`))).toEqual([
      `reservation.created ${id}`,
      `reservation.fulfilled ${id}`,
    ]);
    expect(await harness.events()).toContain(`ride.cancelled ride-${made}`);
    await harness.expectSound();
  });
});

describe("a removed station", () => {
  test("keeps no bike: those that stood there are outside a station, and the answer names them", async () => {
    await harness.bikes({ id: `${bike}-2`, station_id: station });
    await harness.start({ id: `ride-${made}`, bike_id: `${bike}-2` });
    const { id } = await harness.reserve({ bike_id: bike });
    const removed = await harness.remove({ id: station });
    expect(removed.results).toEqual([
      {
        id: station,
        outcome: "updated",
        error: null,
        warning: `Bikes stood at the station: ${bike}, ${bike}-2 (2 in all). They are outside a station now, at its position. Report them where they are brought.`,
      },
    ]);
    expect(await harness.bike(bike)).toMatchObject({
      station_id: null,
      lat: 47.37,
      lon: 8.54,
      vehicle_state: "reserved",
    });
    expect(await harness.reservation(id)).toMatchObject({ status: "active", station_id: null });
    expect(await harness.station(station)).toMatchObject({ status: "removed", num_bikes_reserved: 0 });
    await harness.cancel({ id: `ride-${made}` });
    expect(await harness.bike(`${bike}-2`)).toMatchObject({ station_id: null, lat: 47.37, vehicle_state: "available" });
    expect((await harness.remove({ id: station })).results[0]).toMatchObject({ outcome: "unchanged", warning: null });
    await harness.expectSound();
  });

  test("takes back no bike, and whoever tries is told that it was removed", async () => {
    await harness.start({ id: `ride-${made}`, bike_id: bike });
    await harness.remove({ id: station });
    const message = `Station ${station} was removed for good. Name another one, or give lat and lon instead.`;
    expect(messageOf(await harness.end({ id: `ride-${made}`, end_station_id: station }))).toBe(message);
    await harness.end({ id: `ride-${made}`, lat: 1, lon: 2 });
    expect(messageOf(await harness.bikes({ id: bike, station_id: station }))).toBe(message);
    expect(messageOf(await harness.start({ id: `r-${made}`, bike_id: bike, start_station_id: station }))).toBe(message);
    const gone = `Station ${station} was removed for good, and cannot be brought back. Nothing was changed.`;
    expect(messageOf(await harness.offline({ id: station }))).toBe(gone);
    expect(messageOf(await harness.online({ id: station }))).toBe(gone);
    await harness.expectSound();
  });

  test("at once with bikes that come and go keeps none", async () => {
    for (let round = 0; round < 8; round++) {
      const id = `${station}-${round}`;
      await harness.stations(stationItem(id));
      await harness.bikes({ id: `${bike}-x`, station_id: id }, { id: `${bike}-y`, station_id: "other" });
      await harness.start({ id: `x-${made}-${round}`, bike_id: `${bike}-x` });
      const [, ended, put] = await Promise.all([
        harness.remove({ id }),
        harness.end({ id: `x-${made}-${round}`, end_station_id: id }),
        harness.bikes({ id: `${bike}-y`, station_id: id }),
      ]);
      for (const each of [ended, put]) expect(["updated", "not_found"]).toContain(outcomes(each)[0]);
      if (outcomes(ended)[0] === "not_found") await harness.cancel({ id: `x-${made}-${round}` });
      await harness.expectSound();
      harness.clock.advance(1_000);
    }
  });
});

describe("what a feed says", () => {
  test("of its station is not overwritten by the operator, who may still take it offline and remove it", async () => {
    await harness.db.query(ofFeed, [harness.systemId, station]);
    const refused = await harness.stations({ id: station, name: "Mine", capacity: 3 });
    expect(outcomes(refused)).toEqual(["invalid_parameter"]);
    expect(messageOf(refused)).toContain(`Station ${station} is described by the source city-feed`);
    expect(outcomes(await harness.stations(stationItem(station)))).toEqual(["unchanged"]);
    expect(outcomes(await harness.offline({ id: station }))).toEqual(["updated"]);
    expect(outcomes(await harness.online({ id: station }))).toEqual(["updated"]);
    expect((await harness.station(station))["num_bikes_available"]).toBe(4);
    expect(outcomes(await harness.remove({ id: station }))).toEqual(["updated"]);
  });

  test("of the bikes at its station is not contradicted: no bike of the operator's is put or reported there", async () => {
    await harness.bikes({ id: bike, station_id: null });
    await harness.db.query(ofFeed, [harness.systemId, station]);
    const at = new Date(harness.clock() + 1).toISOString();
    for (const refused of [
      await harness.bikes({ id: bike, station_id: station }),
      await harness.bikes({ id: `${bike}-new`, station_id: station }),
      await harness.report({ id: bike, at, station_id: station }),
    ]) {
      expect(outcomes(refused)).toEqual(["invalid_parameter"]);
      expect(messageOf(refused)).toContain(`The bikes at station ${station} are counted by the source city-feed.`);
    }
    expect((await harness.station(station))["num_bikes_available"]).toBe(4);
  });

  test("of its bike is not overwritten, but for the state, which the operator may know better", async () => {
    await harness.db.query(bikeOfFeed, [harness.systemId, bike]);
    const refused = await harness.bikes({ id: bike, number: "7" });
    expect(outcomes(refused)).toEqual(["invalid_parameter"]);
    expect(messageOf(refused)).toContain(`Bike ${bike} is described by the source city-feed`);
    expect(outcomes(await harness.bikes({ id: bike, vehicle_state: "non_operational" }))).toEqual(["updated"]);
  });

  test("of a station that no source describes any more can be taken over: its counters follow its bikes", async () => {
    await harness.db.query(placeholder, [harness.systemId, station]);
    expect(outcomes(await harness.stations({ id: station, name: "Mine", capacity: 5 }))).toEqual(["updated"]);
    expect(await harness.station(station)).toMatchObject({
      name: "Mine",
      source: "operator",
      counters: "operated",
      status: "online",
      num_bikes_available: 1,
      num_docks_available: 4,
    });
    await harness.expectSound();
  });
});

describe("the time of a change", () => {
  test("never goes back, where a command waited for one that began after it, or the clock was set back", async () => {
    const ride = `ride-${made}`;
    const { id } = await harness.reserve({ bike_id: bike });
    await harness.start({ id: ride, bike_id: bike });
    const before = [await harness.bike(bike), await harness.ride(ride), await harness.reservation(id)];
    harness.clock.advance(-500);
    try {
      expect(outcomes(await harness.cancel({ id: ride }))).toEqual(["updated"]);
      const after = [await harness.bike(bike), await harness.ride(ride), await harness.reservation(id)];
      expect(after.map(({ updated_at: at }, n) => Number(at) - Number(before[n]?.["updated_at"]))).toEqual([1, 1, 1]);
    } finally {
      harness.clock.advance(500);
    }
  });

  test("of a station never goes back, whoever changes it", async () => {
    const changes = [
      () => harness.stations({ id: station, name: "Harbour" }),
      () => harness.bikes({ id: bike, station_id: null }),
      () => harness.offline({ id: station }),
      async () => {
        await harness.bikes({ id: bike, station_id: station });
        await harness.db.query(ofFeed, [harness.systemId, station]);
      },
      () => harness.start({ id: `ride-${made}`, bike_id: bike }),
    ];
    await harness.stations({ id: station, capacity: 9 });
    const first = harness.clock();
    harness.clock.advance(-500);
    try {
      const times: number[] = [];
      for (const change of changes) {
        await change();
        times.push(Number((await harness.station(station))["updated_at"]) - first);
      }
      expect(times).toEqual([1, 2, 3, 4, 5]);
    } finally {
      harness.clock.advance(500);
    }
    await harness.expectSound();
  });

  test("of a station's status, and of its alerts, comes after that of the change before it, in every order of clocks", async () => {
    const first = harness.clock();
    for (const turn of [0, -500, 0, 200, 300]) {
      harness.clock.advance(turn);
      expect(outcomes(await harness.offline({ id: station, summary: "Closed" }))).toEqual(["updated"]);
      const [alert] = await harness.db.query<{ id: string }>(openClosure, [harness.systemId, station]);
      // Ending the alert of a closure does not change the station.
      if (turn === 200) expect(outcomes(await harness.endAlerts({ id: alert?.id }))).toEqual(["updated"]);
      expect(outcomes(await harness.online({ id: station }))).toEqual(["updated"]);
    }
    const changes = await harness.db.query<{ name: string; at: Date }>(changesOf, [harness.systemId, station]);
    for (const kind of ["station", "alert"]) {
      const ofKind = changes.filter(({ name }) => name.startsWith(kind));
      const names = kind === "station" ? ["station.offline", "station.online"] : ["alert.opened", "alert.ended"];
      expect(ofKind.map(({ name }) => name)).toEqual(Array.from({ length: 5 }, () => names).flat());
      const times = ofKind.map(({ at }) => at.getTime());
      expect(new Set(times).size).toBe(10);
      expect(times[0]).toBeGreaterThanOrEqual(first);
    }
    await harness.expectSound();
  });
});
