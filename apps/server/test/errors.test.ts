import { METHODS } from "node:http";
import { errorBody } from "@bikeshare/contract";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";
import { type RawAnswer, sendRaw } from "./raw-http.ts";
import { rowWriter, stationRow } from "./rows.ts";
import { startDatabaseProxy } from "./servers/database-proxy.ts";
import { until } from "./until.ts";

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await startTestApp();
  key = (await app.issue()).key;
  await rowWriter(app).stations([stationRow({ id: "a" })]);
});

beforeEach(() => app.clock.advance(61_000));

afterEach(() => {
  expect(JSON.stringify(app.logged)).not.toContain(key);
});

afterAll(() => app.close());

/** Expects what is true of every error response. @returns the message of the error */
async function expectError(answer: Response | RawAnswer, status: number, error: string): Promise<string> {
  const { headers } = answer;
  const text = answer instanceof Response ? await answer.text() : answer.body;
  expect(answer.status, text).toBe(status);
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("request-id")).toMatch(/^req_\w+$/);
  const body = errorBody.parse(JSON.parse(text));
  expect(body.error).toBe(error);
  expect(text).not.toContain(key);
  return body.message;
}

const raw = (path: string, ...lines: string[]) =>
  sendRaw(
    app.url,
    [`GET ${path} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${key}`, ...lines, "", ""].join("\r\n"),
  );

