import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { updateTimePassed } from "../../sandbox/clock-queries.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { healthRowOf } from "../dispatcher/lanes.ts";
import { HEALTHY } from "../rules/after-attempt.ts";
import { BY_INDEX } from "../worker.ts";
import { applyHourlyLimit } from "./hourly-limit-queries.ts";
import { claimDeliveries, updateLaneHealth, updateLanesReleased, updateLeases } from "./lane-queries.ts";

let harness: EndpointsHarness;
beforeEach(async () => {
  harness = await openEndpointsHarness();
});
afterEach(() => harness.close());

const waiting = statement(
  "",
  "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
);

type Lock = (
  db: Database,
  lanes: readonly { readonly endpointId: string; readonly token: number }[],
) => Promise<unknown>;
const due = () => new Date(harness.clock());
const claim: Lock = (db, lanes) => {
  const requests = lanes.map((lane) => ({ ...lane, limit: 1, dueFrom: new Date(0) }));
  return claimDeliveries(db, harness.systemId, requests, false, due());
};
const countLimits: Lock = (db, lanes) => {
  const limits = lanes.map((lane) => ({ ...lane, maxPerHour: 1 }));
  return applyHourlyLimit(db, harness.systemId, limits, due());
};
const renew: Lock = (db, lanes) => updateLeases(db, harness.systemId, "worker", lanes, 1_000);
const release: Lock = (db, lanes) => updateLanesReleased(db, harness.systemId, lanes);
const passTime: Lock = (db) => {
  let hasBegun = false;
  return db.transaction((tx) => {
    if (hasBegun) throw new Error("The transaction has begun again.");
    hasBegun = true;
    return updateTimePassed(tx, harness.systemId, due(), 1);
  });
};

test.each([
  ["a claim", claim, BY_INDEX],
  ["a count of hourly limits", countLimits, BY_INDEX],
  ["a renewal of leases", renew, BY_INDEX],
  ["a release of lanes", release, BY_INDEX],
  // Reads the table in the order in which its rows lie there, as PostgreSQL may choose.
  ["a sandbox's clock", passTime, "-c enable_indexscan=off -c enable_bitmapscan=off"],
] as const)(
  "%s and a write of results lock the lanes of several endpoints one after the other: neither has to begin again",
  async (_, lock, sessionOptions) => {
    const { systemId } = harness;
    const db = openDatabase({ connectionString: harness.db.connectionString, maxConnections: 1, sessionOptions });
    const ids: string[] = [];
    for (const name of ["b", "c"]) ids.push((await harness.endpoint(await harness.partner(name))).endpoint.id);
    const [first = "", second = ""] = ids.toSorted();
    await harness.happen(1);
    await harness.rows("update webhook_queue set is_uncounted = $2 where system_id = $1", lock === countLimits);
    // With so many lanes, PostgreSQL looks up the given ones, in their order.
    const others = "select $1, 'endpoint_' || i from generate_series(1, 2000) as i";
    await harness.rows(`insert into webhook_lanes (system_id, endpoint_id) ${others}`);
    await harness.db.query(statement("", "analyze webhook_lanes"));
    // The rows lie in the table in another order than that of the endpoints' ids.
    const lease = "update webhook_lanes set worker = 'worker', hour_ends_at = now() + interval '1 hour'";
    for (const id of [second, first]) await harness.rows(`${lease} where system_id = $1 and endpoint_id = $2`, id);
    const lanes = [second, first].map((endpointId) => ({ endpointId, token: 0 }));
    let begun = 0;
    let locked: Promise<unknown> = Promise.resolve();
    await harness.db.transaction(async (tx) => {
      begun++;
      const write = (endpointId: string) =>
        updateLaneHealth(tx, systemId, { endpointId, token: 0 }, healthRowOf(HEALTHY));
      await write(first);
      locked = lock(db, lanes).catch((error: unknown) => error);
      await until(async () => (await harness.db.query(waiting)).length > 0);
      await write(second);
    });
    expect(await locked).not.toBeInstanceOf(Error);
    expect(begun).toBe(1);
    await db.close();
  },
);
