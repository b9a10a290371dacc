import { errorBody, gbfsDocument, publishedGbfsVersions } from "@bikeshare/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { call as callUrl, type GbfsOutHarness, openGbfsOutHarness } from "../../../test/gbfs-out/gbfs-out.harness.ts";
import { schemaErrors, schemasAreHere, unlessHere } from "../../../test/gbfs-out/official-schemas.ts";
import { until } from "../../../test/until.ts";
import { describe as describeFacts } from "../../city/descriptions/service.ts";
import { upsertBikes } from "../../city/fleet/bike-commands.ts";
import { endRides } from "../../city/fleet/finish-rides.ts";
import { startRides } from "../../city/fleet/start-rides.ts";
import { takeStationsOffline, upsertStations } from "../../city/fleet/station-commands.ts";
import { createSystem } from "../../city/systems/service.ts";

let harness: GbfsOutHarness;

beforeAll(async () => {
  harness = await openGbfsOutHarness();
  await createSystem(harness.db, "second/city", "Second city", harness.clock());
  await upsertStations(harness.live, "main", [
    { item: { id: "harbour", name: "Harbour", lat: 59.9, lon: 10.7, region_id: "north" } },
  ]);
  await upsertBikes(
    harness.live,
    "main",
    [1, 2, 3].map((n) => ({ item: { id: `bike-${n}`, station_id: "harbour", vehicle_type_id: "classic" } })),
  );
});

afterAll(() => harness.close());

const call = (path: string, headers?: Record<string, string>, method?: string) =>
  callUrl(harness.url + path, headers, method);

type Item = Record<string, unknown>;
type Document = { last_updated: string; data: Record<string, Item[]> };
const read = async (path: string) => JSON.parse((await call(path)).body) as Document;

/** Returns a feed once it shows the changes so far, after its minimum age. */
async function fresh(path: string, holds: (document: Document) => boolean): Promise<Document> {
  let document: Document | undefined;
  await until(async () => {
    harness.clock.advance(3000);
    document = await read(path);
    return holds(document);
  });
  if (document === undefined) throw new Error(`${path} says nothing`);
  return document;
}

const vehicleIds = ({ data }: Document) => (data["vehicles"] ?? []).map((vehicle) => String(vehicle["vehicle_id"]));

