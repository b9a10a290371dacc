import { expect, it } from "vitest";
import { openDatabase } from "../src/storage/db/database.ts";
import { startTestApp } from "./app.ts";
import { buildAnother } from "./built-app.ts";
import { startDatabaseProxy } from "./servers/database-proxy.ts";
import { until } from "./until.ts";

it("whoever writes reads its write in the list of stations at once, before the change is heard of", async () => {
  const app = await startTestApp();
  const proxy = await startDatabaseProxy(app.db.connectionString);
  const db = openDatabase({ connectionString: proxy.connectionString });
  const { url, close } = await buildAnother({ ...app, db });
  const { key } = await app.issue({ rateLimit: 1_000_000 });
  const operator = await app.issue({ partnerId: null, scopes: [] });
  const names = async () => {
    const response = await fetch(`${url}/v1/stations`, { headers: { authorization: `Bearer ${key}` } });
    return ((await response.json()) as { data: { name: string }[] }).data.map(({ name }) => name);
  };
  const write = async (path: string, bearer: string, body: object) => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.ok).toBe(true);
    await response.arrayBuffer();
  };
  const upsert = (name: string) =>
    write("/operator/v1/stations", operator.key, { items: [{ id: "s", name, lat: 1, lon: 2 }] });

  await upsert("zero");
  // From here on the process hears of no change of a station, so only a write through this process clears a page.
  proxy.dropNotificationsOf("stations");
  // Repeats, because a busy machine may make the process miss a heartbeat, after which it drops the cached pages.
  await until(async () => {
    await upsert("before");
    await names();
    await app.db.transaction((tx) => tx.run("update stations set name = 'unheard'"));
    // A refused request has written nothing, so it must not clear the cached pages.
    for (const path of ["/operator/v1/stations", "/v1/reservations"]) {
      const refused = await fetch(`${url}${path}`, { method: "POST", headers: { authorization: `Bearer ${key}` } });
      expect(refused.status).toBeGreaterThanOrEqual(400);
      await refused.arrayBuffer();
    }
    return (await names())[0] === "before";
  });
  await upsert("after");
  expect(await names()).toEqual(["after"]);

  await close();
  await db.close();
  await proxy.close();
  await app.close();
});
