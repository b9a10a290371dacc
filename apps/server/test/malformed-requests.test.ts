import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { zstdCompressSync } from "node:zlib";
import { errorBody } from "@bikeshare/contract";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother } from "./built-app.ts";
import { type RawAnswer, sendRaw } from "./raw-http.ts";
import { bikeRow, rowWriter, stationRow } from "./rows.ts";
import { until } from "./until.ts";

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await startTestApp();
  await rowWriter(app).stations([stationRow({ id: "a" })]);
  await rowWriter(app).bikes([bikeRow({ id: "b1", station_id: "a" })]);
});

beforeEach(async () => {
  ({ key } = await app.issue({ rateLimit: 60 }));
});

afterAll(() => app.close());

function send(request: string, lines: readonly string[], body = ""): Promise<RawAnswer> {
  const head = [`${request} HTTP/1.1`, ...lines, ...(body === "" ? [] : [`Content-Length: ${body.length}`])];
  return sendRaw(app.url, [...head, "", body].join("\r\n"));
}

const withKey = () => ["Host: a", `Authorization: Bearer ${key}`];
const reserve = (lines: readonly string[], body: string) =>
  send("POST /v1/reservations", [...withKey(), "Content-Type: application/json", ...lines], body);

function expectError(answer: RawAnswer, status: number, error: string): string {
  const body = errorBody.strict().parse(JSON.parse(answer.body));
  expect([answer.status, body.error]).toEqual([status, error]);
  return body.message;
}

const remaining = async () => {
  const response = await app.get("/v1/me", { key });
  return ((await response.json()) as { rate_limit: { remaining: number } }).rate_limit.remaining;
};

describe("a compressed body", () => {
  const packed = zstdCompressSync(Buffer.from('{"station_id":"a"}')).toString("latin1");

  it.each([
    "Content-Encoding: zstd",
    "Content-Encoding: gzip",
    "Content-Encoding: br, identity",
    "Content-Encoding: nonsense",
    "Transfer-Encoding: gzip, chunked",
  ])("is refused with 415 and not unpacked: %s", async (line) => {
    const isChunked = line.startsWith("Transfer");
    const answer = isChunked
      ? await sendRaw(
          app.url,
          [
            "POST /v1/reservations HTTP/1.1",
            ...withKey(),
            "Content-Type: application/json",
            line,
            "",
            "2\r\n{}\r\n0\r\n\r\n",
          ].join("\r\n"),
        )
      : await reserve([line], packed);
    expect(expectError(answer, 415, "unsupported_media_type")).toContain("compressed");
    expect(answer.headers.get("RateLimit")).toMatch(/^"default";r=59/);
  });

  it("is refused by whatever reads one, and by nobody who does not", async () => {
    const coding = "Content-Encoding: gzip";
    expectError(await send("DELETE /v1/reservations/x", [...withKey(), coding], "x"), 415, "unsupported_media_type");
    expect((await send("GET /v1/me", [...withKey(), coding], "x")).status).toBe(200);
    expect((await send("DELETE /v1/reservations/x", [...withKey(), coding])).status).toBe(404);
    expectError(await send("POST /v1/stations", [...withKey(), coding], "x"), 405, "method_not_allowed");
  });

  it("that is announced as identity is none", async () => {
    expect((await reserve(["Content-Encoding: identity"], '{"station_id":"none"}')).status).toBe(404);
  });
});

