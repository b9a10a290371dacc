import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { city23, CITY_TIME } from "../../../test/gbfs/city.ts";
import type { FetchOptions } from "./address-source.ts";
import { openSource } from "./import.ts";
import { readSnapshot } from "./snapshot.ts";

/** Opens a source that is closed when the test ends. */
async function open(location: string, options: FetchOptions = {}) {
  const source = await openSource(location, CITY_TIME, options);
  closers.push(() => source.close());
  return source;
}

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the test's server has no port");
  return `http://127.0.0.1:${address.port}`;
}

/** A response that is not JSON, such as a redirect. */
class Answer {
  readonly send: (response: ServerResponse) => unknown;
  constructor(send: (response: ServerResponse) => unknown) {
    this.send = send;
  }
}
const redirectTo = (location: string) => new Answer((response) => response.writeHead(302, { location }).end());

/** Serves JSON by path. */
function serveJson(pages: Record<string, object | undefined>): Promise<string> {
  return serve((request, response) => {
    const page = pages[request.url ?? ""];
    if (page instanceof Answer) page.send(response);
    else if (page === undefined) response.writeHead(404).end();
    else response.end(JSON.stringify(page));
  });
}

async function directoryOf(files: Record<string, unknown>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "gbfs-"));
  closers.push(() => rm(directory, { recursive: true }));
  for (const [name, file] of Object.entries(files)) {
    await writeFile(join(directory, `${name}.json`), typeof file === "string" ? file : JSON.stringify(file));
  }
  return directory;
}

describe("a directory", () => {
  test("is read by feed name, whatever its gbfs.json points at", async () => {
    const feeds = [
      { name: "station_status", url: "file:gone/status.json" },
      { name: "free_bike_status", url: "http://127.0.0.1:1/" },
    ];
    const directory = await directoryOf({ ...city23(), gbfs: { data: { en: { feeds } } } });
    for (const location of [directory, join(directory, "gbfs.json")]) {
      const { snapshot, failures } = await readSnapshot(await open(location), CITY_TIME);
      expect([
        snapshot.information?.records.size,
        snapshot.status?.records.size,
        snapshot.vehicles?.records.size,
      ]).toEqual([2, 2, 3]);
      expect(failures).toEqual([]);
    }
  });

  test("may lack feeds, and one that is not JSON is named", async () => {
    const directory = await directoryOf({
      station_information: `\ufeff${JSON.stringify(city23()["station_information"])}`,
      station_status: "{oops",
    });
    const { snapshot, failures } = await readSnapshot(await open(directory), CITY_TIME);
    expect(snapshot.information?.records.size).toBe(2);
    expect(failures.map(({ feed, message }) => [feed, message])).toEqual([["station_status", "it is not JSON"]]);
  });

  test("that is not there is refused by name", async () => {
    await expect(open("/nowhere/at/all")).rejects.toThrow("there is no directory /nowhere/at/all");
  });
});

