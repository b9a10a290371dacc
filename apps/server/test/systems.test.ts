import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystem } from "../src/city/systems/service.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { keyContext } from "./built-app.ts";
import { bikeRow, rideRow, rowWriter, stationRow } from "./rows.ts";
import { refused, slice } from "./walk.ts";

let app: TestApp;
/** The service as a partner of the other system sees it. */
let elsewhere: TestApp;

beforeAll(async () => {
  app = await startTestApp();
  const systemId = "elsewhere";
  await createSystem(app.db, systemId, "Another city", app.clock());
  const partner = await createPartner(keyContext(app), systemId, "Map Maker");
  const { key } = await issueKey(keyContext(app), {
    systemId,

    partnerId: partner.id,
    scopes: ["stations:read", "rides:read", "bikes:read"],
    rateLimit: 1_000_000,
  });
  elsewhere = {
    ...app,
    systemId,
    partnerId: partner.id,
    get: (path, options = {}) => app.get(path, { key, ...options }),
  };
  for (const [system, ids] of [
    [app, ["a", "b", "c"]],
    [elsewhere, ["b", "x", "y", "z"]],
  ] as const) {
    const write = rowWriter(system);
    await write.stations(ids.map((id) => stationRow({ id, name: `${id} of ${system.systemId}` })));
    await write.bikes(ids.map((id) => bikeRow({ id, number: `${id} of ${system.systemId}` })));
    await write.rides(
      ids.map((id) =>
        rideRow({ id, started_at: "2026-05-01T00:00:00.000Z", vehicle_type_id: `${id} of ${system.systemId}` }),
      ),
    );
  }
});

afterAll(() => app.close());

describe.each(["stations", "bikes", "rides"] as const)("%s of two systems in one database", (list) => {
  const ids = async (system: TestApp, path: string) => (await slice(system, path)).data.map(({ id }) => id).sort();

  it("are never mixed: in lists, pages, filters, totals and single reads", async () => {
    for (const query of ["", "?page=1", "?updated_since=2020-01-01T00:00:00Z"]) {
      expect(await ids(app, `/v1/${list}${query}`)).toEqual(["a", "b", "c"]);
      expect(await ids(elsewhere, `/v1/${list}${query}`)).toEqual(["b", "x", "y", "z"]);
    }
    expect((await slice(app, `/v1/${list}?limit=1`)).total_pages).toBe(3);
    expect((await slice(elsewhere, `/v1/${list}?limit=1`)).total_pages).toBe(4);
    expect((await slice(app, `/v1/${list}?limit=1&page=3`)).data).toHaveLength(1);
    expect(await refused(app, `/v1/${list}?limit=1&page=4`)).toMatchObject({ status: 400, error: "page_out_of_range" });
    for (const [system, other] of [
      [app, "x"],
      [elsewhere, "a"],
    ] as const) {
      expect(await refused(system, `/v1/${list}/${other}`)).toMatchObject({ status: 404 });
      expect(await (await system.get(`/v1/${list}/b`)).text()).toContain(`b of ${system.systemId}`);
    }
  });

  it("have cursors of their own", async () => {
    const { next_cursor: cursor } = await slice(app, `/v1/${list}?limit=1`);
    expect((await slice(app, `/v1/${list}?cursor=${cursor}`)).data).toHaveLength(2);
    expect(await refused(elsewhere, `/v1/${list}?cursor=${cursor}`)).toMatchObject({
      status: 400,
      error: "invalid_cursor",
    });
  });
});

it("the kept counts of one system say nothing of the other", async () => {
  const kept = await app.db.query(
    statement("", "select system_id, list, sum(n)::int as n from list_counts group by 1, 2 order by 1, 2"),
  );
  expect(kept).toEqual(
    [
      ["elsewhere", 4],
      ["main", 3],
    ].flatMap(([system, n]) => ["bikes", "rides", "stations"].map((list) => ({ system_id: system, list, n }))),
  );
});