describe("a body", () => {
  it.each([
    ['{"station_id":"caf\xe9"}', 18],
    ['{"station_id":"\xc3\xa9\xef\xbf\xbd\xff"}', 20],
    ['{"station_id":"\xed\xa0\x80"}', 15],
    ['{"station_id":"a"}\xc3', 18],
  ])("that is not UTF-8 is refused, and the position of its first bad byte is named: %j", async (body, position) => {
    expect(expectError(await reserve([], body), 400, "invalid_request")).toMatch(
      new RegExp(`not UTF-8.* position ${position}\\.$`),
    );
  });

  it("that is UTF-8 is taken as it is, U+FFFD included", async () => {
    const answer = await reserve([], '{"station_id":"\xef\xbf\xbd\xc3\xa9"}');
    expectError(answer, 404, "not_found");
  });

  it.each(["iso-8859-1", '"us-ascii"', "nonsense", "utf-16", ""])(
    "in the charset %s is refused with 415",
    async (charset) => {
      const lines = [...withKey(), `Content-Type: application/json; charset=${charset}`];
      const answer = await send("POST /v1/reservations", lines, '{"station_id":"none"}');
      expect(expectError(answer, 415, "unsupported_media_type")).toMatch(/UTF-8|JSON/);
    },
  );

  it.each(["utf-8", "UTF-8", '"utf-8"', "utf8; profile=x"])("in the charset %s is read", async (charset) => {
    const lines = [...withKey(), `Content-Type: application/json; charset=${charset}`];
    expectError(await send("POST /v1/reservations", lines, '{"station_id":"none"}'), 404, "not_found");
  });
});

describe("a header that names one thing", () => {
  it.each([
    ["Host", ["Host: a", "Host: b"]],
    ["Host", ["Host: a", "host: a"]],
    ["Authorization", ["Host: a", "Authorization: Bearer x", "Authorization: Bearer y"]],
  ])("and stands twice is 400: %s", async (name, lines) => {
    const message = expectError(await send("GET /v1/me", lines), 400, "invalid_request");
    expect(message).toContain(`${name} more than once`);
  });

  it("may not follow a good key with another", async () => {
    const answer = await send("GET /v1/me", [...withKey(), `Authorization: Bearer ${key}`]);
    expectError(answer, 400, "invalid_request");
  });

  it("and stands twice is 400 with a key, and 401 without: Content-Type, Idempotency-Key", async () => {
    const types = ["Content-Type: application/json", "Content-Type: text/plain"];
    const keys = ["Content-Type: application/json", "Idempotency-Key: k", "Idempotency-Key: k"];
    for (const [lines, error] of [
      [types, "invalid_request"],
      [keys, "invalid_parameter"],
    ] as const) {
      const answer = await send("POST /v1/reservations", [...withKey(), ...lines], "{}");
      expect(expectError(answer, 400, error)).toContain("more than once");
      expect(answer.headers.get("RateLimit")).not.toBeNull();
      expectError(await send("POST /v1/reservations", ["Host: a", ...lines], "{}"), 401, "unauthorized");
    }
  });

  it.each([
    "Host:",
    "Host: a b/c?d",
    "Host: [",
    "Host: a:b",
    "Host: [::1",
    "Host: user@a",
    "Host: a/b",
    "Host: a,b:80:80",
  ])("and names an invalid host is 400 everywhere: %j", async (line) => {
    for (const path of ["/v1/me", "/docs", "/healthz"]) {
      expectError(await send(`GET ${path}`, [line]), 400, "invalid_request");
    }
  });

  it.each(["Host: a", "Host: a.example:8080", "Host: [::1]:3000", "Host: 127.0.0.1:", "Host: xn--caf-dma.example"])(
    "and is a host is taken: %j",
    async (line) => {
      expect((await send("GET /healthz", [line])).status).toBe(200);
    },
  );
});

