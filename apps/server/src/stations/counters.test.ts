import { afterAll, beforeAll, expect, test } from "vitest";
import { type LiveRoom, openLiveRoom, stationItem } from "../../test/live-room.ts";
import { statement } from "../db/statement.ts";

let room: LiveRoom;
const mirror = statement(
  "test.mirror",
  "update stations set counters = 'mirrored', num_bikes_available = 5 where system_id = $1",
);

beforeAll(async () => {
  room = await openLiveRoom();
  await room.stations(stationItem("A"), stationItem("B"));
  await room.bikes(...["1", "2", "3"].map((id) => ({ id, station_id: "A" })));
  await room.db.query(mirror, [room.systemId]);
});
afterAll(() => room.close());

const counters = async () =>
  Promise.all(
    ["A", "B"].map(async (id) => {
      const { num_bikes_available: available, num_bikes_reserved: reserved } = await room.station(id);
      return [available, reserved];
    }),
  );

test("rides and reservations move bikes between what mirrored stations count, until the feed speaks again", async () => {
  await room.start({ id: "r1", bike_id: "1" });
  await room.reserve({ bike_id: "2" });
  expect(await counters()).toEqual([
    [3, 1],
    [5, 0],
  ]);
  await room.start({ id: "r2", bike_id: "2" });
  await room.end({ id: "r1", end_station_id: "B" }, { id: "r2", end_station_id: "B" });
  expect(await counters()).toEqual([
    [3, 0],
    [7, 0],
  ]);
});

test("a bike that comes back broken is not counted as available at a mirrored station", async () => {
  const before = await counters();
  await room.start({ id: "r3", bike_id: "1" });
  room.clock.advance(60_000);
  await room.report({ id: "1", at: new Date(room.clock()).toISOString(), vehicle_state: "non_operational" });
  await room.end({ id: "r3", end_station_id: "A", ended_at: new Date(room.clock() - 30_000).toISOString() });
  expect(await counters()).toEqual([before[0], [Number(before[1]?.[0]) - 1, 0]]);
});
