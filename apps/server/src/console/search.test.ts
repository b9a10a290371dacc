import { consoleContract } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { addPartners } from "../../test/partners.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { addSystem } from "../city/systems/service.ts";
import { statement } from "../storage/db/statement.ts";
import { search, subjectNames } from "./search/service.ts";

let app: TestApp;
let operator: SignedIn;
let partner: SignedIn;

// Sets up two systems with the same ids. The first one has another partner, with deliveries about ride-2.
beforeAll(async () => {
  app = await startTestApp();
  await addSystem({ ...app, actor: "test" }, "elsewhere", "Elsewhere");
  for (const systemId of [app.systemId, "elsewhere"]) await fill(systemId);
  await addPartners(app.db, app.systemId, ["other"]);
  await deliver(app.partnerId, "ride-1");
  await deliver("other", "ride-2");
  operator = await signIn(app, { partnerId: null, role: "viewer" });
  partner = await signIn(app, { partnerId: app.partnerId, role: "viewer" });
});
afterAll(() => app.close());

const run = (text: string, values: readonly unknown[]) => app.db.query(statement("", text), values);

async function fill(systemId: string): Promise<void> {
  const stations = [
    ["1", "Gare du Nord", "online"],
    ["2", "Gare de l'Est", "online"],
    ["7", "100% Vélo_Parc", "online"],
    ["8", "Nord (closed for good)", "removed"],
  ];
  for (const [id, name, status] of stations)
    await run(
      `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, updated_at,
         source, counters)
       values ($1, $2, $3, 1, 1, true, true, true, $4, now(), 'test', 'operated')`,
      [systemId, id, systemId === "elsewhere" ? `Elsewhere ${name ?? ""}` : name, status],
    );
  await run(
    `insert into bikes (system_id, id, number, vehicle_state, station_id, updated_at, source)
     select $1, i::text, 'B-' || i, 'available', '1', now(), 'test' from generate_series(1, 20) as i`,
    [systemId],
  );
  await run(
    `insert into rides (system_id, id, bike_id, status, started_at, ended_at, duration_seconds, is_countable, updated_at,
       source)
     select $1, id, '1', 'completed', now(), now(), 600, true, now(), 'test' from unnest('{7,ride-1,ride-2}'::text[]) as id`,
    [systemId],
  );
  await run(
    `insert into reservations (system_id, id, partner_id, status, bike_id, created_at, expires_at, updated_at)
     values ($1, '7', 'p', 'expired', '1', now(), now() + interval '1 min', now())`,
    [systemId],
  );
}

async function deliver(partnerId: string, resourceId: string): Promise<void> {
  await run(
    `insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, status, created_at, updated_at)
     values ($1, 'endpoint_' || $2, $2, $3, 'https://partner.example/hooks', '{ride.started}', 'active', now(), now())`,
    [app.systemId, partnerId, resourceId.replace("-", "x")],
  );
  await run(
    `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, resource_id, created_at, status)
     values ($1, now()::date, 'delivery_' || $3, 'endpoint_' || $2, 'event_1', 'ride.started', $3, now(), 'succeeded')`,
    [app.systemId, partnerId, resourceId],
  );
}

async function find(q: string, who = operator, of = ""): Promise<string[]> {
  const path = `/console/v1/systems/${app.systemId}${of}/search?${new URLSearchParams({ q }).toString()}`;
  const response = await who.call("GET", path);
  expect(response.status, path).toBe(200);
  const { data } = consoleContract.systemSearch.search.responses[200].parse(await response.json());
  return data.map(({ kind, id, name }) => `${kind} ${id}${name === null ? "" : `: ${name}`}`);
}
const partnerFinds = (q: string) => find(q, partner, `/partners/${app.partnerId}`);

it("an id finds everything that has it, and nothing of another system", async () => {
  expect(await find("7")).toEqual(["station 7: 100% Vélo_Parc", "bike 7: B-7", "ride 7", "reservation 7"]);
  expect(await find("ride-1")).toEqual(["ride ride-1"]);
  expect(await find(app.partnerId)).toEqual([`partner ${app.partnerId}: Journey Planner`]);
  expect(await find("no-such-id")).toEqual([]);
  expect(await find("Elsewhere")).toEqual([]);
});

