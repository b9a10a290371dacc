import { type PublishedGbfsVersion, publishedGbfsVersions } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { planners } from "../../../test/gbfs-check/planners.ts";
import { beginWith, stepsOn } from "../../../test/gbfs-out/every-state-steps.ts";
import { openGbfsOutHarness } from "../../../test/gbfs-out/gbfs-out.harness.ts";
import { schemaErrors, schemasAreHere, unlessHere } from "../../../test/gbfs-out/official-schemas.ts";
import type { StepSubject } from "../../../test/gbfs-out/step.ts";
import { addPartners } from "../../../test/partners.ts";
import { createSystem } from "../../city/systems/service.ts";
import { consumers } from "../gbfs-check/check.ts";
import { lamassu } from "../gbfs-check/consumers/lamassu.rules.ts";
import { motis } from "../gbfs-check/consumers/motis.rules.ts";
import { otp } from "../gbfs-check/consumers/otp.rules.ts";
import { FeedSet } from "../gbfs-check/feed-set.ts";
import { feedsIn, nameIn } from "./discovery.ts";
import { gbfsDocument } from "./service.ts";

let systems = 0;
const subject = { systemId: "" } as StepSubject; // its harness opens below, before any step
beforeAll(async () => void (subject.harness = await openGbfsOutHarness()));
afterAll(() => subject.harness.close());

type Item = Record<string, unknown>;
interface Document {
  readonly last_updated: number | string;
  readonly data: Record<string, Item[]>;
}

async function published(version: PublishedGbfsVersion): Promise<Map<string, Document>> {
  const context = { ...subject.harness.live, baseUrl: subject.harness.baseUrl };
  const documents = new Map<string, Document>();
  for (const feed of feedsIn(version)) {
    const made = await gbfsDocument(context, { systemId: subject.systemId, version, feed }).catch((error: unknown) => {
      if (error instanceof ServiceError && /has no such feed/.test(error.message)) return undefined;
      throw error;
    });
    if (made) documents.set(nameIn(version, feed), JSON.parse(made.json) as Document);
  }
  return documents;
}

const idsIn = (documents: Map<string, Document>, feed: string, list: string, id: string) =>
  (documents.get(feed)?.data[list] ?? []).map((item) => String(item[id]));

/** The names that differ between versions. */
const namesIn = (version: PublishedGbfsVersion) =>
  version === "2.3"
    ? { vehicleFeed: "free_bike_status", vehicles: "bikes", vehicleId: "bike_id", available: "num_bikes_available" }
    : {
        vehicleFeed: "vehicle_status",
        vehicles: "vehicles",
        vehicleId: "vehicle_id",
        available: "num_vehicles_available",
      };

/** Expects every reference to lead to a record of the feed that it refers to. */
function checkReferences(version: PublishedGbfsVersion, documents: Map<string, Document>): void {
  const { vehicleFeed, vehicles, vehicleId } = namesIn(version);
  const stations = idsIn(documents, "station_information", "stations", "station_id");
  const types = new Set(idsIn(documents, "vehicle_types", "vehicle_types", "vehicle_type_id"));
  const regions = new Set(idsIn(documents, "system_regions", "regions", "region_id"));
  expect(idsIn(documents, "station_status", "stations", "station_id")).toEqual(stations);
  const bikes = documents.get(vehicleFeed)?.data[vehicles] ?? [];
  for (const bike of bikes) {
    expect(types).toContain(bike["vehicle_type_id"]);
    if (bike["station_id"] !== undefined) expect(stations).toContain(bike["station_id"]);
  }
  const ids = bikes.map((bike) => bike[vehicleId]);
  expect(new Set(ids).size).toBe(ids.length);
  for (const station of documents.get("station_information")?.data["stations"] ?? []) {
    if (station["region_id"] !== undefined) expect(regions).toContain(station["region_id"]);
  }
  for (const station of documents.get("station_status")?.data["stations"] ?? []) {
    for (const { vehicle_type_id } of station["vehicle_types_available"] as Item[])
      expect(types).toContain(vehicle_type_id);
  }
}

/**
 * Expects that OpenTripPlanner and MOTIS drop no station or vehicle, such as an e-bike without a range, and that lamassu
 * drops only vehicles without a pricing plan. OpenTripPlanner does not read release candidates of GBFS.
 */
