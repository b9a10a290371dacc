import { afterEach, beforeEach, expect, test } from "vitest";
import { type DispatchHarness, openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered } from "../../../test/webhooks/far.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { addDays, dailyTables } from "../../storage/partitions/partition.rules.ts";
import { createPartitions } from "../../storage/partitions/service.ts";
import {
  claimDeliveries,
  type ClaimedRow,
  insertResults,
  listOrphans,
  updateClaimsReleased,
  updateQueuedToHeld,
} from "../queue/lane-queries.ts";
import { insertHeldBatch } from "../queue/replay-queries.ts";
import { BY_INDEX } from "../worker.ts";
import { resultOf } from "./result-writer.ts";

/*
 * Checks what the dispatcher's statements cost with a connection's first plan, which the connection keeps. The cost is
 * counted in pages, because time depends on the machine.
 */

const DAY = "2026-01-01";
/** Deliveries that wait for other endpoints (`OTHERS`), and for the endpoint under test (`OWN`). */
const OTHERS = 20_000;
const OWN = 40;
/** Limit for the pages that a step reads per row. About 20 are read. A scan of a whole table reads at least 450. */
const PAGES_PER_ROW = 40;
/**
 * The limit for a held delivery. About 40 pages are read: it is found, locked, updated with all indexes, and queued. A scan
 * reads 700.
 */
const PAGES_PER_HELD_ROW = 60;

let harness: DispatchHarness;
let db: Database;
beforeEach(async () => {
  harness = await openDispatchHarness();
  db = openDatabase({
    connectionString: harness.db.connectionString,
    maxConnections: 1,
    sessionOptions: `${BY_INDEX} -c plan_cache_mode=force_generic_plan`,
  });
  for (const table of dailyTables) await createPartitions(harness.db, table, DAY);
  // Autovacuum would cause new plans, and the pages that it reads would be counted.
  for (const table of tables) await run(`alter table ${table} set (autovacuum_enabled = off)`);
});
afterEach(async () => {
  await db.close();
  await harness.close();
});

/** Suffixes of partitions: the days for which a worker creates them, and the default. */
const partitions = [DAY, addDays(DAY, 1)].map((day) => day.replaceAll("-", "")).concat("default");
const tables = [
  "webhook_queue",
  ...["webhook_deliveries", "webhook_bodies"].flatMap((table) => partitions.map((part) => `${table}_${part}`)),
];

async function run(sql: string): Promise<void> {
  await harness.db.query(statement("", sql));
}

/** Writes rows and makes the connection report its reads at once, so that they are not counted for a later step. */
async function write(sql: string, ...values: readonly unknown[]): Promise<void> {
  await harness.db.transaction(async (tx) => {
    await tx.query(statement("", sql), [harness.systemId, ...values]);
    await tx.query(statement("", "select pg_stat_force_next_flush()"));
  });
}

/** Returns how many pages of the tables all connections have read so far. */
async function pages(): Promise<number> {
  // A connection reports its reads with a delay, unless it is told to flush them.
  await db.query(statement("", "select pg_stat_force_next_flush()"));
  const [row] = await harness.rows<{ n: number }>(
    `select sum(coalesce(heap_blks_read + heap_blks_hit, 0) + coalesce(idx_blks_read + idx_blks_hit, 0))::bigint as n
     from pg_statio_user_tables where $1 <> '' and relname = any($2)`,
    tables,
  );
  return row?.n ?? Number.NaN;
}

