import { consoleContract } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { endRides } from "../city/fleet/finish-rides.ts";
import { startRides } from "../city/fleet/start-rides.ts";
import { addSystem } from "../city/systems/service.ts";
import { stationHistory } from "../events/resource-history.ts";
import { listActs } from "../partners/audit/queries.ts";
import { statement } from "../storage/db/statement.ts";

const BIKES = 12;
let app: TestApp;
let viewer: SignedIn;

const { fleet } = consoleContract;

beforeAll(async () => {
  app = await startTestApp();
  viewer = await signIn(app, { partnerId: null, role: "viewer" });
  await addSystem({ ...app, actor: "test" }, "elsewhere", "Elsewhere");
  for (const systemId of [app.systemId, "elsewhere"]) await fill(systemId);
});
afterAll(() => app.close());

/** Fills a system. Both systems get the same ids with different names. */
async function fill(systemId: string): Promise<void> {
  const day = new Date(app.clock()).toISOString().slice(0, 10);
  await app.db.transaction(async (tx) => {
    await tx.run(`create table if not exists "events_test" partition of events
      for values from ('${day}') to (date '${day}' + 1)`);
    await tx.run(
      `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, updated_at,
         source, counters)
       select '${systemId}', 'station-' || i, '${systemId}', 1, 1, true, true, true, 'online', now(), 'test', 'operated'
       from generate_series(1, 3) as i`,
    );
    await tx.run(
      `insert into bikes (system_id, id, number, vehicle_state, station_id, updated_at, source)
       select '${systemId}', 'bike-' || lpad(i::text, 2, '0'), '${systemId}', 'available', 'station-1', now(), 'test'
       from generate_series(1, ${BIKES}) as i`,
    );
    await tx.run(
      `insert into rides (system_id, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at,
         duration_seconds, is_countable, rider_category, updated_at, source)
       select '${systemId}', 'ride-' || i, 'bike-0' || (i % 3 + 1), 'completed', 'station-1', 'station-2', at,
         at + interval '10 min', 600, true, 'member', at, '${systemId}'
       from (select i, timestamptz '2026-01-01Z' + i * interval '1 h' as at from generate_series(1, 9) as i) as made`,
    );
    await tx.run(
      `insert into events (system_id, recorded_on, position, id, name, occurred_at, data)
       select '${systemId}', '${day}', i, '${systemId}-event-' || i,
         case when i % 2 = 0 then 'station.online' else 'station.offline' end, timestamptz '2026-01-01Z' + i * interval '1 h',
         json_build_object('id', 'station-' || (i % 3 + 1), 'offline_reason', case when i % 2 = 1 then 'operator' end)
       from generate_series(1, 30) as i`,
    );
  });
}

const system = () => `/console/v1/systems/${app.systemId}`;

async function read(path: string): Promise<unknown> {
  const response = await viewer.call("GET", `${system()}${path}`);
  expect(response.status, path).toBe(200);
  return response.json();
}

it("bikes are listed page by page and filtered, of the own system alone", async () => {
  const first = fleet.bikes.responses[200].parse(await read("/bikes?limit=5&station_id=station-1"));
  expect(first).toMatchObject({ total: BIKES, data: [{ id: "bike-01", number: app.systemId }, {}, {}, {}, {}] });
  const next = fleet.bikes.responses[200].parse(
    await read(`/bikes?limit=200&station_id=station-1&cursor=${first.next_cursor ?? ""}`),
  );
  expect([...first.data, ...next.data].map(({ id }) => id)).toHaveLength(BIKES);
  expect(new Set([...first.data, ...next.data].map(({ number }) => number))).toEqual(new Set([app.systemId]));
  expect(fleet.bikes.responses[200].parse(await read("/bikes?vehicle_state=missing")).data).toEqual([]);
  expect(fleet.bike.responses[200].parse(await read("/bikes/bike-03"))).toMatchObject({
    bike: { id: "bike-03" },
    names: { stations: { "station-1": app.systemId } },
  });
});