describe("a request that could be taken for two", () => {
  const next = () =>
    `POST /v1/reservations HTTP/1.1\r\n${withKey().join("\r\n")}\r\nContent-Type: application/json\r\n`;
  const body = '{"station_id":"a"}';
  const following = () => `${next()}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunked = "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";

  it.each([
    ["two hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
    ["the same host twice", "GET /healthz HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"],
    ["no host", "GET /healthz HTTP/1.1\r\n\r\n"],
    ["a host that is none", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n"],
    ["two keys", "GET /healthz HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nAuthorization: Bearer y\r\n\r\n"],
    ["chunks in HTTP/1.0", `POST /v1/reservations HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n${chunked}`],
    ["a body, and two hosts", `POST /v1/reservations HTTP/1.1\r\nHost: a\r\nHost: b\r\n${chunked}`],
  ])("is 400 and ends the connection, and nothing behind it is done: %s", async (_, request) => {
    const active = () => app.db.query<{ id: string }>(statement("", "select id from reservations"));
    const before = await active();
    const socket = connect(Number(new URL(app.url).port), "127.0.0.1");
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => (text += part));
    socket.write(request + following() + following());
    await once(socket, "close");
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toMatch(/\r\nconnection: close\r\n/i);
    expect(text.match(/^HTTP\/1\.1 \d/gm)).toHaveLength(1);
    expect(text).toMatch(/\r\nrequest-id: /i);
    expect(await active()).toEqual(before);
  });
});

describe("a URL that is badly encoded", () => {
  it.each(["/v1/rides/%zz", "/v1/bikes/%C0%80", "/v1/stations/%", "/v1/stations/%e9/x", "/v1/%ff"])(
    "is 401 without a key; with one it is 400, counted, and told what is left: %s",
    async (path) => {
      expectError(await send(`GET ${path}`, ["Host: a"]), 401, "unauthorized");
      const before = await remaining();
      const answer = await send(`GET ${path}`, withKey());
      expect(expectError(answer, 400, "invalid_request")).toContain("path is not valid percent-encoded UTF-8");
      expect(answer.headers.get("RateLimit")).toContain(`r=${before - 1};`);
      expect(await remaining()).toBe(before - 2);
    },
  );

  it.each(["/%", "/gbfs/%zz/3.0/gbfs.json", "/docs/%ff"])("elsewhere is 400 for anybody: %s", async (path) => {
    expectError(await send(`GET ${path}`, ["Host: a"]), 400, "invalid_request");
  });

  it.each(["region_id=%zz", "region_id=%ff", "limit=1&region_id=a%", "%e9=1"])(
    "in its query is 400, and the parameter is named: %s",
    async (query) => {
      const answer = await send(`GET /v1/stations?${query}`, withKey());
      const message = expectError(answer, 400, "invalid_parameter");
      expect(message).toContain(query.startsWith("%") ? "%e9" : "region_id");
      expect(answer.headers.get("RateLimit")).not.toBeNull();
      expectError(await send(`GET /v1/stations?${query}`, ["Host: a"]), 401, "unauthorized");
    },
  );

  it("with an identifier that is too long is 401 without a key, and counted with one", async () => {
    for (const length of [1021, 2000, 12_000]) {
      const path = `/v1/stations/${"a".repeat(length)}`;
      expectError(await send(`GET ${path}`, ["Host: a"]), 401, "unauthorized");
      const answer = await send(`GET ${path}`, withKey());
      expect(expectError(answer, 404, "not_found")).toContain("identifier");
      expect(answer.headers.get("RateLimit")).not.toBeNull();
    }
  });
});

it("a condition on a command is never answered 304: If-None-Match is for reads", async () => {
  const created = await reserve([], '{"station_id":"a"}');
  const { id } = JSON.parse(created.body) as { id: string };
  const tag = (await app.get(`/v1/reservations/${id}`)).headers.get("etag") ?? "";
  for (const condition of ["*", tag]) {
    const answer = await send(`DELETE /v1/reservations/${id}`, [...withKey(), `If-None-Match: ${condition}`]);
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      200,
      expect.objectContaining({ id, status: "cancelled" }),
    ]);
    expect(answer.headers.get("ETag")).toBeNull();
  }
  const again = await reserve(["If-None-Match: *"], '{"station_id":"a"}');
  expect(again.status).toBe(201);
});

it("a caller that goes away before its body has arrived counts as its own failure, not as an outage of the database", async () => {
  const outages: unknown[] = [];
  const service = await buildAnother(app, { onUnavailable: (error) => void outages.push(error) });
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const begun = once(service.app.http.server, "request") as Promise<[IncomingMessage]>;
  const lines = [...withKey(), "Content-Type: application/json", "Content-Length: 20", "", '{"station'];
  socket.write(["POST /v1/reservations HTTP/1.1", ...lines].join("\r\n"));
  const [request] = await begun;
  await until(() => request.readableFlowing === true);
  const ended = new Promise<void>((resolve) => {
    request.once("close", () => resolve());
  });
  socket.destroy();
  await ended;
  expect(request.errored).toMatchObject({ code: "ECONNRESET" });
  expect(outages).toEqual([]);
  await service.close();
});
