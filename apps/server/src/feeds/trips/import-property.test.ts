import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NOW, openTripImportHarness, type TripImportHarness } from "../../../test/trips/trip-import.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { tripFormats } from "./formats.ts";
import { openTimeZone } from "./trip-times.rules.ts";

let harness: TripImportHarness;
beforeAll(async () => {
  harness = await openTripImportHarness();
});
afterAll(() => harness.close());

const ZONE = "Europe/Oslo";
const clock = new Intl.DateTimeFormat("sv-SE", { timeZone: ZONE, dateStyle: "short", timeStyle: "medium" });
/** Writes an instant as local time, or as UTC with an offset for formats that have one. */
const wall = (instant: number, utc: boolean) => {
  const ms = String(instant % 1000).padStart(3, "0");
  return utc
    ? `${new Date(instant).toISOString().slice(0, 19).replace("T", " ")}.${ms}+00:00`
    : `${clock.format(instant)}.${ms}`;
};

const clear = ["list_counts", "ride_counts", "rides", "stations"].map((table) =>
  statement(`test.clear.${table}`, `delete from ${table} where system_id = $1`),
);

const station = fc.record({
  id: fc.stringMatching(/^[A-Za-z0-9ø駅][A-Za-z0-9 .()\\"',駅ø-]{0,8}[A-Za-z0-9]$/),
  name: fc.stringMatching(/^[A-Za-z&"', ø駅]{0,10}[a-z]$/),
});
const trip = fc.record({
  bike: fc.integer({ min: 1, max: 50 }),
  // Any time of a year, and more often times near the two changes of clocks.
  start: fc.oneof(
    fc.integer({ min: Date.UTC(2021, 0, 1), max: Date.UTC(2021, 11, 31) }),
    fc.integer({ min: Date.UTC(2021, 9, 30, 22), max: Date.UTC(2021, 9, 31, 3) }),
    fc.integer({ min: Date.UTC(2021, 2, 27, 23), max: Date.UTC(2021, 2, 28, 3) }),
  ),
  length: fc.integer({ min: 0, max: 200_000_000 }),
  from: fc.option(fc.nat({ max: 4 })),
  to: fc.option(fc.nat({ max: 4 })),
  member: fc.boolean(),
});

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

describe("importTrips", () => {
  it("gives exactly the rides of a file, and counts equal to the real ones, whatever the format", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...tripFormats),
        fc.array(station, { minLength: 5, maxLength: 5 }),
        fc.uniqueArray(trip, { maxLength: 40, selector: ({ bike, start }) => `${bike} ${start}` }),
        async (format, stations, trips) => {
          for (const text of clear) await harness.db.query(text, [harness.systemId]);
          const { columns } = format;
          const given = columns.duration !== undefined;
          const utc = given && columns.rideId === undefined && columns.bikeId === undefined;
          const lines = trips.map((one, index) => {
            const [from, to] = [
              one.from === null ? undefined : stations[one.from],
              one.to === null ? undefined : stations[one.to],
            ];
            const values: Record<string, string> = {
              rideId: `R${index}`,
              bikeId: String(one.bike),
              startedAt: wall(one.start, utc),
              endedAt: wall(one.start + one.length, utc),
              duration: String(Math.floor(one.length / 1000)),
              startStationId: from?.id ?? "",
              startStationName: from?.name ?? "",
              startLat: "59.9",
              startLon: "10.7",
              endStationId: to?.id ?? "",
              endStationName: to?.name ?? "",
              endLat: "59.8",
              endLon: "10.6",
              vehicleType: "bike",
              riderCategory: one.member ? "member" : "casual",
            };
            return Object.keys(columns)
              .map((field) => quoted(values[field] ?? ""))
              .join(",");
          });
          const file = await harness.write("trips.csv", [Object.values(columns).join(","), ...lines].join("\n"));
          const result = await harness.import([file], { zone: openTimeZone(ZONE) });
          const rides = await harness.rides();
          expect(await harness.wrongCounts()).toEqual([]);
          expect(result).toMatchObject({ rows: trips.length, rejected: 0, refused: [] });
          expect(rides).toHaveLength(result.created);
          expect(result.created + result.unchanged).toBe(trips.length);
          const timesOf = (start: number, end: number, seconds: number) =>
            `${wall(start, utc)} ${wall(end, utc)} ${given ? seconds : ""}`;
          expect(
            new Set(
              rides.map((ride) =>
                timesOf(Date.parse(ride.started_at), Date.parse(ride.ended_at), ride.duration_seconds),
              ),
            ),
          ).toEqual(
            new Set(trips.map((one) => timesOf(one.start, one.start + one.length, Math.floor(one.length / 1000)))),
          );
          if (columns.bikeId !== undefined || columns.rideId !== undefined) expect(result.unchanged).toBe(0);
          for (const ride of rides) {
            const [start, end] = [Date.parse(ride.started_at), Date.parse(ride.ended_at)];
            expect(end).toBeGreaterThanOrEqual(start);
            expect(end).toBeLessThanOrEqual(NOW);
            const one = columns.rideId === undefined ? undefined : trips[Number(ride.id.slice(1))];
            if (one === undefined) continue;
            expect([wall(start, utc), wall(end, utc)]).toEqual([
              wall(one.start, utc),
              wall(one.start + one.length, utc),
            ]);
            expect(ride.start_station_id).toBe(one.from === null ? null : stations[one.from]?.id);
            expect(ride.end_station_id).toBe(one.to === null ? null : stations[one.to]?.id);
            if (columns.bikeId !== undefined) expect(ride.bike_id).toBe(String(one.bike));
          }
        },
      ),
      { numRuns: randomRuns(10) },
    );
  });
});