it("rides are listed newest first and filtered by bike, station and time", async () => {
  const all = fleet.rides.responses[200].parse(await read("/rides"));
  expect(all.data.map(({ id }) => id)).toEqual(Array.from({ length: 9 }, (_, n) => `ride-${9 - n}`));
  const ofBike = fleet.rides.responses[200].parse(await read("/rides?bike_id=bike-01&limit=2"));
  expect(ofBike).toMatchObject({ total: 3, data: [{ id: "ride-9" }, { id: "ride-6" }] });
  const rest = await read(`/rides?bike_id=bike-01&limit=2&cursor=${ofBike.next_cursor ?? ""}`);
  expect(fleet.rides.responses[200].parse(rest).data.map(({ id }) => id)).toEqual(["ride-3"]);
  const early = await read("/rides?started_before=2026-01-01T02:30:00Z");
  expect(fleet.rides.responses[200].parse(early).data.map(({ id }) => id)).toEqual(["ride-2", "ride-1"]);
  expect(fleet.ride.responses[200].parse(await read("/rides/ride-4"))).toMatchObject({
    ride: { bike_id: "bike-02" },
    names: { stations: { "station-1": app.systemId, "station-2": app.systemId }, bikes: { "bike-02": app.systemId } },
  });
});

it("a cursor serves its own list alone", async () => {
  const { next_cursor = "" } = fleet.rides.responses[200].parse(await read("/rides?limit=1"));
  for (const path of [`/rides?bike_id=bike-01&cursor=${next_cursor}`, `/bikes?cursor=${next_cursor}`])
    expect((await viewer.call("GET", `${system()}${path}`)).status).toBe(400);
});

it("a station's page says when it was offline and why, and nothing of other stations and systems", async () => {
  const { station, changes } = fleet.station.responses[200].parse(await read("/stations/station-2"));
  expect(station).toMatchObject({ id: "station-2", name: app.systemId });
  expect(changes.map(({ id }) => id)).toEqual([28, 25, 22, 19, 16, 13, 10, 7, 4, 1].map((n) => `main-event-${n}`));
  expect(changes[1]).toMatchObject({ event: "station.offline", offline_reason: "operator" });
  expect(changes[0]).toMatchObject({ event: "station.online", offline_reason: null });
});

it("what there is not is not found, whoever's it is elsewhere", async () => {
  await app.db.query(statement("", "delete from rides where system_id = 'main' and id = 'ride-1'"));
  for (const path of ["/stations/nowhere", "/bikes/nowhere", "/rides/ride-1"])
    expect((await viewer.call("GET", `${system()}${path}`)).status).toBe(404);
  const member = await signIn(app, { partnerId: app.partnerId });
  for (const path of ["/stations/station-1", "/bikes", "/bikes/bike-01", "/rides", "/rides/ride-2"])
    expect((await member.call("GET", `${system()}${path}`)).status).toBe(404);
});

it("however many events there are, a history looks at a bounded number of them by an index", async () => {
  const few = await stationHistory(app, app.systemId, "station-2", 5);
  // The fifth of the newest: back to this time, events of both names were searched.
  expect(few.searchedTo).toBe("2026-01-01T22:00:00.000Z");
  // More than all events of each name, and fewer than the events of both.
  expect((await stationHistory(app, app.systemId, "station-2", 20)).searchedTo).toBeNull();
  expect(few.changes.length).toBeLessThan(10);
  let plan = "";
  await app.db.transaction(async (tx) => {
    await tx.run("set local enable_seqscan = off");
    await tx.run("set local enable_sort = off");
    const explaining = {
      transaction: tx.transaction,
      query: async <Row>({ text }: { readonly text: string }, values: readonly unknown[] = []) => {
        const rows = await tx.query<{ "QUERY PLAN": string }>(statement("", `explain ${text}`), values);
        plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
        return [{ changes: [], searched_to: null }] as Row[];
      },
    };
    await stationHistory({ db: explaining }, app.systemId, "station-2");
  });
  expect(plan).toMatch(/Index Scan Backward using events_test_system_id_coalesce_name_position_idx/);
  expect(plan).not.toMatch(/Seq Scan on events/);
});

