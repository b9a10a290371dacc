import { MDS_MEDIA_TYPE, MDS_REPORT_MEDIA_TYPE, mdsContract, mdsError } from "@bikeshare/contract/mds";
import { randomRuns } from "@bikeshare/test-kit";
import type { AppRoute } from "@ts-rest/core";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { hostileTexts } from "../fuzz/hostile-values.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";

let mds: MdsHarness;
let key: string;

beforeAll(async () => {
  mds = await startMds();
  key = (await mds.agency()).key.key;
  await upsertStations(mds.app, mds.app.systemId, [{ item: { id: "A", name: "Harbour", lat: 59.9, lon: 10.7 } }]);
  await upsertBikes(mds.app, mds.app.systemId, [{ item: { id: "b", station_id: "A" } }]);
  mds.app.clock.advance(40 * 24 * 3_600_000);
});
afterAll(() => mds.close());

/** Draws values at the limits of what parameters accept. */
const edges = fc.constantFrom(
  ...["0000-01-01T00", "0001-01-01T00", "1969-12-31T23", "2026-06-01T12", "2026-07-01T00", "9999-12-31T23"],
  ...["0", "1", "253402300799999", "253402300800000", "999999999999999", "1780315200000", "1783339200000"],
  ...["0000-01.csv", "0001-01.csv", "2026-06.csv", "9999-12.csv", "2026-06.CSV"],
  ...["00000000-0000-0000-0000-000000000000", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"],
);
const value = fc.oneof(edges, hostileTexts, fc.nat(Number.MAX_SAFE_INTEGER).map(String));
/** Cuts long texts, because the server refuses a request whose head is too large before it reads it. */
const encoded = (text: string) => encodeURIComponent(text.slice(0, 400).toWellFormed());

const routes = (Object.values(mdsContract) as AppRoute[]).filter(({ method }) => method === "GET");

/**
 * Draws requests to an endpoint. Each of its parameters occurs once, twice or not at all, and unknown parameters are added.
 */
function requestsTo(route: AppRoute) {
  const names = route.query instanceof z.ZodObject ? Object.keys(route.query.shape as object) : [];
  const query = fc
    .tuple(
      ...names.map((name) =>
        fc.array(value, { minLength: 0, maxLength: 2 }).map((all) => all.map((one) => [name, one])),
      ),
      fc.array(fc.tuple(hostileTexts, value), { maxLength: 1 }),
    )
    .map((all) =>
      all
        .flat()
        .map(([name = "", one = ""]) => `${encoded(name)}=${encoded(one)}`)
        .join("&"),
    );
  const path = fc
    .array(value, { minLength: 1, maxLength: 1 })
    .map(([one = ""]) => route.path.replace(/:\w+/, encoded(one)));
  const exact = route.path.includes("reports") ? MDS_REPORT_MEDIA_TYPE : MDS_MEDIA_TYPE;
  return fc.record({
    method: fc.constantFrom("GET", "GET", "GET", "HEAD"),
    target: fc.tuple(path, query).map(([its, given]) => (given === "" ? its : `${its}?${given}`)),
    accept: fc.oneof(
      { arbitrary: fc.constant(exact), weight: 9 },
      { arbitrary: fc.constantFrom("", "*/*", ";;,", "x/y;version=2.0"), weight: 1 },
    ),
  });
}

it.each(routes.map((route) => [route.path, route] as const))(
  "answers whatever is sent to %s with a status of the contract, and never fails",
  async (_, route) => {
    const declared = Object.keys(route.responses).map(Number);
    await fc.assert(
      fc.asyncProperty(requestsTo(route), async ({ method, target, accept }) => {
        mds.app.clock.advance(1_000);
        const headers = { authorization: `Bearer ${key}`, accept };
        const response = await fetch(mds.url + target, { method, headers });
        const text = await response.text();
        expect(response.status).toBeLessThan(500);
        // A path with another number of parts does not belong to this endpoint.
        const isItsOwn = new URL(mds.url + target).pathname.split("/").length === route.path.split("/").length;
        if (isItsOwn) expect([...declared, 404]).toContain(response.status);
        if (response.status >= 400 && method === "GET" && target.startsWith("/mds/")) mdsError.parse(JSON.parse(text));
      }),
      { numRuns: randomRuns(16) },
    );
  },
  600_000,
);
