import { MAX_THRESHOLDS } from "@bikeshare/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nodesOf, type PlanNode, rowsSeenBy } from "../../test/plan-nodes.ts";
import { type EndpointsHarness, openEndpointsHarness } from "../../test/webhooks/endpoints.harness.ts";
import { upsertStations } from "../city/fleet/station-commands.ts";
import { recordEvents } from "../events/outbox.ts";
import { createPartner } from "../partners/service.ts";
import type { Transaction } from "../storage/db/database.ts";
import { type Statement, statement } from "../storage/db/statement.ts";
import { MAX_ENDPOINTS } from "./endpoints/endpoint-context.ts";
import { addEndpoint } from "./endpoints/endpoint-settings.ts";
import { compareAllStations } from "./thresholds.ts";

/*
 * Checks what thresholds cost when many endpoints watch the same station. The cost is counted in rows and pages, because
 * time depends on the machine.
 */

const PARTNERS = 5;
const ENDPOINTS = PARTNERS * MAX_ENDPOINTS;
const ALARMS = ENDPOINTS * MAX_THRESHOLDS;
/**
 * Limit of pages per alarm. Finding and writing a row takes far fewer, and reading all of the station's rows takes far more.
 */
const PAGES_PER_ALARM = 100;
/** Endpoints that no event names. */
const OTHERS = 1_000;
const MINUTE = 60_000;
const TABLES = ["webhook_endpoints", "webhook_thresholds", "webhook_threshold_states"];

let harness: EndpointsHarness;
let endpoints: { readonly id: string; readonly partnerId: string }[];
beforeEach(async () => {
  harness = await openEndpointsHarness();
  // Autovacuum would write new statistics, which would cause new plans.
  for (const table of TABLES) await run(`alter table ${table} set (autovacuum_enabled = off)`);
  await upsertStations(harness, harness.systemId, [{ item: { id: "a", name: "a", lat: 1, lon: 1, capacity: 0 } }]);
  const thresholds = Array.from({ length: MAX_THRESHOLDS }, (_, n) => {
    return { count: "bikes" as const, fewer_than: n + 1, for_minutes: 10, station_ids: [], region_ids: [] };
  });
  endpoints = [];
  for (let partner = 0; partner < PARTNERS; partner++) {
    const { id: partnerId } = await createPartner(
      { ...harness, actor: "test" },
      harness.systemId,
      `Watcher ${partner}`,
    );
    for (let n = 0; n < MAX_ENDPOINTS; n++) {
      const settings = { name: `Alarms ${n}`, url: "https://partner.example/hooks", thresholds };
      const events = ["station.below_threshold", "station.back_to_normal"] as const;
      const made = await addEndpoint(harness, { systemId: harness.systemId, partnerId, ...settings, events });
      endpoints.push({ id: made.endpoint.id, partnerId });
    }
  }
});
afterEach(() => harness.close());

async function run(sql: string): Promise<void> {
  await harness.db.query(statement("", sql));
}

/**
 * Returns how many pages of the tables have been read so far. A connection reports its reads with a delay, unless it is told
 * to flush.
 */
async function pages(): Promise<number> {
  await run("select pg_stat_force_next_flush()");
  const [row] = await harness.rows<{ n: number }>(
    `select sum(coalesce(heap_blks_read + heap_blks_hit, 0) + coalesce(idx_blks_read + idx_blks_hit, 0))::bigint as n
     from pg_statio_user_tables where $1 <> '' and relname = any($2)`,
    TABLES,
  );
  return row?.n ?? Number.NaN;
}

/**
 * Compares the stations some minutes later.
 * @returns how many pages it reads for each alarm
 */
async function compareAfter(minutes: number): Promise<number> {
  harness.clock.advance(minutes * MINUTE);
  const before = await pages();
  const databaseNow = () => Promise.resolve(new Date(harness.clock()));
  await compareAllStations({ ...harness, databaseNow }, harness.systemId);
  return ((await pages()) - before) / ALARMS;
}

async function told(name: string): Promise<number> {
  return (await harness.rows(`select 1 from webhook_deliveries where system_id = $1 and event = $2`, name)).length;
}

test("thousands of thresholds that one station is below read no more than their rows, before the tables have statistics", async () => {
  const read = [await compareAfter(1), await compareAfter(15)];
  expect(await told("station.below_threshold")).toBe(ALARMS);
  expect(read.filter((each) => each > PAGES_PER_ALARM)).toEqual([]);
});

/** Returns how many pairs of an event and an endpoint a plan compares. */
function compared(plan: PlanNode): number {
  return nodesOf(plan).reduce((sum, node) => {
    const rows = node["Relation Name"] === "webhook_endpoints" ? rowsSeenBy(node) : 0;
    return sum + rows + (node["Rows Removed by Join Filter"] ?? 0) * node["Actual Loops"];
  }, 0);
}

test("an event for one endpoint is compared with that one alone, in each of the three steps that find it", async () => {
  const { ids, clock, systemId } = harness;
  const events = endpoints.map(({ id: endpointId, partnerId }) => {
    const name = "station.below_threshold" as const;
    return { name, occurredAt: new Date(clock()), partnerId, endpointId, data: `{"id":"a"}` };
  });
  // Inserts so many endpoints that reading all of them costs more than a few look-ups.
  await harness.rows(
    `with more as (
       insert into partners select (jsonb_populate_record(null::partners, to_jsonb(partner) || jsonb_build_object('id', 'partner_' || n, 'name', 'More ' || n))).*
       from (select * from partners where system_id = $1 and id = $2) partner cross join generate_series(1, ${OTHERS}) n
       returning id)
     insert into webhook_endpoints
     select (jsonb_populate_record(null::webhook_endpoints, to_jsonb(endpoint)
         || jsonb_build_object('id', 'endpoint_' || more.id, 'partner_id', more.id, 'tag', right('00000' || row_number() over (), 6)))).*
     from (select * from webhook_endpoints where system_id = $1 and partner_id = $2 limit 1) endpoint cross join more`,
    endpoints[0]?.partnerId,
  );
  await run("analyze webhook_endpoints");
  const plans = await harness.db.transaction(async (tx) => {
    await tx.run("set local plan_cache_mode = force_generic_plan");
    const explained: Promise<{ "QUERY PLAN": readonly { readonly Plan: PlanNode }[] }[]>[] = [];
    const send = ({ text }: Statement, values?: readonly unknown[]) => {
      explained.push(tx.query(statement("", `explain (analyze, format json) ${text}`), values));
    };
    recordEvents(
      { ...tx, send, notify: () => undefined } satisfies Transaction,
      { ids, systemId, now: new Date(clock()) },
      events,
    );
    return Promise.all(explained);
  });
  const all = plans.flat().flatMap((row) => row["QUERY PLAN"].map(({ Plan }) => compared(Plan)));
  expect(all).toEqual([3 * ENDPOINTS]);
  expect(await told("station.below_threshold")).toBe(ENDPOINTS);
});
