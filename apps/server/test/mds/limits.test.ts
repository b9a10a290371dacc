import { MDS_MEDIA_TYPE, MDS_REPORT_MEDIA_TYPE, mdsContract, mdsError } from "@bikeshare/contract/mds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { expectOfficial } from "./official-schemas.ts";

let mds: MdsHarness;

beforeAll(async () => {
  mds = await startMds();
});
afterAll(() => mds.close());

const paths = Object.values(mdsContract).flatMap(({ method, path }) => (method === "GET" ? path : []));
const typeOf = (path: string) => (path.includes("reports") ? MDS_REPORT_MEDIA_TYPE : MDS_MEDIA_TYPE);
const refusal = async (response: Response) => {
  const body: unknown = await response.json();
  expectOfficial("error", body);
  return mdsError.parse(body).error;
};

it.each(paths)(
  "%s counts against the rate of the agency's key, and is refused beyond it in MDS's form",
  async (path) => {
    const { key } = (await mds.agency({ rateLimit: 1 })).key;
    const get = () => mds.get(path, key, { accept: typeOf(path) });
    const first = await get();
    expect(first.status).not.toBe(429);
    await first.arrayBuffer();
    const second = await get();
    expect([second.status, await refusal(second)]).toEqual([429, "rate_limited"]);
    expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
  },
);

it.each(paths)("%s is only read", async (path) => {
  const { key } = (await mds.agency()).key;
  const headers = { accept: typeOf(path), authorization: `Bearer ${key}` };
  const response = await fetch(mds.url + path, { method: "DELETE", headers });
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  expect(await refusal(response)).toBe("method_not_allowed");
});
