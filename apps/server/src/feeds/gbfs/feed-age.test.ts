import { expect, test } from "vitest";
import { createTestDatabase } from "../../../test/database.ts";
import { afterFailure, afterSuccess, UNKNOWN_HEALTH } from "./feed-health.rules.ts";
import { updateFeedHealth } from "./health-queries.ts";
import { allFeedAges } from "./source-state.ts";

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

test("every process says how old each part of a followed source is", async () => {
  const { db, systemId, close } = await createTestDatabase();
  let now = START;
  const save = (at: number, health: Parameters<typeof updateFeedHealth>[2], source = "oslo") =>
    updateFeedHealth(db, { systemId, source, now: at }, health);
  const failed = (at: number) =>
    afterFailure(UNKNOWN_HEALTH, { now: at, message: "HTTP 500", retryAfterMs: null, intervalMs: 30_000 });

  await save(
    START,
    new Map([
      ["gbfs", afterSuccess(START)],
      ["station_status", afterSuccess(START)],
      ["gone", afterSuccess(START)],
    ]),
  );

  // Another process starts, which does not know when feeds last succeeded. One feed is no longer listed.
  now = START + 25 * MINUTE;
  await save(
    now,
    new Map([
      ["gbfs", afterSuccess(now)],
      ["station_status", failed(START + MINUTE)],
    ]),
  );
  const unjudged = { dataAgeMs: undefined, staleness: undefined };
  const common = { systemId, source: "oslo" };
  expect(await allFeedAges(db, now)).toEqual([
    { ...common, feed: "gbfs", ageMs: 0, failingMs: 0, ...unjudged },
    { ...common, feed: "station_status", ageMs: 25 * MINUTE, failingMs: 24 * MINUTE, ...unjudged },
  ]);

  // A week after the last poll, the feeds count as no longer followed.
  now = START + 8 * 24 * 60 * MINUTE;
  expect(await allFeedAges(db, now)).toEqual([]);
  await close();
});
