import { alert, MAX_BATCH } from "@bikeshare/contract";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type FleetHarness,
  type Item,
  openFleetHarness,
  outcomes,
  stationItem,
} from "../../../test/fleet/fleet.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { describe as describeFacts } from "../descriptions/service.ts";
import { runCommand } from "../fleet/command.ts";
import { applyAlerts } from "./alert-changes.ts";
import { type AlertRecord, MAX_SOURCE_ALERTS, MIN_OPEN_MS } from "./alert.rules.ts";
import {
  endOverdueAlerts,
  getAlert,
  listPartnersAlerts,
  openAlerts,
  overdueAlerts,
  startPastAlertsSweeper,
} from "./service.ts";

let harness: FleetHarness;
let id: string;
let made = 0;

beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A"), stationItem("B"), stationItem("C"));
});
afterAll(() => harness.close());
beforeEach(() => {
  id = `alert-${++made}`;
});

const HOUR = 3_600_000;
const at = (ms: number) => new Date(harness.clock() + ms).toISOString();
const now = () => new Date(harness.clock());
const item = (fields: Item = {}): Item => ({ id, type: "other", summary: "Works at the river", ...fields });
const shown = async (which = id) => getAlert(harness.db, harness.systemId, which, now());
const events = async (which = id) =>
  (await harness.events()).filter((event) => event.endsWith(` ${which}`)).map((event) => event.split(" ")[0]);
const openIds = async () => {
  const page = await listPartnersAlerts(harness.db, harness.systemId, now(), { kind: "first", limit: 200 });
  return (JSON.parse(`[${page.items}]`) as { id: string }[]).map((each) => each.id);
};
const sweep = async () => {
  const overdue = await overdueAlerts(harness.live, harness.systemId, 100, []);
  return endOverdueAlerts(harness.live, harness.systemId, overdue);
};
const apply = (source: string, records: readonly AlertRecord[]) =>
  runCommand(harness.live, harness.systemId, (command) => applyAlerts(command, source, records));
const message = async (given: Item) => (await harness.alerts(given)).results[0]?.error?.message;

