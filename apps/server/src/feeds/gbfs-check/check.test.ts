// oxlint-disable typescript/no-unsafe-return, typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-argument, typescript/no-unsafe-call -- tests spoil documents in ways that no type has
import { expect, test } from "vitest";
import { cleanDocuments, type Documents, FEED_TIME, filesOf } from "../../../test/gbfs-check/clean-feed.ts";
import { checkFeed, rules } from "./check.ts";
import type { FeedFile, FeedFiles, FollowedVehicles } from "./feed-set.ts";

type Http = NonNullable<FeedFile["http"]>;
const WELL: Http = {
  isHttps: true,
  milliseconds: 80,
  hasEtag: true,
  answersNotModified: true,
  allowsOrigins: true,
  isCompressed: true,
};

/** A change to the clean feed, in its documents or its files, that one rule must find. */
interface Fault {
  readonly version?: string;
  readonly spoil?: (documents: Documents) => void;
  readonly files?: (files: FeedFiles) => FeedFiles;
}

const station = (documents: Documents, index = 0) => documents["station_information"].data.stations[index];
const status = (documents: Documents, index = 0) => documents["station_status"].data.stations[index];
const vehicle = (documents: Documents, index = 0) => documents["vehicle_status"].data.vehicles[index];
const system = (documents: Documents) => documents["system_information"].data;
const plan = (documents: Documents) => documents["system_pricing_plans"].data.plans[0];
const type = (documents: Documents, index = 0) => documents["vehicle_types"].data.vehicle_types[index];
const zone = (documents: Documents) => documents["geofencing_zones"].data.geofencing_zones.features[0].properties;
const spoiled = (spoil: (documents: Documents) => void, version?: string): Fault => ({
  spoil,
  ...(version && { version }),
});
const served = (change: Partial<Http>): Fault => ({
  files: (files) => ({ ...files, files: files.files.map((file) => ({ ...file, http: { ...WELL, ...change } })) }),
});
const watched = (change: Partial<FollowedVehicles>): Fault => ({
  files: (files) => ({
    ...files,
    followed: { minutes: 10, reads: 20, failed: 0, kept: [], isUpdated: true, ...change },
  }),
});
const later = (change: (document: Documents) => void): Fault => ({
  files: (files) => ({
    ...files,
    files: files.files.map((file) => {
      if (file.name !== "station_status" || file.bytes === undefined) return file;
      const document = JSON.parse(Buffer.from(file.bytes).toString()) as Documents;
      change(document);
      return { ...file, later: Buffer.from(JSON.stringify(document)) };
    }),
  }),
});