/** Returns the steps that the dispatcher takes with an endpoint's deliveries. Each step takes up to ten rows. */
function stepsFor(endpointId: string) {
  const { systemId, clock } = harness;
  const now = () => new Date(clock());
  let claimed: readonly ClaimedRow[] = [];
  const claim = async () => {
    claimed = await claimDeliveries(
      db,
      systemId,
      [{ endpointId, token: 0, limit: 10, dueFrom: new Date(0) }],
      false,
      now(),
    );
    return claimed;
  };
  const writeResults = () => {
    const results = claimed.map((row, index) =>
      resultOf({
        row,
        url: "https://partner.example/hooks",
        message: { headers: [], body: "{}" },
        startedAt: clock(),
        endedAt: clock(),
        result: answered(index % 2 === 0 ? 204 : 500),
        kept: { headers: [], body: new Uint8Array(), truncationReason: null },
        chance: 0,
      }),
    );
    return db.transaction((tx) => insertResults(tx, systemId, now(), results));
  };
  const orphans = async () => {
    await harness.rows("update webhook_lanes set token = token + 1 where system_id = $1");
    const found = await listOrphans(db, systemId, endpointId, 10);
    await harness.rows("update webhook_lanes set token = token - 1 where system_id = $1");
    return found;
  };
  const release = async () => {
    await updateClaimsReleased(db, systemId, { endpointId, token: 0 }, []);
    return claimed;
  };
  const hold = async () => {
    await harness.rows(
      `update webhook_endpoints set status = 'paused', pause_reason = 'operator', paused_at = now()
       where system_id = $1 and id = $2`,
      endpointId,
    );
    return Array.from({ length: await updateQueuedToHeld(db, systemId, endpointId, now(), 10) });
  };
  const sendHeld = async () => {
    const replay = { id: "replay_1", endpoint_id: endpointId, since: new Date(0), until: now() };
    const batch = db.transaction((tx) =>
      insertHeldBatch(tx, systemId, { ...replay, next_held_at: new Date(DAY) }, now(), 10),
    );
    return Array.from({ length: await batch });
  };
  const steps = { claim, "write results": writeResults, "claim again": claim, orphans, release, hold };
  return { ...steps, "send held": sendHeld } satisfies Record<string, () => Promise<readonly unknown[]>>;
}

/**
 * Takes all steps.
 * @returns for each step how many rows it returned and how many pages it read
 */
async function take(endpointId: string): Promise<{ step: string; rows: number; pages: number }[]> {
  const taken: { step: string; rows: number; pages: number }[] = [];
  for (const [step, work] of Object.entries(stepsFor(endpointId))) {
    const before = await pages();
    const { length } = await work();
    taken.push({ step, rows: length, pages: (await pages()) - before });
  }
  return taken;
}

/** Inserts deliveries that were sent. No plan may read all of an endpoint's deliveries of a day. */
function fillWithSent(endpointId: string, n: number): Promise<void> {
  return write(
    `insert into webhook_deliveries (system_id, id, endpoint_id, created_on, event_id, event, resource_id, created_at, status)
     select $1, 'delivery_' || md5('sent' || n), $2, '${DAY}', 'event_' || n, 'ride.started', 'ride_' || n,
       $4::timestamptz + n * interval '1 ms', 'succeeded'
     from generate_series(1, $3) as n`,
    endpointId,
    n,
    new Date(harness.clock()),
  );
}

async function fill(endpointId: string, n: number): Promise<void> {
  await write(
    `with due as (
       insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at)
       select $1, 'delivery_' || md5(n || $2), $2, '${DAY}', 'event_' || n % 100, $4 from generate_series(1, $3) as n
       returning system_id, delivery_id, endpoint_id, created_on, event_id)
     insert into webhook_deliveries (system_id, id, endpoint_id, created_on, event_id, event, created_at, status)
     select *, 'ride.started', $4, 'pending' from due`,
    endpointId,
    n,
    new Date(harness.clock()),
  );
}

test.each([
  ["was never analysed", ""],
  ["was vacuumed while empty", `vacuum (analyze) ${tables.join(", ")}`],
])("plans made for an empty queue that %s read no more than their rows once it is long", async (_state, before) => {
  const { id: endpointId } = await harness.endpoint();
  const { id: otherId } = await harness.endpoint();
  if (before !== "") await run(before);
  expect((await take(endpointId)).every(({ rows }) => rows === 0)).toBe(true);
  await harness.rows(
    "update webhook_endpoints set status = 'active', pause_reason = null, paused_at = null where system_id = $1",
  );
  await write(
    `insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
     select $1, '${DAY}', 'event_' || n, 'ride.started', now(), '{}' from generate_series(0, 99) as n`,
  );
  await fill(otherId, OTHERS);
  await fill(endpointId, OWN);
  await fillWithSent(endpointId, OTHERS);
  const taken = await take(endpointId);
  expect(taken.map(({ step, rows }) => `${step}: ${rows}`)).toEqual([
    "claim: 10",
    "write results: 10",
    "claim again: 10",
    "orphans: 10",
    "release: 10",
    "hold: 10",
    "send held: 10",
  ]);
  const most = ({ step, rows }: (typeof taken)[number]) =>
    rows * (step === "send held" ? PAGES_PER_HELD_ROW : PAGES_PER_ROW);
  expect(taken.filter((each) => each.pages > most(each))).toEqual([]);
});