describe("alerts of the operator", () => {
  test("open once and end once, with one event each, however often the operator repeats it", async () => {
    expect(outcomes(await harness.alerts(item(), item()))).toEqual(["created", "unchanged"]);
    expect(outcomes(await harness.alerts(item()))).toEqual(["unchanged"]);
    expect(outcomes(await harness.alerts({ id, description: "Until May" }))).toEqual(["updated"]);
    expect(alert.parse(await shown())).toMatchObject({ summary: "Works at the river", description: "Until May" });
    harness.clock.advance(HOUR);
    expect(outcomes(await harness.endAlerts({ id }, { id }))).toEqual(["updated", "unchanged"]);
    expect(outcomes(await harness.endAlerts({ id }))).toEqual(["unchanged"]);
    expect(await shown()).toMatchObject({ ended_at: at(0) });
    expect(await openIds()).not.toContain(id);
    expect(await events()).toEqual(["alert.opened", "alert.ended"]);
  });

  test("open again after their end, without their earlier content", async () => {
    await harness.alerts(item({ description: "Old" }));
    await harness.endAlerts({ id });
    expect(await message({ id })).toBe("type and summary must be given: the alert is new.");
    expect(outcomes(await harness.alerts(item()))).toEqual(["created"]);
    expect(await shown()).toMatchObject({ description: null, ended_at: null });
    expect(await events()).toEqual(["alert.opened", "alert.ended", "alert.opened"]);
  });

  test("are open before their times begin, and end with the last of them for every reader at once", async () => {
    const times = [
      { start: at(HOUR), end: at(2 * HOUR) },
      { start: at(5 * HOUR), end: at(6 * HOUR) },
    ];
    await harness.alerts(item({ times }));
    expect(await events()).toEqual(["alert.opened"]);
    const end = at(6 * HOUR);
    harness.clock.advance(6 * HOUR - 1);
    expect(await openIds()).toContain(id);
    harness.clock.advance(1);
    expect(await openIds()).not.toContain(id);
    expect(await shown()).toMatchObject({ ended_at: end, updated_at: end });
    const before = await shown();
    expect(await sweep()).toBe(1);
    expect(await sweep()).toBe(0);
    expect(await shown()).toEqual(before);
    expect(await events()).toEqual(["alert.opened", "alert.ended"]);
    await harness.expectSound();
  });

  test("without an end of their last time last until somebody ends them", async () => {
    await harness.alerts(item({ times: [{ end: at(HOUR) }, { start: at(2 * HOUR) }] }));
    harness.clock.advance(100 * HOUR);
    expect(await sweep()).toBe(0);
    expect(await openIds()).toContain(id);
  });

  test("open again after the clock has ended them, with both events", async () => {
    await harness.alerts(item({ times: [{ end: at(HOUR) }] }));
    harness.clock.advance(2 * HOUR);
    expect(outcomes(await harness.alerts(item({ times: [{ end: at(HOUR) }] })))).toEqual(["created"]);
    expect(await events()).toEqual(["alert.opened", "alert.ended", "alert.opened"]);
    await harness.expectSound();
  });

  test.each<[string, Item, RegExp]>([
    [
      "an unknown station",
      { station_ids: ["A", "nowhere"] },
      /^station_ids names stations that there are not: nowhere\./,
    ],
    ["an unknown region", { region_ids: ["moon"] }, /^region_ids names regions that there are not: moon\./],
    [
      "an end before its start",
      { times: [{ start: "2026-01-02T00:00:00Z", end: "2026-01-01T00:00:00Z" }] },
      /^times\.0\.end must not be before start\.$/,
    ],
    ["times that are over", { times: [{ end: "2020-01-01T00:00:00Z" }] }, /^times are all over\./],
    [
      "an unknown type",
      { type: "party" },
      /^type must be one of system_closure, station_closure, station_move, other\.$/,
    ],
    ["a summary that is too long", { summary: "x".repeat(256) }, /^summary must have at most 255 characters\.$/],
    [
      "a summary in one language twice",
      { summary: ["a", "b"].map((text) => ({ text, language: "nb" })) },
      /^summary must have each language once\.$/,
    ],
    [
      "a summary in no language",
      { summary: [{ text: "a", language: "Norwegian" }] },
      /^summary\.0\.language must be a language such as nb/,
    ],
    [
      "a summary that is no text",
      { summary: 7 },
      /^summary must be a string, or an array of objects with text and language\.$/,
    ],
    ["an address that is none", { url: "javascript:alert(1)" }, /^url must be a web address/],
    ["an unknown field", { colour: "red" }, /unknown field colour/],
    ["no summary", { summary: undefined }, /^type and summary must be given/],
  ])("with %s are refused, with the field and what to do, and nothing is stored", async (_what, fields, expected) => {
    const results = await harness.alerts(
      { ...item(), ...fields },
      { id: `${id}-good`, type: "other", summary: "Good" },
    );
    expect(results.results[0]?.error?.message).toMatch(expected);
    expect(outcomes(results)).toEqual(["invalid_parameter", "created"]);
    expect(await shown()).toBeUndefined();
  });

  test("show partners the system's language where they have it, and keep every other", async () => {
    const summary = [
      { text: "Arbeid ved elva", language: "nb" },
      { text: "Works at the river", language: "en-GB" },
    ];
    await harness.alerts(item({ summary }));
    expect(await shown()).toMatchObject({ summary: "Works at the river" });
    const [published] = (await openAlerts(harness.db, harness.systemId, now())).filter((each) => each.alert_id === id);
    expect(published).toMatchObject({ type: "other", summary });
  });

  test("open once when many requests open them at once", async () => {
    const results = await Promise.all(Array.from({ length: 6 }, () => harness.alerts(item())));
    expect(results.flatMap(outcomes).sort()).toEqual(["created", ...Array<string>(5).fill("unchanged")]);
    expect(await events()).toEqual(["alert.opened"]);
  });

  test("end once, when the clock and the operator end them at once", async () => {
    await harness.alerts(item({ times: [{ end: at(HOUR) }] }));
    harness.clock.advance(HOUR);
    await Promise.all([sweep(), harness.endAlerts({ id }), sweep(), harness.endAlerts({ id })]);
    await sweep();
    expect(await events()).toEqual(["alert.opened", "alert.ended"]);
    await harness.expectSound();
  });

  test("may name existing regions only", async () => {
    await describeFacts({ ...harness.live, actor: "cli:test" }, harness.systemId, "region", "north", { name: "North" });
    expect(outcomes(await harness.alerts(item({ region_ids: ["north"] })))).toEqual(["created"]);
  });

  test("fit a whole batch into one call", async () => {
    const items = Array.from({ length: MAX_BATCH }, (_, n) => ({
      id: `${id}-${n}`,
      type: "other",
      summary: `No. ${n}`,
    }));
    expect(new Set(outcomes(await harness.alerts(...items)))).toEqual(new Set(["created"]));
    expect(new Set(outcomes(await harness.endAlerts(...items.map((each) => ({ id: each.id })))))).toEqual(
      new Set(["updated"]),
    );
  });

  test("are deleted 90 days after their end, and not earlier", async () => {
    await harness.alerts(item());
    harness.clock.advance(HOUR);
    await harness.endAlerts({ id });
    const sweeper = startPastAlertsSweeper({
      ...harness.live,
      systems: () => Promise.resolve([harness.systemId]),
      onError: (error) => expect.unreachable(String(error)),
    });
    harness.clock.advance(90 * 24 * HOUR);
    await sweeper.runOnce();
    expect(await shown()).toBeDefined();
    harness.clock.advance(1);
    await sweeper.runOnce();
    expect(await shown()).toBeUndefined();
    await sweeper.close();
  });
});