const faults: Readonly<Record<string, Fault>> = {
  "vehicle-position": spoiled((d) => delete vehicle(d).lat),
  "terms-date": spoiled((d) => (system(d).terms_url = [{ text: "https://city.example/terms", language: "en" }])),
  "two-licences": spoiled((d) => (system(d).license_url = "https://city.example/licence")),
  "licence-missing": spoiled((d) => delete system(d).license_id),
  "id-of-others": spoiled((d) => (system(d).system_id = "main")),
  "contact-missing": spoiled((d) => (system(d).feed_contact_email = "unknown@example.invalid")),
  "max-range-missing": spoiled((d) => delete type(d, 1).max_range_meters),
  "range-missing": spoiled((d) => delete vehicle(d, 1).current_range_meters),
  "reservation-price": spoiled((d) => {
    Object.assign(plan(d), { reservation_price_per_min: 1, reservation_price_flat_rate: 5 });
    for (const index of [0, 1]) type(d, index).default_reserve_time = 10;
  }, "3.1-RC3"),
  "reserve-time-missing": spoiled((d) => (plan(d).reservation_price_per_min = 1), "3.1-RC3"),
  "store-uri-missing": spoiled((d) => delete system(d).rental_apps),
  "station-types-missing": spoiled((d) => delete status(d).vehicle_types_available),
  "vehicle-type-missing": spoiled((d) => delete vehicle(d).vehicle_type_id),
  "default-plan-missing": spoiled((d) => delete type(d).default_pricing_plan_id),
  "zone-without-rules": spoiled((d) => (zone(d).rules = [])),
  "file-missing": spoiled((d) => delete d["station_status"]),
  "file-unreadable": {
    files: (files) => ({
      ...files,
      files: files.files.map((file) =>
        file.name === "system_alerts" ? { ...file, bytes: undefined, failure: "HTTP 500" } : file,
      ),
    }),
  },
  "unknown-file": spoiled((d) => (d["free_bike_status"] = d["vehicle_status"])),
  manifest: spoiled((d) => (system(d).manifest_url = "https://city.example/manifest.json")),
  "unknown-vehicle-type": spoiled((d) => (vehicle(d).vehicle_type_id = "moped")),
  "vehicle-types-missing": spoiled((d) => delete d["vehicle_types"]),
  "unknown-plan": spoiled((d) => (vehicle(d).pricing_plan_id = "gone")),
  "station-in-one-file": spoiled((d) => recordsOf(d["station_status"]).pop()),
  "unknown-station": spoiled((d) => (vehicle(d).home_station_id = "gone")),
  "unknown-region": spoiled((d) => (station(d).region_id = "east")),
  "id-repeated": spoiled((d) => (vehicle(d, 1).vehicle_id = "v1")),
  "id-characters": spoiled((d) => (vehicle(d).vehicle_id = "bike 1")),
  "languages-incomplete": spoiled((d) => (system(d).languages = ["en", "nb"])),
  "types-exceed-count": spoiled((d) => (status(d).vehicle_types_available[0].count = 5)),
  "count-exceeds-capacity": spoiled((d) => (status(d).num_docks_available = 40)),
  "coordinates-coarse": spoiled((d) => {
    for (const each of recordsOf(d["station_information"])) Object.assign(each, { lat: 59.91, lon: 10.72 });
  }),
  "far-away": spoiled((d) => Object.assign(station(d), { lat: 10.71234, lon: 59.91234 })),
  ahead: spoiled((d) => (d["vehicle_status"].last_updated = "2026-08-01T12:10:00Z")),
  milliseconds: spoiled((d) => (d["vehicle_status"].last_updated = FEED_TIME)),
  "ttl-long": spoiled((d) => (d["station_status"].ttl = 3600)),
  old: spoiled((d) => (d["vehicle_status"].last_updated = "2026-08-01T11:00:00Z")),
  "reported-equal": spoiled((d) => {
    for (const each of recordsOf(d["station_status"])) each.last_reported = "2026-08-01T11:59:00Z";
  }),
  "reported-long-ago": spoiled((d) => (status(d).last_reported = "2026-07-30T11:59:00Z")),
  "alert-over": spoiled((d) => (recordsOf(d["system_alerts"])[0].times[0].end = "2026-07-15T00:00:00Z")),
  "zone-over": spoiled((d) => (zone(d).end = "2026-07-15T00:00:00Z")),
  "hours-unreadable": spoiled((d) => (system(d).opening_hours = "always")),
  capitals: spoiled((d) => {
    for (const each of recordsOf(d["station_information"])) each.name[0].text = "CENTRAL STATION";
  }),
  html: spoiled((d) => (station(d).name[0].text = "<b>Central</b>")),
  "ids-stay": watched({ kept: ["v1"] }),
  "reads-failed": watched({ failed: 1, failure: "HTTP 502" }),
  "not-https": served({ isHttps: false }),
  slow: served({ milliseconds: 1_500 }),
  "no-not-modified": served({ answersNotModified: false }),
  "no-cors": served({ allowsOrigins: false }),
  "no-gzip": served({ isCompressed: false }),
  "goes-back": later((document) => (document["last_updated"] = "2026-08-01T11:58:00Z")),
  "stands-still": later((document) => (document["data"].stations[0].num_docks_available = 8)),
};

test("a second read within the limits is compared, and one beyond them is not parsed", () => {
  const found = (values: number) => {
    const again = later((document) => {
      document["last_updated"] = "2026-08-01T11:58:00Z";
      document["data"].filling = Array.from({ length: values }, () => 0);
    });
    const files = filesOf(cleanDocuments());
    return checkFeed(again.files?.(files) ?? files, { now: FEED_TIME }).findings.map(({ rule }) => rule);
  };
  expect(found(1)).toContain("goes-back");
  expect(found(1_000_001)).toEqual([]);
});

// oxlint-disable-next-line typescript/no-explicit-any -- tests spoil documents in ways that no type has
function recordsOf(document: any): any[] {
  return Object.values(document.data)[0] as unknown[];
}

function check({ version, spoil, files = (each) => each }: Fault) {
  const clean = cleanDocuments(version);
  spoil?.(clean);
  return checkFeed(files(filesOf(clean)), { now: FEED_TIME });
}

test("a clean feed has no finding, and every consumer shows all of it", () => {
  const report = check(served({}));
  expect(report.findings).toEqual([]);
  expect(report.verdicts.map(({ text }) => text)).toEqual([
    "lamassu shows 12 stations and 2 vehicles",
    "OpenTripPlanner shows 12 stations and 2 vehicles",
    "MOTIS shows 12 stations and 2 vehicles",
    "Google shows 12 stations and 2 vehicles",
  ]);
  expect(report).toMatchObject({ errors: 0, warnings: 0, notes: 0, system_id: "citybikes_example", version: "3.0" });
});

