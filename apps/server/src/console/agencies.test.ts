import { afterAll, beforeAll, expect, it } from "vitest";
import { type MdsHarness, startMds } from "../../test/mds/mds.harness.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { upsertBikes } from "../city/fleet/bike-commands.ts";
import { upsertStations } from "../city/fleet/station-commands.ts";
import { readRequirements } from "../feeds/mds/requirements.rules.ts";

const HOUR = 3_600_000;
let mds: MdsHarness;
let city: Awaited<ReturnType<MdsHarness["agency"]>>;
let path: string;
let person: SignedIn;
beforeAll(async () => {
  mds = await startMds();
  const { app } = mds;
  app.clock.advance(HOUR - (app.clock() % HOUR));
  const requirements = readRequirements({ programs: [{ description: "Bikes", required_data_specs: [] }] });
  city = await mds.agency({ name: "Oslo", timeZone: "Europe/Oslo", requirements });
  await upsertStations(app, app.systemId, [{ item: { id: "A", name: "Harbour", lat: 59.9, lon: 10.7, capacity: 10 } }]);
  await upsertBikes(app, app.systemId, [{ item: { id: "here", station_id: "A" } }, { item: { id: "nowhere" } }]);
  app.clock.advance(3 * HOUR);
  path = `/console/v1/systems/${app.systemId}/partners/${city.partnerId}/agency`;
  person = await signIn(app, { partnerId: city.partnerId, role: "viewer" });
});
afterAll(() => mds.close());

const read = async (who: SignedIn, of = path) => {
  const response = await who.call("GET", of);
  expect([of, response.status]).toEqual([of, 200]);
  return ((await response.json()) as { agency: Record<string, unknown> | null }).agency;
};

it("a city's people and the operator see its hours with their statuses, and which of them it has read", async () => {
  const hour = new Date(mds.app.clock() - 3 * HOUR).toISOString();
  await mds.get(`/mds/trips?end_time=${hour.slice(0, 13)}`, city.key.key);
  for (const who of [person, await signIn(mds.app, { partnerId: null, role: "viewer" })]) {
    const agency = await read(who);
    expect(agency).toMatchObject({
      ...{ time_zone: "Europe/Oslo", has_own_time_zone: true, has_requirements: true, agency_id: city.agencyId },
      vehicles: { states: [{ state: "available", vehicles: 2 }], nowhere: 1, untyped: 2 },
      reads: [{ endpoint: "/mds/trips", what: hour }],
      months: [{ status: 404 }],
      requirements: { programs: [{ description: "Bikes", is_ours: true }] },
    });
    const hours = agency?.["hours"] as readonly { status: number; read_at: string | null }[];
    expect(hours.map(({ status }) => status).slice(0, 5)).toEqual([404, 202, 200, 200, 404]);
    expect(hours.map(({ read_at: at }) => at !== null).indexOf(true)).toBe(3);
  }
});

it("a partner that is no city has none of it, and a session says which is one", async () => {
  const { app } = mds;
  const partner = await signIn(app, { partnerId: app.partnerId });
  expect(await read(partner, path.replace(city.partnerId, app.partnerId))).toBeNull();
  expect((await partner.call("GET", path)).status).toBe(404);
  const session = await person.call("GET", "/console/v1/session");
  expect(await session.json()).toMatchObject({ memberships: [{ partner_id: city.partnerId, is_agency: true }] });
});

it("a city has no webhook, whoever sets it: events would tell it what MDS leaves out", async () => {
  const body = { url: "https://city.example/hook", events: ["ride.started"] };
  const own = await signIn(mds.app, { partnerId: city.partnerId });
  const operator = await signIn(mds.app, { partnerId: null });
  const base = `/console/v1/systems/${mds.app.systemId}`;
  for (const [who, of, status, error] of [
    [own, `${base}/partners/${city.partnerId}/webhook`, 403, "forbidden"],
    [operator, `${base}/endpoints/${city.partnerId}`, 409, "conflict"],
  ] as const) {
    const response = await who.call("PATCH", of, body);
    expect([response.status, await response.json()]).toMatchObject([status, { error }]);
  }
});

it("the report of a month is downloaded once the month is over, and the log names who did", async () => {
  const month = new Date(mds.app.clock()).toISOString().slice(0, 7);
  const report = `${path}/reports/${month}.csv`;
  expect((await person.call("GET", report)).status).toBe(404);
  mds.app.clock.advance(32 * 24 * HOUR);
  const later = await signIn(mds.app, { partnerId: city.partnerId, role: "viewer" });
  const response = await fetch(mds.app.url + report, { headers: later.headers });
  expect([response.status, response.headers.get("content-disposition")]).toEqual([
    ...[200, `attachment; filename="${month}.csv"`],
  ]);
  expect(await response.text()).toMatch(/^provider_id,start_date,.*\n.*,all_riders,/);
  const agency = await read(later);
  expect(agency).toMatchObject({ reads: [{ endpoint: "/mds/reports", what: month }, {}] });
  expect((await later.call("GET", `${path}/reports/none`)).status).toBe(404);
});