describe("a station that is taken offline with a summary", () => {
  let station: string;
  const closure = async () => {
    const rows = await harness.db.query<{ id: string; is_open: boolean }>(
      statement(
        "",
        "select id, ended_at is null as is_open from rider_alerts where system_id = $1 and closes_station = $2 order by id",
      ),
      [harness.systemId, station],
    );
    return rows;
  };
  beforeEach(async () => {
    station = `station-${made}`;
    await harness.stations(stationItem(station));
  });

  test("has one alert, whose summary follows, until it is back", async () => {
    expect(outcomes(await harness.offline({ id: station, summary: "Closed" }, { id: station }))).toEqual([
      "updated",
      "unchanged",
    ]);
    expect(outcomes(await harness.offline({ id: station, summary: "Closed" }))).toEqual(["unchanged"]);
    expect(outcomes(await harness.offline({ id: station, summary: "Closed until May" }))).toEqual(["updated"]);
    const [opened] = await closure();
    expect(await shown(opened?.id)).toMatchObject({
      type: "station_closure",
      summary: "Closed until May",
      station_ids: [station],
    });
    expect(outcomes(await harness.online({ id: station }))).toEqual(["updated"]);
    expect(await closure()).toEqual([{ id: opened?.id, is_open: false }]);
    expect(await events(opened?.id)).toEqual(["alert.opened", "alert.ended"]);
    await harness.expectSound();
  });

  test("has no alert without a summary, and gets one when the operator adds a summary", async () => {
    await harness.offline({ id: station });
    expect(await closure()).toEqual([]);
    expect(outcomes(await harness.offline({ id: station, summary: "Closed" }))).toEqual(["updated"]);
    expect(await closure()).toHaveLength(1);
  });

  test("loses its alert, and alerts about no other station, when it is removed", async () => {
    await harness.offline({ id: station, summary: "Closed" });
    await harness.alerts(item({ station_ids: [station] }), {
      ...item({ station_ids: [station, "A"] }),
      id: `${id}-both`,
    });
    await harness.remove({ id: station });
    expect((await closure()).map((each) => each.is_open)).toEqual([false]);
    expect(await events()).toEqual(["alert.opened", "alert.ended"]);
    expect(await openIds()).toContain(`${id}-both`);
    expect(outcomes(await harness.offline({ id: station, summary: "Closed" }))).toEqual(["not_found"]);
    expect(await message(item({ station_ids: [station] }))).toMatch(/station_ids names stations/);
    await harness.expectSound();
  });

  test("gets a new alert after the clock has ended the previous one", async () => {
    await harness.offline({ id: station, summary: "Closed" });
    const [first] = await closure();
    await harness.alerts({ id: first?.id, times: [{ end: at(HOUR) }] });
    harness.clock.advance(HOUR);
    await harness.offline({ id: station, summary: "Still closed" });
    expect((await closure()).map((each) => each.is_open)).toEqual([false, true]);
    await harness.expectSound();
  });

  test("may be reopened while its alert was ended by hand", async () => {
    await harness.offline({ id: station, summary: "Closed" });
    const [first] = await closure();
    await harness.endAlerts({ id: first?.id });
    expect(outcomes(await harness.online({ id: station }))).toEqual(["updated"]);
    expect(await events(first?.id)).toEqual(["alert.opened", "alert.ended"]);
  });
});

