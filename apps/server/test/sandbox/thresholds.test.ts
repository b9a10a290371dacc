import { type EventRecord, scopeNames, type Threshold } from "@bikeshare/contract";
import { sandboxClock, sandboxEvent } from "@bikeshare/contract/sandbox";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createSequencer } from "../../src/events/sequencer.ts";
import { issueKey } from "../../src/partners/keys/service.ts";
import { insertPartner } from "../../src/partners/queries.ts";
import { listFreeBikes } from "../../src/sandbox/queries.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { compareAllStations } from "../../src/webhooks/thresholds.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { keyContext } from "../built-app.ts";
import { loopback } from "../webhooks/dispatcher.harness.ts";
import { otherCipher } from "../webhooks/endpoints.harness.ts";

let app: TestApp;
let systemId: string;
let key: string;
const cipher = otherCipher();

beforeAll(async () => {
  app = await startTestApp();
  // Sets the clock of the app to the real time, because thresholds use PostgreSQL's clock.
  app.clock.advance(Date.now() - app.clock());
  const { sandbox } = await createSandbox(keyContext(app), { systemId: app.systemId, partnerId: app.partnerId });
  systemId = sandbox.system_id;
  const input = { systemId, partnerId: app.partnerId, scopes: scopeNames, rateLimit: 1_000_000 };
  key = (await issueKey(keyContext(app), input)).key;
});
afterAll(() => app.close());
beforeEach(async () => {
  app.clock.advance(Math.max(0, Date.now() - app.clock()));
  await post("/sandbox/v1/reset", { seed: 1 });
});

const post = (path: string, body: unknown) =>
  fetch(app.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

async function watch(threshold: Partial<Threshold>): Promise<void> {
  const whole: Threshold = {
    count: "bikes",
    fewer_than: 1,
    for_minutes: 10,
    station_ids: [],
    region_ids: [],
    ...threshold,
  };
  const context = { ...keyContext(app), cipher, rules: loopback };
  const scope = { systemId, partnerId: app.partnerId, url: "http://127.0.0.1:4000/" };
  await setEndpoint(context, { ...scope, events: ["station.*"], thresholds: [] });
  await setEndpoint(context, { ...scope, thresholds: [whole] });
}

/** Returns the events of thresholds that a partner's key can read. */
async function eventsOf(name: string, as = key) {
  await createSequencer({ db: app.db, clock: app.clock, onError: () => undefined, pollIntervalMs: 0 }).runOnce(
    systemId,
  );
  const read = await app.get(`/v1/events?event=${name}&limit=200`, { key: as });
  return ((await read.json()) as { data: EventRecord[] }).data;
}

it.each(["bikes", "docks"] as const)("events of a threshold of %s are caused by what causes them", async (count) => {
  await watch({ count, fewer_than: 2, station_ids: ["station-003"] });
  const cause = async (name: string, station_id?: string) => {
    const response = await post(`/sandbox/v1/events/${name}`, { station_id });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.any(String)]);
    return sandboxEvent.parse(JSON.parse(text));
  };
  const before = (await eventsOf("station.below_threshold")).length;
  expect(await cause("station.below_threshold")).toMatchObject({ station_id: "station-003" });
  expect(await cause("station.back_to_normal", "station-003")).toMatchObject({ resource_id: "station-003" });
  // `back_to_normal` can also be caused without an earlier `below_threshold`.
  await cause("station.back_to_normal");
  expect((await eventsOf("station.below_threshold")).slice(before)).toMatchObject(
    [1, 2].map(() => ({ data: { id: "station-003", threshold: { count, fewer_than: 2, for_minutes: 10 } } })),
  );
  expect((await eventsOf("station.back_to_normal")).slice(before)).toHaveLength(2);
});

it("a station recovers with the bikes of others, also if its own have stood still longest", async () => {
  const [oldest] = await listFreeBikes(app.db, systemId, null, 1);
  const id = String(oldest?.station_id);
  await watch({ fewer_than: 1, station_ids: [id] });
  const response = await post("/sandbox/v1/events/station.back_to_normal", {});
  expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ resource_id: id })]);
});

it("the minutes of a threshold pass by the sandbox's clock, and it is ready once everything is told", async () => {
  await watch({ station_ids: ["station-001"] });
  const context = keyContext(app);
  await compareAllStations(context, systemId);
  const free = await app.db.query<{ id: string }>(
    statement("", "select id from bikes where system_id = $1 and station_id = 'station-001'"),
    [systemId],
  );
  const before = (await eventsOf("station.below_threshold")).length;
  for (let taken = 0; taken < free.length; taken++)
    await post("/sandbox/v1/events/ride.started", { station_id: "station-001" });
  await compareAllStations(context, systemId);
  await post("/sandbox/v1/clock/advance", { seconds: 9 * 60 });
  expect(await eventsOf("station.below_threshold")).toHaveLength(before);
  expect((await post("/sandbox/v1/clock/advance", { seconds: 63 })).status).toBe(202);
  const told = (await eventsOf("station.below_threshold")).slice(before);
  expect(told).toMatchObject([{ data: { id: "station-001", num_bikes_available: 0 } }]);
  const clock = sandboxClock.parse(await (await app.get("/sandbox/v1/clock", { key })).json());
  expect(clock.advanced_seconds).toBe(9 * 60 + 63);
});