test("every rule has a fault that it finds", () => {
  expect(Object.keys(faults).toSorted()).toEqual([...new Set(rules.map(({ id }) => id))].toSorted());
});

test.each(Object.entries(faults))("%s is found where it is, and says how to mend it", (id, fault) => {
  const found = check(fault).findings.filter(({ rule }) => rule === id);
  expect(found).not.toEqual([]);
  for (const { text, fix } of found) {
    expect(text).toMatch(/^[A-Z`].*\.$/);
    expect(fix).toMatch(/^[A-Z].*[.`]$/);
  }
});

test("a finding of a zone names its place in the document, though an element before it is no zone", () => {
  const { findings } = check(
    spoiled((d) => {
      Object.assign(zone(d), { rules: [], end: "2026-07-15T00:00:00Z" });
      d["geofencing_zones"].data.geofencing_zones.features.unshift(null);
    }),
  );
  const placesOf = (id: string) =>
    findings.filter(({ rule }) => rule === id).flatMap(({ examples }) => examples.map(({ path }) => path));
  expect(placesOf("zone-without-rules")).toEqual(["data.geofencing_zones.features[1].properties.rules"]);
  expect(placesOf("zone-over")).toEqual(["data.geofencing_zones.features[1].properties.end"]);
});

test("a finding of a record names its place in the document, though an element before it is no record", () => {
  const { findings } = check(
    spoiled((d) => {
      recordsOf(d["station_status"]).unshift(null);
      status(d, 1).vehicle_types_available[0].count = 5;
    }),
  );
  expect(findings.find(({ rule }) => rule === "types-exceed-count")?.examples).toMatchObject([
    { path: "data.stations[1].vehicle_types_available", id: "s0" },
  ]);
});

test("an address may name its host by an IPv6 address, in brackets there and nowhere else", () => {
  const errorsOf = (url: string) => {
    const { findings } = check(spoiled((d) => (d["gbfs_versions"].data.versions[0].url = url)));
    return findings.filter(({ rule }) => rule === "field-value").length;
  };
  const urls = ["https://[2001:db8::1]:8443/gbfs.json", "https://[::1]", "https://city.example/[::1]"];
  expect(urls.map(errorsOf)).toEqual([0, 0, 1]);
});

test("thousands of equal findings are one, with their number and three examples", () => {
  const { findings } = check(
    spoiled((d) => {
      for (const each of recordsOf(d["station_status"])) each.is_renting = 1;
    }),
  );
  expect(findings).toEqual([
    {
      ...{ rule: "field-value", severity: "error", file: "station_status.json", path: "data.stations[].is_renting" },
      ...{ text: "`is_renting` is a number; GBFS 3.0 requires true or false.", fix: "Write true or false.", count: 12 },
      examples: [0, 1, 2].map((index) => ({ path: `data.stations[${index}].is_renting`, id: `s${index}`, value: "1" })),
    },
  ]);
});

test.each<[string, string, (documents: Documents) => void, string?]>([
  ["is missing; GBFS 3.0 requires it.", "Add it: true or false.", (d) => delete plan(d).is_taxable],
  [
    "is missing; GBFS 3.0 requires it.",
    'Add it: an array of texts such as [{"text": "…", "language": "en"}].',
    (d) => delete station(d).name,
  ],
  [
    'is a string; GBFS 3.0 requires an array of texts such as [{"text": "…", "language": "en"}].',
    'Write an array of texts such as [{"text": "…", "language": "en"}].',
    (d) => (station(d).name = "Central"),
  ],
  [
    "is out of bounds; GBFS 3.0 requires a whole number, 0 or more.",
    "Write a whole number, 0 or more.",
    (d) => (station(d).capacity = -4),
  ],
  [
    "is a string; GBFS 3.0 requires a number, 0 or more.",
    "Write a number, 0 or more, without quotes.",
    (d) => (plan(d).price = "8.50"),
  ],
  [
    "is a number; GBFS 3.0 requires a time such as 2026-01-31T08:00:00Z.",
    "Write a time such as 2026-01-31T08:00:00Z.",
    (d) => (status(d).last_reported = FEED_TIME),
  ],
  [
    "is out of bounds; GBFS 2.3 requires a time in whole seconds since 1970.",
    "Write a time in whole seconds since 1970.",
    (d) => (status(d).last_reported = 1),
    "2.3",
  ],
  [
    "is in milliseconds, which planners read as a year far ahead.",
    "Write seconds since 1970; since GBFS 3.0 a time such as 2026-01-31T08:00:00Z.",
    (d) => (status(d).last_reported = FEED_TIME),
    "2.3",
  ],
])("a value that %s has the advice: %s", (text, fix, spoil, version) => {
  const found = check(spoiled(spoil, version)).findings.filter((finding) => finding.text.endsWith(text));
  expect(found.map((finding) => finding.fix)).toEqual([fix]);
});