describe("alerts of a feed", () => {
  const record = (alertId: string, fields: AlertRecord = {}): AlertRecord => ({
    alert_id: alertId,
    type: "station_closure",
    summary: [{ text: "Closed", language: "en" }],
    station_ids: ["A"],
    ...fields,
  });

  test("open when they appear, and end when they are gone", async () => {
    expect(await apply("feed", [record(id), record(`${id}-2`)])).toEqual({
      opened: 2,
      changed: 0,
      ended: 0,
      ignored: 0,
    });
    expect(await apply("feed", [record(id), record(`${id}-2`)])).toEqual({
      opened: 0,
      changed: 0,
      ended: 0,
      ignored: 0,
    });
    harness.clock.advance(MIN_OPEN_MS);
    const changed = record(id, { description: [{ text: "Until May", language: "en" }] });
    expect(await apply("feed", [changed])).toEqual({ opened: 0, changed: 1, ended: 1, ignored: 0 });
    expect(await events()).toEqual(["alert.opened"]);
    expect(await events(`${id}-2`)).toEqual(["alert.opened", "alert.ended"]);
    await apply("feed", []);
    await apply("feed", [record(id)]);
    expect(await events()).toEqual(["alert.opened", "alert.ended", "alert.opened"]);
    await apply("feed", []);
  });

  test("stay open for ten minutes, so that one that comes and goes is told a few times an hour at most", async () => {
    const minutes = 60;
    for (let minute = 0; minute < minutes; minute++) {
      await apply("feed", minute % 2 === 0 ? [record(id)] : []);
      await sweep();
      harness.clock.advance(60_000);
    }
    expect((await events()).length).toBeLessThanOrEqual((2 * minutes * 60_000) / MIN_OPEN_MS);
    expect(await openIds()).toContain(id);
    harness.clock.advance(MIN_OPEN_MS);
    await sweep();
    expect((await shown())?.ended_at).not.toBeNull();
    expect((await events()).at(-1)).toBe("alert.ended");
  });

  test("that come back before they have ended say nothing, and end when they are gone for good", async () => {
    await apply("feed", [record(id)]);
    const opened = await shown();
    await apply("feed", []);
    expect(await apply("feed", [record(id)])).toEqual({ opened: 0, changed: 0, ended: 0, ignored: 0 });
    harness.clock.advance(MIN_OPEN_MS);
    expect(await sweep()).toBe(0);
    expect(await shown()).toEqual(opened);
    expect(await apply("feed", [])).toMatchObject({ ended: 1 });
    expect(await events()).toEqual(["alert.opened", "alert.ended"]);
  });

  test("change by their feed only, and cannot take the id of an open alert", async () => {
    await harness.alerts(item());
    await apply("feed", [record(`${id}-f`)]);
    expect(outcomes(await harness.endAlerts({ id: `${id}-f` }))).toEqual(["invalid_parameter"]);
    expect(await message({ ...item(), id: `${id}-f` })).toMatch(/is of the source feed/);
    expect(await apply("other", [record(id), record(`${id}-f`), record(`${id}-o`)])).toMatchObject({
      opened: 1,
      ignored: 2,
    });
    await apply("other", []);
    await apply("feed", []);
    expect(await events()).toEqual(["alert.opened"]);
  });

  test("are not open once their times are over, even if the feed still lists them", async () => {
    harness.clock.advance(MIN_OPEN_MS);
    await sweep();
    const times = [{ end: at(HOUR) }];
    await apply("feed", [record(id, { times })]);
    harness.clock.advance(HOUR);
    expect(await apply("feed", [record(id, { times })])).toMatchObject({ opened: 0, ended: 1 });
    expect(await apply("feed", [record(id, { times })])).toMatchObject({ opened: 0, ended: 0 });
    expect(await events()).toEqual(["alert.opened", "alert.ended"]);
  });

  test("are bounded, in number and in length, so that no feed floods the events", async () => {
    const many = Array.from({ length: MAX_SOURCE_ALERTS + 5 }, (_, n) => record(`${id}-${String(n).padStart(5, "0")}`));
    expect(await apply("feed", many)).toMatchObject({ opened: MAX_SOURCE_ALERTS, ignored: 5 });
    expect(await apply("feed", many.toReversed())).toMatchObject({ opened: 0, ended: 0 });
    const long = record(id, { summary: [{ text: "x".repeat(100_000), language: "en" }] });
    await apply("feed", [long]);
    expect((await shown())?.summary).toHaveLength(1_000);
    await apply("feed", [{ alert_id: `${id}-none` }, { summary: [{ text: "No id", language: "en" }] }]);
    expect(await shown(`${id}-none`)).toBeUndefined();
    await harness.expectSound();
  });
});
