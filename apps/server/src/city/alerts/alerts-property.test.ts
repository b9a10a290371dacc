import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { runCommand } from "../fleet/command.ts";
import { applyAlerts } from "./alert-changes.ts";
import { endOverdueAlerts, overdueAlerts } from "./service.ts";

let harness: FleetHarness;
beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A"), stationItem("B"));
});
afterAll(() => harness.close());

const station = fc.constantFrom("A", "B");
const alertId = fc.constantFrom("one", "two");
/** Minutes from now until an alert ends. */
const end = fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined });

const command = fc.oneof(
  fc.record({ do: fc.constant("offline" as const), station, summary: fc.constantFrom(undefined, "Closed", "Moved") }),
  fc.record({ do: fc.constant("online" as const), station }),
  fc.record({ do: fc.constant("open" as const), id: alertId, end }),
  // Closures with an end let the clock end some of them.
  fc.record({ do: fc.constant("limit closure" as const), station, end: fc.integer({ min: 1, max: 10 }) }),
  fc.record({ do: fc.constant("end" as const), id: alertId }),
  fc.record({ do: fc.constant("feed" as const), ids: fc.uniqueArray(fc.constantFrom("one", "f1", "f2")) }),
  fc.record({ do: fc.constant("sweep" as const) }),
);
type Command = typeof command extends fc.Arbitrary<infer One> ? One : never;

/** Concurrent commands, and the minutes that pass before them. */
const round = fc.record({ minutes: fc.nat(6), commands: fc.array(command, { minLength: 1, maxLength: 5 }) });

const closures = statement(
  "test.closures",
  "select id, closes_station from rider_alerts where system_id = $1 and ended_at is null and closes_station is not null",
);
const alertEvents = statement(
  "test.alertEvents",
  `select name, data::json ->> 'id' as id from event_outbox
   where system_id = $1 and name like 'alert.%' order by event_outbox.id`,
);
const openRows = statement(
  "test.openAlerts",
  "select id from rider_alerts where system_id = $1 and ended_at is null order by id",
);

async function obey(one: Command): Promise<unknown> {
  const { live, systemId, db } = harness;
  const timesTo = (minutes: number) => [{ end: new Date(harness.clock() + minutes * 60_000).toISOString() }];
  switch (one.do) {
    case "offline":
      return harness.offline({ id: one.station, ...(one.summary !== undefined && { summary: one.summary }) });
    case "online":
      return harness.online({ id: one.station });
    case "open": {
      const times = one.end === undefined ? [] : timesTo(one.end);
      return harness.alerts({ id: one.id, type: "other", summary: "Works", times });
    }
    case "limit closure": {
      const open = await db.query<{ id: string; closes_station: string }>(closures, [systemId]);
      const id = open.find((each) => each.closes_station === one.station)?.id;
      return id === undefined ? undefined : harness.alerts({ id, times: timesTo(one.end) });
    }
    case "end":
      return harness.endAlerts({ id: one.id });
    case "feed":
      return runCommand(live, systemId, (inside) =>
        applyAlerts(
          inside,
          "feed",
          one.ids.map((id) => ({ alert_id: id, type: "other", summary: [{ text: "Ice", language: "en" }] })),
        ),
      );
    case "sweep":
      return endOverdueAlerts(live, systemId, await overdueAlerts(live, systemId, 100, []));
  }
}

it("whatever is commanded at once: a station has one open closure at most, and each alert's events alternate", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 2, maxLength: 8 }), async (plan) => {
      for (const { minutes, commands } of plan) {
        harness.clock.advance(minutes * 60_000);
        await Promise.all(commands.map((one) => obey(one)));
        const open = await harness.db.query<{ closes_station: string }>(closures, [harness.systemId]);
        expect(new Set(open.map((each) => each.closes_station)).size).toBe(open.length);
      }
      await harness.expectSound();
      await expectAlternating();
    }),
    { numRuns: randomRuns(10) },
  );
});

/**
 * Expects each alert's events to alternate between opened and ended, and an alert to be open if the last one is opened.
 */
async function expectAlternating(): Promise<void> {
  const { db, systemId } = harness;
  const events = await db.query<{ id: string; name: string }>(alertEvents, [systemId]);
  const open = new Set<string>();
  for (const { id, name } of events) {
    expect(open.has(id), `${name} of ${id}`).toBe(name === "alert.ended");
    if (name === "alert.opened") open.add(id);
    else open.delete(id);
  }
  const rows = await db.query<{ id: string }>(openRows, [systemId]);
  expect([...open].sort()).toEqual(rows.map(({ id }) => id));
}
