import { request as plainRequest } from "node:http";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { bikeRow, rideRow, type RowWriter, rowWriter, stationRow } from "./rows.ts";
import { until } from "./until.ts";

let app: TestApp;
let write: RowWriter;
let key: string;

beforeAll(async () => {
  app = await startTestApp();
  write = rowWriter(app);
  key = (await app.issue()).key;
  await write.stations(
    Array.from({ length: 120 }, (_, index) => stationRow({ id: `s${index}`, name: `Straße ${index} 😀` })),
  );
  await write.bikes(Array.from({ length: 120 }, (_, index) => bikeRow({ id: `b${index}` })));
  await write.rides(
    Array.from({ length: 120 }, (_, index) =>
      rideRow({ id: `r${index}`, started_at: new Date(1_700_000_000_000 + index * 1000).toISOString() }),
    ),
  );
});

afterAll(() => app.close());

/** A response. Its body is as it was sent, compressed or not. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

function call(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = plainRequest(
      app.url + path,
      { method, headers: { authorization: `Bearer ${key}`, ...headers } },
      (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
        );
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}

const etag = async (path: string, headers?: Record<string, string>) =>
  String((await call(path, headers)).headers["etag"]);

const resources = [
  { list: "stations", id: "s7", field: { name: "new" } },
  { list: "bikes", id: "b7", field: { number: "new" } },
  { list: "rides", id: "r7", field: { vehicle_type_id: "new" } },
] as const;

describe.each(resources)("of $list", ({ list, id, field }) => {
  // Waits until the checkpoint of a list of changes stays the same. It moves on for a second after each change.
  beforeAll(async () => {
    const followed = `/v1/${list}?updated_since=2020-01-01T00:00:00Z`;
    await until(async () => new Set([await etag(followed), await etag(followed)]).size === 1);
  });

  const paths = async () => {
    const first = JSON.parse((await call(`/v1/${list}?limit=30`)).body.toString()) as { next_cursor: string };
    return [
      `/v1/${list}`,
      `/v1/${list}?page=2`,
      `/v1/${list}?limit=30&cursor=${first.next_cursor}`,
      `/v1/${list}?updated_since=2020-01-01T00:00:00Z`,
      `/v1/${list}/${id}`,
    ];
  };

  it("an unchanged page keeps its ETag, whichever way it is asked for", async () => {
    for (const path of await paths()) {
      const first = await etag(path);
      expect(first, path).toMatch(/^W\/"[\w-]+"$/);
      expect(await etag(path)).toBe(first);
      for (const encoding of ["zstd", "br", "gzip", "identity"])
        expect(await etag(path, { "accept-encoding": encoding })).toBe(first);
      expect((await call(path, {}, "HEAD")).headers["etag"]).toBe(first);
    }
  });

  it("a caller that has the page is answered 304, with its ETag and without a body", async () => {
    for (const path of await paths()) {
      const tag = await etag(path);
      for (const condition of [tag, tag.slice(2), `"other", ${tag}`, `${tag} , "other"`, "*"]) {
        for (const method of ["GET", "HEAD"]) {
          const { status, headers, body } = await call(
            path,
            { "if-none-match": condition, "accept-encoding": "gzip" },
            method,
          );
          expect([status, body.length], `${method} ${path} ${condition}`).toEqual([304, 0]);
          expect(headers).toMatchObject({ etag: tag, "cache-control": "private, no-cache" });
          expect(String(headers["vary"]).toLowerCase().split(/, */).sort()).toEqual([
            "accept-encoding",
            "authorization",
          ]);
          expect(headers["content-encoding"]).toBeUndefined();
          // The 304 to a HEAD may have the length of the full body, as RFC 9110 allows. It is never 0.
          if (method === "GET") expect(headers["content-length"]).toBeUndefined();
          expect(headers["content-length"]).not.toBe("0");
          expect(headers["request-id"]).toMatch(/^req_/);
          expect(headers["ratelimit"]).toBeDefined();
        }
      }
    }
  });

  it("a caller that has another page is answered 200", async () => {
    const tag = await etag(`/v1/${list}`);
    for (const condition of [`"other"`, tag.slice(0, -1), `W/"x${tag.slice(3)}`, ""]) {
      expect((await call(`/v1/${list}`, { "if-none-match": condition })).status).toBe(200);
    }
    expect((await call(`/v1/${list}?page=2`, { "if-none-match": tag })).status).toBe(200);
  });

  it("a changed row changes the ETag of its pages", async () => {
    const before = await etag(`/v1/${list}?limit=200`);
    const one = await etag(`/v1/${list}/${id}`);
    await write.update(list, id, field);
    expect((await call(`/v1/${list}?limit=200`, { "if-none-match": before })).status).toBe(200);
    expect((await call(`/v1/${list}/${id}`, { "if-none-match": one })).status).toBe(200);
    expect(await etag(`/v1/${list}?limit=200`)).not.toBe(before);
  });

  it.each([
    ["zstd", zstdDecompressSync],
    ["br", brotliDecompressSync],
    ["gzip", gunzipSync],
  ] as const)("%s decodes to the same bytes", async (encoding, decode) => {
    for (const path of [`/v1/${list}`, `/v1/${list}?limit=200`]) {
      const plain = await call(path, { "accept-encoding": "identity" });
      const packed = await call(path, { "accept-encoding": encoding });
      expect(packed.headers).toMatchObject({ "content-encoding": encoding, "content-type": "application/json" });
      expect(decode(packed.body).equals(plain.body)).toBe(true);
      expect(packed.body.length).toBeLessThan(plain.body.length / 3);
      expect(String(packed.headers["vary"]).toLowerCase().split(/, */).sort()).toEqual([
        "accept-encoding",
        "authorization",
      ]);
      const length = packed.headers["content-length"];
      if (length !== undefined) expect(Number(length)).toBe(packed.body.length);
    }
  });

  it("nothing is compressed for callers who do not ask for it, and nothing small", async () => {
    const encodingOf = async (path: string, accepted: Record<string, string>) =>
      (await call(path, accepted)).headers["content-encoding"];
    expect(await encodingOf(`/v1/${list}`, {})).toBeUndefined();
    expect(await encodingOf(`/v1/${list}`, { "accept-encoding": "identity" })).toBeUndefined();
    expect(await encodingOf(`/v1/${list}`, { "accept-encoding": "compress, x-unknown" })).toBeUndefined();
    expect(await encodingOf(`/v1/${list}`, { "accept-encoding": "gzip;q=0" })).toBeUndefined();
    expect(await encodingOf(`/v1/${list}/${id}`, { "accept-encoding": "gzip" })).toBeUndefined();
  });
});

it("errors carry no ETag and are never 304", async () => {
  for (const path of ["/v1/stations?page=99", "/v1/stations/none", "/v1/none"]) {
    const { status, headers } = await call(path, { "if-none-match": "*" });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(headers["etag"]).toBeUndefined();
  }
  const { status } = await call("/v1/stations", { "if-none-match": "*", authorization: "Bearer wrong" });
  expect(status).toBe(401);
});

it("a key without the scope is refused though it names the right ETag", async () => {
  const { key: other } = await app.issue({ scopes: ["bikes:read"] });
  const tag = await etag("/v1/stations");
  expect((await call("/v1/stations", { authorization: `Bearer ${other}`, "if-none-match": tag })).status).toBe(403);
});

it("a conditional request counts as one", async () => {
  const { key: counted } = await app.issue({ rateLimit: 2 });
  const tag = await etag("/v1/stations");
  const headers = { authorization: `Bearer ${counted}`, "if-none-match": tag };
  const statuses = [];
  for (let request = 0; request < 3; request++) statuses.push((await call("/v1/stations", headers)).status);
  expect(statuses).toEqual([304, 304, 429]);
});