it("an alarm whose minutes passed before the station changed shows the station as the alarm says", async () => {
  await watch({ station_ids: ["station-001"] });
  const context = keyContext(app);
  await compareAllStations(context, systemId);
  const before = (await eventsOf("station.below_threshold")).length;
  for (let isFree = true; isFree; app.clock.advance(10))
    isFree = (await post("/sandbox/v1/events/ride.started", { station_id: "station-001" })).status === 200;
  await compareAllStations(context, systemId);
  // As the clock does within two seconds of the last ride's start.
  const passed = `update webhook_threshold_states state set due_at = station.state_since - interval '1 ms',
      below_since = station.state_since - interval '10 minutes'
    from stations station where station.system_id = $1 and state.system_id = $1 and station.id = state.station_id`;
  await app.db.query(statement("", passed), [systemId]);
  await compareAllStations({ ...context, databaseNow: () => Promise.resolve(new Date(Date.now() + 10_000)) }, systemId);
  const told = (await eventsOf("station.below_threshold")).slice(before);
  expect(told).toMatchObject([{ data: { id: "station-001", num_bikes_available: 0 } }]);
});

it("a recovery for which other stations have no bike is refused before anything has changed", async () => {
  await watch({ station_ids: ["station-001"] });
  const elsewhere =
    "update bikes set vehicle_state = 'non_operational' where system_id = $1 and station_id <> 'station-001'";
  await app.db.query(statement("", elsewhere), [systemId]);
  const rides = statement("", "select count(*)::int as n from rides where system_id = $1");
  const before = await app.db.query(rides, [systemId]);
  expect((await post("/sandbox/v1/events/station.back_to_normal", { station_id: "station-001" })).status).toBe(404);
  expect(await app.db.query(rides, [systemId])).toEqual(before);
});

it("a reset forgets which stations are below, and without a threshold there is nothing to cause", async () => {
  await watch({ station_ids: ["station-001"] });
  expect((await post("/sandbox/v1/events/station.below_threshold", {})).status).toBe(200);
  await post("/sandbox/v1/reset", { seed: 1 });
  const states = statement("", "select station_id from webhook_threshold_states where system_id = $1");
  expect(await app.db.query(states, [systemId])).toEqual([]);
  const elsewhere = await post("/sandbox/v1/events/station.below_threshold", { station_id: "station-002" });
  expect([elsewhere.status, await elsewhere.json()]).toEqual([
    404,
    { error: "not_found", message: expect.stringContaining("Set one first.") as string },
  ]);
});

it("nobody else reads them", async () => {
  await watch({ station_ids: ["station-001"] });
  await post("/sandbox/v1/events/station.below_threshold", {});
  // A sandbox never has a second partner. If it had one, that partner could not read the events of the first.
  const other = await app.db.transaction((tx) =>
    insertPartner(tx, systemId, {
      id: "partner_other",
      name: "Other",
      created_at: new Date(0),
      max_reservations: null,
    }),
  );
  const foreign = await issueKey(keyContext(app), {
    systemId,
    partnerId: other.id,
    scopes: scopeNames,
    rateLimit: 1_000,
  });
  const own = await eventsOf("station.below_threshold");
  expect(own).not.toEqual([]);
  expect(await eventsOf("station.below_threshold", foreign.key)).toEqual([]);
  expect((await app.get(`/v1/events/${own[0]?.id}`, { key: foreign.key })).status).toBe(404);
});

const messageOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { message?: string }).message,
];

it("a threshold above what can be brought is refused in words, and nothing has changed", async () => {
  const free = async () =>
    (
      await app.db.query<{ id: string; station_id: string }>(
        statement(
          "",
          "select id, station_id from bikes where system_id = $1 and vehicle_state = 'available' order by id",
        ),
        [systemId],
      )
    ).map(({ id, station_id }) => `${id} ${station_id}`);
  await watch({ fewer_than: 1_000, station_ids: ["station-003"] });
  const before = await free();
  const refused = await messageOf(await post("/sandbox/v1/events/station.back_to_normal", {}));
  expect(refused).toEqual([
    404,
    expect.stringMatching(/asks for 1000 bikes at station station-003, which can have \d+ at most/),
  ]);
  expect(await free()).toEqual(before);
  // The maximum in the message is accepted, and one more is not.
  const most = Number(/have (\d+) at most/.exec(String(refused[1]))?.[1]);
  await watch({ fewer_than: most + 1, station_ids: ["station-003"] });
  expect((await post("/sandbox/v1/events/station.back_to_normal", {})).status).toBe(404);
  await watch({ fewer_than: most, station_ids: ["station-003"] });
  const told = (await eventsOf("station.back_to_normal")).length;
  expect((await post("/sandbox/v1/events/station.back_to_normal", {})).status).toBe(200);
  expect(await eventsOf("station.back_to_normal")).toHaveLength(told + 1);
  // The station now has more than 100 bikes, too many to remove at once.
  await watch({ fewer_than: 1, station_ids: ["station-003"] });
  const full = await free();
  expect(await messageOf(await post("/sandbox/v1/events/station.below_threshold", {}))).toEqual([
    404,
    expect.stringMatching(/^Station station-003 has over 100 bikes more than the threshold of 1 allows/),
  ]);
  expect(await free()).toEqual(full);
});
