import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { MDS_MEDIA_TYPE, MDS_REPORT_MEDIA_TYPE, mdsContract, mdsError } from "@bikeshare/contract/mds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { statement } from "../../src/storage/db/statement.ts";
import { until } from "../until.ts";
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
    const ask = () => mds.get(path, key, { accept: typeOf(path) });
    const first = await ask();
    expect(first.status).not.toBe(429);
    await first.arrayBuffer();
    const second = await ask();
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

const HOUR = 3_600_000;
/** So many trips that the response, about 14 MB, is larger than the buffers of a connection. */
const TRIPS = 20_000;

/** Requests an hour on a new connection, and does not read the response. Repeats if the machine was too busy. */
async function askForTrips({ key }: Pick<MdsKey, "key">, hour: Date): Promise<Asked> {
  const url = `${mds.url}/mds/trips?end_time=${hour.toISOString().slice(0, 13)}`;
  const headers = { accept: MDS_MEDIA_TYPE, authorization: `Bearer ${key}` };
  let answer: IncomingMessage | undefined;
  await until(async () => {
    const asked = get(url, { agent: false, headers });
    [answer] = (await once(asked, "response")) as [IncomingMessage];
    if (answer.statusCode === 503) answer.destroy();
    return answer.statusCode !== 503;
  });
  const given = answer as IncomingMessage;
  return {
    status: given.statusCode,
    headers: given.headers,
    body: () => json(given),
    leave: () => given.destroy(),
  };
}
interface Asked {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: () => Promise<unknown>;
  readonly leave: () => unknown;
}
type MdsKey = Awaited<ReturnType<MdsHarness["agency"]>>["key"];

it("an agency that does not read is sent four hours at once, which it has again when it goes, and another agency its own", async () => {
  const [{ key: idle }, { key: other }] = [await mds.agency(), await mds.agency()];
  const { db, systemId, clock } = mds.app;
  const hour = new Date(Math.floor(clock() / HOUR - 4) * HOUR);
  const execute = (sql: string, ...values: unknown[]) => db.query(statement("", sql), values);
  await execute("update mds_providers set logged_since = $1::timestamptz", hour);
  await execute(
    `insert into rides (system_id, source, id, bike_id, status, started_at, ended_at, duration_seconds, distance_meters,
       start_lat, start_lon, end_lat, end_lon, updated_at)
     select $1, 'operator', 'ride-' || n, 'bike-' || n % 500, 'completed', $2::timestamptz,
       $2::timestamptz + n % 3600 * interval '1 second', n % 3600, n % 9000, 59.9, 10.7, 59.91, 10.71, $2::timestamptz
     from generate_series(1, $3::int) as n`,
    ...[systemId, hour, TRIPS],
  );
  await execute("analyze rides");
  const unread: Asked[] = [];
  for (let n = 0; n < 4; n++) unread.push(await askForTrips(idle, hour));
  expect(unread.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const refused = await askForTrips(idle, hour);
  const body = await refused.body();
  expectOfficial("error", body);
  expect([refused.status, mdsError.parse(body).error, refused.headers["retry-after"]]).toEqual([
    429,
    "rate_limited",
    "5",
  ]);
  const theirs = await askForTrips(other, hour);
  expect([theirs.status, ((await theirs.body()) as { trips: unknown[] }).trips.length]).toEqual([200, TRIPS]);
  for (const { leave } of unread) leave();
  await until(async () => {
    const again = await askForTrips(idle, hour);
    again.leave();
    return again.status === 200;
  });

  // Clients disconnect at random moments: before authentication, or while their response is created or sent. Afterwards no
  // slot may stay occupied.
  const options = { agent: false, headers: { accept: MDS_MEDIA_TYPE, authorization: `Bearer ${idle.key}` } };
  const url = `${mds.url}/mds/trips?end_time=${hour.toISOString().slice(0, 13)}`;
  for (let turns = 0; turns < 60; turns++) {
    const asked = get(url, options).on("error", () => undefined);
    for (let turn = 0; turn < turns; turn++) await setImmediate();
    asked.destroy();
  }
  await until(async () => {
    const all = await Promise.all([1, 2, 3, 4].map(() => askForTrips(idle, hour)));
    for (const { leave } of all) leave();
    return all.every(({ status }) => status === 200);
  });
});
