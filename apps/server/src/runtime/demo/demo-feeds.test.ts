// oxlint-disable typescript/no-unsafe-return, typescript/no-unsafe-member-access, typescript/no-unsafe-call, typescript/no-unsafe-assignment -- tests spoil documents in ways that no type has
import { existsSync } from "node:fs";
import type { PublishedGbfsVersion } from "@bikeshare/contract";
import { createRandom, describeCity, makeHistory } from "@bikeshare/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { planners, type PublishedData } from "../../../test/gbfs-check/planners.ts";
import { type GbfsOutHarness, openGbfsOutHarness } from "../../../test/gbfs-out/gbfs-out.harness.ts";
import { sharedFolder } from "../../../test/gbfs-out/official-schemas.ts";
import { describeDemo } from "../../city/descriptions/made-up-city.ts";
import { describe as describeFacts } from "../../city/descriptions/service.ts";
import { upsertBikes } from "../../city/fleet/bike-commands.ts";
import { upsertStations } from "../../city/fleet/station-commands.ts";
import { createSystem } from "../../city/systems/service.ts";
import { checkFeed } from "../../feeds/gbfs-check/check.ts";
import type { FeedFile } from "../../feeds/gbfs-check/feed-set.ts";
import { readOwnFeed } from "../../feeds/gbfs-check/own-feed.ts";
import { importSnapshot, openSource } from "../../feeds/gbfs/import.ts";
import { demoCity } from "./demo-city.ts";

// Tests how much of whole systems trip planners show. The tests' own planners and `gbfs check` must give the same numbers.

let harness: GbfsOutHarness;
beforeAll(async () => void (harness = await openGbfsOutHarness()));
afterAll(() => harness.close());

const acting = () => ({ ...harness.live, actor: "test" });

/** Fills a system with the demo city of the command `start`, and puts some bikes in the street. */
async function fillDemo(systemId: string): Promise<void> {
  const city = demoCity();
  const { standing } = makeHistory(city, createRandom(1), { rides: 200, days: 1, now: harness.clock() });
  const { stations, bikes } = describeCity(city, standing);
  await describeDemo(acting(), systemId, city);
  await upsertStations(harness.live, systemId, stations);
  const { lat, lon } = city.stations[0] ?? { lat: 0, lon: 0 };
  const inStreet = ({ item }: (typeof bikes)[number], index: number) => ({
    item: index % 20 === 0 ? { ...item, station_id: null, lat: lat + index / 1e6, lon } : item,
  });
  await upsertBikes(harness.live, systemId, bikes.map(inStreet));
}

/** Fills a system with Divvy's feed. Sets the plan of each vehicle type, because the feed has plans but assigns none. */
async function fillDivvy(systemId: string): Promise<void> {
  const source = await openSource(divvy, harness.clock());
  try {
    await importSnapshot(harness.db, { ...harness.live, systemId, source: "gbfs", now: harness.clock() }, source);
  } finally {
    await source.close();
  }
  const plans = { 1: "BIKE_SINGLE_RIDE", 2: "EBIKE_SINGLE_RIDE", 3: "SCOOTER_SINGLE_RIDE" };
  for (const [id, default_pricing_plan_id] of Object.entries(plans)) {
    await describeFacts(acting(), systemId, "vehicle_type", id, { default_pricing_plan_id });
  }
}

/** Fills a system with docks, a virtual station and free-floating bikes. Describes only the facts that planners need. */
async function fillHybrid(systemId: string): Promise<void> {
  const at = (index: number) => ({ lat: 59.9 + index / 1000, lon: 10.7 + index / 1000 });
  const plan = { name: "Ride", currency: "EUR", price: 1, is_taxable: true, description: "1 euro" };
  await describeFacts(acting(), systemId, "pricing_plan", "ride", plan);
  const types = { bike: "human", ebike: "electric_assist", scooter: "electric" } as const;
  for (const [id, propulsion_type] of Object.entries(types)) {
    const form_factor = id === "scooter" ? "scooter_standing" : "bicycle";
    const changes = { form_factor, propulsion_type, default_pricing_plan_id: "ride" } as const;
    await describeFacts(acting(), systemId, "vehicle_type", id, changes);
  }
  const app = { store_uri: "https://store.example/app", discovery_uri: "bikes://" };
  const links = { station_links: { ios: "bikes://s/{station_id}" }, vehicle_links: { ios: "bikes://v/{vehicle_id}" } };
  await describeFacts(acting(), systemId, "system", "", { name: "Hybrid", rental_apps: { ios: app }, ...links });
  const station = (index: number) => ({
    item: { id: `s${index}`, name: `Station ${index}`, ...at(index), is_virtual_station: index === 2 },
  });
  await upsertStations(harness.live, systemId, [0, 1, 2].map(station));
  const bike = (index: number) => {
    const where = index % 3 === 0 ? { station_id: `s${index % 9}`.replace(/[36]/, "1") } : at(index);
    const vehicle_type_id = Object.keys(types)[index % 3] ?? "bike";
    return { item: { id: `b${index}`, vehicle_type_id, ...where } };
  };
  await upsertBikes(harness.live, systemId, Array.from({ length: 30 }, (_, index) => index).map(bike));
}

