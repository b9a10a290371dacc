import { createTestIds } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { CITY_TIME } from "../../../test/gbfs/city.ts";
import { getAlert } from "../../city/alerts/service.ts";
import { applySnapshot, eventsOf } from "./apply.ts";
import { readDescription } from "./descriptions.ts";

let database: TestDatabase;
const ids = createTestIds();
beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.close());

/** Applies a feed of alerts whose `last_updated` is some minutes after `CITY_TIME`. Returns the numbers of events. */
async function apply(minute: number, ...alerts: readonly object[]) {
  const now = CITY_TIME + minute * 60_000;
  const description = readDescription("system_alerts", { last_updated: now / 1000, data: { alerts } }, now);
  const context = { systemId: database.systemId, source: "gbfs", now, ids };
  return eventsOf(await applySnapshot(database.db, context, { descriptions: [description] }));
}

const works = { alert_id: "works", type: "STATION_CLOSURE", summary: "Works", station_ids: ["harbour"] };

test("an alert that a feed lists is open until it is gone, ten minutes at least; the same list, and an older one, say nothing", async () => {
  expect(await apply(1, works)).toEqual({ "alert.opened": 1 });
  expect(await apply(2, works)).toEqual({});
  const shown = await getAlert(database.db, database.systemId, "works", new Date(CITY_TIME));
  expect(shown).toMatchObject({ type: "station_closure", summary: "Works", station_ids: ["harbour"], ended_at: null });
  expect(await apply(1)).toEqual({});
  expect(await apply(11, { ...works, alert_id: "ice" })).toEqual({ "alert.opened": 1, "alert.ended": 1 });
  expect(await apply(12)).toEqual({}); // the clock ends it when it was open for ten minutes
});

test("a feed that gives its alerts new ids at each poll adds no more of them in a day than the limit", async () => {
  const minute = 10_000;
  const batch = (poll: number) =>
    Array.from({ length: 1_000 }, (_, index) => ({ ...works, alert_id: `flap ${poll} ${index}` }));
  for (const poll of [0, 1, 2])
    expect(await apply(minute + poll, ...batch(poll))).toMatchObject({ "alert.opened": 1_000 });
  expect(await apply(minute + 12, ...batch(3))).toEqual({ "alert.ended": 3_000 });
  expect(await apply(minute + 24 * 60 + 3, ...batch(4))).toEqual({ "alert.opened": 1_000 });
});
