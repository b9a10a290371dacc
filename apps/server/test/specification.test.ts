/**
 * Tests what docs/specification.md says of reading: lists, keys, errors, limits, versions. A test's name quotes the sentence
 * that it checks, or begins with the sentence's number.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NetworkList } from "../src/outbound/addresses/address-guard.ts";
import { revokeKey, rotateKey } from "../src/partners/keys/service.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, keyContext } from "./built-app.ts";
import { rideRow, rowWriter, stationRow } from "./rows.ts";

interface Envelope {
  readonly data: readonly { readonly id: string; readonly [field: string]: unknown }[];
  readonly page?: number;
  readonly total_pages?: number;
  readonly next_cursor?: string;
}

const STATIONS = 243;
const RIDES = 120;
/** The ids in the order of the list. They count from 1, as the specification does. */
const stationIds = Array.from({ length: STATIONS }, (_, index) => `station-${String(index + 1).padStart(4, "0")}`);
const rideIds = Array.from({ length: RIDES }, (_, index) => `ride-${String(RIDES - index).padStart(4, "0")}`);

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
  const write = rowWriter(app);
  await write.stations(stationIds.map((id) => stationRow({ id })));
  await write.rides(
    rideIds.map((id, index) =>
      rideRow({
        id,
        bike_id: "bike-7",
        end_station_id: "station-0001",
        started_at: new Date(Date.parse("2026-05-31T23:00:00Z") - index * 60_000).toISOString(),
      }),
    ),
  );
});

afterAll(() => app.close());

async function read(path: string, key?: string): Promise<Envelope> {
  const response = await app.get(path, key === undefined ? {} : { key });
  expect(response.status, `${path}: ${response.ok ? "" : await response.clone().text()}`).toBe(200);
  return (await response.json()) as Envelope;
}

async function errorOf(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; error: string; message: string; headers: Headers }> {
  const response = await app.get(path, { key: null, headers });
  return {
    status: response.status,
    headers: response.headers,
    ...((await response.json()) as { error: string; message: string }),
  };
}

const idsOf = ({ data }: Envelope) => data.map(({ id }) => id);

