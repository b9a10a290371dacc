// oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-argument -- tests spoil documents in ways that no type has
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { FeedReport } from "@bikeshare/contract/console";
import { expect, onTestFinished, test } from "vitest";
import { cleanDocuments, type Documents, FEED_TIME, filesOf } from "../../../test/gbfs-check/clean-feed.ts";
import { checkFeed } from "./check.ts";
import { followVehicles, type FollowOptions } from "./follow-vehicles.ts";
import { createFileReader, readAddress } from "./read-address.ts";

type Answer = (request: IncomingMessage, response: ServerResponse, json: string) => void;

/** Serves documents, and a gbfs.json that lists them at this server. */
async function serve(documents: Documents, answer: Answer) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const document: unknown = documents[(request.url ?? "").slice(1, -".json".length)];
    if (document === undefined) response.writeHead(404).end();
    else answer(request, response, JSON.stringify(document));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { data } = documents["gbfs"];
  // GBFS 2.3 lists the feeds by language.
  for (const { feeds } of data.feeds === undefined ? Object.values<typeof data>(data) : [data])
    for (const feed of feeds) feed.url = `${base}/${feed.name}.json`;
  return { url: new URL(`${base}/gbfs.json`), asked };
}

// A clock that stands still: on a busy machine, a file may take longer than the check allows.
const options = { monotonic: () => 0 };
const rulesOf = async (url: URL) => {
  const { findings } = checkFeed(await readAddress(url, options), { now: FEED_TIME });
  return findings.map(({ rule }) => rule).toSorted();
};

test("a server that compresses, validates and lets every site read lacks nothing but encryption", async () => {
  const { url } = await serve(cleanDocuments(), (request, response, json) => {
    const etag = `"${json.length}"`;
    const headers = { etag, "access-control-allow-origin": "*" };
    if (request.headers["if-none-match"] === etag) response.writeHead(304, headers).end();
    else response.writeHead(200, { ...headers, "content-encoding": "gzip" }).end(gzipSync(json));
  });
  expect(await rulesOf(url)).toEqual(["not-https"]);
});

test("files whose server does not answer are given up together once the time for all of them is over", async () => {
  const documents = cleanDocuments();
  const { url, asked } = await serve(documents, ({ url: path }, response, json) => {
    if (path === "/gbfs.json") response.end(json);
  });
  const { files } = await readAddress(url, { ...options, timeoutMs: 500 });
  expect(files.length).toBeGreaterThan(3);
  for (const { name, bytes } of files) expect([name, bytes === undefined]).toEqual([name, name !== "gbfs"]);
  expect(asked.length).toBeLessThan(2 + files.length);
});

test("the time of each file is measured", async () => {
  let now = 0;
  const { url } = await serve(cleanDocuments(), (_, response, json) => {
    now += 1_500;
    response.end(json);
  });
  const { files } = await readAddress(url, { monotonic: () => now });
  expect(files.map(({ http }) => (http?.milliseconds ?? 0) >= 1_500)).toEqual(files.map(() => true));
});

test("second reads count for the limit on all files", async () => {
  const read = new Set<string>();
  const { url } = await serve(cleanDocuments(), (request, response, json) => {
    const path = request.url ?? "";
    const isSecond = read.has(path);
    read.add(path);
    response.setHeader("etag", `"${read.size}"`);
    response.end(isSecond ? json + " ".repeat(100_000) : json);
  });
  const { files } = await readAddress(url, { ...options, maxTotalBytes: 450_000 });
  expect(files.length).toBeGreaterThan(4);
  expect(files.filter(({ later }) => later !== undefined)).toHaveLength(4);
});

test("a file that languages share is read twice at most", async () => {
  const documents = cleanDocuments();
  const { feeds } = documents["gbfs"].data;
  documents["gbfs"] = { ...documents["gbfs"], version: "2.3", data: { en: { feeds }, fr: { feeds }, nl: { feeds } } };
  const { url, asked } = await serve({ ...documents }, (_, response, json) => response.end(json));
  await readAddress(url, options);
  expect(asked.filter((path) => path === "/station_status.json")).toHaveLength(2);
});

test("a plain server is told what it lacks", async () => {
  const { url } = await serve(cleanDocuments(), (_, response, json) => response.end(json));
  const found = new Set(await rulesOf(url));
  expect(found).toEqual(new Set(["not-https", "no-cors", "no-not-modified", "no-gzip"]));
});

test("a list of feeds that is larger than any is refused before it is parsed", async () => {
  const documents = cleanDocuments();
  const { url } = await serve(documents, (_, response, json) => response.end(json + " ".repeat(1024 * 1024)));
  await expect(readAddress(url, options)).rejects.toThrow("larger than 1 MiB");
});

