import { mdsContract } from "@bikeshare/contract/mds";
import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type MdsHarness, startMds } from "./mds.harness.ts";

let mds: MdsHarness;
beforeAll(async () => {
  mds = await startMds();
});
afterAll(() => mds.close());

it("where cities are served, a document and a reference describe every endpoint of theirs", async () => {
  const response = await fetch(`${mds.url}/openapi/mds.json`);
  expect(response.status).toBe(200);
  const { paths, components } = (await response.json()) as OpenApiDocument;
  const described = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method} ${path}`),
  );
  const served = Object.values(mdsContract).map(
    ({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`,
  );
  expect(described.toSorted()).toEqual(served.toSorted());
  expect(Object.keys(paths["/mds/trips"]?.get?.responses["200"]?.content ?? {})).toEqual([
    "application/vnd.mds+json;version=2.0",
  ]);
  expect(Object.keys(paths["/mds/trips"]?.get?.responses ?? {})).toEqual(expect.arrayContaining(["202", "304", "406"]));
  expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(["MdsTrip", "MdsError", "MdsStop"]));
  const page = await fetch(`${mds.url}/docs/mds`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("/docs/js/cities.js") as string]);
  expect(await (await fetch(`${mds.url}/docs/js/cities.js`)).text()).toContain("/openapi/mds.json");
});

it("where cities are not served, nothing of it is there", async () => {
  for (const path of ["/openapi/mds.json", "/docs/mds"])
    expect([path, (await fetch(mds.app.url + path)).status]).toEqual([path, 404]);
});
