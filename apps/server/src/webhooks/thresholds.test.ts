import type { Threshold } from "@bikeshare/contract";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type EndpointsHarness, openEndpointsHarness } from "../../test/webhooks/endpoints.harness.ts";
import { upsertBikes } from "../city/fleet/bike-commands.ts";
import { endRides } from "../city/fleet/finish-rides.ts";
import { startRides } from "../city/fleet/start-rides.ts";
import { bringStationsOnline, takeStationsOffline, upsertStations } from "../city/fleet/station-commands.ts";
import { removePartner, resumePartner, suspendPartner } from "../partners/suspend-or-remove.ts";
import { previewEndpoint } from "./endpoints/endpoint-preview.ts";
import { removeEndpoint } from "./endpoints/endpoint-removal.ts";
import { addEndpoint, pauseEndpoint, resumeEndpoint, setEndpoint } from "./endpoints/endpoint-settings.ts";
import { showEndpoint } from "./endpoints/endpoint-view.ts";
import { compareAllStations, compareStations, hasUncompared } from "./thresholds.ts";

let harness: EndpointsHarness;
beforeEach(async () => {
  harness = await openEndpointsHarness();
});
afterEach(() => harness.close());

const url = "https://partner.example/hooks";
const EVENTS = ["station.below_threshold", "station.back_to_normal"] as const;
const MINUTE = 60_000;
/** Just over SETTLE_MS: a comparison judges stations as they were so long ago, when all earlier commands have committed. */
const SETTLED = 2_001;

/** Uses the harness's clock as the database's clock. */
const context = () => ({ ...harness, databaseNow: () => Promise.resolve(new Date(harness.clock())) });
const compare = () => compareAllStations(context(), harness.systemId);
const pass = (ms: number) => harness.clock.advance(ms);

function below(fewer_than: number, for_minutes: number, more: Partial<Threshold> = {}): Threshold {
  return { count: "docks", fewer_than, for_minutes, station_ids: [], region_ids: [], ...more };
}

async function docks(id: string, num_docks_available: number | null): Promise<void> {
  const item = { id, name: id, lat: 1, lon: 1, num_docks_available };
  const done = await upsertStations(harness, harness.systemId, [{ item }]);
  expect(done.results[0]?.error).toBeNull();
}
const offline = (id: string) => takeStationsOffline(harness, harness.systemId, [{ item: { id } }]);
const online = (id: string) => bringStationsOnline(harness, harness.systemId, [{ item: { id } }]);

async function watch(thresholds: readonly Threshold[], partnerId = harness.partnerId, name = "Alarms") {
  const made = await addEndpoint(harness, {
    ...{ systemId: harness.systemId, partnerId, name, url },
    ...{ events: EVENTS, thresholds },
  });
  await compare();
  return { systemId: harness.systemId, partnerId, endpointRef: made.endpoint.id };
}

interface Told {
  readonly name: string;
  readonly at: number;
  readonly station: string;
  readonly fewer: number;
}

/** Returns the recorded events in the order of their time. */
async function told(): Promise<Told[]> {
  const rows = await harness.rows<{ name: string; occurred_at: Date; data: string }>(
    "select name, occurred_at, data from event_outbox where system_id = $1 and name = any($2) order by occurred_at, id",
    EVENTS,
  );
  return rows.map(({ name, occurred_at, data }) => {
    const read = JSON.parse(data) as { id: string; threshold: { fewer_than: number } };
    return { name, at: occurred_at.getTime(), station: read.id, fewer: read.threshold.fewer_than };
  });
}
const names = async () => (await told()).map(({ name }) => name.slice("station.".length));

interface Segment {
  readonly at: number;
  readonly docks: number | null;
  readonly isOnline: boolean;
}

/** Returns the events that follow from the stored changes of a station, found segment by segment. */
async function toldByHistory(station: string, { fewer_than, for_minutes }: Threshold, since: number): Promise<Told[]> {
  const stored = await harness.rows<{ at: Date; docks: number | null; flags: number }>(
    "select at, docks, flags from station_changes where system_id = $1 and station_id = $2 order by at",
    station,
  );
  const all = stored.map(({ at, flags, ...row }): Segment => {
    return { at: at.getTime(), docks: row.docks, isOnline: ((flags >> 3) & 7) === 2 };
  });
  const first = all.findLastIndex(({ at }) => at <= since);
  const segments = all.slice(Math.max(0, first)).map((segment) => ({ ...segment, at: Math.max(segment.at, since) }));
  const is = (segment: Segment | undefined, low: boolean) =>
    segment?.isOnline === true && segment.docks !== null && segment.docks < fewer_than === low;
  const found: Told[] = [];
  const tell = (name: string, at: number) => found.push({ name: `station.${name}`, at, station, fewer: fewer_than });
  let isTold = false;
  for (const [index, segment] of segments.entries()) {
    if (isTold && is(segment, false)) {
      tell("back_to_normal", segment.at);
      isTold = false;
    }
    const begins = is(segment, true) && !is(segments[index - 1], true);
    if (isTold || !begins) continue;
    const end = segments.slice(index).find((later) => !is(later, true))?.at ?? harness.clock() - SETTLED + 1;
    const due = segment.at + for_minutes * MINUTE;
    if (due > end) continue;
    tell("below_threshold", due);
    isTold = true;
  }
  return found;
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 9 * MINUTE }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("docks" as const),
      station: fc.constantFrom("a", "b"),
      n: fc.constantFrom(0, 0, 1, 2, 5, null),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("offline", "online"), station: fc.constantFrom("a", "b") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("compare" as const) }) },
);