function checkConsumers(version: PublishedGbfsVersion, documents: Map<string, Document>): void {
  const files = [...documents].map(([name, document]) => ({
    ...{ name, language: null, address: `${name}.json` },
    bytes: Buffer.from(JSON.stringify(document)),
  }));
  const set = new FeedSet({ kind: "own", location: "test", files }, subject.harness.clock());
  const data = new Map([...documents].map(([name, document]) => [name, document.data]));
  for (const { id, take } of consumers) {
    if (id === "otp" && version === "3.1-RC3") continue;
    const { stations, vehicles } = take(set);
    const shown = planners[id](data);
    expect([stations.shown, vehicles.shown], id).toEqual([shown.stations.length, shown.vehicles.length]);
  }
  for (const { id, take } of [otp, motis]) {
    if (id === "otp" && version === "3.1-RC3") continue;
    const { stations, vehicles, losses } = take(set);
    expect([losses, stations.shown, vehicles.shown], id).toEqual([[], stations.of, vehicles.of]);
  }
  const { stations, vehicles, losses } = lamassu.take(set);
  const hasPlans = documents.has("system_pricing_plans");
  const unpriced = hasPlans ? vehiclesWithoutPlan(version, documents) : vehicles.of;
  const lost = hasPlans ? unpriced : stations.of + vehicles.of;
  expect(losses.map(({ count }) => count)).toEqual(lost === 0 && hasPlans ? [] : [lost]);
  expect([stations.shown, vehicles.shown]).toEqual([hasPlans ? stations.of : 0, vehicles.of - unpriced]);
}

/** Counts vehicles outside stations that have no pricing plan and whose type has none. */
function vehiclesWithoutPlan(version: PublishedGbfsVersion, documents: Map<string, Document>): number {
  const { vehicleFeed, vehicles } = namesIn(version);
  const types = documents.get("vehicle_types")?.data["vehicle_types"] ?? [];
  const hasPlan = (type: Item) => type["default_pricing_plan_id"] !== undefined;
  const priced = types.filter(hasPlan).map((type) => type["vehicle_type_id"]);
  const stations = documents.get("station_information")?.data["stations"] ?? [];
  const docks = stations.filter((each) => each["is_virtual_station"] !== true).map((each) => each["station_id"]);
  const isWithout = (bike: Item) =>
    !docks.includes(bike["station_id"]) &&
    bike["pricing_plan_id"] === undefined &&
    !priced.includes(bike["vehicle_type_id"]);
  return (documents.get(vehicleFeed)?.data[vehicles] ?? []).filter(isWithout).length;
}

/** Expects the vehicles by type to add up to the available vehicles of a station. */
function checkSums(version: PublishedGbfsVersion, documents: Map<string, Document>): void {
  for (const station of documents.get("station_status")?.data["stations"] ?? []) {
    const counts = (station["vehicle_types_available"] as Item[]).map(({ count }) => Number(count));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(station[namesIn(version).available]);
  }
}

const seconds = ({ last_updated }: Document) =>
  typeof last_updated === "number" ? last_updated * 1000 : Date.parse(last_updated);

/** Expects unchanged content to keep its `last_updated`, which never decreases. */
function checkTimes(before: Map<string, Document> | undefined, after: Map<string, Document>): void {
  for (const [feed, document] of after) {
    const earlier = before?.get(feed);
    if (earlier === undefined) continue;
    expect(seconds(document)).toBeGreaterThanOrEqual(seconds(earlier));
    if (JSON.stringify(earlier.data) === JSON.stringify(document.data)) expect(document).toEqual(earlier);
  }
}

/** Expects no private data in the documents. */
async function checkPrivacy(documents: Map<string, Document>, version: PublishedGbfsVersion): Promise<void> {
  const bikes = await subject.harness.db.query<{ id: string; public_id: string | null; vehicle_state: string }>(
    { name: "", text: "select id, public_id, vehicle_state from bikes where system_id = $1" },
    [subject.systemId],
  );
  const { vehicleFeed, vehicles, vehicleId } = namesIn(version);
  const shown = new Set(idsIn(documents, vehicleFeed, vehicles, vehicleId));
  for (const { id, public_id, vehicle_state } of bikes) {
    expect(shown).not.toContain(id);
    if (public_id !== null && !["available", "reserved", "non_operational"].includes(vehicle_state))
      expect(shown).not.toContain(public_id);
  }
}

test.skipIf(!schemasAreHere)(
  `after any sequence of operations every feed is valid and hangs together${unlessHere}`,
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stepsOn(subject), { minLength: 4, maxLength: 14 }), async (sequence) => {
        subject.systemId = `system ${++systems}`;
        await createSystem(subject.harness.db, subject.systemId, subject.systemId, subject.harness.clock());
        await addPartners(subject.harness.db, subject.systemId, ["p"]);
        await beginWith(subject);
        const before = new Map<PublishedGbfsVersion, Map<string, Document>>();
        for (const [index, { run }] of sequence.entries()) {
          await run();
          // Publishes every third state and the last one. Publishing more often would leave time for fewer sequences.
          if (index % 3 !== 2 && index !== sequence.length - 1) continue;
          for (const version of publishedGbfsVersions) {
            const documents = await published(version);
            for (const [feed, document] of documents) expect(schemaErrors(version, feed, document), feed).toEqual([]);
            checkReferences(version, documents);
            checkSums(version, documents);
            checkConsumers(version, documents);
            checkTimes(before.get(version), documents);
            await checkPrivacy(documents, version);
            before.set(version, documents);
          }
        }
      }),
      { numRuns: randomRuns(4), seed: 20_261_121 },
    );
  },
);