it("the operator finds stations and partners by words of their names, and bikes by the beginning of their number", async () => {
  expect(await find(" nord  gare ")).toEqual(["station 1: Gare du Nord"]);
  expect(await find("gare")).toEqual(["station 1: Gare du Nord", "station 2: Gare de l'Est"]);
  expect(await find("journey")).toEqual([`partner ${app.partnerId}: Journey Planner`]);
  expect(await find("b-1")).toEqual(["bike 1: B-1", "bike 10: B-10"]);
  expect(await find("-1")).toEqual([]);
});

it("what stands for other characters in a pattern stands for itself", async () => {
  expect(await find("0% vélo_")).toEqual(["station 7: 100% Vélo_Parc"]);
  for (const text of ["%", "_"]) expect(await find(text)).toEqual(["station 7: 100% Vélo_Parc"]);
  for (const text of ["G%e", "G_re", "\\", " "]) expect(await find(text)).toEqual([]);
});

it("a partner finds stations and what its own deliveries are about, and nothing of another partner", async () => {
  expect(await partnerFinds("Nord")).toEqual(["station 1: Gare du Nord"]);
  expect(await partnerFinds("7")).toEqual(["station 7: 100% Vélo_Parc"]);
  expect(await partnerFinds("8")).toEqual([]);
  expect(await partnerFinds("ride-1")).toEqual(["deliveries ride-1"]);
  for (const text of ["ride-2", "other", app.partnerId, "Journey", "B-1", "delivery_ride-2"])
    expect(await partnerFinds(text), text).toEqual([]);
  const others = `/console/v1/systems/${app.systemId}/partners/other/search?q=ride-2`;
  expect((await partner.call("GET", others)).status).toBe(404);
  expect((await partner.call("GET", `/console/v1/systems/${app.systemId}/search?q=ride-2`)).status).toBe(404);
});

it("keys are found by words of their names: all by the operator, its own alone by a partner", async () => {
  const { id: own } = await app.issue({ name: "Timetable of trams" });
  const { id: another } = await app.issue({ name: "Timetable of buses", partnerId: "other" });
  expect(await find("timetable")).toEqual([`key ${another}: Timetable of buses`, `key ${own}: Timetable of trams`]);
  expect(await partnerFinds("TRAMS time")).toEqual([`key ${own}: Timetable of trams`]);
  expect(await partnerFinds("buses")).toEqual([]);
});

it("an act on a vehicle type, whose id the operator chooses, does not show the name of a system with that id", async () => {
  const acts = ["vehicle_type.described", "system.described"].map((action) => ({ action, subject: "elsewhere" }));
  expect(await subjectNames(app.db, "elsewhere", acts)).toEqual([undefined, "Elsewhere"]);
});

it("however many stations and bikes there are, a search reads a bounded number and gives a few", async () => {
  const of = { systemId: app.systemId, partnerId: null };
  expect((await search(app.db, of, "gare", 1)).map(({ id }) => id)).toEqual(["1"]);
  expect(await search(app.db, of, "100%", 2)).toEqual([]);
  expect(await search(app.db, of, "b-2", 1)).toEqual([]);
  expect((await search(app.db, of, "b-")).length).toBe(2);
});

it.each([
  ["the operator", null],
  ["a partner", "other"],
])("every table that a search of %s reads is read by an index, of the one system", async (_, partnerId) => {
  let plan = "";
  await app.db.transaction(async (tx) => {
    await tx.run("set local enable_seqscan = off");
    const explaining = {
      transaction: tx.transaction,
      query: async <Row>({ text }: { readonly text: string }, values: readonly unknown[] = []) => {
        const rows = await tx.query<{ "QUERY PLAN": string }>(statement("", `explain ${text}`), values);
        plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
        return [] as Row[];
      },
    };
    await search(explaining, { systemId: app.systemId, partnerId }, "ride-1");
  });
  expect(plan).not.toContain("Seq Scan");
  expect(plan.match(/Index Cond: .*/g)?.length).toBeGreaterThan(2);
  for (const condition of plan.match(/Index Cond: .*/g) ?? []) expect(condition).toContain("system_id = 'main'");
});