describe("an address", () => {
  const names = ["station_information", "station_status", "free_bike_status"];
  const sizes = async (location: string) => {
    const { snapshot } = await readSnapshot(await open(location), CITY_TIME);
    return [snapshot.information?.records.size, snapshot.status?.records.size, snapshot.vehicles?.records.size];
  };
  const pages = (folder: string) => Object.fromEntries(names.map((name) => [`${folder}${name}.json`, city23()[name]]));

  test("lists feeds by language: English, else the first", async () => {
    const feeds = (folder: string) => ({ feeds: names.map((name) => ({ name, url: `${folder}/${name}.json` })) });
    const address = await serveJson({
      ...pages("/en/"),
      "/gbfs.json": { data: { fr: feeds("/fr"), en: feeds("/en") } },
      "/norsk.json": { data: { nb: feeds("/en"), sv: feeds("/sv") } },
    });
    expect(await sizes(`${address}/gbfs.json`)).toEqual([2, 2, 3]);
    expect(await sizes(`${address}/norsk.json`)).toEqual([2, 2, 3]);
  });

  test("that lists feeds by language is read in each: texts that are translated are in several languages", async () => {
    const status = city23()["station_status"];
    const named = (first: string, second: string) => ({
      data: {
        stations: [
          { station_id: "1", name: first, lat: 59.9, lon: 10.7 },
          { station_id: "2", name: second, lat: 59.8, lon: 10.6 },
        ],
      },
    });
    const system = (language: string, name: string) => ({
      data: { system_id: "c", language, name, url: "https://a.no" },
    });
    const feeds = (folder: string) => ({
      feeds: ["station_information", "station_status", "system_information"].map((name) => ({
        ...{ name, url: `${folder}/${name}.json` },
      })),
    });
    const address = await serveJson({
      "/gbfs.json": {
        data: {
          fr: feeds("/fr"),
          en: feeds("/en"),
          xx: feeds("/gone"),
          // Has only the last of the three feeds.
          de: feeds("/de"),
          "not a language": feeds("/en"),
        },
      },
      "/en/station_status.json": status,
      "/en/station_information.json": named("Town hall", "Opera"),
      "/fr/station_information.json": named("Mairie", "Opera"),
      "/en/system_information.json": system("en", "City"),
      "/fr/system_information.json": system("fr", "Ville"),
      "/de/system_information.json": system("de", "Stadt"),
    });
    const { snapshot, failures } = await readSnapshot(await open(`${address}/gbfs.json`), CITY_TIME);
    expect(failures).toEqual([]);
    const [first, second] = ["1", "2"].map((id) => snapshot.information?.records.get(id));
    expect([first?.name, second?.name, second?.source_facts]).toEqual(["Town hall", "Opera", null]);
    const texts = (en: string, fr: string) => [
      { text: en, language: "en" },
      { text: fr, language: "fr" },
    ];
    expect(JSON.parse(first?.source_facts ?? "")).toEqual({ name: texts("Town hall", "Mairie") });
    const described = snapshot.descriptions?.find(({ feed }) => feed === "system_information");
    expect(JSON.parse(described?.json ?? "")).toMatchObject({
      language: "en",
      name: [...texts("City", "Ville"), { text: "Stadt", language: "de" }],
    });
  });

  test("lists feeds flat in 3.x, by relative address, found after a redirect", async () => {
    const feeds = names.map((name) => ({ name, url: `${name}.json` }));
    const address = await serveJson({
      ...pages("/new/"),
      "/gbfs.json": redirectTo("/new/gbfs.json"),
      "/new/gbfs.json": { data: { feeds } },
    });
    expect(await sizes(`${address}/gbfs.json`)).toEqual([2, 2, 3]);
  });

  test("may list feeds at a host that does not answer, or as files: they are looked for beside it", async () => {
    const feeds = names.map((name, i) => ({
      name,
      url: i ? `http://127.0.0.1:1/${name}.json` : `file:/x/${name}.json`,
    }));
    const address = await serveJson({ ...pages("/"), "/gbfs.json": { data: { feeds } } });
    expect(await sizes(`${address}/gbfs.json`)).toEqual([2, 2, 3]);
  });

  test("with a failing feed gives the others and says why", async () => {
    const feeds = names.map((name) => ({ name, url: `/${name}.json` }));
    const address = await serveJson({
      "/station_status.json": city23()["station_status"],
      "/gbfs.json": { data: { feeds } },
    });
    const { snapshot, failures } = await readSnapshot(await open(`${address}/gbfs.json`), CITY_TIME);
    expect(snapshot.status?.records.size).toBe(2);
    expect(
      failures
        .map(({ feed, message }) => [feed, message.slice(0, 8)])
        .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    ).toEqual([
      ["free_bike_status", "HTTP 404"],
      ["station_information", "HTTP 404"],
    ]);
  });

  test.each([
    ["no list of feeds", "/list.json", "it has no list of feeds"],
    ["an error", "/nothing", "HTTP 404 from"],
    ["redirects without end", "/loop", "more than 3 redirects"],
    ["a redirect to a file", "/file", "a redirect to file:"],
    ["an answer without end", "/large", "larger than 1000 bytes"],
    ["a response that does not come", "/slow", "no whole response in time"],
  ])("with %s is refused", async (_, path, message) => {
    const address = await serveJson({
      "/list.json": { data: { stations: [] } },
      "/loop": redirectTo("/loop"),
      "/file": redirectTo("file:///etc/passwd"),
      "/large": new Answer((response) => response.write(" ".repeat(5000))),
      "/slow": new Answer(() => undefined),
    });
    // Only the slow page gets a short timeout, so that the other pages do not fail on a busy machine.
    const timeoutMs = path === "/slow" ? 100 : 60_000;
    await expect(open(address + path, { timeoutMs, maxBytes: 1000 })).rejects.toThrow(message);
  });

  test("that nobody serves is refused", async () => {
    await expect(open("http://127.0.0.1:1/gbfs.json")).rejects.toThrow(/bad port|refused the connection/);
  });
});