describe("discovery", { shuffle: false }, () => {
  const documents: [feed: string, document: z.infer<typeof gbfsDocument>][] = [];

  test.each(publishedGbfsVersions)(
    "every feed that gbfs.json of %s lists is there, and names its own version",
    async (version) => {
      const { data } = await read(`/gbfs/${version}/gbfs.json`);
      const { feeds = [] } =
        version === "2.3" ? (data["en"] as unknown as { feeds: Item[] }) : { feeds: data["feeds"] };
      expect(feeds.length).toBe(8);
      for (const { name, url } of feeds) {
        expect(String(url)).toMatch(new RegExp(`^https://bikes\\.example/gbfs/main/${version}/`));
        const answer = await call(String(url).replace("https://bikes.example", ""));
        expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
        const document = gbfsDocument.parse(JSON.parse(answer.body));
        expect(document.version).toBe(version);
        documents.push([String(name), document]);
      }
    },
  );

  test.skipIf(!schemasAreHere)(`every feed passes its official schema${unlessHere}`, () => {
    expect(documents.length).toBeGreaterThan(0);
    for (const [key, document] of documents) expect(schemaErrors(document.version, key, document), key).toEqual([]);
  });

  test("a path without a system means the first system, also when there are more", async () => {
    expect(await read("/gbfs/3.0/station_status.json")).toEqual(await read("/gbfs/main/3.0/station_status.json"));
    expect((await read("/gbfs/second%2Fcity/3.0/station_status.json")).data).toEqual({ stations: [] });
    expect((await read("/gbfs/second%2Fcity/3.0/system_information.json")).data).toMatchObject({
      system_id: "second/city",
    });
  });

  const urlOf = (version: string) => ({ version, url: `https://bikes.example/gbfs/main/${version}/gbfs.json` });

  test.each(["/gbfs/gbfs_versions.json", "/gbfs/main/gbfs_versions.json", "/gbfs/3.1-RC3/gbfs_versions.json"])(
    "%s lists all versions",
    async (path) => expect((await read(path)).data["versions"]).toEqual(publishedGbfsVersions.map(urlOf)),
  );

  test("a version whose schema knows no release candidate lists none", async () =>
    expect((await read("/gbfs/3.0/gbfs_versions.json")).data["versions"]).toEqual([urlOf("2.3"), urlOf("3.0")]));

  test("v2 and v3 are the newest versions of their kind", async () => {
    expect(await read("/gbfs/v2/station_status.json")).toEqual(await read("/gbfs/2.3/station_status.json"));
    expect(await read("/gbfs/main/v3/vehicle_status.json")).toEqual(await read("/gbfs/3.0/vehicle_status.json"));
  });

  test.each(["/gbfs/9.9/gbfs.json", "/gbfs/main/1.0/gbfs.json", "/gbfs/constructor/gbfs.json"])(
    "%s is 404 and names the versions",
    async (path) => {
      const { status, body } = await call(path);
      expect([status, errorBody.parse(JSON.parse(body)).message]).toEqual([
        404,
        "There is no such version of GBFS here. There are: 2.3, 3.0, 3.1-RC3, v2, v3.",
      ]);
    },
  );

  test("2.3 is also there in each language, and names the languages that there are", async () => {
    for (const path of ["/gbfs/2.3/en/system_information.json", "/gbfs/main/v2/en/system_information.json"])
      expect(await read(path)).toEqual(await read("/gbfs/2.3/system_information.json"));
    expect(JSON.parse((await call("/gbfs/main/2.3/nb/system_information.json")).body)).toMatchObject({
      error: "not_found",
      message: "This system has no texts in this language. There are: en.",
    });
    expect((await call("/gbfs/main/3.0/en/system_information.json")).status).toBe(404);
  });

  test("the manifest lists every system, and every system names it", async () => {
    const { data } = await read("/gbfs/3.0/manifest.json");
    expect(data["datasets"]?.map(({ system_id }) => system_id)).toEqual(["main", "second/city"]);
    expect(data["datasets"]?.[0]).toEqual({ system_id: "main", versions: [urlOf("2.3"), urlOf("3.0")] });
    expect((await read("/gbfs/3.0/system_information.json")).data).toMatchObject({
      manifest_url: "https://bikes.example/gbfs/3.0/manifest.json",
    });
    expect((await call("/gbfs/2.3/manifest.json")).status).toBe(404);
  });

  test.each([
    "/gbfs/3.0/free_bike_status.json",
    "/gbfs/2.3/vehicle_status.json",
    "/gbfs/3.0/nothing.json",
    "/gbfs/3.0/__proto__.json",
    "/gbfs/3.0/gbfs",
    "/gbfs/nowhere/3.0/gbfs.json",
    "/gbfs/second%2Fcity/3.0/system_regions.json",
  ])("%s is 404 in the shape of every error, readable by any site", async (path) => {
    const { status, headers, body } = await call(path);
    expect([status, headers["content-type"], headers["access-control-allow-origin"]]).toEqual([
      404,
      "application/json",
      "*",
    ]);
    expect(errorBody.strict().parse(JSON.parse(body)).error).toBe("not_found");
    expect(headers["cache-control"]).toBeUndefined();
  });

  test.each([
    ["OPTIONS", "/gbfs/3.0/gbfs.json", 204],
    ["OPTIONS", "/gbfs/9.9/nothing.json", 204],
    ["POST", "/gbfs/3.0/gbfs.json", 405],
    ["GET", "/gbfs", 404],
  ])("%s %s is readable by any site", async (method, path, status) => {
    const answer = await call(path, {}, method);
    expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([status, "*"]);
  });

  test("a parameter that means nothing is refused", async () =>
    expect((await call("/gbfs/3.0/gbfs.json?x=1")).status).toBe(400));
});

