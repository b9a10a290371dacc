import { afterAll, beforeAll, expect, it } from "vitest";
import { createMetrics } from "../../src/health/metrics/registry.ts";
import { guides } from "../../src/http/docs/guides.ts";
import { searchRequests } from "../../src/partners/request-log/service.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { buildAnother, type BuiltApp } from "../built-app.ts";
import { sampleId } from "../endpoints.ts";
import { until } from "../until.ts";
import { fillWorld } from "../walker-world.ts";
import { callTool, codeOf, connect, containing, message, modernHeaders, post, revisions } from "./mcp.harness.ts";

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await startTestApp();
  await fillWorld(app);
  ({ key } = await app.issue());
});

afterAll(() => app.close());

const PAGE = "https://agents.example";
const list = message("tools/list");
const listHeaders = modernHeaders("tools/list");

it("asks for a partner's key, and says so as every endpoint does", async () => {
  const none = await post(app.url, undefined, list, listHeaders);
  expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect(none.body).toMatchObject({ error: "unauthorized" });
  const wrong = await post(app.url, "bss_live_x", list, listHeaders);
  expect([wrong.status, wrong.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
  const operator = await app.issue({ partnerId: null, scopes: [] });
  expect(await post(app.url, operator.key, list, listHeaders)).toMatchObject({
    status: 403,
    body: { error: "forbidden", message: containing("operator key") },
  });
  for (const method of ["GET", "DELETE"]) {
    const response = await fetch(`${app.url}/mcp`, { method, headers: { authorization: `Bearer ${key}` } });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  }
});

it("counts each message once against the key's rate, whatever it asks for, and takes no batches", async () => {
  const limited = await app.issue({ rateLimit: 5, scopes: ["stations:read"] });
  const call = message("tools/call", { name: "find_stations_near", arguments: { lat: 0, lon: 0 } });
  const send = () => post(app.url, limited.key, call, modernHeaders("tools/call", "find_stations_near"));
  const forbidden = message("tools/call", { name: "list_rides" });
  const answers = [
    await send(),
    await post(app.url, limited.key, list, listHeaders),
    await post(app.url, limited.key, forbidden, modernHeaders("tools/call", "list_rides")),
    await post(
      app.url,
      limited.key,
      Array.from({ length: 100 }, () => call),
    ),
    await send(),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 200]);
  expect(answers[3]?.body?.error).toMatchObject({ code: -32600, message: containing("Batches") });
  const over = await send();
  expect(over).toMatchObject({ status: 429, body: { error: "rate_limited" } });
  expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
  const rest = await app.get("/v1/stations", { key: limited.key });
  expect(rest.status).toBe(429);
  await rest.arrayBuffer();
});

it("answers the errors of the protocol with its codes", async () => {
  const headers = (more: Record<string, string> = {}) => ({ ...listHeaders, ...more });
  const call = message("tools/call", { name: "get_my_key" });
  const noCapabilities = message("tools/list", {
    _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" },
  });
  const old = structuredClone(list);
  old.params._meta["io.modelcontextprotocol/protocolVersion"] = "1900-01-01";
  const unknown = message("prompts/list");
  const legacy = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 1, method, params });
  const cases: [string, unknown, Record<string, string>, number, number | undefined][] = [
    ["no header of the revision", list, { "mcp-method": "tools/list" }, 400, -32020],
    ["another revision in the header", list, headers({ "mcp-protocol-version": "2025-11-25" }), 400, -32020],
    ["another method in the header", list, headers({ "mcp-method": "tools/call" }), 400, -32020],
    ["no header of the tool", call, modernHeaders("tools/call"), 400, -32020],
    ["another tool in the header", call, modernHeaders("tools/call", "get_ride"), 400, -32020],
    ["a tool's name in Base64", call, modernHeaders("tools/call", `=?base64?${btoa("get_my_key")}?=`), 200, undefined],
    ["a revision that is not spoken", old, headers({ "mcp-protocol-version": "1900-01-01" }), 400, -32022],
    ["such a revision in the header alone", legacy("ping"), { "mcp-protocol-version": "1900-01-01" }, 400, -32022],
    ["a message without its revision", legacy("tools/list"), headers(), 400, -32602],
    ["no capabilities", noCapabilities, headers(), 400, -32602],
    ["an unknown method", unknown, modernHeaders("prompts/list"), 404, -32601],
    ["a method of older revisions", message("ping"), modernHeaders("ping"), 404, -32601],
    ["an unknown method of an older revision", legacy("prompts/list"), {}, 200, -32601],
    ["a method of the newer revision", legacy("server/discover"), {}, 200, -32601],
    ["an unknown tool", message("tools/call", { name: "x" }), modernHeaders("tools/call", "x"), 200, -32602],
    ["no tool", legacy("tools/call"), {}, 200, -32602],
    ["arguments that are none", legacy("tools/call", { name: "get_my_key", arguments: [1] }), {}, 200, -32602],
    ["a cursor", message("tools/list", { cursor: "x" }), listHeaders, 200, -32602],
    ["an unknown resource", legacy("resources/read", { uri: "file:///etc/passwd" }), {}, 200, -32002],
    ["no JSON-RPC", { method: "ping", id: 1 }, {}, 400, -32600],
    ["an answer", { jsonrpc: "2.0", id: 1, result: {} }, {}, 400, -32600],
    ["an id that is none", { ...legacy("ping"), id: {} }, {}, 400, -32600],
    ["parameters that are none", { ...legacy("ping"), params: [] }, {}, 400, -32600],
    ["null", null, {}, 400, -32600],
  ];
  for (const [what, body, sent, status, code] of cases) {
    const answer = await post(app.url, key, body, sent);
    expect([what, answer.status, codeOf(answer.body)]).toEqual([what, status, code]);
  }
  // A client of several revisions chooses another from the list, and the message says how it begins.
  const supported = ["2026-07-28", "2025-11-25", "2025-06-18"];
  const advice = "A message may name 2026-07-28. Clients of 2025-11-25 or 2025-06-18 send `initialize` first.";
  for (const requested of ["1900-01-01", "2025-11-25"]) {
    const naming = structuredClone(list);
    naming.params._meta["io.modelcontextprotocol/protocolVersion"] = requested;
    const answer = await post(app.url, key, naming, headers({ "mcp-protocol-version": requested }));
    expect(answer.body?.error).toMatchObject({ message: advice, data: { supported, requested } });
  }
  for (const method of ["notifications/initialized", "notifications/anything"]) {
    const accepted = await post(app.url, key, { jsonrpc: "2.0", method });
    expect([accepted.status, accepted.body]).toEqual([202, undefined]);
  }
  expect(await post(app.url, key, "{")).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_my_key","arguments":{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}}}`;
  expect((await post(app.url, key, deep)).status).toBeLessThan(500);
});