async function startRide(id: string, bikeId: string): Promise<void> {
  const started = await startRides(app, app.systemId, [{ item: { id, bike_id: bikeId } }]);
  expect(started).toMatchObject({ failed: 0 });
}

async function endByOperator(...ids: readonly string[]): Promise<unknown[]> {
  const admin = await signIn(app, { partnerId: null });
  const response = await admin.call("POST", `${system()}/rides/end`, { ids });
  expect(response.status).toBe(200);
  const { results } = fleet.endRides.responses[200].parse(await response.json());
  const acts = await listActs(app.db, app.systemId, { limit: 100 });
  const own = acts.filter(({ action, actor }) => action === "ride.ended" && actor === admin.actor);
  const outcomes = results.map(({ outcome, error }) => error?.error ?? outcome);
  expect(own).toHaveLength(outcomes.filter((outcome) => outcome === "updated").length);
  return outcomes;
}

it("an admin ends rides that nobody ended, audited; each says what became of it", async () => {
  for (const id of ["lost-1", "lost-2"]) await startRide(id, id.replace("lost-", "bike-1"));
  expect(await endByOperator("lost-1", "ride-2", "nowhere", "lost-2")).toEqual([
    "updated",
    "ride_conflict",
    "not_found",
    "updated",
  ]);
  expect(await read("/rides/lost-1")).toMatchObject({ ride: { status: "completed", end_reason: "operator" } });
  expect(await read("/bikes/bike-11")).toMatchObject({ bike: { vehicle_state: "missing" } });
  const tooMany = Array.from({ length: 201 }, (_, n) => `ride-${n}`);
  const admin = await signIn(app, { partnerId: null });
  expect((await admin.call("POST", `${system()}/rides/end`, { ids: tooMany })).status).toBe(400);
});

it("a ride whose end is reported while an admin ends it ends once", async () => {
  await startRide("raced", "bike-10");
  const [abandoned, ended] = await Promise.all([
    endByOperator("raced"),
    endRides(app, app.systemId, [{ item: { id: "raced", end_station_id: "station-1" } }]),
  ]);
  const outcomes = [...abandoned, ...ended.results.map(({ outcome, error }) => error?.error ?? outcome)];
  expect(new Set(outcomes)).toEqual(new Set(["ride_conflict", "updated"]));
  expect(outcomes).toHaveLength(2);
});

it("an admin takes a station offline and marks a bike as broken, audited once each; a viewer may not", async () => {
  const admin = await signIn(app, { partnerId: null });
  const put = async (who: SignedIn, path: string, state: string) =>
    (await who.call("PUT", `${system()}/${path}/state`, { state })).json() as Promise<{ results: object[] }>;
  const outcome = async (path: string, state: string) => (await put(admin, path, state)).results;
  expect(await outcome("stations/station-3", "offline")).toMatchObject([{ id: "station-3", outcome: "updated" }]);
  expect(await outcome("stations/station-3", "offline")).toMatchObject([{ outcome: "unchanged" }]);
  expect(await outcome("bikes/bike-12", "non_operational")).toMatchObject([{ id: "bike-12", outcome: "updated" }]);
  expect(await outcome("stations/none", "offline")).toMatchObject([{ error: { error: "not_found" } }]);
  expect(await put(viewer, "stations/station-3", "online")).toMatchObject({ error: "forbidden" });
  const { station } = fleet.station.responses[200].parse(
    await (await viewer.call("GET", `${system()}/stations/station-3`)).json(),
  );
  expect(station).toMatchObject({ status: "offline", offline_reason: "operator" });
  const bike: unknown = await (await viewer.call("GET", `${system()}/bikes/bike-12`)).json();
  expect(bike).toMatchObject({ bike: { vehicle_state: "non_operational" } });
  const { data: acts } = consoleContract.systemAudit.list.responses[200].parse(
    await (await viewer.call("GET", `${system()}/audit?actor=${admin.actor}`)).json(),
  );
  expect(acts.map(({ action, subject }) => [action, subject])).toEqual([
    ["bike.state_set", "bike-12"],
    ["station.offline", "station-3"],
  ]);
});