test("a file that fails is a finding, and the others are checked", async () => {
  const documents = cleanDocuments();
  delete documents["system_alerts"];
  const { url } = await serve(documents, (_, response, json) => response.end(json));
  const { findings } = checkFeed(await readAddress(url, options), { now: FEED_TIME });
  expect(findings.find(({ rule }) => rule === "file-unreadable")).toMatchObject({
    file: "system_alerts.json",
    text: "The file cannot be read: HTTP 404.",
  });
});

test("a list leads to public addresses alone: nothing else of this machine is asked", async () => {
  const inside = await serve(cleanDocuments(), (_, response, json) => response.end(json));
  const documents = cleanDocuments();
  const { url } = await serve(documents, (_, response, json) => response.end(json));
  documents["gbfs"].data.feeds[0].url = new URL("/system_information.json", inside.url).href;
  await readAddress(url, options);
  expect(inside.asked).toEqual([]);
});

test("a manifest, and a page that lists no feeds, are refused with what to do", async () => {
  const manifest = {
    data: { datasets: [{ system_id: "a", versions: [{ version: "3.0", url: "https://a.example/gbfs.json" }] }] },
  };
  const documents = { ...cleanDocuments(), manifest, other: { data: {} } };
  const { url } = await serve(documents, (_, response, json) => response.end(json));
  await expect(readAddress(new URL("/manifest.json", url), options)).rejects.toThrow(/one by one: https:\/\/a.example/);
  await expect(readAddress(new URL("/other.json", url), options)).rejects.toThrow(/Give the address of a gbfs.json/);
});

test("a vehicle that turns up elsewhere under its old id is found while the vehicles are watched", async () => {
  const documents = cleanDocuments();
  const { url } = await serve(documents, (_, response, json) => response.end(json));
  const files = await readAddress(url, options);
  const moves = [0.00001, 0.02];
  const followed = await followVehicles(files, {
    minutes: 1,
    read: createFileReader(url, options),
    wait: async () => {
      documents["vehicle_status"].data.vehicles[0].lat += moves.shift() ?? 0;
      documents["vehicle_status"].last_updated = new Date(FEED_TIME + moves.length).toISOString();
      await Promise.resolve();
    },
  });
  expect(followed).toMatchObject({ minutes: 1, kept: ["v1"], isUpdated: true });
});

/** Watches the vehicles of a clean feed for a minute, which are two reads. @param reads what each read does */
async function watch(reads: (() => Promise<Uint8Array>)[], more: Partial<FollowOptions> = {}) {
  const files = filesOf(cleanDocuments());
  const read = () => reads.shift()?.() ?? Promise.reject(new Error("too many reads"));
  const followed = await followVehicles(files, { minutes: 1, read, wait: () => Promise.resolve(), ...more });
  return checkFeed({ ...files, followed }, { now: FEED_TIME });
}

const ridden = () => {
  const { vehicle_status: document } = cleanDocuments();
  document.last_updated = new Date(FEED_TIME).toISOString();
  document.data.vehicles[0].lat += 0.02;
  return Buffer.from(JSON.stringify(document));
};
const failing = () => Promise.reject(new Error("HTTP 502"));
const foundOf = ({ findings }: FeedReport) => findings.map(({ rule, text }) => [rule, text]);

test.each<[string, string, () => Promise<Uint8Array>]>([
  ["fails", "HTTP 502", failing],
  ["is cut off", "it is not JSON", () => Promise.resolve(ridden().subarray(0, 200))],
  ["has no vehicles", "it has no `data`", () => Promise.resolve(Buffer.from("{}"))],
])("a read that %s is reported, and the vehicles are watched on", async (_, why, read) => {
  expect(foundOf(await watch([read, () => Promise.resolve(ridden())]))).toEqual([
    ["ids-stay", "Vehicles keep their id over a ride, so that anybody can follow riders."],
    ["reads-failed", `While the vehicles were watched, 1 of 3 reads failed: ${why}.`],
  ]);
});

test("if all reads after the first fail, the report says so, and nothing of what they would have shown", async () => {
  const report = await watch([failing, failing]);
  expect(foundOf(report)).toEqual([
    ["reads-failed", "While the vehicles were watched, 2 of 3 reads failed and left nothing to compare: HTTP 502."],
  ]);
  expect(report.passed).not.toContain("Vehicles get new ids after rides.");
});

test("a watch that is stopped during a read ends, instead of counting a failed read", async () => {
  const stop = new AbortController();
  const read = () => {
    stop.abort(new Error("stopped"));
    return failing();
  };
  await expect(watch([read], { signal: stop.signal })).rejects.toThrow("stopped");
});