it("a greeting agrees on a revision that both speak", async () => {
  const greet = async (protocolVersion: unknown) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "x", version: "1" } };
    return (await post(app.url, key, { jsonrpc: "2.0", id: "a", method: "initialize", params })).body;
  };
  expect(await greet("2025-06-18")).toMatchObject({ id: "a", result: { protocolVersion: "2025-06-18" } });
  for (const asked of ["2025-11-25", "2025-03-26", "2099-01-01", undefined]) {
    expect(await greet(asked)).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  }
  const discover = await post(app.url, key, message("server/discover"), modernHeaders("server/discover"));
  expect(discover.body?.result).toMatchObject({
    ...{ resultType: "complete", supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18"], ttlMs: 300_000 },
    ...{ cacheScope: "private", capabilities: { tools: {}, resources: {} } },
  });
});

it.each(revisions)("the guides are resources for clients of %s", async (revision) => {
  const client = await connect(app.url, key, revision);
  const { resources } = await client.listResources();
  expect(resources).toHaveLength(guides.length + 1);
  const errors = resources.find(({ name }) => name === "errors");
  const { contents } = await client.readResource({ uri: errors?.uri ?? "" });
  expect(contents).toMatchObject([{ mimeType: "text/markdown", text: containing("`rate_limited`") }]);
  await client.close();
});

it("a page of another site may not ask, also where it may read", async () => {
  const other = await buildAnother(app, { corsOrigins: [PAGE], baseUrl: () => "https://bikes.example" });
  const from = async (origin: string) => (await post(other.url, key, list, { ...listHeaders, origin })).status;
  expect(await from("https://evil.example")).toBe(403);
  expect(await from("null")).toBe(403);
  expect(await from(PAGE)).toBe(403);
  expect(await from("https://bikes.example")).toBe(200);
  await other.close();
});

it("is not there where it is switched off, and has no resources where the guides are not served", async () => {
  const off = await buildAnother(app, { mcp: false });
  expect((await post(off.url, key, list, listHeaders)).status).toBe(404);
  await off.close();
  const withoutDocs = await buildAnother(app, { docs: false });
  const client = await connect(withoutDocs.url, key);
  expect(client.getServerCapabilities()).toEqual({ tools: {} });
  await client.close();
  await withoutDocs.close();
});

it("a call is logged and counted once, as the tool's, with the outcome of its endpoint", async () => {
  const metrics = createMetrics({ version: "1" });
  const other: BuiltApp = await buildAnother(app, { metrics: metrics.http });
  const own = await app.issue({ scopes: ["stations:read"] });
  const client = await connect(other.url, own.key);
  await callTool(client, "get_station", { id: sampleId });
  await callTool(client, "get_station", { id: "no-such-station" });
  await callTool(client, "list_rides");
  await client.close();
  await post(other.url, own.key, message("x"), modernHeaders("x"));
  await other.close();
  const days = { since: new Date(0), until: new Date("2100-01-01") };
  const logged = async () =>
    (await searchRequests(app, app.systemId, { keyId: own.id, limit: 50, ...days })).requests.toReversed();
  await until(async () => (await logged()).length >= 5);
  expect((await logged()).map(({ method, route, status, error }) => [method, route, status, error])).toEqual([
    ["POST", "/mcp server/discover", 200, null],
    ["POST", "/mcp tools/call get_station", 200, null],
    ["POST", "/mcp tools/call get_station", 404, "not_found"],
    ["POST", "/mcp tools/call list_rides", 403, "forbidden"],
    ["POST", "/mcp unknown", 404, "invalid_request"],
  ]);
  const text = await metrics.text();
  for (const line of [
    'http_requests_total{interface="mcp",route="tools/call get_station",method="POST",status="200"} 1',
    'http_requests_total{interface="mcp",route="tools/call get_station",method="POST",status="404"} 1',
    'http_request_duration_seconds_count{interface="mcp",route="tools/call list_rides"} 1',
    'http_refused_requests_total{reason="insufficient_scope"} 1',
  ]) {
    expect(text).toContain(line);
  }
  expect(text).not.toMatch(/http_requests_total\{interface="partner"/);
});