const divvy = sharedFolder("gbfs", "divvy-v2.3");
const hasDivvy = existsSync(divvy);

/** Documents whose content a test spoils. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests spoil documents in ways that no type has
type Data = Map<string, any>;

/** Changes to the published documents that make some planner show less. */
const spoils: Readonly<Record<string, (data: Data) => void>> = {
  nothing: () => undefined,
  "the ranges of seven free e-bikes": (data) => {
    const motors = new Set<unknown>();
    for (const type of data.get("vehicle_types").vehicle_types)
      if (type.propulsion_type !== "human") motors.add(type.vehicle_type_id);
    const isFree = (vehicle: Record<string, unknown>) =>
      vehicle["station_id"] === undefined && motors.has(vehicle["vehicle_type_id"]);
    for (const vehicle of vehiclesIn(data).filter(isFree).slice(0, 7)) delete vehicle["current_range_meters"];
  },
  "every plan": (data) => data.delete("system_pricing_plans"),
  "one plan": (data) => {
    const [plan]: { plan_id: string }[] = data.get("system_pricing_plans").plans.splice(0, 1);
    for (const type of data.get("vehicle_types").vehicle_types)
      if (type.default_pricing_plan_id === plan?.plan_id) delete type.default_pricing_plan_id;
  },
  "the apps": (data) => delete data.get("system_information").rental_apps,
  "the links of three stations": (data) => {
    for (const station of data.get("station_information").stations.slice(0, 3)) delete station.rental_uris;
  },
  "a vehicle type": (data) => data.get("vehicle_types").vehicle_types.pop(),
  "the status of a station": (data) => data.get("station_status").stations.pop(),
};

function vehiclesIn(data: Data): Record<string, unknown>[] {
  return (data.get("vehicle_status")?.vehicles ?? data.get("free_bike_status")?.bikes ?? []) as never;
}

describe.each([
  ["demo city", fillDemo, false],
  ["hybrid system", fillHybrid, false],
  ["real system (Divvy)", fillDivvy, !hasDivvy],
])("%s", (name, fill, isSkipped) => {
  beforeAll(async () => {
    if (isSkipped) return;
    await createSystem(harness.db, name, name, harness.clock());
    await fill(name);
  });

  const versions: readonly PublishedGbfsVersion[] = ["2.3", "3.0"];
  const cases = versions.flatMap((version) => {
    const all = Object.keys(spoils);
    return (version === "2.3" ? all : all.slice(0, 3)).map((spoil) => [version, spoil] as const);
  });
  const published = new Map<PublishedGbfsVersion, Promise<readonly FeedFile[]>>();

  test.skipIf(isSkipped).each(cases)(
    "of version %s without %s: planners and the check say the same numbers",
    async (version, spoil) => {
      const context = { ...harness.live, baseUrl: harness.baseUrl };
      const reading = published.get(version) ?? readOwnFeed(context, name, version).then(({ files }) => files);
      published.set(version, reading);
      const documents = new Map(
        (await reading).map((file) => [file.name, JSON.parse(text(file)) as { data: unknown }]),
      );
      const data: Data = new Map([...documents].map(([feed, document]) => [feed, document.data]));
      spoils[spoil]?.(data);
      const files = (await reading)
        .filter((file) => data.has(file.name))
        .map((file) => ({ ...file, bytes: Buffer.from(JSON.stringify(documents.get(file.name))) }));
      const { verdicts } = checkFeed({ kind: "own", location: name, files }, { now: harness.clock() });
      for (const { consumer, state, stations, vehicles, losses } of verdicts) {
        const shown = planners[consumer](data as PublishedData);
        expect([stations.shown, vehicles.shown], consumer).toEqual([shown.stations.length, shown.vehicles.length]);
        // Divvy's feed describes no app, which the planner `google` requires.
        const isWhole = spoil === "nothing" && !(consumer === "google" && name.startsWith("real"));
        if (!isWhole) continue;
        expect([state, losses, stations.shown, vehicles.shown], consumer).toEqual([
          ...["complete", []],
          ...[stations.of, vehicles.of],
        ]);
      }
    },
  );
});

function text({ bytes }: FeedFile): string {
  return Buffer.from(bytes ?? new Uint8Array()).toString();
}
