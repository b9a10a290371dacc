import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";
import { command } from "./service.ts";

const { world, visitAs, visitAsNewPerson } = openBrowser();
let id: string;

beforeAll(async () => {
  const endpoints = [
    { endpoint_name: "trips", required_fields: ["route"], disallowed_fields: ["distance"] },
    { endpoint_name: "stops" },
    { endpoint_name: "policies" },
  ];
  const specs = [
    {
      ...{ data_spec_name: "MDS", version: "2.0.1" },
      required_apis: [{ api_name: "provider", required_endpoints: endpoints }],
    },
  ];
  const file = join(world.dataDir, "requirements.json");
  await writeFile(file, JSON.stringify({ programs: [{ description: "City bikes", required_data_specs: specs }] }));
  const options = ["--time-zone", "Europe/Oslo", "--requirements", file];
  id = String((await command(world.dataDir, "mds", "create-agency", "City of Oslo", ...options))["client_id"]);
});

it("a city's people see what they get, their hours, vehicles and months, and the answers to their requirements", async () => {
  const { open } = await visitAsNewPerson(id);
  const page = await open(`/partners/${id}/overview`);
  await page.getByRole("link", { name: "City data" }).click();
  await page.getByRole("heading", { name: "City data", level: 1 }).waitFor();
  await page.getByText("Left out, because its requirement file disallows it: trips: distance.").waitFor();
  await page.getByText("No boundary is set").waitFor();
  const hours = page.getByRole("table", { name: "Hours" });
  expect(await hours.getByRole("row").count()).toBe(25);
  await hours.getByText("404 not served").first().waitFor();
  const trips = page.getByRole("row", { name: /^MDS 2\.0\.1 provider trips/ });
  expect(await trips.getByRole("cell").allTextContents()).toEqual(expect.arrayContaining(["route", "distance"]));
  await page.getByText(/asks for more: trips: route, MDS provider policies \(not served\)/).waitFor();
  await inspect(page, "agency-city-data");
});

it("the operator comes to a city's page from its partner page, and no other partner has one", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open(`/operator/partners/${id}`);
  await page.getByRole("link", { name: "City data" }).click();
  await page.getByRole("heading", { name: "What the city gets" }).waitFor();
  await page.getByText("MDS is off").waitFor();
  const other = await (await visitAs("partner admin")).open(`/partners/${world.partnerId}/city-data`);
  await other.getByRole("heading", { level: 1 }).waitFor();
  expect(await other.getByText("What the city gets").count()).toBe(0);
  expect(await other.getByRole("link", { name: "City data" }).count()).toBe(0);
});
