import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { registerMds } from "./mds.ts";

let harness: CliHarness;
beforeAll(async () => {
  harness = await openCliHarness({ clock: createTestClock(), register: registerMds });
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
  expect(await json("set-agency", String(id), "--time-zone", "Europe/Paris")).toEqual({
    ...{ client_id: id, time_zone: "Europe/Paris", boundary: area },
  });
  expect(await json("set-agency", String(id), "--time-zone", "default", "--boundary", "none")).toEqual({
    ...{ client_id: id, time_zone: null, boundary: null },
  });
  expect(await json("set-agency", String(id), "--boundary", await file("area.json", area))).toMatchObject({
    boundary: area,
  });
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
  await expect(harness.run("mds", "set-agency", "nobody")).rejects.toThrow("Give what to change");
});
