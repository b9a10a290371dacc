import { batchResults, errorCatalogue, type ErrorCode, MAX_BATCH } from "@bikeshare/contract";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { type Calls, callsOn, expectAlways, expectError } from "./calls.ts";
import { type Endpoint, endpoints } from "./endpoints.ts";
import { fillWorld, pictureOf, restoreWorld } from "./walker-world.ts";

let app: TestApp;
let calls: Calls;

beforeAll(async () => {
  app = await startTestApp();
  await fillWorld(app);
  calls = callsOn(app);
});

beforeEach(() => app.clock.advance(61_000));

afterAll(() => app.close());

const json = { "content-type": "application/json" };

/** Returns a valid body for an endpoint that differs from its example. */
function otherBody({ method, scope }: Endpoint, isBatch: boolean): object {
  if (isBatch) return { items: [{ id: "another" }] };
  if (scope === "operator") return method === "PATCH" ? {} : { viewer: "another" };
  return method === "PATCH" ? { hold_minutes: 1 } : { bike_id: "another" };
}

describe.each(endpoints.filter(({ body }) => body !== undefined))("the body of $method $path", (endpoint) => {
  const { statuses, success, successStatus } = endpoint;
  const isBatch = endpoint.metadata.itemErrors !== undefined;
  const example = JSON.stringify(endpoint.body);
  const some = (body: unknown) => JSON.stringify(body);

  /**
   * Sends each body with each set of headers. Expects that every request is refused and that nothing has changed.
   * @returns the messages
   */
  async function refused(
    bodies: readonly (string | undefined)[],
    code: ErrorCode,
    headers: readonly Record<string, string>[] = [json],
  ): Promise<string[]> {
    const key = await calls.allowed(endpoint);
    const { status } = errorCatalogue[code];
    expect(statuses).toContain(status);
    await restoreWorld(app);
    const before = await pictureOf(app);
    const messages: string[] = [];
    for (const body of bodies)
      for (const each of headers) {
        const response = await calls.sendBody(endpoint, { ...key, ...each }, body);
        messages.push(await expectError(response, status, code));
      }
    expect(await pictureOf(app)).toEqual(before);
    return messages;
  }

  it("must be JSON: anything else is 400", async () => {
    await refused(["{", "bikes", '{"items":[}', `${example}x`, "", "\u0000"], "invalid_request");
  });

  it("must come as application/json: anything else is 415", async () => {
    const types = ["text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data"];
    const headers = types.map((type) => ({ "content-type": type }));
    await refused([example], "unsupported_media_type", headers);
    const withCharset = { "content-type": "application/json; charset=utf-8", ...(await calls.allowed(endpoint)) };
    expect((await calls.sendBody(endpoint, withCharset, example)).status).toBe(successStatus);
  });

  it("must be there, and an object", async () => {
    expect(await refused([undefined], "invalid_parameter", [{}])).toEqual(["the body must be given."]);
    expect(await refused(["null", "[]", '"x"'], "invalid_parameter")).toEqual([
      expect.stringMatching(/^the body must (not be null|be)/),
      "the body must be an object, not an array.",
      "the body must be an object, not a string.",
    ]);
  });

  it("may have 1 MiB, and no more", async () => {
    const padded = (bytes: number) => example + " ".repeat(bytes - Buffer.byteLength(example));
    expect((await refused([padded(1024 * 1024 + 1)], "payload_too_large"))[0]).toContain("1 MiB");
    const key = await calls.allowed(endpoint);
    const response = await calls.sendBody(endpoint, { ...key, ...json }, padded(1024 * 1024));
    expect(response.status).toBe(successStatus);
    success.parse(await response.json());
  });

  it("must have no fields but its own: others are named", async () => {
    const [message] = await refused([some({ ...endpoint.body, colour: "red", "": 1 })], "invalid_parameter");
    expect(message).toContain("colour");
    await refused([`{"__proto__": {}, ${example.slice(1)}`], "invalid_request");
  });

  it("is answered once for an Idempotency-Key, however often it comes", async () => {
    const key = { ...(await calls.allowed(endpoint)), ...json, "idempotency-key": `walk-${endpoint.path}` };
    const first = await calls.sendBody(endpoint, key, example);
    const answer = await first.text();
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([successStatus, null]);
    const before = await pictureOf(app);
    for (const body of [example, JSON.stringify(endpoint.body, undefined, 2)]) {
      const again = await fetch(app.url + endpoint.path, { method: endpoint.method, headers: key, body });
      expectAlways(again);
      expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([successStatus, "true"]);
      expect(await again.text()).toBe(answer);
    }
    expect(await pictureOf(app)).toEqual(before);
    const other = otherBody(endpoint, isBatch);
    const reused = await fetch(app.url + endpoint.path, { method: endpoint.method, headers: key, body: some(other) });
    await expectError(reused, 422, "idempotency_key_reused");
    expect(await pictureOf(app)).toEqual(before);
  });

  it("is refused with an Idempotency-Key that is none", async () => {
    const headers = ["", "two words", "x".repeat(256)].map((key) => ({ ...json, "idempotency-key": key }));
    for (const message of await refused([example], "invalid_parameter", headers))
      expect(message).toMatch(/idempotency-key/i);
  });

  if (!isBatch) return;

  it(`holds 1 to ${MAX_BATCH} items`, async () => {
    const many = Array<unknown>(MAX_BATCH + 1).fill({});
    const bodies = ["{}", ...[null, {}, "x", 5, [], many].map((items) => some({ items }))];
    expect(await refused(bodies, "invalid_parameter")).toEqual([
      "items must be given: an array of items.",
      ...Array<string>(4).fill("items must be an array of items."),
      "items must contain at least one item.",
      `items must contain at most ${MAX_BATCH} items.`,
    ]);
  });

  it("answers each item by itself: those that cannot be read have changed nothing", async () => {
    const headers = { ...(await calls.allowed(endpoint)), ...json };
    const before = await pictureOf(app);
    const items = [
      null,
      [],
      "x",
      {},
      { id: "" },
      { id: "a\u0000b" },
      { id: "x".repeat(256) },
      { id: "a", colour: "red" },
    ];
    const broken = [...items, ...Array<unknown>(MAX_BATCH - items.length).fill(7)];
    const response = await calls.sendBody(endpoint, headers, some({ items: broken }));
    expect(response.status).toBe(200);
    const { results, failed } = batchResults.parse(await response.json());
    expect([results.length, failed]).toEqual([MAX_BATCH, MAX_BATCH]);
    for (const { error } of results) {
      expect(error?.error).toBe("invalid_parameter");
      expect(error?.message).toMatch(/^((the item|[a-z_]+) must|unknown field) [^A-Z]*\.$/);
    }
    expect(results.slice(0, 3).map(({ error }) => error?.message)).toEqual([
      "the item must not be null: it must be an object.",
      "the item must be an object, not an array.",
      "the item must be an object, not a string.",
    ]);
    expect(results[7]?.error?.message).toContain("unknown field colour of the item");
    expect(await pictureOf(app)).toEqual(before);
  });
});

describe.each(endpoints.filter(({ method }) => method === "DELETE"))("$method $path", (endpoint) => {
  it("needs no body: whatever type an empty one is announced as, and twice is as good as once", async () => {
    const key = await calls.allowed(endpoint);
    const answers: string[] = [];
    for (const headers of [{}, json, { "content-type": "text/plain" }, { ...json, "content-length": "0" }]) {
      const response = await fetch(app.url + endpoint.path, { method: "DELETE", headers: { ...key, ...headers } });
      expect(response.status).toBe(200);
      expectAlways(response);
      answers.push(await response.text());
      endpoint.success.parse(JSON.parse(answers[0] ?? ""));
    }
    expect(new Set(answers).size).toBe(1);
  });
});

it("walks endpoints with bodies at all", () => {
  expect(endpoints.filter(({ body }) => body !== undefined)).toHaveLength(23);
});
