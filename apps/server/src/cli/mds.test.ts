import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createTestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { registerMds } from "./mds.ts";

const clock = createTestClock();
let harness: CliHarness;
beforeAll(async () => {
  harness = await openCliHarness({ clock, register: registerMds });
});
afterAll(() => harness.close());

const json = async (...args: string[]) =>
  JSON.parse((await harness.run("--json", "mds", ...args)).stdout) as Record<string, unknown>;
const file = async (name: string, content: unknown) => {
  const path = join(harness.directory, name);
  await writeFile(path, JSON.stringify(content));
  return path;
};

const ring = [
  [10.6, 59.8],
  [10.9, 59.8],
  [10.9, 60],
  [10.6, 59.8],
];
const area = { type: "MultiPolygon", coordinates: [[ring]] };

test("an agency is created with a time zone and an area, of which each can be set and removed later", async () => {
  const polygon = { type: "Feature", properties: {}, geometry: { type: "Polygon", coordinates: [ring] } };
  const drawn = await file("area.json", { type: "FeatureCollection", features: [polygon] });
  const { client_id: id } = await json("create-agency", "Oslo", "--time-zone", "Europe/Oslo", "--boundary", drawn);
  const others = { trips_since: null, requirements: null, left_out: null };
  expect(await json("set-agency", String(id), "--time-zone", "Europe/Paris")).toEqual({
    ...{ client_id: id, time_zone: "Europe/Paris", boundary: area, ...others },
  });
  expect(await json("set-agency", String(id), "--time-zone", "default", "--boundary", "none")).toEqual({
    ...{ client_id: id, time_zone: null, boundary: null, ...others },
  });
  expect(await json("set-agency", String(id), "--boundary", await file("area.json", area))).toMatchObject({
    boundary: area,
  });
});

const requirements = {
  metadata: { mds_release: "2.0.1", agency_name: "Oslo" },
  programs: [
    {
      ...{ description: "City bikes", provider_ids: [], start_date: "1700000000" },
      required_data_specs: [
        {
          ...{ data_spec_name: "MDS", version: "2.0.1" },
          required_apis: [
            {
              api_name: "provider",
              required_endpoints: [
                { endpoint_name: "trips", required_fields: ["route"], disallowed_fields: ["distance"] },
                { endpoint_name: "policies" },
              ],
            },
          ],
        },
      ],
    },
  ],
};

test("`check` answers a requirement file field by field, from a file or an address", async () => {
  const path = await file("requirements.json", requirements);
  const { stdout } = await harness.run("mds", "check", "--requirements", path);
  expect(stdout).toMatch(/^agency +Oslo$/m);
  expect(stdout).toMatch(/^1 City bikes +MDS 2\.0\.1 provider trips +distance +disallowed$/m);
  expect(stdout).toMatch(/^1 City bikes +MDS 2\.0\.1 provider trips +route +missing, required$/m);
  expect(stdout).toMatch(/^1 City bikes +MDS 2\.0\.1 provider trips +trip_id +given$/m);
  expect(stdout).toMatch(/^1 City bikes +MDS 2\.0\.1 provider policies +-? +missing$/m);
  const server = createServer((_, response) => response.end(JSON.stringify(requirements)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const answers = await json("check", "--requirements", `http://127.0.0.1:${port}/requirements.json?token=secret`);
  expect(answers).toEqual(await json("check", "--requirements", path));
  server.close();
  await expect(harness.run("mds", "check", "--requirements", await file("area.json", area))).rejects.toThrow(
    "it is no requirement file of MDS",
  );
  const gone = harness.run("mds", "check", "--requirements", `http://127.0.0.1:${port}/gone?token=secret`);
  await expect(gone).rejects.toThrow(/^(?!.*secret).*cannot be read/);
});

test("a requirement file is kept with an agency, with the fields that it disallows", async () => {
  const path = await file("requirements.json", requirements);
  const { client_id: id } = await json("create-agency", "Moss", "--requirements", path);
  const kept = { requirements: { programs: [{}] }, left_out: { trips: ["distance"] } };
  expect(await json("set-agency", String(id), "--time-zone", "default")).toMatchObject(kept);
  const { stdout } = await harness.run("mds", "set-agency", String(id), "--requirements", path);
  expect(stdout).toMatch(/^fields left out +trips: distance$/m);
  expect(await json("set-agency", String(id), "--requirements", "none")).toMatchObject({ left_out: null });
});

test("trips of the time before an agency are given since an instant that the operator names, in the past", async () => {
  const { client_id: id } = await json("create-agency", "Voss", "--trips-since", "2020-01-31T00:00:00Z");
  const trips = { trips_since: "2020-01-31T00:00:00.000Z" };
  expect(await json("set-agency", String(id), "--time-zone", "default")).toMatchObject(trips);
  const ago = await json("set-agency", String(id), "--trips-since", "48h");
  expect(Date.parse(String(ago["trips_since"]))).toBe(clock() - 48 * 3_600_000);
  expect(await json("set-agency", String(id), "--trips-since", "default")).toMatchObject({ trips_since: null });
  await expect(harness.run("mds", "set-agency", String(id), "--trips-since", "soon")).rejects.toThrow("RFC 3339");
});

test("what is no time zone, no area or no agency is refused with what to write instead", async () => {
  const create = (...options: string[]) => harness.run("mds", "create-agency", "Bergen", ...options);
  await expect(create("--time-zone", "EST")).rejects.toThrow("it must be an IANA time zone such as Europe/Oslo");
  await expect(create("--boundary", "nowhere.json")).rejects.toThrow("nowhere.json cannot be read");
  for (const [content, issue] of [
    [{ type: "Point", coordinates: [10, 59] }, "polygons of one or more rings"],
    [{ type: "FeatureCollection", features: [] }, "GeoJSON of type MultiPolygon"],
    [{ type: "Polygon", coordinates: [ring.slice(0, 3).concat([[10, 10]])] }, "closed rings"],
    [{ type: "Polygon", coordinates: [[...ring.slice(0, 3), [10.8, 59.7], [10.6, 59.8]]] }, "neither cross themselves"],
  ] as const)
    await expect(create("--boundary", await file("wrong.json", content))).rejects.toThrow(issue);
  await expect(harness.run("mds", "set-agency", "nobody", "--time-zone", "default")).rejects.toThrow(
    "no partner nobody",
  );
  await expect(harness.run("mds", "set-agency", "nobody")).rejects.toThrow("Name what to change");
});
