import type { Glance, StationSums } from "@bikeshare/contract/console";
import { expect, it } from "vitest";
import { troubledStations } from "../../src/pages/city/attention.tsx";

const lasting = (...stations: readonly (readonly [id: string, since: string | null])[]) => ({
  count: stations.length,
  data: stations.map(([id, since]) => ({ id, name: id, bikes: 0, docks: 0, since })),
});

function sums(id: string, started: number, ended: number): StationSums {
  const known = { minutes_empty: 0, minutes_full: 0, minutes_offline: 0, bikes: null };
  return { id, rides_started: started, rides_ended: ended, ...known };
}

it("first come the stations that keep the most riders from a ride, not those that are empty the longest", () => {
  const stations: Glance["stations"] = {
    online: 10,
    empty: lasting(["quiet", "2026-11-26T02:00:00Z"], ["busy", "2026-11-26T07:00:00Z"]),
    full: lasting(["full", "2026-11-26T06:00:00Z"]),
    offline: lasting(),
  };
  const week = [sums("quiet", 7, 0), sums("busy", 1_680, 0), sums("full", 0, 336)];
  expect(troubledStations({ at: "2026-11-26T08:00:00Z", stations }, week)).toMatchObject([
    { id: "busy", kind: "empty", riders: 10 },
    { id: "full", kind: "full", riders: 4 },
    { id: "quiet", kind: "empty", riders: 0 },
  ]);
});

it("before the sums are there, and where nothing is known of a time, the longest come first", () => {
  const stations = {
    online: 10,
    empty: lasting(["short", "2026-11-26T07:00:00Z"], ["always", null]),
    full: lasting(),
    offline: lasting(),
  };
  const troubled = troubledStations({ at: "2026-11-26T08:00:00Z", stations }, undefined);
  expect(troubled.map(({ id }) => id)).toEqual(["always", "short"]);
  expect(troubled[0]?.riders).toBeUndefined();
});
