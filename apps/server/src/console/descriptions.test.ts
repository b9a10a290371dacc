import { publishedGbfsVersions } from "@bikeshare/contract";
import { consoleContract } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { listActs } from "../partners/audit/queries.ts";

let app: TestApp;
let admin: SignedIn;

const { descriptions } = consoleContract;

// Sets up a source that names the system and one of two vehicle types, a bike of the other type, and a station in a region.
beforeAll(async () => {
  app = await startTestApp();
  admin = await signIn(app, { partnerId: null });
  const run = (text: string) => app.db.query({ name: "", text }, [app.systemId]);
  const name = [{ text: "Bysykkel", language: "nb" }];
  const system = { name, language: "nb", timezone: "Europe/Oslo" };
  const type = { vehicle_type_id: "ebike", form_factor: "bicycle" };
  await run(`insert into gbfs_descriptions (system_id, source, feed, as_of, content) values
    ($1, 'gbfs', 'system_information', now(), '${JSON.stringify(system)}'),
    ($1, 'gbfs', 'vehicle_types', now(), '${JSON.stringify([type])}')`);
  await run(`insert into bikes (system_id, id, vehicle_type_id, vehicle_state, updated_at, source)
    values ($1, 'b', 'cargo', 'available', now(), 'test')`);
  await run(`insert into stations (system_id, id, name, lat, lon, region_id, is_installed, is_renting, is_returning, status,
      updated_at, source, counters)
    values ($1, 's', 'S', 1, 1, 'north', true, true, true, 'online', now(), 'test', 'operated')`);
});
afterAll(() => app.close());

async function call(method: string, path: string, body?: unknown): Promise<[number, unknown]> {
  const response = await admin.call(method, `/console/v1/systems/${app.systemId}${path}`, body);
  return [response.status, await response.json()];
}

const read = async (path: string): Promise<unknown> => (await call("GET", path))[1];

it("facts are shown with who gives them, set by the same rules as elsewhere, and published", async () => {
  const facts = async () => descriptions.get.responses[200].parse(await read("/facts/system/-"));
  expect(await facts()).toMatchObject({
    published: { name: [{ text: "Test city", language: "nb" }], timezone: "Europe/Oslo", opening_hours: "24/7" },
    from: { name: "operator", timezone: "source", opening_hours: "default" },
  });
  expect((await call("PATCH", "/facts/system/-", { timezone: "europe/berlin", name: null }))[0]).toBe(200);
  expect(await facts()).toMatchObject({
    published: { name: [{ text: "Bysykkel", language: "nb" }], timezone: "Europe/Berlin" },
    own: { timezone: "Europe/Berlin" },
  });
  const [, wrong] = await call("PATCH", "/facts/system/-", { timezone: "EST" });
  expect(wrong).toMatchObject({
    error: "invalid_parameter",
    message: expect.stringMatching(/must be an IANA time zone/) as string,
  });
  const published = (await (await fetch(`${app.url}/gbfs/2.3/system_information.json`)).json()) as { data: object };
  expect(published.data).toMatchObject({ name: "Bysykkel", timezone: "Europe/Berlin" });
});

it("what is in use is listed, described field by field, and stays while something names it", async () => {
  const list = async (kind: string) => descriptions.list.responses[200].parse(await read(`/facts/${kind}`)).data;
  expect(await list("vehicle_type")).toMatchObject([
    { id: "cargo", published: {}, own: {} },
    { id: "ebike", published: { form_factor: "bicycle" }, own: {} },
  ]);
  for (const changes of [
    { form_factor: "cargo_bicycle", name: "Cargo" },
    { max_range_meters: 50_000, name: null },
  ])
    expect((await call("PATCH", "/facts/vehicle_type/cargo", changes))[0]).toBe(200);
  expect((await list("vehicle_type"))[0]?.own).toEqual({ form_factor: "cargo_bicycle", max_range_meters: 50_000 });
  expect((await call("POST", "/facts/vehicle_type/cargo/remove", {}))[1]).toMatchObject({
    message: expect.stringMatching(/bikes refer to cargo/) as string,
  });
  expect((await call("PATCH", "/facts/vehicle_type/cargo", { form_factor: "boat" }))[0]).toBe(400);
  expect(await list("region")).toMatchObject([{ id: "north", published: {} }]);
  expect((await call("PATCH", "/facts/region/north", { name: "Nord" }))[0]).toBe(200);
  expect((await call("POST", "/facts/region/north/remove", {}))[0]).toBe(400);
  const acts = await listActs(app.db, app.systemId, { actor: admin.actor, limit: 10 });
  expect(acts.map(({ action }) => action).toSorted()).toEqual([
    "region.described",
    "system.described",
    "vehicle_type.described",
    "vehicle_type.described",
  ]);
});

it("of two people who have opened the same facts, the second one to save is told, and undoes nothing", async () => {
  const openRule = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true };
  const zone = (name: string) => {
    const square = [
      [10, 59],
      [10.1, 59],
      [10.1, 59.1],
      [10, 59],
    ];
    return {
      type: "Feature",
      properties: { name: [{ text: name, language: "nb" }], rules: [openRule] },
      geometry: { type: "MultiPolygon", coordinates: [[square]] },
    };
  };
  const zones = async () => descriptions.get.responses[200].parse(await read("/facts/geofencing_zones/-"));
  const save = (seen: string, ...names: string[]) =>
    call("PATCH", `/facts/geofencing_zones/-?seen=${seen}`, { features: names.map(zone), global_rules: [openRule] });
  const seen = (await zones()).version;
  expect(seen).toBe("none");
  expect((await save(seen, "Harbour"))[0]).toBe(200);
  const conflict = { error: "conflict", message: expect.stringMatching(/Somebody else.*Nothing was saved/) as string };
  expect(await save(seen, "Market")).toEqual([409, conflict]);
  const known = await zones();
  expect((await save(known.version, "Harbour", "Market"))[0]).toBe(200);
  expect(await call("POST", `/facts/geofencing_zones/-/remove?seen=${known.version}`, {})).toEqual([409, conflict]);
  expect((await zones()).own["features"]).toHaveLength(2);
  const { version } = await zones();
  expect((await call("POST", `/facts/geofencing_zones/-/remove?seen=${version}`, {}))[0]).toBe(200);
});

it("every published version of the feeds is named, at an address that answers", async () => {
  const { data } = descriptions.feeds.responses[200].parse(await read("/gbfs-feeds"));
  expect(data.map(({ version }) => version)).toEqual([...publishedGbfsVersions]);
  for (const { version, url } of data) {
    const response = await fetch(app.url + new URL(url).pathname);
    expect([response.status, ((await response.json()) as { version: string }).version]).toEqual([200, version]);
  }
});
