import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { planReplay, readBusiestDay } from "./recorded-day.ts";

// A fixed seed, so that a failure can be repeated on another machine.
fc.configureGlobal({ seed: 1 });

async function fileOf(lines: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-replay-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, "rides.csv");
  await writeFile(path, lines.join("\n"));
  return path;
}

it("reads the rides of the busiest day from both usual formats, and leaves out what has no usable times", async () => {
  const expected = [
    {
      startedAt: Date.parse("2021-02-03T08:00:00Z"),
      endedAt: Date.parse("2021-02-03T08:10:00Z"),
      from: { id: "JC1", name: "Mill Lane", lat: 40.5, lon: -74.5 },
      to: undefined,
    },
  ];
  const lyft = await fileOf([
    "ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id,end_station_name,end_station_id,start_lat,start_lng,end_lat,end_lng,member_casual",
    "A,x,2021-02-03 08:00:00,2021-02-03 08:10:00,Mill Lane,JC1,,,40.5,-74.5,,,member",
    "B,x,2021-02-03 09:00:00,2021-02-03 08:10:00,Mill Lane,JC1,,,40.5,-74.5,,,member",
    "C,x,soon,2021-02-03 08:10:00,Mill Lane,JC1,,,40.5,-74.5,,,member",
  ]);
  expect(await readBusiestDay(lyft)).toEqual(expected);
  const citi = await fileOf([
    '"starttime","stoptime","start station id","start station name","start station latitude","start station longitude","end station id"',
    '"2021-02-02 08:00:00.0000","2021-02-02 08:10:00.0000",9,"Elsewhere",40,-74,""',
    '"2021-02-03 08:00:00.0000","2021-02-03 08:10:00.0000","JC1","Mill Lane",40.5,-74.5,""',
    '"2021-02-03 09:00:00.0000","2021-02-03 09:10:00.0000","JC1","Mill Lane",40.5,-74.5,""',
  ]);
  const rides = await readBusiestDay(citi);
  expect(rides).toHaveLength(2);
  expect(rides[0]).toEqual(expected[0]);
});

it("a file without such columns is refused with their names", async () => {
  await expect(readBusiestDay(await fileOf(["a,b", "1,2"]))).rejects.toThrow("started_at or starttime");
});

const rides = fc.array(
  fc.record({ startedAt: fc.nat(86_400_000), length: fc.nat(7_200_000) }).map(({ startedAt, length }) => ({
    ...{ startedAt, endedAt: startedAt + length },
    ...{ from: undefined, to: undefined },
  })),
  { minLength: 1, maxLength: 100 },
);

it("no bike is on two rides at once, and every ride starts before it ends", () => {
  fc.assert(
    fc.property(rides, fc.integer({ min: 1, max: 1000 }), (day, speed) => {
      const sorted = day.toSorted((a, b) => a.startedAt - b.startedAt);
      const { events, bikeIds } = planReplay(sorted, speed, "p-");
      const riding = new Map<string, string>();
      for (const { kind, bikeId, rideId } of events) {
        expect(riding.get(bikeId)).toBe(kind === "start" ? undefined : rideId);
        if (kind === "start") riding.set(bikeId, rideId);
        else riding.delete(bikeId);
      }
      expect(riding.size).toBe(0);
      expect(events).toHaveLength(2 * day.length);
      expect(new Set(events.map(({ bikeId }) => bikeId))).toEqual(new Set(bikeIds));
      const times = events.map(({ atMs }) => atMs);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(times[0]).toBe(0);
    }),
  );
});