describe("What the service does", () => {
  it("1. “Every request to the data endpoints carries an API key”: without one, nothing under /v1 is answered", async () => {
    for (const path of ["/v1/rides", "/v1/stations", "/v1/stations/station-0001", "/v1/no-such-thing", "/v1"]) {
      expect(await errorOf(path), path).toMatchObject({ status: 401, error: "unauthorized" });
    }
  });

  it("2. “The interface is stateless. … every request must prove its own identity”: no cookie is set, no connection remembers a key", async () => {
    const first = await app.get("/v1/rides");
    await first.arrayBuffer();
    expect(first.headers.get("set-cookie")).toBeNull();
    expect(await errorOf("/v1/rides")).toMatchObject({ status: 401 });
  });

  it("2. a cursor of one process is walked on by another", async () => {
    const other = await buildAnother(app);
    const { next_cursor: cursor } = await read("/v1/stations?limit=10");
    const { key } = await app.issue();
    const response = await fetch(`${other.url}/v1/stations?limit=10&cursor=${cursor}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(idsOf((await response.json()) as Envelope)).toEqual(stationIds.slice(10, 20));
    await other.close();
  });

  it("3. “List endpoints return data in pages.”", async () => {
    for (const path of ["/v1/rides", "/v1/stations"]) expect((await read(path)).data.length).toBe(50);
  });

  it("6. “A key must never be sent over plain HTTP”: a plain connection from another machine is refused, not redirected", async () => {
    const proxied = await buildAnother(app, { trustedProxies: new NetworkList(["127.0.0.1"]) });
    const { key } = await app.issue();
    const response = await fetch(`${proxied.url}/v1/rides`, {
      redirect: "manual",
      headers: { authorization: `Bearer ${key}`, "x-forwarded-proto": "http", "x-forwarded-for": "192.0.2.1" },
    });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: "https_required" });
    await proxied.close();
  });
});

describe("Resources and their fields", () => {
  it("the envelope: “data: array of resource objects, one page of items”", async () => {
    expect(idsOf(await read("/v1/stations?limit=3"))).toEqual(stationIds.slice(0, 3));
  });

  it("the envelope: “page: present in numbered paging. Current page number, first page is 1”", async () => {
    expect((await read("/v1/stations?page=1")).page).toBe(1);
    expect((await read("/v1/stations?page=3")).page).toBe(3);
  });

  it("the envelope: “total_pages: present in numbered paging. Total number of pages”", async () => {
    expect((await read("/v1/stations?page=2")).total_pages).toBe(5);
    expect((await read("/v1/stations?page=2&limit=243")).total_pages).toBe(2);
    expect((await read("/v1/rides?page=2&limit=7")).total_pages).toBe(18);
  });

  it("the envelope: “next_cursor: present in cursor paging … Empty or absent when the list is finished”", async () => {
    const first = await read("/v1/stations?limit=200");
    expect(typeof first.next_cursor).toBe("string");
    const last = await read(`/v1/stations?limit=200&cursor=${first.next_cursor}`);
    expect(last.data.length).toBe(43);
    expect(last).not.toHaveProperty("next_cursor");
    expect(last).not.toHaveProperty("page");
    expect(last).not.toHaveProperty("total_pages");
  });

  it("a ride has id, bike_id, end_station_id and status, each a string, as they were written", async () => {
    expect((await read("/v1/rides?limit=1")).data[0]).toMatchObject({
      id: "ride-0120",
      bike_id: "bike-7",
      end_station_id: "station-0001",
      status: "completed",
    });
  });

  it("a station has an id, a string", async () => {
    expect((await read("/v1/stations?limit=1")).data[0]).toMatchObject({ id: "station-0001" });
  });

  it("an error has error, “short machine-readable reason”, and message, “plain-words reason”, and nothing else", async () => {
    const response = await app.get("/v1/rides", { key: null });
    const body = (await response.json()) as Record<string, unknown>;
    expect(Object.keys(body)).toEqual(["error", "message"]);
    expect(body["error"]).toMatch(/^[a-z_]+$/);
    expect(body["message"]).toMatch(/\w+ \w+/);
  });
});

describe("Endpoints", () => {
  it("“GET {base_url}/v1/rides … Required scope: rides:read … Success: 200”", async () => {
    const { key } = await app.issue({ scopes: ["rides:read"] });
    expect((await read("/v1/rides", key)).data.length).toBe(50);
    expect((await app.get("/v1/stations", { key })).status).toBe(403);
  });

  it("“GET {base_url}/v1/stations … Required scope: stations:read … Success: 200”", async () => {
    const { key } = await app.issue({ scopes: ["stations:read"] });
    expect((await read("/v1/stations", key)).data.length).toBe(50);
    expect((await app.get("/v1/rides", { key })).status).toBe(403);
  });

  it("“Responses are JSON.”", async () => {
    const response = await app.get("/v1/rides");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(JSON.parse(await response.text())).toHaveProperty("data");
  });

  it("“page … Default: 1 (first slice)”", async () => {
    expect(await read("/v1/stations")).toMatchObject({ page: 1, data: (await read("/v1/stations?page=1")).data });
  });

  it("“page … Bound: up to total_pages”: beyond it the answer is 400 and says the bound", async () => {
    await read("/v1/stations?page=5");
    const response = await app.get("/v1/stations?page=6");
    expect(response.status).toBe(400);
    const body = (await response.json()) as { error: string; message: string };
    expect(body.error).toBe("page_out_of_range");
    expect(body.message).toMatch(/\b5\b/);
  });

  it("“limit: slice size in items … Default: 50”", async () => {
    expect((await read("/v1/stations")).data.length).toBe(50);
    expect((await read("/v1/stations?limit=49")).data.length).toBe(49);
  });

  it("“limit … Maximum 200”; 5. “A limit above 200 is answered with 200 items (the cap applies, the request is not refused).”", async () => {
    for (const limit of ["200", "201", "1000000000", "99999999999999999999"]) {
      const page = await read(`/v1/stations?limit=${limit}`);
      expect(page.data.length, limit).toBe(200);
      expect(page.total_pages, limit).toBe(2);
    }
  });

  it("“cursor: opaque marker copied unchanged … absent means the first slice”", async () => {
    expect(idsOf(await read("/v1/stations?limit=5"))).toEqual(stationIds.slice(0, 5));
  });

  it("1. “with limit L, page P returns items (P-1)*L+1 through P*L. Example shape: page 2 with limit 50 returns items 51 to 100.”", async () => {
    expect(idsOf(await read("/v1/stations?page=2&limit=50"))).toEqual(stationIds.slice(50, 100));
    expect(idsOf(await read("/v1/rides?page=2&limit=50"))).toEqual(rideIds.slice(50, 100));
  });

  it("2. “Numbered paging ends when the received page equals total_pages.”", async () => {
    for (const [path, ids] of [
      ["/v1/stations", stationIds],
      ["/v1/rides", rideIds],
    ] as const) {
      const seen: string[] = [];
      for (let page = 1, ended = false; !ended; page++) {
        const received = await read(`${path}?limit=37&page=${page}`);
        seen.push(...idsOf(received));
        ended = received.page === received.total_pages;
      }
      expect(seen).toEqual(ids);
    }
  });

  it("2. it ends at once for an empty list", async () => {
    expect(await read("/v1/bikes")).toEqual({ data: [], page: 1, total_pages: 1 });
    expect(await read("/v1/bikes?page=1")).toEqual({ data: [], page: 1, total_pages: 1 });
  });

  it("3. “Cursor paging ends when next_cursor is empty or absent. Cursors can only be walked in order”", async () => {
    for (const [path, ids] of [
      ["/v1/stations", stationIds],
      ["/v1/rides", rideIds],
    ] as const) {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const received = await read(`${path}?limit=37${cursor === undefined ? "" : `&cursor=${cursor}`}`);
        seen.push(...idsOf(received));
        cursor = received.next_cursor;
      } while (cursor !== undefined && cursor !== "");
      expect(seen).toEqual(ids);
    }
  });

  it("3. a list whose length is a multiple of the limit ends with its last item, without an empty slice", async () => {
    const { next_cursor: cursor } = await read("/v1/rides?limit=60");
    expect(await read(`/v1/rides?limit=60&cursor=${cursor}`)).not.toHaveProperty("next_cursor");
    expect(await read("/v1/rides?limit=120")).not.toHaveProperty("next_cursor");
  });

  it("3. “The cursor encoding is opaque”: a cursor stands in a URL as it is, shows nothing of its position, and one that a client built is refused", async () => {
    const { next_cursor: cursor } = await read("/v1/stations?limit=2");
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(Buffer.from(cursor!, "base64url").toString("latin1")).not.toContain("station");
    for (const built of ["station-0002", Buffer.from("station-0002").toString("base64url"), "2"]) {
      const response = await app.get(`/v1/stations?cursor=${built}`);
      expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([400, "invalid_cursor"]);
    }
  });
});

describe("Authentication", () => {
  it("1. “A live key begins with a readable prefix ending in live_ followed by about forty random characters.”", async () => {
    expect((await app.issue()).key).toMatch(/^[a-z_]+_live_[0-9A-Za-z]{40}$/);
  });

  it("2. “Authorization: Bearer <API_KEY>. The value is the scheme word Bearer, one space, then the key. A missing space makes the credential invalid.”", async () => {
    const { key } = await app.issue();
    expect((await app.get("/v1/rides", { key: null, headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    expect(await errorOf("/v1/rides", { authorization: `Bearer${key}` })).toMatchObject({
      status: 401,
      error: "unauthorized",
      message: expect.stringContaining("one space") as string,
    });
    expect(await errorOf("/v1/rides", { authorization: `Bearer  ${key}` })).toMatchObject({
      status: 401,
      error: "unauthorized",
    });
  });

  it("3. “The header is required on every request.”", async () => {
    expect(await errorOf("/v1/rides?page=2")).toMatchObject({ status: 401 });
    const { next_cursor: cursor } = await read("/v1/rides");
    expect(await errorOf(`/v1/rides?cursor=${cursor}`)).toMatchObject({ status: 401 });
  });

  it("5. “each key carries named scopes that limit which parts of the API it may reach”", async () => {
    const { key } = await app.issue({ scopes: ["stations:read", "rides:read"] });
    const statuses = await Promise.all(
      ["/v1/stations", "/v1/rides", "/v1/bikes"].map(async (path) => (await app.get(path, { key })).status),
    );
    expect(statuses).toEqual([200, 200, 403]);
  });

  it("6. “the provider can revoke a key, replace it, or give it an expiry date”", async () => {
    const status = async (key: string) => (await app.get("/v1/me", { key })).status;
    const revoked = await app.issue();
    await revokeKey(keyContext(app), app.systemId, revoked.id);
    expect(await status(revoked.key)).toBe(401);

    const old = await app.issue();
    const replacement = await rotateKey(keyContext(app), app.systemId, old.id, 3_600_000);
    expect([await status(old.key), await status(replacement.key)]).toEqual([200, 200]);
    app.clock.advance(3_600_000);
    expect([await status(old.key), await status(replacement.key)]).toEqual([401, 200]);

    const expiring = await app.issue({ expiresAt: new Date(app.clock() + 1000) });
    expect(await status(expiring.key)).toBe(200);
    app.clock.advance(1000);
    expect(await status(expiring.key)).toBe(401);
  });

  it("7. “No credential: 401. … Valid key whose scope does not cover the operation: 403.”", async () => {
    expect((await app.get("/v1/rides", { key: null })).status).toBe(401);
    const { key } = await app.issue({ scopes: [] });
    const response = await app.get("/v1/rides", { key });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: "forbidden" });
  });

  it("8. “Whether the key may be sent in a query parameter is not addressed. The header is the defined way.”: it may not", async () => {
    const { key } = await app.issue();
    expect(await errorOf(`/v1/rides?api_key=${key}`)).toMatchObject({ status: 400, error: "invalid_parameter" });
  });
});

describe("Errors", () => {
  it("“No Authorization header: 401, WWW-Authenticate: Bearer; Content-Type: application/json … The message says that no credentials were provided, and error is unauthorized”", async () => {
    const { headers, ...refused } = await errorOf("/v1/stations");
    expect(refused).toMatchObject({
      status: 401,
      error: "unauthorized",
      message: expect.stringMatching(/^No credentials were provided/) as string,
    });
    expect(headers.get("WWW-Authenticate")).toBe("Bearer");
    expect(headers.get("Content-Type")).toBe("application/json");
  });

  it("“Key valid, scope insufficient: 403”, “distinct from 401”", async () => {
    const { key } = await app.issue({ scopes: ["stations:read"] });
    const { status, headers } = await errorOf("/v1/rides", { Authorization: `Bearer ${key}` });
    expect(status).toBe(403);
    expect(headers.get("WWW-Authenticate")).not.toBe("Bearer");
  });

  it("“Success: 200, Content-Type: application/json”", async () => {
    const { key } = await app.issue();
    const { status, headers } = await app.get("/v1/rides", { key });
    expect(status).toBe(200);
    expect(headers.get("Content-Type")).toBe("application/json");
  });
});

describe("Limits", () => {
  it("“Request rate: 60 requests per minute … Each page fetch counts as one request”", async () => {
    const { key } = await app.issue({ rateLimit: null });
    const statuses: number[] = [];
    for (let page = 1; page <= 61; page++) {
      const response = await app.get(`/v1/stations?limit=1&page=${page}`, { key });
      await response.arrayBuffer();
      statuses.push(response.status);
      app.clock.advance(900);
    }
    expect(statuses.slice(0, 60)).toEqual(Array<number>(60).fill(200));
    expect(statuses[60]).toBe(429);
    app.clock.advance(60_000 - 61 * 900);
    expect((await app.get("/v1/stations", { key })).status).toBe(200);
    expect((await app.get("/v1/stations", { key })).status).toBe(429);
  });

  it("“Whether the rate applies per key or per partner: not shown”: it applies per key", async () => {
    const [one, other] = [await app.issue({ rateLimit: 1 }), await app.issue({ rateLimit: 1 })];
    expect((await app.get("/v1/me", { key: one.key })).status).toBe(200);
    expect((await app.get("/v1/me", { key: one.key })).status).toBe(429);
    expect((await app.get("/v1/me", { key: other.key })).status).toBe(200);
  });
});

describe("Versioning", () => {
  it("1. “The version is part of the path as the prefix /v1.”", async () => {
    expect((await app.get("/v1/stations")).status).toBe(200);
    for (const path of ["/stations", "/v2/stations"]) {
      const response = await app.get(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: "not_found" });
    }
  });
});
