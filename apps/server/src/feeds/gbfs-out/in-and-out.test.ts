import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cityWithEveryField } from "../../../test/gbfs-out/city-with-every-field.ts";
import { lostFields } from "../../../test/gbfs-out/compare-documents.ts";
import { call, type GbfsOutHarness, openGbfsOutHarness } from "../../../test/gbfs-out/gbfs-out.harness.ts";
import { schemaErrors, schemasAreHere, sharedFolder } from "../../../test/gbfs-out/official-schemas.ts";
import { sourceOf } from "../../../test/gbfs/city.ts";
import { plannersFeeds } from "../../../test/gbfs/planners-feeds.ts";
import { createSystem } from "../../city/systems/service.ts";
import { importSnapshot, openSource } from "../gbfs/import.ts";
import type { GbfsSource } from "../gbfs/snapshot.ts";

let harness: GbfsOutHarness;
beforeAll(async () => void (harness = await openGbfsOutHarness()));
afterAll(() => harness.close());

/** Fields that Lyft adds to those of GBFS. */
const ofLyft = ["num_ebikes_available", "num_scooters_available", "num_scooters_unavailable"];

async function published(system: string, version: string, feed: string): Promise<unknown> {
  const { status, body } = await call(`${harness.url}/gbfs/${system}/${version}/${feed}.json`);
  return status === 404 ? { data: {} } : JSON.parse(body);
}

async function loadAs(system: string, source: GbfsSource): Promise<void> {
  await createSystem(harness.db, system, system, harness.clock());
  harness.clock.advance(60_000); // the list of systems is read again
  const context = { systemId: system, source: "gbfs", now: harness.clock(), ids: harness.live.ids };
  await importSnapshot(harness.db, context, source);
}

/** Returns the fields that the imported feeds have and the published feeds of the system lack. */
async function losses(
  system: string,
  documents: Readonly<Record<string, unknown>>,
  version = "2.3",
): Promise<string[]> {
  const lost: string[] = [];
  for (const [feed, document] of Object.entries(documents)) {
    const fields = lostFields(document, await published(system, version, feed), ofLyft);
    lost.push(...fields.map((field) => `${feed} ${field}`));
  }
  return lost;
}

async function invalid(system: string): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const version of ["2.3", "3.0", "3.1-RC3"]) {
    const list = JSON.stringify(await published(system, version, "gbfs"));
    const feeds = [...list.matchAll(/"name":"(\w+)"/g)].map(([, name = ""]) => name);
    for (const feed of feeds) {
      const document = await published(system, version, feed);
      errors.push(...schemaErrors(version, feed, document).map((error) => ({ version, feed, error })));
    }
  }
  return errors;
}

test("what a feed says is published again, every optional field of it, while nobody says otherwise", async () => {
  await loadAs("every", sourceOf(cityWithEveryField));
  expect(await losses("every", cityWithEveryField)).toEqual([]);
  expect(schemasAreHere ? await invalid("every") : []).toEqual([]);
});

test("what a system publishes is published again by one that imports it, in every version", async () => {
  for (const version of ["2.3", "3.0", "3.1-RC3"]) {
    const list = JSON.stringify(await published("every", version, "gbfs"));
    const feeds = [...list.matchAll(/"name":"(\w+)"/g)].map(([, name = ""]) => name);
    const documents: Record<string, object> = {};
    for (const feed of feeds.filter((name) => name !== "gbfs_versions"))
      documents[feed] = (await published("every", version, feed)) as object;
    await loadAs(`again ${version}`, sourceOf(documents));
    expect(await losses(`again ${version}`, documents, version)).toEqual([]);
  }
});

test.each(Object.entries(plannersFeeds))(
  "a feed of the shape that planners keep is published valid, without a loss but for what cannot be: %s",
  async (name, { version, documents, lost }) => {
    await loadAs(name, sourceOf(documents));
    expect(await losses(name, documents, version)).toEqual(lost);
    expect(schemasAreHere ? await invalid(name) : []).toEqual([]);
  },
);

test("a phone number without its country is left out of 3.0, which takes none", async () => {
  for (const version of ["3.0", "3.1-RC3"]) {
    expect(await published("every", version, "system_information")).not.toHaveProperty("data.phone_number");
  }
});

const divvy = sharedFolder("gbfs", "divvy-v2.3");
const isHere = existsSync(divvy);

test.skipIf(!isHere)(
  `Divvy's real feeds are published again without a loss${isHere ? "" : " (skipped: they are not here)"}`,
  async () => {
    const source = await openSource(divvy, harness.clock());
    try {
      await loadAs("divvy", source);
    } finally {
      await source.close();
    }
    const names = readdirSync(divvy).flatMap((file) => /^((?!gbfs).*)\.json$/.exec(file)?.[1] ?? []);
    const read = (name: string): unknown => JSON.parse(readFileSync(join(divvy, `${name}.json`), "utf8"));
    const lost = await losses("divvy", Object.fromEntries(names.map((name) => [name, read(name)])));
    // Divvy counts scooters only by type, so the service publishes more vehicles than Divvy's `num_bikes_available`.
    expect(lost).toEqual([
      expect.stringMatching(/^station_status data\.stations\[\]\.num_bikes_available: 139 differ/),
    ]);
    expect(schemasAreHere ? await invalid("divvy") : []).toEqual([]);
  },
);
