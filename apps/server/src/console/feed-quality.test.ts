import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { consoleContract, type FeedQuality } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { updateSourceHealth } from "../feeds/gbfs/health-queries.ts";

let app: TestApp;
let operator: SignedIn;
/** The paths of the requests for the feed of the followed source. */
const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  const feeds = [{ name: "system_information", url: "/system_information.json" }];
  const data = request.url === "/gbfs.json" ? { feeds } : { system_id: "followed", name: [] };
  response.end(JSON.stringify({ last_updated: "2026-01-01T00:00:00Z", ttl: 60, version: "3.0", data }));
});

beforeAll(async () => {
  app = await startTestApp();
  operator = await signIn(app, { partnerId: null });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const location = `http://127.0.0.1:${(server.address() as AddressInfo).port}/gbfs.json`;
  const poll = {
    systemId: app.systemId,
    source: "followed",
    now: app.clock(),
    location,
    intervalMs: 30_000,
    message: null,
  };
  await updateSourceHealth(app.db, poll);
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await app.close();
});

async function check(query = "", who = operator): Promise<FeedQuality> {
  const response = await who.call("GET", `/console/v1/systems/${app.systemId}/feed-quality${query}`);
  expect(response.status).toBe(200);
  return consoleContract.feedQuality.check.responses[200].parse(await response.json());
}

it("the system's own feeds are checked without HTTP, and sources that have an address are named", async () => {
  const { report, failure, sources } = await check();
  expect({ failure, sources }).toEqual({ failure: null, sources: ["followed"] });
  expect(report).toMatchObject({ kind: "own", version: "3.0", errors: 0 });
  expect(report?.files.map(({ failure: each }) => each).filter((each) => each !== null)).toEqual([]);
});

it("the own feeds are checked anew as soon as a fact of them has changed", async () => {
  const lacksContact = async () => (await check()).report?.findings.some(({ rule }) => rule === "contact-missing");
  const before = await lacksContact();
  const path = `/console/v1/systems/${app.systemId}/facts/system/-`;
  expect((await operator.call("PATCH", path, { feed_contact_email: "feeds@city.example" })).status).toBe(200);
  expect([before, await lacksContact()]).toEqual([true, false]);
});

it("a source is fetched once in some minutes, however often it is looked at", async () => {
  const [first, second] = await Promise.all([check("?source=followed"), check("?source=followed")]);
  expect(first.failure).toBeNull();
  expect(first.report).toMatchObject({ kind: "address", system_id: "followed" });
  expect(second).toEqual(first);
  expect(asked.filter((path) => path === "/gbfs.json")).toHaveLength(1);
  app.clock.advance(5 * 60_000);
  await check("?source=followed");
  expect(asked.filter((path) => path === "/gbfs.json")).toHaveLength(2);
});

it("an unknown source is none, and no address of the caller's choice is fetched", async () => {
  const path = `/console/v1/systems/${app.systemId}/feed-quality?source=http://127.0.0.1/`;
  expect((await operator.call("GET", path)).status).toBe(404);
});

it("a partner does not see it", async () => {
  const partner = await signIn(app, { partnerId: app.partnerId });
  const response = await partner.call("GET", `/console/v1/systems/${app.systemId}/feed-quality`);
  expect([403, 404]).toContain(response.status);
});