it("whatever happens at stations, and whenever they are compared, what is told is what the history says afterwards", async () => {
  let run = 0;
  let all = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      for (const table of [
        "station_changes",
        "stations",
        "event_outbox",
        "webhook_threshold_stations",
        "webhook_threshold_states",
      ])
        await harness.rows(`delete from ${table} where system_id = $1`);
      await harness.rows("delete from rider_alerts where system_id = $1");
      await docks("a", 5);
      await docks("b", 5);
      pass(1_000);
      const wanted = [below(1, 10), below(3, 1), below(2, 30, { station_ids: ["a"] })];
      const scope = await watch(wanted, harness.partnerId, `Run ${run++}`);
      const since = harness.clock();
      for (const each of steps) {
        if (each.do === "pass") pass(each.ms);
        else if (each.do === "compare") await compare();
        else if (each.do === "docks") await docks(each.station, each.n);
        else if (each.do === "offline") await offline(each.station);
        else await online(each.station);
        // No two changes get the same time, because the history would keep only the later one.
        pass(1);
      }
      pass(SETTLED);
      await compare();
      const expected: Told[] = [];
      for (const station of ["a", "b"])
        for (const threshold of wanted)
          if (threshold.station_ids.length === 0 || threshold.station_ids.includes(station))
            expected.push(...(await toldByHistory(station, threshold, since)));
      const order = (one: Told, other: Told) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
      expect((await told()).toSorted(order)).toEqual(expected.toSorted(order));
      const preview = await previewEndpoint({ db: harness.db, clock: () => harness.clock() - SETTLED + 1 }, scope, {
        events: EVENTS,
        places: null,
        // A threshold that is listed twice counts once, as when it is stored.
        thresholds: [...wanted, ...wanted.slice(0, 1)],
      });
      expect(preview.deliveries).toBe(expected.length);
      all += expected.length;
      await removeEndpoint(harness, scope);
    }),
    { numRuns: randomRuns(6) },
  );
  expect(all).toBeGreaterThan(15);
});

it("an event has the station as it was and the threshold, and goes to the endpoint that asked alone", async () => {
  await docks("a", 5);
  const other = await harness.partner("Other");
  await setEndpoint(harness, { systemId: harness.systemId, partnerId: other, url, events: ["station.*"] });
  await addEndpoint(harness, {
    systemId: harness.systemId,
    partnerId: harness.partnerId,
    name: "All",
    url,
    events: ["station.*"],
  });
  const { endpointRef } = await watch([below(2, 10, { station_ids: ["a"] })]);
  const since = harness.clock();
  pass(1_000);
  await docks("a", 1);
  pass(10 * MINUTE + 500);
  await docks("a", 7);
  await compare();
  expect(await names()).toEqual(["below_threshold", "back_to_normal"]);
  const sent = await harness.rows<{ endpoint_id: string; resource_id: string }>(
    "select endpoint_id, resource_id from webhook_deliveries where system_id = $1",
  );
  expect(sent).toEqual([
    { endpoint_id: endpointRef, resource_id: "a" },
    { endpoint_id: endpointRef, resource_id: "a" },
  ]);
  const bodies = await harness.rows<{ data: string; partner_id: string }>(
    "select data, partner_id from event_outbox where system_id = $1 order by occurred_at",
  );
  const belowSince = new Date(since + 1_000).toISOString();
  expect(bodies.map(({ partner_id }) => partner_id)).toEqual([harness.partnerId, harness.partnerId]);
  expect(bodies.map(({ data }) => JSON.parse(data) as object)).toMatchObject([
    {
      id: "a",
      num_docks_available: 1,
      threshold: { count: "docks", fewer_than: 2, for_minutes: 10, below_since: belowSince },
    },
    { id: "a", num_docks_available: 7, threshold: { below_since: belowSince } },
  ]);
  expect(JSON.parse(bodies[0]?.data ?? "")).not.toHaveProperty("as_of");
});