describe("an answer", () => {
  const path = "/gbfs/3.0/vehicle_status.json";

  test("may be kept by anybody for its ttl, and read by any site", async () => {
    const { headers, body } = await call(path);
    expect(headers).toMatchObject({
      "access-control-allow-origin": "*",
      vary: "accept-encoding",
      "cache-control": "public, max-age=10",
    });
    const { last_updated } = JSON.parse(body) as Document;
    expect(Date.parse(String(headers["last-modified"]))).toBe(Date.parse(last_updated));
    expect((await call("/gbfs/2.3/system_information.json")).headers["cache-control"]).toBe("public, max-age=60");
  });

  test("is 304 without a body to whoever has it: by tag, strong or weak, alone or in a list, by *, or by date", async () => {
    const { headers } = await call(path);
    const etag = String(headers["etag"]);
    const lastModified = String(headers["last-modified"]);
    const later = new Date(Date.parse(lastModified) + 60_000).toUTCString();
    const conditions: Record<string, string>[] = [
      { "if-none-match": etag },
      { "if-none-match": etag.slice(2) },
      { "if-none-match": `"x", ${etag}` },
      { "if-none-match": "*" },
      { "if-none-match": etag, "cache-control": "no-cache" },
      { "if-modified-since": lastModified },
      { "if-modified-since": later },
      { "if-none-match": etag, "if-modified-since": new Date(0).toUTCString() },
    ];
    for (const condition of conditions) {
      for (const method of ["GET", "HEAD"]) {
        const answer = await call(path, condition, method);
        expect([answer.status, answer.body], JSON.stringify(condition)).toEqual([304, ""]);
        expect(answer.headers).toMatchObject({
          etag,
          "last-modified": lastModified,
          "cache-control": "public, max-age=10",
          vary: "accept-encoding",
          "access-control-allow-origin": "*",
        });
        expect(answer.headers["content-type"]).toBeUndefined();
      }
    }
  });

  test("is whole to whoever has another, and a tag goes before a date", async () => {
    const { headers } = await call(path);
    const lastModified = String(headers["last-modified"]);
    const conditions: Record<string, string>[] = [
      { "if-none-match": `W/"x", "y"` },
      { "if-none-match": `"x"`, "if-modified-since": lastModified },
      { "if-modified-since": new Date(Date.parse(lastModified) - 1000).toUTCString() },
      { "if-modified-since": "yesterday" },
    ];
    for (const condition of conditions)
      expect((await call(path, condition)).status, JSON.stringify(condition)).toBe(200);
  });

  test("to HEAD is that of GET without its body", async () => {
    const get = await call(path);
    const head = await call(path, {}, "HEAD");
    expect([head.status, head.headers["etag"], head.headers["content-length"], head.body]).toEqual([
      200,
      get.headers["etag"],
      get.headers["content-length"],
      "",
    ]);
  });
});

test("a date does not say which of two documents from the same second a caller has: the answer is whole", async () => {
  await createSystem(harness.db, "quick", "Quick", harness.clock());
  const write = (name: string) => upsertStations(harness.live, "quick", [{ item: { id: "s", name, lat: 1, lon: 1 } }]);
  // Uses two processes, because one serves the same page for two seconds.
  const readAnew = async (headers?: Record<string, string>) => {
    const { url } = await harness.process();
    return callUrl(`${url}/gbfs/quick/3.0/station_information.json`, headers);
  };
  await write("A");
  const first = await readAnew();
  const condition = { "if-modified-since": String(first.headers["last-modified"]) };
  expect((await readAnew(condition)).status).toBe(304);
  await write("B");
  const second = await readAnew(condition);
  expect([second.status, second.headers["last-modified"]]).toEqual([200, first.headers["last-modified"]]);
  expect((await readAnew(condition)).status).toBe(200);
});

test("a large feed is sent as it is or in gzip, whatever else a caller takes, and to HEAD without its body", async () => {
  await createSystem(harness.db, "large", "Large", harness.clock());
  // After two seconds the cached list of systems is read again, so that the new system is found.
  harness.clock.advance(2000);
  const stations = Array.from({ length: 1000 }, (_, n) => ({
    item: { id: `s${n}`, name: `Straße ${n}`, lat: 1, lon: n / 10 },
  }));
  await upsertStations(harness.live, "large", stations);
  const url = `${harness.url}/gbfs/large/3.0/station_information.json`;
  const ask = async (encoding: string, method = "GET") => {
    const response = await fetch(url, { method, headers: { "accept-encoding": encoding } });
    const { headers } = response;
    return {
      coding: headers.get("content-encoding"),
      etag: headers.get("etag"),
      type: headers.get("content-type"),
      body: await response.text(),
    };
  };
  const plain = await ask("identity");
  expect(plain.body.length).toBeGreaterThan(100_000);
  expect(await ask("gzip")).toEqual({ ...plain, coding: "gzip" });
  expect(await ask("gzip", "HEAD")).toEqual({ ...plain, coding: "gzip", body: "" });
  expect(await ask("zstd, br;q=0.9, gzip;q=0.1")).toEqual({ ...plain, coding: "gzip" });
  expect(await ask("zstd, br")).toEqual(plain);
});