describe("what HTTP itself refuses has the shape of every error", () => {
  it("headers that are too large", async () => {
    expect(
      await expectError(await raw("/v1/rides", `X-Large: ${"x".repeat(20_000)}`), 400, "invalid_request"),
    ).toContain("16 KiB");
    await expectError(await raw(`/v1/rides?${"x".repeat(20_000)}`), 400, "invalid_request");
  });

  it.each([
    ["no HTTP at all", "hello\r\n\r\n"],
    ["another protocol", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["a method that does not exist", "FETCH /v1/rides HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a version that does not exist", "GET /v1/rides HTTP/9.9\r\nHost: a\r\n\r\n"],
    ["a header without a name", "GET /v1/rides HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"],
    ["a header with a control character", "GET /v1/rides HTTP/1.1\r\nHost: a\r\nX: \x01\x00\r\n\r\n"],
    ["two lengths", "POST /v1/rides HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    [
      "a length and chunks",
      "POST /v1/rides HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["no Host", "GET /v1/rides HTTP/1.1\r\n\r\n"],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ])("%s", async (_what, request) => {
    await expectError(await sendRaw(app.url, request), 400, "invalid_request");
  });

  it("an expectation that HTTP does not know is ignored, as it may be", async () => {
    const answer = await raw("/v1/me", "Expect: a-miracle");
    expect(answer.status).toBe(200);
  });
});

describe("paths", () => {
  it.each(["/v1/stations/%", "/v1/stations/%zz", "/v1/stations/%ff", "/v1/stations/%c3%28", "/%"])(
    "that are badly encoded are 400: %s",
    async (path) => {
      await expectError(await raw(path), 400, "invalid_request");
    },
  );

  it.each([
    "/v1/stations/none",
    "/v1/rides/none",
    "/v1/bikes/none",
    `/v1/stations/${"x".repeat(255)}`,
    "/v1/stations/%F0%9F%98%80",
  ])("of resources that do not exist are 404: %s", async (path) => {
    await expectError(await app.get(path), 404, "not_found");
  });

  it.each([256, 1020, 1021, 5000])("with an id of %s characters are 404", async (length) => {
    await expectError(await app.get(`/v1/stations/${"x".repeat(length)}`), 404, "not_found");
  });

  it("with a NUL in the id are 404", async () => {
    await expectError(await app.get("/v1/stations/a%00b"), 404, "not_found");
  });

  it.each(["/v1/none", "/v1/stations/a/b", "/v1", "/v1/", "/v2/stations"])(
    "under the interface that do not exist are 401 without a key and 404 with one: %s",
    async (path) => {
      expect((await app.get(path, { key: null })).headers.get("www-authenticate")).toBe("Bearer");
      await expectError(await app.get(path, { key: null }), 401, "unauthorized");
      await expectError(await app.get(path), 404, "not_found");
    },
  );

  it.each(METHODS.filter((method) => !["CONNECT", "GET", "HEAD", "OPTIONS"].includes(method)))(
    "with a method that the path does not take are 405 with those that it does: %s",
    async (method) => {
      for (const headers of ["", "Content-Type: application/json\r\n", "Content-Type: a/b\r\nContent-Length: 2\r\n"]) {
        const body = headers.includes("Length") ? "{}" : "";
        const request = `${method} /v1/stations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${headers}\r\n${body}`;
        const answer = await sendRaw(app.url, request);
        await expectError(answer, 405, "method_not_allowed");
        expect(answer.headers.get("allow")).toBe("GET, HEAD");
      }
    },
  );

  it.each(["/", "/none", "/v1x", "/favicon.ico", "/../etc/passwd", "//v1/rides"])(
    "elsewhere that do not exist are 404 for anybody: %s",
    async (path) => {
      await expectError(await sendRaw(app.url, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`), 404, "not_found");
    },
  );
});

describe("bodies", () => {
  const send = (method: string, body: string, type: string, path = "/v1/stations") =>
    sendRaw(
      app.url,
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );

  it("of a GET are not looked at", async () => {
    expect((await send("GET", "{broken", "application/json")).status).toBe(200);
  });

  it.each([
    ["{}", "application/json"],
    ["<a/>", "application/xml"],
    ["a=b", "application/x-www-form-urlencoded"],
  ])("of a method that a path does not take do not matter: %j as %s is 405", async (body, type) => {
    const answer = await send("POST", body, type);
    await expectError(answer, 405, "method_not_allowed");
    expect(answer.headers.get("Allow")).toBe("GET, HEAD");
  });

  it.each(["{broken", "", '{"__proto__":1}', "[1", "\xff"])(
    "that are not the JSON they are said to be are 400: %j",
    async (body) => {
      const answer = await send("POST", body, "application/json", "/v1/reservations");
      await expectError(answer, 400, "invalid_request");
    },
  );

  it("that are too large are 413", async () => {
    await expectError(await send("POST", " ".repeat(1024 * 1024 + 1), "application/json"), 413, "payload_too_large");
  });
});

describe("failures of ours", () => {
  let broken: BuiltApp;

  beforeAll(async () => {
    broken = await buildAnother(app, {}, ({ http }) => {
      http.get("/throws", () => {
        throw new Error("the secret text of a failure");
      });
      http.get("/rejects", () =>
        Promise.reject(Object.assign(new Error("the secret text of a failure"), { statusCode: 200 })),
      );
      http.get("/throws-text", () => {
        // eslint-disable-next-line no-throw-literal, typescript/only-throw-error -- libraries do
        throw "the secret text of a failure";
      });
      http.get("/sends-nothing-known", (_request, reply) =>
        reply.code(500).send(new Error("the secret text of a failure")),
      );
    });
  });

  afterAll(() => broken.close());

  it.each(["/throws", "/rejects", "/throws-text", "/sends-nothing-known"])(
    "are 500 internal without their text, and logged with the request's id: %s",
    async (path) => {
      const response = await fetch(broken.url + path);
      const id = response.headers.get("request-id");
      expect(await expectError(response.clone(), 500, "internal")).not.toContain("secret");
      expect([...response.headers].join()).not.toContain("secret");
      const lines = broken.logged.filter((line) => line["reqId"] === id);
      expect(lines).toHaveLength(1);
      expect(JSON.stringify(lines)).toContain("the secret text of a failure");
      expect(lines[0]).toMatchObject({ level: 50 });
    },
  );
});

it("say that the disk is full, and not that the database is away", async () => {
  const reasons: unknown[] = [];
  const full = await buildAnother(app, { onUnavailable: (error) => reasons.push(error) }, ({ http }) => {
    http.get("/full", () => {
      throw Object.assign(new Error("could not extend file"), { code: "53100" });
    });
  });
  const response = await fetch(`${full.url}/full`);
  expect(response.headers.get("retry-after")).toBe("5");
  expect(await expectError(response, 503, "unavailable")).toContain(
    "The database's disk is full. Nothing was changed.",
  );
  expect(reasons).toMatchObject([{ code: "53100" }]);
  // The error is passed to `onUnavailable`, which logs it once. A log line for each request would flood the log.
  expect(full.logged.filter(({ level }) => Number(level) > 30)).toEqual([]);
  await full.close();
});

describe("without its database", () => {
  it("answers 503 unavailable with Retry-After, and recovers by itself when the database is back", async () => {
    const proxy = await startDatabaseProxy(app.db.connectionString);
    const db = openDatabase({ connectionString: proxy.connectionString });
    const distant = await buildAnother({ ...app, db });
    const get = (path: string) => fetch(distant.url + path, { headers: { authorization: `Bearer ${key}` } });
    const paths = [
      "/v1/stations",
      "/v1/stations?status=online",
      "/v1/stations/a",
      "/v1/rides",
      "/v1/rides?page=2",
      "/v1/bikes",
      "/readyz",
    ];
    for (const path of paths.filter((candidate) => !candidate.includes("page")))
      expect((await get(path)).status, path).toBe(200);

    await proxy.cut();
    // Repeats, because cached pages are served until the service knows that it would miss changes. /readyz also reuses the
    // result of a recent check of the database.
    for (const path of ["/v1/stations", "/readyz"]) {
      await until(async () => {
        const { status } = await get(path);
        expect([200, 503]).toContain(status);
        return status === 503;
      });
    }
    for (let repeat = 0; repeat < 2; repeat++) {
      for (const path of paths) {
        const response = await get(path);
        expect(response.headers.get("retry-after"), path).toBe("5");
        await expectError(response, 503, "unavailable");
      }
    }
    expect((await get("/healthz")).status).toBe(200);

    await proxy.mend();
    await until(async () => (await get("/readyz")).status === 200);
    for (const path of ["/v1/stations", "/v1/stations/a", "/v1/rides", "/v1/bikes?vehicle_state=reserved"]) {
      expect((await get(path)).status, path).toBe(200);
    }
    expect(JSON.stringify(distant.logged)).not.toContain(key);
    expect(JSON.stringify(distant.logged)).not.toContain(new URL(app.db.connectionString).password || "no password");
    await distant.close();
    await db.close();
    await proxy.close();
  });

  it("recovers when PostgreSQL ends every connection, with one failed request for each at most", async () => {
    await app.db.query(
      statement(
        "",
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      ),
    );
    for (let request = 0; request < 20; request++) {
      const response = await app.get(`/v1/rides?limit=${request + 1}`);
      expect([200, 503]).toContain(response.status);
      if (response.status === 503) await expectError(response, 503, "unavailable");
      else await response.arrayBuffer();
    }
    expect((await app.get("/v1/rides")).status).toBe(200);
  });

  it("answers 503 when a statement takes too long", async () => {
    const db = openDatabase({ connectionString: app.db.connectionString, statementTimeoutMs: 100 });
    const impatient = await buildAnother({ ...app, db });
    await app.db.transaction(async (tx) => {
      await tx.run("lock table bikes in access exclusive mode");
      const response = await fetch(`${impatient.url}/v1/bikes?vehicle_state=available`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect(response.headers.get("retry-after")).toBe("5");
      await expectError(response, 503, "unavailable");
    });
    // Repeats, because on a busy machine even an unblocked read can take longer than the timeout of a tenth of a second.
    await until(async () => {
      const response = await fetch(`${impatient.url}/v1/bikes?vehicle_state=available`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return response.status === 200;
    });
    await impatient.close();
    await db.close();
  });
});
