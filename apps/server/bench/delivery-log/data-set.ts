import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scopeNames } from "@bikeshare/contract";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { issueKey } from "../../src/partners/keys/service.ts";
import { type Database, openDatabase } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { addDays, dailyTables, dayOf } from "../../src/storage/partitions/partition.rules.ts";
import { createPartitions } from "../../src/storage/partitions/service.ts";
import { withDatabaseName } from "../../test/server-commands.ts";
import { digestOfMigrations } from "../reading/data-sets.ts";
import { CIPHER, makeWorld } from "../webhooks/world.ts";

/*
 * The data set of the delivery log: 30 days of one system's deliveries, created inside PostgreSQL and kept in BENCH_DATA_DIR
 * until a migration changes. It has 500 partners, each with an endpoint and a key. The first endpoint, which is searched,
 * has half of the deliveries: 3 % of them did not succeed, some in rare ways. The second endpoint has a tenth of them, and
 * has been paused for a week. The other endpoints have got nothing for a day, so many of their deliveries are pending.
 */

const DAYS = 30;
const ENDPOINTS = 500;
/** For so many days the second endpoint has been paused, and its deliveries are held. */
const PAUSED_DAYS = 7;
/** After so many seconds the creation pauses, and the next run continues it, because other work may wait for the machine. */
const MAX_SECONDS = 140;

/** The opened data set. */
export interface DeliveryLog {
  readonly db: Database;
  readonly connectionString: string;
  readonly systemId: string;
  /** The partner whose endpoint has half of all deliveries. */
  readonly partnerId: string;
  readonly endpointId: string;
  /** The directory with the data of PostgreSQL and the services. */
  readonly directory: string;
  close(): Promise<void>;
}

/**
 * Opens the data set with so many deliveries. Creates it first if it does not exist.
 * @throws Error after `MAX_SECONDS` of creating it: the next call continues
 */
export async function openDeliveryLog(deliveries: number): Promise<DeliveryLog> {
  const directory = join(process.env["BENCH_DATA_DIR"] ?? join(tmpdir(), "bikeshare-bench-data"), "delivery-log");
  // If the bench runs as root, PostgreSQL runs under another account, which needs access to the directory.
  await mkdir(directory, { recursive: true, mode: 0o711 });
  const postgres = await openEmbeddedPostgres({ dataDir: directory, log: () => undefined });
  // The migrations are part of the name, so that a data set with an older schema is not used.
  const name = `deliveries_${deliveries}_${await digestOfMigrations()}`;
  if (!(await makeUnlessKept(postgres.connectionString, name, deliveries))) {
    await postgres.close();
    throw new Error("not done yet: call it again");
  }
  const connectionString = withDatabaseName(postgres.connectionString, name);
  const db = openDatabase({ connectionString });
  const [busiest] = await db.query<{ partner_id: string; id: string }>(
    statement("", "select partner_id, id from webhook_endpoints where system_id = 'main' order by id limit 1"),
  );
  return {
    db,
    connectionString,
    systemId: "main",
    partnerId: busiest?.partner_id ?? "",
    endpointId: busiest?.id ?? "",
    directory,
    close: async () => {
      await db.close();
      await postgres.close();
    },
  };
}

/**
 * Creates the database of a data set, unless an earlier run has. It has another name until it is complete.
 * @returns false if the time is up: the next call continues
 */
async function makeUnlessKept(serverUrl: string, name: string, deliveries: number): Promise<boolean> {
  const maintenance = openDatabase({ connectionString: serverUrl, statementTimeoutMs: 0 });
  try {
    const kept = await maintenance.query<{ name: string }>(
      statement("", "select datname::text as name from pg_database where datname ~ $1"),
      [`^deliveries_${deliveries}(_|$)`],
    );
    const found = new Set(kept.map((database) => database.name));
    if (found.has(name)) return true;
    const making = `${name}_making`;
    const makingUrl = withDatabaseName(serverUrl, making);
    // A data set that an earlier run has begun is continued. Otherwise those of older migrations make room for a new one.
    if (!found.has(making)) {
      for (const outdated of found) await execute(maintenance, `drop database ${outdated} with (force)`);
      await execute(maintenance, `create database ${making}`);
      await prepare(makingUrl);
    }
    if (!(await fill(makingUrl, deliveries))) return false;
    await execute(maintenance, `alter database ${making} rename to ${name}`);
    return true;
  } finally {
    await maintenance.close();
  }
}

/** Creates the partners with their endpoints and keys, and the partitions of the days. */
async function prepare(connectionString: string): Promise<void> {
  // Nothing is ever sent: nothing listens at port 9.
  const urls = Array.from({ length: ENDPOINTS }, (_, i) => `http://127.0.0.1:9/${i}`);
  const world = await makeWorld(connectionString, CIPHER, urls);
  const context = { ...world, clock: () => Date.now(), actor: "bench" };
  for (const { id: partnerId } of await world.db.query<{ id: string }>(statement("", "select id from partners"))) {
    await issueKey(context, { systemId: "main", partnerId, scopes: scopeNames });
  }
  for (const table of dailyTables) {
    // Each call creates the partitions of a day and of the day after.
    for (let day = DAYS; day > 0; day -= 2)
      await createPartitions(world.db, table, addDays(dayOf(Date.now()), 1 - day));
  }
  await world.db.close();
}

