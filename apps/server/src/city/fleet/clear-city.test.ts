import { afterAll, beforeAll, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { until } from "../../../test/until.ts";
import { statement } from "../../storage/db/statement.ts";
import { clearCity } from "./clear-city.ts";
import { lockBikes } from "./command-queries.ts";
import { lockStations } from "./station-queries.ts";

const waiting = statement(
  "",
  "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
);
const bikes = statement("", "select id from bikes where system_id = $1");

let harness: FleetHarness;
beforeAll(async () => {
  harness = await openFleetHarness();
});
afterAll(() => harness.close());

test.each(["bikes", "stations"] as const)(
  "a city is cleared while a command locks its %s one after the other: neither has to begin again",
  async (kind) => {
    const { db, systemId } = harness;
    // The rows lie in the table in another order than that of their ids.
    for (const id of ["b", "a"]) await harness.stations(stationItem(id));
    for (const id of ["b", "a"]) await harness.bikes({ id, station_id: "a" });
    const lock = kind === "bikes" ? lockBikes : lockStations;
    const begun = { command: 0, clear: 0 };
    let cleared: Promise<unknown> = Promise.resolve();
    await db.transaction(async (tx) => {
      begun.command++;
      await lock(tx, systemId, ["a"]);
      cleared = db
        .transaction(async (other) => {
          begun.clear++;
          await clearCity(harness.live, other, systemId);
        })
        .catch((error: unknown) => error);
      await until(async () => (await db.query(waiting)).length > 0);
      await lock(tx, systemId, ["b"]);
    });
    expect(await cleared).toBeUndefined();
    expect(begun).toEqual({ command: 1, clear: 1 });
    expect(await db.query(bikes, [systemId])).toEqual([]);
  },
);