it("bikes are counted as rides take and bring them", async () => {
  await docks("a", null);
  await docks("b", null);
  await upsertBikes(harness, harness.systemId, [{ item: { id: "1", station_id: "a", vehicle_type_id: "bike" } }]);
  await watch([below(1, 5, { count: "bikes", station_ids: ["a"] })]);
  pass(1_000);
  await startRides(harness, harness.systemId, [{ item: { id: "r", bike_id: "1" } }]);
  pass(5 * MINUTE + SETTLED);
  await compare();
  expect(await names()).toEqual(["below_threshold"]);
  await endRides(harness, harness.systemId, [{ item: { id: "r", end_station_id: "a" } }]);
  await compare();
  expect(await names()).toEqual(["below_threshold", "back_to_normal"]);
});

it("however many processes compare at once, and fail in the middle, each event is recorded once", async () => {
  for (const id of ["a", "b", "c", "d"]) await docks(id, 5);
  await watch([below(2, 1), below(1, 1)]);
  for (let round = 0; round < 4; round++) {
    pass(1_000);
    for (const id of ["a", "b", "c", "d"]) await docks(id, round % 2 === 0 ? 0 : 5);
    pass(MINUTE + SETTLED);
    const failing = {
      ...context(),
      ids: {
        ...harness.ids,
        next: () => {
          throw new Error("killed");
        },
      },
    };
    await expect(compareStations(failing, harness.systemId, 10)).rejects.toThrow("killed");
    await Promise.all(Array.from({ length: 6 }, compare));
    await compare();
  }
  const counts = Map.groupBy(await told(), ({ name, station, fewer }) => `${name} ${station} ${fewer}`);
  expect([...counts.values()].map(({ length }) => length)).toEqual(Array.from({ length: 16 }, () => 2));
});

it("clocks that jump tell nothing twice, and nothing too early", async () => {
  await docks("a", 5);
  await watch([below(1, 10)]);
  pass(1_000);
  await docks("a", 0);
  await compare();
  const before = harness.clock();
  const at = (ms: number) => ({ ...context(), databaseNow: () => Promise.resolve(new Date(before + ms)) });
  await compareAllStations(at(-3_600_000), harness.systemId);
  expect(await names()).toEqual([]);
  await compareAllStations(at(10 * MINUTE + SETTLED), harness.systemId);
  await compareAllStations(at(-3_600_000), harness.systemId);
  await compareAllStations(at(10 * MINUTE + SETTLED), harness.systemId);
  expect(await names()).toEqual(["below_threshold"]);
});

it("a threshold that is set on a low station counts from then, and one that is changed or taken back begins anew", async () => {
  await docks("a", 0);
  pass(60 * MINUTE);
  const scope = await watch([below(1, 10)]);
  pass(9 * MINUTE);
  await compare();
  expect(await names()).toEqual([]);
  // Sets the same threshold again, beside another one. Its time goes on.
  await setEndpoint(harness, { ...scope, thresholds: [below(3, 60), below(1, 10)] });
  await compare();
  pass(MINUTE + SETTLED);
  await compare();
  expect(await names()).toEqual(["below_threshold"]);
  await setEndpoint(harness, { ...scope, thresholds: [below(1, 20)] });
  await docks("a", 5);
  await compare();
  expect(await names()).toEqual(["below_threshold"]);
  await setEndpoint(harness, { ...scope, thresholds: [] });
  await compare();
  for (const table of ["webhook_thresholds", "webhook_threshold_states", "webhook_threshold_stations"])
    expect(await harness.rows(`select 1 from ${table} where system_id = $1`)).toEqual([]);
});

it("while a partner is suspended nothing is told of it, afterwards either; a paused endpoint's events are held", async () => {
  await docks("a", 5);
  const scope = await watch([below(1, 10)]);
  await pauseEndpoint(harness, { ...scope, reason: "partner" });
  pass(1_000);
  await docks("a", 0);
  pass(10 * MINUTE + SETTLED);
  await compare();
  const statuses = "select status from webhook_deliveries where system_id = $1";
  expect(await harness.rows(statuses)).toEqual([{ status: "held" }]);
  await resumeEndpoint(harness, scope);
  await suspendPartner(harness, harness.systemId, scope.partnerId);
  await compare();
  await docks("a", 5);
  pass(MINUTE);
  await docks("a", 0);
  pass(60 * MINUTE);
  await compare();
  await resumePartner(harness, harness.systemId, scope.partnerId);
  await compare();
  pass(9 * MINUTE);
  await compare();
  expect(await names()).toEqual(["below_threshold"]);
  pass(MINUTE + SETTLED);
  await compare();
  expect(await names()).toEqual(["below_threshold", "below_threshold"]);
});