describe("what there is not", () => {
  test.each([
    "/gbfs/%00/2.3/gbfs.json",
    "/gbfs/a%00b/gbfs_versions.json",
    "/gbfs/3.0/%00.json",
    "/gbfs/main/3.0/a%00.json",
  ])("%s, with a NUL, is 404", async (path) => {
    const { status, body } = await call(path);
    expect([status, errorBody.parse(JSON.parse(body)).error]).toEqual([404, "not_found"]);
  });

  test("costs the database nothing: systems and feeds that are made up, and feeds that a system has not", async () => {
    const { db } = harness;
    let transactions = 0;
    const counting = {
      ...db,
      query: (...args: Parameters<typeof db.query>) => {
        if (!args[0].name.startsWith("listener.")) transactions++;
        return db.query(...args);
      },
      transaction: (...args: Parameters<typeof db.transaction>) => (transactions++, db.transaction(...args)),
    } as typeof db;
    const other = await harness.process({ db: counting });
    // Repeats, because a process that misses a heartbeat on a busy machine drops its cache.
    await until(async () => {
      transactions = 0;
      for (let n = 0; n < 20; n++) {
        for (const path of [
          `/gbfs/none${n}/3.0/gbfs.json`,
          `/gbfs/3.0/none${n}.json`,
          "/gbfs/second%2Fcity/3.0/system_regions.json",
        ]) {
          expect((await callUrl(other.url + path)).status).toBe(404);
        }
      }
      // One transaction reads the list of systems, and one finds that this system has no regions.
      return transactions <= 2;
    });
  });
});

describe("the live state", () => {
  test("a bike leaves the feed for its ride and comes back under another id, which says nothing of it", async () => {
    const path = "/gbfs/3.0/vehicle_status.json";
    const before = vehicleIds(await fresh(path, (document) => vehicleIds(document).length === 3));
    await startRides(harness.live, "main", [{ item: { id: "ride", bike_id: "bike-2" } }]);
    const during = vehicleIds(await fresh(path, (document) => vehicleIds(document).length === 2));
    expect(before).toEqual(expect.arrayContaining(during));
    await endRides(harness.live, "main", [{ item: { id: "ride", end_station_id: "harbour" } }]);
    const after = vehicleIds(await fresh(path, (document) => vehicleIds(document).length === 3));
    expect(after.filter((id) => !before.includes(id))).toHaveLength(1);
    expect(after.filter((id) => before.includes(id)).sort()).toEqual(during.toSorted());
    expect(JSON.stringify(after)).not.toContain("bike-");
    expect(after).toEqual(after.toSorted());
  });

  test("counts follow the bikes, and a station that the operator takes offline lends nothing", async () => {
    const path = "/gbfs/2.3/station_status.json";
    const station = ({ data }: Document) => data["stations"]?.[0];
    expect(station(await fresh(path, () => true))).toMatchObject({
      num_bikes_available: 3,
      is_renting: true,
      vehicle_types_available: [{ vehicle_type_id: "classic", count: 3 }],
    });
    await takeStationsOffline(harness.live, "main", [{ item: { id: "harbour" } }]);
    expect(station(await fresh(path, (document) => station(document)?.["is_renting"] === false))).toMatchObject({
      is_installed: true,
      is_returning: false,
    });
  });

  test("what the operator says of the system is published", async () => {
    await describeFacts({ ...harness.live, actor: "test" }, "main", "system", "", {
      timezone: "europe/oslo",
      language: "nb_no",
      feed_contact_email: "feeds@bikes.example",
    });
    const { data } = await fresh("/gbfs/3.0/system_information.json", (document) =>
      JSON.stringify(document).includes("nb-NO"),
    );
    expect(data).toMatchObject({
      languages: ["nb-NO"],
      timezone: "Europe/Oslo",
      feed_contact_email: "feeds@bikes.example",
    });
    await expect(
      describeFacts({ ...harness.live, actor: "test" }, "main", "system", "", { timezone: "+01:00" }),
    ).rejects.toThrow(/timezone/);
  });
});

