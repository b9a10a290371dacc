import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readStationStatus, readVehicles } from "./documents.ts";
import { contentDigest, dataAge, staleAfterMs, type StoredAge } from "./feed-health.rules.ts";

const NOW = Date.UTC(2026, 0, 10, 12);
const HOUR = 3_600_000;
const ago = (hours: number) => new Date(NOW - hours * HOUR);
const stored = (over: Partial<StoredAge>): StoredAge => ({
  ...{ data_at: ago(0), content_since: ago(0), stale_after_seconds: 3_600 },
  ...over,
});

test.each([
  ["an honest feed", stored({}), undefined],
  [
    "a frozen document",
    stored({ data_at: ago(1.1), content_since: ago(1.1) }),
    /of 2026-01-10 10:54 UTC \(last_updated\)/,
  ],
  ["an older document than before, with other records", stored({ data_at: ago(4) }), /of 2026-01-10 08:00 UTC/],
  ["a quiet night", stored({ content_since: ago(12) }), undefined],
  [
    "records that never change",
    stored({ content_since: ago(25) }),
    /since 2026-01-09 11:00 UTC, and last_updated goes on/,
  ],
  ["no last_updated, and records that change", stored({ data_at: null }), undefined],
  [
    "no last_updated, and records that never change",
    stored({ data_at: null, content_since: ago(25) }),
    /no last_updated/,
  ],
  ["a long GBFS_STALE_AFTER", stored({ content_since: ago(40), stale_after_seconds: 48 * 3_600 }), undefined],
  ["nothing in service for months", stored({ content_since: null }), undefined],
  ["a description", stored({ data_at: null, content_since: null, stale_after_seconds: null }), undefined],
])("%s is stale or is not", (_what, age, reason) => {
  if (reason === undefined) expect(dataAge(age, NOW)?.reason).toBeUndefined();
  else expect(dataAge(age, NOW)?.reason).toMatch(reason);
});

test("the bound follows the feed's ttl between an hour and a day, unless the operator sets it", () => {
  const bounds = [0, 60_000, HOUR, 24 * HOUR].map((ttl) => staleAfterMs(ttl, undefined) / HOUR);
  expect(bounds).toEqual([1, 1, 10, 24]);
  expect(staleAfterMs(HOUR, 5_000)).toBe(5_000);
});

const status = (seconds: number, stations: readonly object[]) =>
  readStationStatus({ last_updated: seconds, ttl: 10, data: { stations } }, (seconds + 60) * 1_000);
const station = (over: object = {}) => ({
  ...{ station_id: "a", is_installed: true, is_renting: true, is_returning: true },
  ...{ num_bikes_available: 3, num_docks_available: 4, last_reported: 1_700_000_000 },
  ...over,
});

test("a document that is made anew of the same data has the same digest, and each change of a record another", () => {
  const at = 1_700_100_000;
  const base = contentDigest(status(at, [station(), station({ station_id: "b" })]));
  expect(contentDigest(status(at + 60, [station({ station_id: "b" }), station()]))).toBe(base);
  const renderedAt = (seconds: number) => contentDigest(status(seconds, [station({ last_reported: seconds })]));
  expect(renderedAt(at)).toBe(renderedAt(at + 3_600));
  // A new `last_reported` of a station that reports by itself changes the digest.
  const reportedAt = (seconds: number) => contentDigest(status(at, [station({ last_reported: seconds })]));
  expect(reportedAt(at - 600)).not.toBe(reportedAt(at - 300));
  expect(contentDigest(status(at, [station({ num_bikes_available: 2 }), station({ station_id: "b" })]))).not.toBe(base);
});

test("where nothing is in service nothing is judged", () => {
  const closed = station({ is_renting: false, is_returning: false });
  expect(contentDigest(status(1_700_100_000, [closed]))).toBeNull();
  const bikes = (is_disabled: boolean) =>
    readVehicles("vehicle_status", { data: { vehicles: [{ vehicle_id: "1", lat: 1, lon: 2, is_disabled }] } }, NOW);
  expect([contentDigest(bikes(true)), contentDigest(bikes(false))]).toEqual([null, expect.any(String)]);
});

const shared = process.env["BIKESHARE_SHARED_DATA"] ?? join(import.meta.dirname, "../../../../../../shared/data");
const OSLO = join(shared, "gbfs/oslo");
const series = ["station_status-2022-10.ndjson.gz", "station_status-2023-06-01_07.ndjson.gz"];

test.skipIf(!existsSync(OSLO)).each(series.flatMap((file) => [10, 50, Infinity].map((n) => [file, n] as const)))(
  "real nights of %s with %d stations raise no alarm, and the same series frozen does",
  (file, n) => {
    const lines = gunzipSync(readFileSync(join(OSLO, file)))
      .toString("utf8")
      .trim()
      .split("\n");
    let digest: string | null = null;
    let since = 0;
    let at = 0;
    for (const line of lines) {
      const document = JSON.parse(line) as { last_updated: number; data: { stations: { station_id: string }[] } };
      at = document.last_updated * 1_000;
      document.data.stations = document.data.stations
        .toSorted((a, b) => (a.station_id < b.station_id ? -1 : 1))
        .slice(0, n);
      const next = contentDigest(readStationStatus(document, at));
      if (next !== digest) [digest, since] = [next, at];
      const age = { data_at: new Date(at), content_since: new Date(since), stale_after_seconds: 3_600 };
      expect(dataAge(age, at)?.reason).toBeUndefined();
    }
    const frozen = { data_at: new Date(at), content_since: new Date(since), stale_after_seconds: 3_600 };
    expect(dataAge(frozen, at + 2 * HOUR)?.reason).toMatch(/last_updated/);
    // The publisher still advances `last_updated`, although the data do not change.
    const restamped = { ...frozen, data_at: new Date(at + 26 * HOUR) };
    expect(dataAge(restamped, at + 26 * HOUR)?.reason).toMatch(/goes on/);
  },
);