it("a threshold that a process of an earlier version left of a removed endpoint is watched no more", async () => {
  await docks("a", 5);
  await watch([below(1, 10)]);
  await docks("a", 0);
  await compare();
  const removed =
    "update webhook_endpoints set status = 'paused', pause_reason = 'removed', paused_at = now(), events = '{}'";
  await harness.rows(`${removed} where system_id = $1`);
  pass(10 * MINUTE + SETTLED);
  await compare();
  expect(await names()).toEqual([]);
  expect(await harness.rows("select station_id from webhook_threshold_states where system_id = $1")).toEqual([]);
});

it("stations that are removed, come later or change their region are forgotten, and found", async () => {
  await harness.rows("insert into regions (system_id, id, name) values ($1, 'north', 'North')");
  await docks("a", 0);
  await docks("b", 0);
  await watch([below(1, 10, { region_ids: ["north"] })]);
  await compare();
  const watched = () => harness.rows("select station_id from webhook_threshold_states where system_id = $1 order by 1");
  expect(await watched()).toEqual([]);
  await harness.rows("update stations set region_id = 'north' where system_id = $1");
  await compare();
  expect(await watched()).toEqual([{ station_id: "a" }, { station_id: "b" }]);
  await harness.rows("update stations set region_id = null where system_id = $1 and id = 'a'");
  await harness.rows("delete from station_changes where system_id = $1 and station_id = 'b'");
  await harness.rows("delete from stations where system_id = $1 and id = 'b'");
  await compare();
  expect(await watched()).toEqual([]);
  expect(await hasUncompared(context(), harness.systemId)).toBe(false);
  expect(await harness.rows("select station_id from webhook_threshold_stations where system_id = $1")).toEqual([
    { station_id: "a" },
  ]);
});

it("a feed's next report is waited for, because it may say that the station had enough in time", async () => {
  await docks("a", 5);
  await watch([below(1, 10)]);
  pass(1_000);
  await docks("a", 0);
  await harness.rows("update stations set source = 'feed', counters = 'mirrored' where system_id = $1");
  const reported = (at: number) =>
    harness.rows(
      `insert into gbfs_sources (system_id, source, status_at) values ($1, 'feed', $2)
       on conflict (system_id, source) do update set status_at = excluded.status_at`,
      new Date(at),
    );
  await reported(harness.clock() + 10 * MINUTE - 20_000);
  pass(10 * MINUTE + SETTLED);
  await compare();
  expect(await names()).toEqual([]);
  expect(await hasUncompared(context(), harness.systemId)).toBe(false);
  await reported(harness.clock());
  pass(SETTLED);
  await compare();
  expect(await names()).toEqual(["below_threshold"]);
});

it("thresholds are few, of known stations and not too many, and need one of their events", async () => {
  await docks("a", 5);
  const scope = await watch([below(1, 10)]);
  const set = (thresholds: readonly Threshold[]) => setEndpoint(harness, { ...scope, thresholds });
  await expect(set(Array.from({ length: 21 }, (_, n) => below(n + 1, 5)))).rejects.toThrow(/at most 20 thresholds/);
  await expect(set([below(1, 5, { station_ids: ["nowhere"] })])).rejects.toThrow('There is no station "nowhere".');
  await expect(set([below(1, 5, { region_ids: ["east"] })])).rejects.toThrow('There is no region "east".');
  await expect(setEndpoint(harness, { ...scope, events: ["ride.*"] })).rejects.toThrow(
    /Choose the events station.below/,
  );
  await harness.rows(
    `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, updated_at, source, counters)
     select $1, 's' || n, 's', 1, 1, true, true, true, 'online', now(), 'operator', 'operated' from generate_series(1, 2500) as n`,
  );
  await expect(set([below(1, 5), below(1, 6)])).rejects.toThrow(/watch 5002 stations in all; at most 5000/);
  expect(await set([below(4, 5), below(4, 5)])).toMatchObject({ outcome: "changed" });
  expect(await set([below(4, 5)])).toMatchObject({ outcome: "unchanged" });
  expect((await showEndpoint(harness, scope)).thresholds).toEqual([below(4, 5)]);
  await expect(
    setEndpoint(harness, {
      ...scope,
      thresholds: [],
      seen: { url, events: EVENTS, email: null, signature: "service", thresholds: [below(9, 9)] },
    }),
  ).rejects.toThrow(/changed/i);
  await removePartner(harness, harness.systemId, scope.partnerId);
  expect(await harness.rows("select id from webhook_thresholds where system_id = $1")).toEqual([]);
});