test("the list of feeds is made again without reading the zones, which may have megabytes", async () => {
  const systemId = "zoned";
  const acting = { ...harness.live, actor: "test" };
  const rules = [{ ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true }];
  await createSystem(harness.db, systemId, "Zoned", harness.clock());
  await describeFacts(acting, systemId, "geofencing_zones", "", { features: [], global_rules: rules });
  const listed = (names: readonly string[]) =>
    fresh(`/gbfs/${systemId}/3.0/gbfs.json`, ({ data }) => {
      const feeds = data["feeds"]?.map(({ name }) => name) ?? [];
      return names.every((name) => feeds.includes(name));
    });
  await listed(["geofencing_zones"]);
  // Deletes the content of the zones behind the cache: reading them now would find none, but `zonesState` is unchanged.
  const text = "update descriptions set content = '{}' where system_id = $1 and kind = 'geofencing_zones'";
  await harness.db.query({ name: "", text }, [systemId]);
  const price = { price: 1, is_taxable: false, description: "A day", currency: "EUR", name: "Day" };
  await describeFacts(acting, systemId, "pricing_plan", "day", price);
  await listed(["system_pricing_plans", "geofencing_zones"]);
});

test("a zone's rules for a vehicle type are published once a station names the type", async () => {
  const systemId = "typed";
  const rules = [
    { vehicle_type_ids: ["cargo"], ride_start_allowed: false, ride_end_allowed: false, ride_through_allowed: true },
  ];
  await createSystem(harness.db, systemId, "Typed", harness.clock());
  await describeFacts({ ...harness.live, actor: "test" }, systemId, "geofencing_zones", "", {
    features: [],
    global_rules: rules,
  });
  const called = (name: string) =>
    upsertStations(harness.live, systemId, [{ item: { id: "s", name, lat: 1, lon: 2 } }]);
  await called("One");
  const zones = `/gbfs/${systemId}/3.0/geofencing_zones.json`;
  await fresh(`/gbfs/${systemId}/3.0/station_information.json`, ({ data }) => data["stations"]?.length === 1);
  expect((await call(zones)).body).not.toContain("cargo");
  const text = "update stations set vehicle_types_available = $2 where system_id = $1";
  const available = JSON.stringify([{ vehicle_type_id: "cargo", count: 1 }]);
  await harness.db.query({ name: "", text }, [systemId, available]);
  await called("Two");
  await fresh(`/gbfs/${systemId}/3.0/station_information.json`, ({ data }) =>
    JSON.stringify(data).includes('"text":"Two"'),
  );
  harness.clock.advance(3000);
  expect((await call(zones)).body).toContain("cargo");
});

describe("a system with texts in two languages", () => {
  beforeAll(async () => {
    await createSystem(harness.db, "two", "two", harness.clock());
    await describeFacts({ ...harness.live, actor: "test" }, "two", "system", "", {
      language: "nb",
      name: [
        { text: "Byen", language: "nb" },
        { text: "The city", language: "en" },
      ],
    });
    harness.clock.advance(3000);
  });

  test("has a list of feeds and a document in each in 2.3, the main one at its old address", async () => {
    const { data } = await read("/gbfs/two/2.3/gbfs.json");
    const lists = data as unknown as Record<string, { feeds: Item[] }>;
    const urls = (language: string) => lists[language]?.feeds.map(({ url }) => String(url)) ?? [];
    expect(Object.keys(lists)).toEqual(["nb", "en"]);
    expect(urls("nb")).toContain("https://bikes.example/gbfs/two/2.3/system_information.json");
    expect(urls("en")).toContain("https://bikes.example/gbfs/two/2.3/en/system_information.json");
    expect(urls("en")).toContain("https://bikes.example/gbfs/two/2.3/station_status.json");
    const nameIn = async (path: string) => (await read(path)).data["name"];
    expect(await nameIn("/gbfs/two/2.3/system_information.json")).toBe("Byen");
    expect(await nameIn("/gbfs/two/2.3/nb/system_information.json")).toBe("Byen");
    expect(await nameIn("/gbfs/two/2.3/en/system_information.json")).toBe("The city");
    for (const url of urls("en")) {
      expect((await call(url.replace("https://bikes.example", ""))).status).toBe(200);
    }
  });

  test("has its feeds for 30 days after its last day, by its own clock, then 410", async () => {
    const day = (days: number) => new Date(harness.clock() + days * 86_400_000).toISOString().slice(0, 10);
    const statusAfter = async (termination_date: string) => {
      await describeFacts({ ...harness.live, actor: "test" }, "two", "system", "", { termination_date });
      const { url } = await harness.process();
      const { status, body } = await callUrl(`${url}/gbfs/two/3.0/station_status.json`);
      return [status, (JSON.parse(body) as { error?: string }).error];
    };
    expect(await statusAfter(day(-30))).toEqual([200, undefined]);
    expect(await statusAfter(day(-31))).toEqual([410, "system_ended"]);
  });
});