/** Adds vehicles of two types that no file describes to one station. */
function addUnknownTypes(documents: Documents): void {
  for (const id of ["trike", "tandem"])
    status(documents).vehicle_types_available.push({ vehicle_type_id: id, count: 1 });
}

test.each<[string, string, (documents: Documents) => void, string?]>([
  ["lamassu", "lamassu shows 0 of 12 stations: no pricing plans", (d) => delete d["system_pricing_plans"]],
  ["lamassu", "lamassu drops 1 vehicle without a pricing plan", (d) => delete type(d).default_pricing_plan_id],
  ["lamassu", "lamassu takes nothing: station s0 is listed twice", (d) => (station(d, 1).station_id = "s0")],
  ["otp", "OpenTripPlanner drops 1 e-bike without a range", (d) => delete vehicle(d, 1).current_range_meters],
  ["otp", "OpenTripPlanner takes nothing: it does not read GBFS 3.1-RC3", () => undefined, "3.1-RC3"],
  ["otp", "OpenTripPlanner takes nothing: a zone has no rule", (d) => (zone(d).rules = [])],
  ["otp", "OpenTripPlanner reads only the first rule of 1 zone", (d) => zone(d).rules.push(zone(d).rules[0])],
  ["otp", "OpenTripPlanner leaves out vehicles of unknown types at 1 station", addUnknownTypes],
  ["motis", "MOTIS does not count vehicles of unknown types at 1 station", addUnknownTypes],
  ["motis", "MOTIS lets type `ebike` be left anywhere", (d) => delete type(d, 1).return_constraint],
  ["google", "Google finds no rental apps", (d) => delete system(d).rental_apps],
])("%s: %s", (consumer, text, spoil, version) => {
  const { verdicts } = check(spoiled(spoil, version));
  expect(verdicts.find((verdict) => verdict.consumer === consumer)?.text).toBe(text);
});

test.each<[string, string, (documents: Documents) => void]>([
  [
    "google",
    "Google finds no prices; 1 more loss",
    (d) => {
      delete station(d).rental_uris;
      delete d["system_pricing_plans"];
    },
  ],
  [
    "google",
    "Google finds no links into the app for 13 of 13 stations and vehicles; 1 more loss",
    (d) => {
      for (const each of recordsOf(d["station_information"])) delete each.rental_uris;
      delete vehicle(d).rental_uris;
      Object.assign(vehicle(d, 1), { station_id: "s0" });
      delete vehicle(d, 1).rental_uris;
      delete d["system_pricing_plans"];
    },
  ],
  [
    "motis",
    "MOTIS lets type `ebike` be left anywhere; 1 more loss",
    (d) => {
      delete type(d, 1).return_constraint;
      d["vehicle_status"].data.vehicles.push({ ...vehicle(d, 1), vehicle_id: "v3" });
      zone(d).rules = [];
    },
  ],
])("the verdict for %s names the loss that affects most: %s", (consumer, text, spoil) => {
  const { verdicts } = check(spoiled(spoil));
  expect(verdicts.find((verdict) => verdict.consumer === consumer)?.text).toBe(text);
});

test("a report stays small, however long the names, ids and texts of a feed are", () => {
  const long = "x".repeat(200_000);
  const file = (name: string, data: object) => ({
    ...{ name, language: null, address: `https://feeds.example/${long}` },
    bytes: Buffer.from(JSON.stringify({ last_updated: "2026-01-01T00:00:00Z", ttl: 0, version: "3.0", data })),
  });
  const report = checkFeed(
    {
      ...{ kind: "address", location: `https://feeds.example/${long}` },
      files: [
        file("gbfs", { feeds: [{ name: long, url: long }], [long]: 1 }),
        file("system_information", { system_id: long, name: long, [long]: { [long]: long } }),
        file("station_information", { stations: [{ station_id: long, [long]: long, lat: long }] }),
        { name: "vehicle_types", language: long, address: long, failure: long },
        { name: long, language: long, address: long, failure: long },
      ],
    },
    { now: Date.UTC(2026, 0, 1) },
  );
  expect(report.findings.length).toBeGreaterThan(5);
  expect(JSON.stringify(report).length).toBeLessThan(200_000);
});
