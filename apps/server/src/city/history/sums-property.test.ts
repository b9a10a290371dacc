import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { deletePastRides } from "../fleet/ride-import.ts";
import { readFlags } from "./changes-state.rules.ts";
import { sumSystem } from "./sums.ts";

let harness: FleetHarness;
beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A", { capacity: 2 }), stationItem("B", { capacity: 3 }));
  await harness.bikes(...BIKES.map((id) => ({ id, station_id: "A" })));
});
afterAll(() => harness.close());

const BIKES = ["1", "2", "3"];
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const QUARTER_MS = 15 * MINUTE_MS;

const bike = fc.constantFrom(...BIKES);
const station = fc.constantFrom("A", "B", null);
const minutes = fc.integer({ min: 1, max: 100 });
const step = fc.oneof(
  fc.record({ do: fc.constant("start" as const), bike, ago: fc.constantFrom(0, 0, 0, 40, 130) }),
  fc.record({ do: fc.constant("end" as const), bike, station, ago: fc.constantFrom(0, 0, 5, 70) }),
  fc.record({ do: fc.constant("cancel" as const), bike }),
  fc.record({ do: fc.constant("correct" as const), nth: fc.nat(20), station, minutes }),
  fc.record({
    do: fc.constant("past" as const),
    bike,
    from: station,
    to: station,
    ago: fc.integer({ min: 100, max: 2_000 }),
    minutes,
  }),
  fc.record({
    do: fc.constant("import" as const),
    from: station,
    to: station,
    ago: fc.integer({ min: 100, max: 4_000 }),
    minutes,
  }),
  fc.record({ do: fc.constant("undo" as const), nth: fc.nat(5) }),
  fc.record({
    do: fc.constant("station" as const),
    station: fc.constantFrom("A", "B"),
    verb: fc.constantFrom("offline", "online"),
  }),
  fc.record({ do: fc.constant("sum" as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
const round = fc.record({
  minutes: fc.integer({ min: 1, max: 50 }),
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
});

const insertImported = statement(
  "test.insertImported",
  `insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, duration_seconds,
     updated_at, source, import_id)
   values ('main', $1, $1, 'completed', $2, $3, $4, $5, 60, $6, 'trips', $1)`,
);
/** A horizon is a second behind the newest write, so these statements move all writes and reads to an earlier time. */
const passSecond = statement("test.passSecond", "update rides set change_position = change_position - 1100000");
const readSecond = statement("test.readSecond", "update sum_progress set position = position - 1100000");
const all = (table: string) => statement(`test.all.${table}`, `select * from ${table}`);

interface Imported {
  readonly id: string;
  readonly at: Date;
  readonly start: Date;
}

/** Things that earlier steps made and later steps can use. */
interface World {
  readonly riding: Map<string, string>;
  readonly ended: string[];
  readonly imports: Imported[];
  made: number;
}

async function take(world: World, taken: Step): Promise<void> {
  const ago = (mins: number) => new Date(harness.clock() - mins * MINUTE_MS);
  const id = `r${++world.made}`;
  switch (taken.do) {
    case "start": {
      const { results } = await harness.start({ id, bike_id: taken.bike, started_at: ago(taken.ago).toISOString() });
      if (results[0]?.error === null) world.riding.set(taken.bike, id);
      return;
    }
    case "end": {
      const ride = world.riding.get(taken.bike);
      if (ride === undefined) return;
      const { results } = await harness.end({
        id: ride,
        end_station_id: taken.station,
        ended_at: ago(taken.ago).toISOString(),
      });
      if (results[0]?.error !== null) return;
      world.riding.delete(taken.bike);
      world.ended.push(ride);
      return;
    }
    case "cancel": {
      const ride = world.riding.get(taken.bike);
      if (ride !== undefined) await harness.cancel({ id: ride });
      world.riding.delete(taken.bike);
      return;
    }
    case "correct": {
      const ride = world.ended[taken.nth % Math.max(1, world.ended.length)];
      if (ride === undefined) return;
      const { started_at: start } = (await harness.ride(ride)) as { started_at: Date };
      const end = new Date(Math.min(harness.clock(), start.getTime() + taken.minutes * MINUTE_MS));
      await harness.correct({ id: ride, ended_at: end.toISOString(), end_station_id: taken.station });
      return;
    }
    case "past":
      await harness.past({
        ...{ id, bike_id: taken.bike, start_station_id: taken.from, end_station_id: taken.to },
        ...{
          started_at: ago(taken.ago).toISOString(),
          ended_at: ago(taken.ago - Math.min(taken.minutes, taken.ago)).toISOString(),
        },
      });
      return;
    case "import": {
      const [start, at] = [ago(taken.ago), new Date(harness.clock())];
      const end = ago(taken.ago - Math.min(taken.minutes, taken.ago));
      await harness.db.query(insertImported, [id, taken.from, taken.to, start, end, at]);
      world.imports.push({ id, at, start });
      return;
    }
    case "undo": {
      const [gone] = world.imports.splice(taken.nth, 1);
      if (gone === undefined) return;
      const rides = { systemId: "main", importId: gone.id, writtenAt: gone.at, first: gone.start, last: gone.start };
      const options = { slot: () => 0, record: () => Promise.resolve(), onProgress: () => undefined };
      await deletePastRides(harness.db, rides, options);
      return;
    }
    case "station":
      await harness[taken.verb]({ id: taken.station });
      return;
    case "sum":
      await sum();
  }
}

async function sum(): Promise<void> {
  await harness.db.query(passSecond);
  await harness.db.query(readSecond);
  // Two processes sum at the same time.
  const context = { ...harness, monotonic: () => performance.now(), changedRides: 3 };
  await Promise.all([sumSystem(context, "main"), sumSystem(context, "main")]);
}

interface RideRow {
  readonly status: string;
  readonly start_station_id: string | null;
  readonly end_station_id: string | null;
  readonly started_at: Date;
  readonly ended_at: Date | null;
}
interface ChangeRow {
  readonly station_id: string;
  readonly at: Date;
  readonly bikes: number;
  readonly docks: number | null;
  readonly flags: number;
}
interface HourRow extends Readonly<Record<string, unknown>> {
  readonly station_id: string;
  readonly hour: Date;
}

type Counts = Readonly<Record<string, number>>;
const counted = (texts: readonly string[]): Counts =>
  Object.fromEntries([...Map.groupBy(texts, (text) => text)].map(([text, { length }]) => [text, length] as const));
const floor = (at: Date, length: number) => new Date(Math.floor(at.getTime() / length) * length).toISOString();

/** Computes the sums of an hour from a station's changes, without any code of the tested statement. */
function stateOf(changes: readonly ChangeRow[], hour: Date) {
  const end = hour.getTime() + HOUR_MS;
  const state = { online: 0, empty: 0, full: 0, offline: 0, bikes: 0 };
  for (const [index, { at, bikes, docks, flags }] of changes.entries()) {
    const from = Math.max(at.getTime(), hour.getTime());
    const to = Math.min(changes[index + 1]?.at.getTime() ?? Infinity, end);
    if (to <= from) continue;
    const seconds = (to - from) / 1000;
    const { status } = readFlags(flags);
    if (status === "offline") state.offline += seconds;
    if (status !== "online") continue;
    state.online += seconds;
    state.bikes += seconds * bikes;
    if (bikes === 0) state.empty += seconds;
    if (docks === 0) state.full += seconds;
  }
  return state;
}

async function expectSums(): Promise<void> {
  const read = <Row>(table: string) => harness.db.query<Row>(all(table));
  const rides = (await read<RideRow>("rides")).filter(({ status }) => status !== "cancelled");
  const completed = rides.filter(({ status }) => status === "completed");
  const over = new Date(Math.floor(harness.clock() / HOUR_MS) * HOUR_MS);
  const isOver = (at: Date | null) => at !== null && at < over;

  const quarters = await read<{ starts_at: Date; rides_started: number; rides_ended: number }>("ride_quarters");
  const shown = (which: "rides_started" | "rides_ended"): Counts =>
    Object.fromEntries(
      quarters
        .filter((row) => row[which] > 0 && isOver(row.starts_at))
        .map((row) => [row.starts_at.toISOString(), row[which]] as const),
    );
  const starts = rides.filter((ride) => isOver(ride.started_at));
  const ends = completed.filter((ride) => isOver(ride.ended_at));
  expect(shown("rides_started")).toEqual(counted(starts.map((ride) => floor(ride.started_at, QUARTER_MS))));
  expect(shown("rides_ended")).toEqual(counted(ends.map((ride) => floor(ride.ended_at ?? over, QUARTER_MS))));

  const flows = await read<{ start_station_id: string; end_station_id: string; day: string; rides: number }>(
    "flow_days",
  );
  const between = completed.filter((ride) => ride.start_station_id !== null && ride.end_station_id !== null);
  const today = new Date(harness.clock()).toISOString().slice(0, 10);
  expect(
    Object.fromEntries(
      flows
        .filter(({ day }) => day < today)
        .map((row) => [`${row.day} ${row.start_station_id}${row.end_station_id}`, row.rides] as const),
    ),
  ).toEqual(
    counted(
      between
        .map((ride) => `${ride.started_at.toISOString().slice(0, 10)} ${ride.start_station_id}${ride.end_station_id}`)
        .filter((text) => text.slice(0, 10) < today),
    ),
  );

  const changes = Map.groupBy(await read<ChangeRow>("station_changes"), (row) => row.station_id);
  const hours = await read<HourRow>("station_hours");
  const wanted = [];
  for (const id of ["A", "B"]) {
    const its = (changes.get(id) ?? []).toSorted((a, b) => a.at.getTime() - b.at.getTime());
    for (let hour = over.getTime() - 80 * HOUR_MS; hour < over.getTime(); hour += HOUR_MS) {
      const isIn = (at: Date | null) => at !== null && at.getTime() >= hour && at.getTime() < hour + HOUR_MS;
      const { online, empty, full, offline, bikes } = stateOf(its, new Date(hour));
      const row = {
        rides_started: rides.filter((ride) => ride.start_station_id === id && isIn(ride.started_at)).length,
        rides_ended: completed.filter((ride) => ride.end_station_id === id && isIn(ride.ended_at)).length,
        ...{ seconds_online: online, seconds_empty: empty, seconds_full: full, seconds_offline: offline },
        bike_seconds: bikes,
      };
      if (Object.values(row).some((value) => value > 0)) {
        // Sums are stored in whole seconds, also those of a state that lasted a millisecond.
        const rounded = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Math.round(value)]));
        wanted.push({ station_id: id, hour: new Date(hour).toISOString(), ...rounded });
      }
    }
  }
  const kept = hours
    .filter(({ hour }) => hour < over && hour.getTime() >= over.getTime() - 80 * HOUR_MS)
    .map(({ system_id: _, bikes: __, docks: ___, hour, ...row }) => ({ ...row, hour: hour.toISOString() }))
    .sort((a, b) => (a.station_id + a.hour < b.station_id + b.hour ? -1 : 1));
  expect(kept).toEqual(wanted);
}

it("sums and flows are those of the rides and of the stations' changes, whatever was reported late, corrected or undone", async () => {
  const world: World = { riding: new Map(), ended: [], imports: [], made: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 3, maxLength: 8 }), async (rounds) => {
      for (const { minutes: passed, steps } of rounds) {
        harness.clock.advance(passed * MINUTE_MS);
        for (const each of steps) await take(world, each);
      }
      // Advances the clock, so that transactions that were open as an hour ended are settled.
      harness.clock.advance(HOUR_MS);
      await sum();
      await sum();
      await expectSums();
    }),
    { numRuns: randomRuns(6), endOnFailure: true },
  );
});
