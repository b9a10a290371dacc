import { readFileSync } from "node:fs";
import { gbfsVersions } from "@bikeshare/contract";
import type { FeedFinding } from "@bikeshare/contract/console";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { officialErrors } from "../../../test/gbfs-check/official-rules.ts";
import { schemasAreHere, sharedFolder, unlessHere } from "../../../test/gbfs-out/official-schemas.ts";
import { isObject } from "../gbfs/values.ts";
import { checkFeed } from "./check.ts";
import { type FeedFiles, FeedSet } from "./feed-set.ts";
import { readFolder } from "./read-folder.ts";

const NOW = Date.parse("2026-08-01T12:00:00Z");

/** Rules that the official validator has as well. */
const OFFICIAL = new Set([
  ...["field-value", "required-field", "version", "unknown-field", "file-missing"],
  ...["vehicle-position", "terms-date", "two-licences", "max-range-missing", "range-missing", "reservation-price"],
  ...["store-uri-missing", "station-types-missing", "vehicle-type-missing"],
]);

/** Rules that the official validator applies to these fields only. */
const PARTS: Readonly<Record<string, RegExp>> = {
  "unknown-vehicle-type": /vehicle_types_available$/,
  "unknown-plan": /default_pricing_plan_id$/,
};

function isOfficial({ severity, rule, path }: FeedFinding): boolean {
  return severity === "error" && (OFFICIAL.has(rule) || PARTS[rule]?.test(path) === true);
}

/** Compares, file by file, whether each validator finds errors. */
function compare(files: FeedFiles): void {
  const set = new FeedSet(files, NOW);
  const official = officialErrors(set);
  const hasPlans = set.ids("system_pricing_plans").size > 0;
  const isOfficialHere = (finding: FeedFinding) => isOfficial(finding) && (hasPlans || finding.rule !== "unknown-plan");
  const findings = checkFeed(files, { now: NOW }).findings.filter(isOfficialHere);
  const ours = new Set(findings.map(({ file }) => file));
  for (const { file } of set.documents) {
    // The schema of 1.0 requires a number in `is_taxable`, its specification a boolean.
    if (set.version === "1.0" && file === "system_pricing_plans.json") continue;
    const detail = JSON.stringify({
      official: official.get(file)?.slice(0, 3),
      ours: findings.filter((f) => f.file === file).slice(0, 3),
    });
    expect(ours.has(file), `${file}: ${detail}`).toBe(official.has(file));
  }
}

const folders = ["gbfs/divvy-v2.3", "gbfs/hsl-helsinki-v1", "gbfs/jump-dc-v1.0"].concat(
  ["v2_X", "v3_0", "v3_1_RC3"].map((name) => `gbfs-json-schema/examples/${name}`),
);

describe.skipIf(!schemasAreHere)(`the official schemas${unlessHere}`, () => {
  test.each(folders)("find errors in the same files: %s", async (folder) => {
    compare(await readFolder(sharedFolder(...folder.split("/"))));
  });

  test("find errors in the same mutated files, in every version", { timeout: 240_000 }, async () => {
    const sets = await Promise.all(
      folders.map(async (folder) => shortened(await readFolder(sharedFolder(...folder.split("/"))))),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...sets),
        fc.constantFrom(undefined, ...gbfsVersions),
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        (set, version, mutations) => compare(mutated(set, version, mutations)),
      ),
      { numRuns: randomRuns(120) },
    );
  });

  test("know the same time zones", () => {
    const schema = readFileSync(sharedFolder("gbfs-json-schema", "v3.0", "system_information.json"), "utf8");
    const zones = JSON.parse(schema) as { properties: { data: { properties: { timezone: { enum: string[] } } } } };
    for (const zone of zones.properties.data.properties.timezone.enum) {
      // ICU, which Node uses, does not know the time zone of an unset clock.
      if (zone === "Factory") continue;
      const findings = checkFeed(systemIn(zone), { now: NOW }).findings.filter(({ path }) => path === "data.timezone");
      expect(findings, zone).toEqual([]);
    }
  });
});

function systemIn(timezone: string): FeedFiles {
  const content = { version: "3.0", data: { timezone } };
  const bytes = Buffer.from(JSON.stringify(content));
  return { kind: "folder", location: "", files: [{ name: "system_information", language: null, address: "", bytes }] };
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Documents = Record<string, Json>;

/** Returns documents with two items in each list: enough to show every fault. */
function shortened({ files }: FeedFiles): Documents {
  const short = (value: Json): Json => {
    if (Array.isArray(value)) return value.slice(0, value.every((each) => isObject(each)) ? 2 : 20).map(short);
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, short(each)]))
      : value;
  };
  const read = files.map(({ name, bytes }) => [name, JSON.parse(Buffer.from(bytes ?? []).toString()) as Json] as const);
  return Object.fromEntries(read.map(([name, document]) => [name, name === "gbfs" ? document : short(document)]));
}

const values: readonly Json[] = [
  null,
  "",
  "x",
  "en",
  "https://example.com",
  0,
  1,
  -1,
  1.5,
  1_700_000_000,
  true,
  false,
  [],
  {},
  ["x"],
  [{}],
  "2026-01-31",
  "2026-01-31T08:00:00Z",
];

const mutation = fc.record({
  file: fc.nat(),
  steps: fc.array(fc.nat(), { minLength: 1, maxLength: 10 }),
  change: fc.oneof(
    fc.constant("drop" as const),
    fc.constantFrom("x", "_x", "license_id", "terms_url", "station_id"),
    fc.constantFrom(...values.map((value) => ({ value }))),
  ),
});

type Mutation = typeof mutation extends fc.Arbitrary<infer Value> ? Value : never;

function mutated(documents: Documents, version: string | undefined, mutations: readonly Mutation[]): FeedFiles {
  const copy = structuredClone(documents);
  if (version !== undefined)
    for (const document of Object.values(copy)) if (isObject(document)) document["version"] = version;
  const names = Object.keys(copy);
  for (const { file, steps, change } of mutations) changeAt(copy, [names[file % names.length] ?? ""], steps, change);
  const files = Object.entries(copy).filter(([, document]) => isObject(document));
  return {
    ...{ kind: "folder", location: "" },
    files: files.map(([name, document]) => ({
      name,
      language: null,
      address: "",
      bytes: Buffer.from(JSON.stringify(document)),
    })),
  };
}

/** Changes a value at a random place below a path. */
function changeAt(
  root: Documents,
  path: readonly string[],
  steps: readonly number[],
  change: Mutation["change"],
): void {
  let parent: Json = root;
  let key = path[0] ?? "";
  for (const step of steps) {
    const value: Json | undefined = (parent as Documents)[key];
    if (typeof value !== "object" || value === null) break;
    const keys = Object.keys(value);
    if (keys.length === 0) break;
    parent = value;
    key = keys[step % keys.length] ?? "";
  }
  // The schemas contain a list of licences, which grows.
  if (key === "license_id") return;
  const target = parent as Documents;
  if (change === "drop") {
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else if (target !== root) delete target[key];
  } else if (typeof change === "string") {
    if (isObject(target[key])) (target[key] as Documents)[change] = "x";
  } else target[key] = structuredClone(change.value);
}
