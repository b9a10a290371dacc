import { partnerContract } from "@bikeshare/contract";
import { consoleContract } from "@bikeshare/contract/console";
import { initContract } from "@ts-rest/core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bindContract } from "../src/http/bind.ts";
import { createPartner } from "../src/partners/service.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp, keyContext } from "./built-app.ts";
import { signIn } from "./sign-in.ts";

/** The metadata of a deprecated route that exists only in this test. */
const deprecated = { since: "2027-01-31", sunset: "2028-01-31", successor: "GET /v1/me" };
const { me } = partnerContract;
const contract = initContract().router({
  whoami: { ...me.get, path: "/v1/whoami/:id", metadata: { ...me.get.metadata, deprecated } },
});
const route = "GET /v1/whoami/:id";

const PATIENTLY = { timeout: 60_000, interval: 250 };

let app: TestApp;
let service: BuiltApp;

beforeAll(async () => {
  app = await startTestApp();
  service = await buildAnother(app, {}, ({ http }) =>
    bindContract(http, contract, { whoami: () => Promise.resolve({ status: 200, body: {} as never }) }),
  );
});
afterAll(async () => {
  await service.close();
  await app.close();
});

const headersOf = ({ headers }: Response) => ["deprecation", "sunset", "link"].map((name) => headers.get(name));
const call = (key: string | undefined, path = "/v1/whoami/1", method = "GET") =>
  fetch(service.url + path, { method, ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }) });

it("every answer of the route says that it is deprecated, until when, and what replaces it; no other answer does", async () => {
  const { key } = await app.issue({ rateLimit: 2 });
  const answers = [
    await call(key),
    await call(key, "/v1/whoami/1", "HEAD"),
    await call(key),
    await call(undefined),
    await call(key, "/v1/whoami/1?surprise=1"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 401, 429]);
  for (const answer of answers) {
    expect(headersOf(answer)).toEqual([
      "@1801353600",
      "Mon, 31 Jan 2028 00:00:00 GMT",
      '</docs/reference>; rel="deprecation"; type="text/html", </v1/me>; rel="successor-version"',
    ]);
  }
  const other = await app.issue();
  for (const path of ["/v1/me", "/v1/stations", "/v1/nothing"])
    expect(headersOf(await call(other.key, path))).toEqual([null, null, null]);
});

it("the console names the keys that still call it: a partner's own to the partner, everybody's to the operator", async () => {
  const rival = await createPartner(keyContext(app), app.systemId, "Rival");
  const own = await app.issue();
  const theirs = await app.issue({ partnerId: rival.id });
  await Promise.all([call(own.key), call(own.key), call(theirs.key), call(own.key, "/v1/me")]);
  const system = `/console/v1/systems/${app.systemId}`;
  const on = { ...app, url: service.url };
  const partner = await signIn(on, { partnerId: app.partnerId, role: "viewer" });
  const operator = await signIn(on, { partnerId: null, role: "viewer" });
  const read = async (who: typeof partner, base: string) => {
    const response = await who.call("GET", `${base}/usage/deprecated`);
    return consoleContract.partnerRequests.deprecated.responses[200].parse(await response.json()).data;
  };
  const mine = () => read(partner, `${system}/partners/${app.partnerId}`);
  const all = () => read(operator, system);
  const keyIds = (calls: Awaited<ReturnType<typeof mine>>) => calls.map(({ key_id }) => key_id);
  const requestsOf = (calls: Awaited<ReturnType<typeof mine>>, id: string) =>
    calls.find(({ key_id }) => key_id === id)?.requests;
  // The service writes usage every few seconds, so the counts may arrive one after the other. Polls slowly, to stay within
  // the rate limit of the dashboard.
  await expect
    .poll(async () => [requestsOf(await all(), theirs.id), requestsOf(await mine(), own.id)], PATIENTLY)
    .toEqual([1, 2]);
  expect(await mine()).toContainEqual({
    ...deprecated,
    route,
    key_id: own.id,
    partner_id: app.partnerId,
    requests: 2,
    last_day: new Date(app.clock()).toISOString().slice(0, 10),
  });
  expect(keyIds(await mine())).not.toContain(theirs.id);
  expect(keyIds(await all())).toEqual(expect.arrayContaining([own.id, theirs.id]));
  // A service without deprecated routes lists none, whoever has called.
  const plain = await signIn(app, { partnerId: null, role: "viewer" });
  expect(await read(plain, system)).toEqual([]);
});
