import { consoleContract } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { listActs } from "../partners/audit/queries.ts";

let app: TestApp;
let admin: SignedIn;

const { descriptions } = consoleContract;

// A source that says what it calls the system and one of two vehicle types; a bike of another type, a station in a region.
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

it("the system is shown as GBFS publishes it, with who says what, and described by the same rules", async () => {
  const facts = async () => {
    const body = descriptions.facts.responses[200].parse(await read("/facts"));
    return Object.fromEntries(body.facts.map(({ name, value, own, from }) => [name, [value, own, from]]));
  };
  expect(await facts()).toMatchObject({
    name: ["Test city", "Test city", "operator"],
    timezone: ["Europe/Oslo", null, "source"],
    opening_hours: ["24/7", null, "default"],
    licence: [null, null, "nobody"],
  });
  expect((await call("PATCH", "/facts", { timezone: "europe/berlin", name: null }))[0]).toBe(200);
  expect(await facts()).toMatchObject({
    name: ["Bysykkel", null, "source"],
    timezone: ["Europe/Berlin", "Europe/Berlin", "operator"],
  });
  const [, wrong] = await call("PATCH", "/facts", { timezone: "EST" });
  expect(wrong).toMatchObject({
    error: "invalid_parameter",
    message: expect.stringMatching(/must be an IANA time zone/) as string,
  });
  const published = (await (await fetch(`${app.url}/gbfs/2.3/system_information.json`)).json()) as { data: object };
  expect(published.data).toMatchObject({ name: "Bysykkel", timezone: "Europe/Berlin" });
});

it("vehicle types and regions in use are listed, described field by field, and taken back while a source knows them", async () => {
  const types = async () => descriptions.vehicleTypes.responses[200].parse(await read("/vehicle-types")).data;
  expect(await types()).toMatchObject([
    { type: { id: "cargo", form_factor: null }, own: null },
    { type: { id: "ebike", form_factor: "bicycle" }, own: null },
  ]);
  for (const changes of [
    { form_factor: "cargo_bicycle", name: "Cargo" },
    { max_range_meters: 50_000, name: null },
  ])
    expect((await call("PATCH", "/vehicle-types/cargo", changes))[0]).toBe(200);
  expect((await types())[0]).toMatchObject({
    own: { form_factor: "cargo_bicycle", max_range_meters: 50_000, name: null },
  });
  expect((await call("POST", "/vehicle-types/cargo/remove", {}))[1]).toMatchObject({
    message: expect.stringMatching(/bikes name the/) as string,
  });
  expect((await call("PATCH", "/vehicle-types/cargo", { form_factor: "boat" }))[0]).toBe(400);
  const regions = async () => descriptions.regions.responses[200].parse(await read("/regions")).data;
  expect(await regions()).toEqual([{ region: { id: "north", name: "north" }, own_name: null }]);
  expect((await call("PATCH", "/regions/north", { name: "Nord" }))[0]).toBe(200);
  expect(await regions()).toEqual([{ region: { id: "north", name: "Nord" }, own_name: "Nord" }]);
  expect((await call("POST", "/regions/north/remove", {}))[0]).toBe(400);
  const acts = await listActs(app.db, app.systemId, { actor: admin.actor, limit: 10 });
  expect(acts.map(({ action }) => action).toSorted()).toEqual([
    "region.named",
    "system.described",
    "vehicle_type.described",
    "vehicle_type.described",
  ]);
});
