import { scopeNames } from "@bikeshare/contract";
import { consoleContract } from "@bikeshare/contract/console";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../../test/app.ts";
import { buildAnother } from "../../../test/built-app.ts";
import { signIn } from "../../../test/sign-in.ts";
import { forgetRider } from "../forget/service.ts";
import { createDetailBudget, detailsOf } from "./refused-details.rules.ts";
import { requestWithId } from "./service.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** Sends requests with one key to a service of its own, whose log is written when it ends. */
async function ask(requests: readonly { path: string; method?: string; body?: string }[]) {
  const other = await buildAnother(app);
  const { key } = await app.issue({ scopes: scopeNames, rateLimit: 1_000 });
  const ids: string[] = [];
  for (const { path, method = "GET", body } of requests) {
    const json = { "content-type": "application/json", "idempotency-key": `key-${ids.length}` };
    const headers = { authorization: `Bearer ${key}`, ...(body !== undefined && json) };
    const answer = await fetch(`${other.url}${path}`, { method, headers, ...(body !== undefined && { body }) });
    ids.push(answer.headers.get("request-id") ?? "");
    await answer.text();
  }
  await other.close();
  return ids;
}
const stored = async (id: string | undefined) => requestWithId(app, app.systemId, id ?? "");

describe("of a refused request", () => {
  it("the log keeps message, path, query and body, and of one that succeeded nothing more", async () => {
    const body = JSON.stringify({ station_id: "nowhere", hold_minutes: 5_000 });
    const [list, create, none, good, missing] = await ask([
      { path: "/v1/rides?status=flying&limit=2" },
      { path: "/v1/reservations", method: "POST", body },
      { path: "/v1/reservations/rsv_1", method: "PATCH", body: "{ no json" },
      { path: "/v1/stations?limit=1" },
      { path: "/v1/rides/no%2Dsuch" },
    ]);
    expect(await stored(list)).toMatchObject({
      ...{ message: expect.stringContaining("status") as string, target: "/v1/rides?status=flying&limit=2" },
      ...{ body: null, body_bytes: null },
    });
    expect(await stored(create)).toMatchObject({
      ...{ message: expect.stringContaining("hold_minutes") as string, target: "/v1/reservations", body },
      body_bytes: body.length,
    });
    expect(await stored(none)).toMatchObject({ target: "/v1/reservations/rsv_1", body: null, body_bytes: 9 });
    expect(await stored(good)).toMatchObject({ message: null, target: null, body: null, body_bytes: null });
    expect(await stored(missing)).toMatchObject({ target: "/v1/rides/no-such", error: "not_found" });
  });

  it("a body that is nested too deeply to be written is left out, and the request is logged as any other", async () => {
    const body = `{"station_id":${"[".repeat(8_000)}${"]".repeat(8_000)}}`;
    const [deep, next] = await ask([
      { path: "/v1/reservations", method: "POST", body },
      { path: "/v1/rides?status=flying" },
    ]);
    expect(await stored(deep)).toMatchObject({ target: "/v1/reservations", body: null, body_bytes: body.length });
    expect(await stored(next)).toMatchObject({ target: "/v1/rides?status=flying" });
  });

  it("a partner's page shows it to that partner alone", async () => {
    const [id = ""] = await ask([{ path: "/v1/rides?status=flying" }]);
    const viewer = await signIn(app, { partnerId: app.partnerId, role: "viewer" });
    const path = `/console/v1/systems/${app.systemId}/partners/${app.partnerId}/requests/${id}`;
    const shown = consoleContract.partnerRequests.get.responses[200].parse(
      await (await viewer.call("GET", path)).json(),
    );
    expect(shown).toMatchObject({ id, target: "/v1/rides?status=flying", error: "invalid_parameter" });
  });

  it("no credential is kept, wherever the caller had put it", () => {
    const key = `bss_live_${"a".repeat(40)}`;
    const kept = detailsOf({
      url: `/v1/${key}/x?api_key=hidden&token=hidden&q=${key}&Authorization=hidden&x-api-k%2565y=hidden&page=2`,
      message: `The key ${key} is in the address.`,
      body: {
        secret: "hidden",
        nested: [{ password: "hidden", refreshToken: "hidden", note: `whsec_${"b".repeat(43)}=`, page: 2 }],
      },
      bodyBytes: 100,
    });
    expect(JSON.stringify(kept)).not.toMatch(/hidden|aaaa|bbbb/);
    expect(kept.target).toContain("page=2");
    expect(kept.body).toContain('"page":2');
  });

  it("no part of a key or webhook secret is kept, wherever it stands and however often its characters are encoded", () => {
    // Characters of which no four follow one another in what the test puts around the secret.
    const secret = fc.stringMatching(/^[A-Zx-z0-9+/_-]{44}$/);
    /** How often each character is encoded, from never to three times, and whether with lower-case digits. */
    const spelling = fc.array(fc.tuple(fc.nat(3), fc.boolean()), { minLength: 1, maxLength: 7 });
    const places = [
      "/v1/rides/@",
      "/v1/@/x?page=2",
      "/v1/%ff@",
      "/v1?q=@",
      "/v1?@=1",
      "/v1?a=b&next=%2Fv1%3Fq%3D@%26c",
    ];
    fc.assert(
      fc.property(
        fc.constantFrom("whsec_", "bss_live_", "bss_operator_"),
        secret,
        spelling,
        fc.constantFrom(...places),
        fc.nat(20),
        (prefix, end, times, place, cut) => {
          const text = `${prefix}${end}=`.replaceAll(/./g, (each, at: number) =>
            encodedTimes(each, ...(times[at % times.length] ?? [0, false])),
          );
          const whole = place.replace("@", () => text);
          const url = whole.slice(0, whole.length - cut);
          const { target, message, body } = detailsOf({ url, message: url, body: { url }, bodyBytes: 100 });
          const kept = decodedWholly(`${target} ${message} ${body}`).replaceAll(" ", "+");
          for (let at = 0; at <= end.length - 4; at++) expect(kept).not.toContain(end.slice(at, at + 4));
        },
      ),
    );
  });

  it("a body that is large, or whose size the caller does not say, is not kept; characters that cannot be stored are replaced", () => {
    const of = (body: unknown, bodyBytes: number) =>
      detailsOf({ url: "/%ff?a=%00", message: "\0\ud800", body, bodyBytes });
    expect(of({ a: "x".repeat(20_000) }, 20_008).body).toBeNull();
    expect(of({ a: 1 }, Number.NaN)).toMatchObject({ body: null, body_bytes: null });
    expect(of({ a: "\0" }, 9)).toEqual({
      ...{ message: "\ufffd\ufffd", target: "/%25ff?a=%00", body: JSON.stringify({ a: "\0" }), body_bytes: 9 },
    });
  });

  it("a rider who is forgotten is gone from it, and nobody else is", async () => {
    const rider = (name: string) => [
      { path: `/v1/reservations?status=none&rider_ref=${name.replace("-", "%2d")}` },
      { path: "/v1/reservations", method: "POST", body: JSON.stringify({ station_id: "none", rider_ref: name }) },
    ];
    const ids = await ask([...rider("rider-7"), ...rider("rider-77")]);
    expect((await Promise.all(ids.map(stored))).every((row) => row?.target !== null)).toBe(true);
    const context = { ...app, actor: "test", sleep: () => Promise.resolve() };
    expect(await forgetRider(context, app.systemId, { riderRef: "rider-7" })).toMatchObject({ request_log: 2 });
    const targets = (await Promise.all(ids.map(stored))).map((row) => row?.target);
    expect(targets).toEqual([null, null, "/v1/reservations?status=none&rider_ref=rider-77", "/v1/reservations"]);
  });
});