/** Creates the rows. @returns false if the time is up: the next call continues */
async function fill(connectionString: string, deliveries: number): Promise<boolean> {
  const begun = performance.now();
  const seconds = () => (performance.now() - begun) / 1000;
  const today = dayOf(Date.now());
  const db = openDatabase({ connectionString, statementTimeoutMs: 0, sessionOptions: "-c synchronous_commit=off" });
  for (let day = 0; day < DAYS && seconds() < MAX_SECONDS; day++) {
    const date = addDays(today, day + 1 - DAYS);
    const [some] = await db.query(statement("", "select from webhook_deliveries where created_on = $1 limit 1"), [
      date,
    ]);
    if (some !== undefined) continue;
    await execute(db, insertDay(date, day, Math.round(deliveries / DAYS)));
    process.stderr.write(`${day + 1} of ${DAYS} days, ${seconds().toFixed(0)} s\n`);
  }
  const isDone = seconds() < MAX_SECONDS;
  if (isDone) {
    await execute(db, pauseSecond);
    await execute(db, queuePending);
    await execute(db, "vacuum (analyze)");
    const [size] = await db.query<{ bytes: number }>(
      statement("", "select pg_database_size(current_database()) as bytes"),
    );
    process.stderr.write(`made, ${((size?.bytes ?? 0) / 2 ** 30).toFixed(1)} GiB\n`);
  }
  await db.close();
  return isDone;
}

const pauseSecond = `
  update webhook_endpoints set status = 'paused', pause_reason = 'failing', paused_at = now() - interval '${PAUSED_DAYS} days'
  where id = (select id from webhook_endpoints where system_id = 'main' order by id offset 1 limit 1)`;

// A delivery that was never sent is due at once. A delivery that has failed once is of the last three days, and due
// four days after its creation, so that it is still waiting.
const queuePending = `
  insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at, attempts, tries)
  select system_id, id, endpoint_id, created_on, event_id, created_at + attempts * interval '4 days', attempts, attempts
  from webhook_deliveries where status = 'pending'
  on conflict (system_id, delivery_id) do nothing`;

/**
 * Returns the SQL that inserts a day's deliveries, each with at most one attempt. Endpoint 0 gets half of them, endpoint 1
 * a tenth. `r` decides what became of a delivery; it is pseudo-random, the same in every run:
 *
 *   0 to 96,999        succeeded
 *   97,000 to 97,099   failed once with code 500, and is pending on the last three days, held before
 *   97,100 to 97,499   held after a timeout
 *   97,500 to 97,999   held, never sent; 97,500 is given to all deliveries of the paused endpoint since its pause
 *   98,000 to 99,999   failed with code 500, 503, 507 (one value) or 404, by a timeout, by DNS, or by TLS (two values)
 *   100,000            pending, never sent: given to all deliveries of the last day to endpoints after the second
 * @param number the number of the day, from 0
 */
function insertDay(day: string, number: number, rows: number): string {
  const isUnsent = number === DAYS - 1 ? "endpoint > 1" : "false";
  const isHeld = number >= DAYS - PAUSED_DAYS ? "endpoint = 1" : "false";
  return `
    with made as materialized (
      select i, md5('${day}' || i) as digest, endpoint, timestamptz '${day}Z' + i * (interval '24 h' / ${rows + 1}) as created_at,
        case when ${isUnsent} then 100000 when ${isHeld} then 97500 else i * 7919 % 100000 end as r
      from generate_series(1::bigint, ${rows}) as i
      cross join lateral (
        select case when i % 2 = 0 then 0 when i % 10 = 1 then 1 else 2 + i / 10 % ${ENDPOINTS - 2} end as endpoint) as whose),
    endpoint as (
      select id, row_number() over (order by id) - 1 as n from webhook_endpoints where system_id = 'main'),
    delivery as (
      insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, resource_id, created_at,
        status, attempts, latest_code, latest_failure, finished_at)
      select 'main', '${day}', 'delivery_' || lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0') || substr(digest, 1, 16),
        endpoint.id, 'event_' || substr(digest, 1, 22),
        case when i % 1000 < 480 then 'ride.started' when i % 1000 < 960 then 'ride.completed'
          when i % 1000 < 998 then 'station.offline' when i % 50000 <> 998 then 'reservation.created' else 'reservation.expired' end,
        case when i % 1000 between 960 and 997 then 'station-' || (i / 1000 % 400) else 'ride_' || substr(digest, 1, 22) end,
        created_at,
        case when r < 97000 then 'succeeded' when r = 100000 or r < 97100 and ${number} >= ${DAYS - 3} then 'pending'
          when r < 98000 then 'held' else 'failed' end,
        case when r between 97500 and 97999 or r = 100000 then 0 else 1 end,
        case when r < 97000 then 204 when r between 97100 and 97999 then null
          when r < 99000 then 500 when r < 99400 then 503 when r = 99400 then 507 when r < 99700 then 404 end,
        case when r < 97000 or r between 97500 and 97999 then null when r < 97100 then 'http_5xx' when r < 97500 then 'timeout'
          when r <= 99400 then 'http_5xx' when r < 99700 then 'http_4xx' when r < 99900 then 'timeout'
          when r < 99998 then 'dns' when r < 100000 then 'tls' end,
        case when r < 97000 or r >= 97100 and r < 100000 then created_at + interval '1 s' end
      from made join endpoint on endpoint.n = made.endpoint
      returning system_id, created_on, id, endpoint_id, created_at, attempts, latest_code, latest_failure)
    insert into webhook_attempts (system_id, started_on, delivery_id, number, endpoint_id, started_at, outcome, failure, url,
      request_body, status, response_headers, total_ms)
    select system_id, created_on, id, 1, endpoint_id, created_at,
      case when latest_failure is null then 'succeeded' when latest_code is null then 'failed' else 'rejected' end,
      case when latest_code is null then latest_failure end, 'http://127.0.0.1:9/0', repeat('x', 100), latest_code, '[]', 20
    from delivery where attempts > 0`;
}

async function execute(db: Database, text: string): Promise<void> {
  await db.query({ name: "", text });
}