/** Returns a character percent-encoded so many times. */
function encodedTimes(character: string, times: number, isLower: boolean): string {
  const code = character.charCodeAt(0).toString(16);
  return times === 0 ? character : `%${"25".repeat(times - 1)}${isLower ? code : code.toUpperCase()}`;
}

/** Returns a text in which nothing is percent-encoded any more. */
function decodedWholly(text: string): string {
  const decoded = text.replaceAll(/%([2-7][\da-f])/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return decoded === text ? text : decodedWholly(decoded);
}

describe("the room for what is kept of refused requests", () => {
  it("is bounded for each partner and for all together, refills, and leaves others theirs", () => {
    const { take } = createDetailBudget();
    const fill = (caller: string, at: number) => {
      let bytes = 0;
      while (take(caller, 1_000, at)) bytes += 1_000;
      return bytes;
    };
    expect(fill("one", 0)).toBe(1_048_000);
    expect(fill("two", 0)).toBe(1_048_000);
    expect(fill("one", 86_400_000)).toBe(1_048_000);
    let day = 0;
    for (let at = 86_400_000; at < 172_800_000; at += 60_000) day += fill("one", at);
    expect(day).toBeLessThan(17_000_000);
    let all = 0;
    for (let n = 0; n < 100; n++) all += fill(`many ${n}`, 172_800_000);
    expect(all).toBeLessThanOrEqual(33_554_432);
  });
});
