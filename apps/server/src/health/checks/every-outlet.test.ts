import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { makeCertificate } from "../../../test/servers/certificates.ts";
import { type SmtpServer, startSmtpServer } from "../../../test/servers/smtp-server.ts";
import { type Config, readConfig } from "../../config.ts";
import { afterFailure, UNKNOWN_HEALTH } from "../../feeds/gbfs/feed-health.rules.ts";
import { updateFeedHealth, updateSourceHealth } from "../../feeds/gbfs/health-queries.ts";
import { updateApiHeartbeat } from "../../http/rate-limits/queries.ts";
import { createIds, firstIdAt } from "../../ids.ts";
import { createMailer } from "../../outbound/mail/mailer.ts";
import { issueKey, markKeyAsCompromised } from "../../partners/keys/service.ts";
import { openRequestLog } from "../../partners/request-log/service.ts";
import { createPartner } from "../../partners/service.ts";
import { statement } from "../../storage/db/statement.ts";
import { createFirstPartitions } from "../../storage/partitions/service.ts";
import { checkDatabase, checkMachine } from "../doctor/checks.ts";
import { partnerOverview, systemOverview } from "../overview/overview.ts";
import { type Check, type CheckName, checkScopes, type Outlet, outletsOf, warning } from "./check.ts";
import { allSystemChecks, databaseChecks, machineChecks, processChecks, processResults } from "./list.ts";
import { partnerFacts, partnerResults } from "./partner-checks.ts";
import { concernsOf, countResults, startChecks } from "./runner.ts";
import { createProcessReports } from "./stored-checks.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let database: TestDatabase;
let smtp: SmtpServer;
let directory: string;
let partnerId: string;
let config: Config & { databaseSizeLimitGb: number | undefined };
/** How far the test's clock is ahead of the database's clock, which some checks use. */
let aheadMs = 0;
const realNow = () => Math.round(performance.timeOrigin + performance.now());
const clock = () => realNow() + aheadMs;
/** The states that the stand-ins for a process's parts report. */
const isOngoing = { outage: false, diskFull: false, standstill: false };
const reports = createProcessReports();
const state = {
  reports,
  outages: { isHolding: () => isOngoing.outage },
  conditions: {
    isOngoing: () => isOngoing.diskFull,
    works: () => [
      {
        ...{ work: "numbering events", succeededRuns: 0, failedRuns: 1, successAgeMs: undefined, lastRunMs: 1 },
        ...{ standsStill: isOngoing.standstill, heldUpMs: 0, maxSilenceMs: 1 },
      },
    ],
  },
};
/**
 * Checks whose state this test cannot create. The map says whether they find something. The tests named beside them create
 * the state.
 */
const given = new Map<CheckName, boolean>([
  ["redis memory", false], // http/rate-limits/redis-unusable.test.ts
  ["replicas", false], // test/replica/replica.test.ts
  ["connections in use", false],
  ["long transactions", false], // database-checks.test.ts
]);

// All tests share one database, because each incident ends in the state in which it began.
beforeAll(async () => {
  smtp = await startSmtpServer();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-outlets-"));
  database = await createTestDatabase();
  await createFirstPartitions(database.db, clock);
  partnerId = (await createPartner(actor(), database.systemId, "Partner")).id;
  await mkdir(join(directory, "data"), { recursive: true });
  const env = { DATA_DIR: join(directory, "data"), DATABASE_URL: database.db.connectionString };
  const files = { TLS_CERT_FILE: join(directory, "cert.pem"), TLS_KEY_FILE: join(directory, "key.pem") };
  const all = readConfig({ ...env, ...files, BACKUP_DIR: join(directory, "backups") }, directory);
  config = { ...all, databaseSizeLimitGb: 1_000 };
  await mkdir(join(directory, "backups"), { recursive: true });
  await Promise.all([renewCertificate(90), makeBackup(1)]);
});
afterEach(async () => {
  // Removes the webhook that the end of one incident leaves behind.
  await active.end();
  // Deletes what processes wrote about earlier incidents: once `aheadMs` is 0 again, those times lie in the future.
  for (const table of ["alerts", "operator_mails"]) await database.db.query(statement("", `delete from ${table}`));
  aheadMs = 0;
});
afterAll(async () => {
  await smtp.close();
  await database.close();
  await rm(directory, { recursive: true });
});

const actor = () => ({ db: database.db, clock, ids: createIds(clock), actor: "test" });
const run = (sql: string, ...values: unknown[]) =>
  database.db.query(statement("", sql), [database.systemId, ...values]);
const ago = (ms: number) => new Date(clock() - ms);

async function renewCertificate(days: number): Promise<void> {
  const { cert, key } = await makeCertificate("bikes.example", days);
  await Promise.all([writeFile(join(directory, "cert.pem"), cert), writeFile(join(directory, "key.pem"), key)]);
}
async function makeBackup(hours: number): Promise<void> {
  await rm(join(directory, "backups"), { recursive: true, force: true });
  await mkdir(join(directory, "backups"));
  const stamp = ago(hours * HOUR)
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, "");
  await writeFile(join(directory, "backups", `bikeshare-${stamp}.zip`), "");
}

const context = () => ({ ...config, db: database.db, clock });

/** Returns the checks of a process, as `serve` runs them. */
async function checks(): Promise<Check[]> {
  const all = [
    ...machineChecks(config, clock, "node-1"),
    ...databaseChecks(database.db, config, clock),
    ...(await allSystemChecks(context())),
    ...processChecks(state, "node-1"),
  ];
  return all.map((check) =>
    given.get(check.name) === true
      ? { ...check, find: () => Promise.resolve(warning(check.name, "it is given", "Take it back.")) }
      : check,
  );
}

/**
 * Runs a process for some minutes.
 * @returns the outlets that show the check
 */
async function askOutlets(name: CheckName): Promise<Outlet[]> {
  const { db, systemId } = database;
  const runner = startChecks({
    ...{ db, clock, ids: createIds(clock), checks, addresses: ["ops@bikes.example"], serviceName: "Bikes" },
    processResults: () => processResults(state).filter(({ check }) => !given.has(check as CheckName)),
    partnerResults: async () => partnerResults(await partnerFacts(context(), systemId), clock()),
    mailer: createMailer(`smtp://127.0.0.1:${smtp.port}`, { from: "noreply@bikes.example" }),
    logger: { info: () => undefined, warn: () => undefined },
    onError: (error) => expect.fail(String(error)),
    observeMail: () => undefined,
  });
  const mailsBefore = smtp.mails.length;
  try {
    for (let minute = 0; minute < 4; minute++, aheadMs += MINUTE) await runner.runOnce();
  } finally {
    await runner.close();
  }
  const results = runner.results();
  const about = new RegExp(`^Subject: .*${name}`, "im");
  const machine = await checkMachine(config, realNow());
  const { connectionString } = db;
  const found = await checkDatabase({ connectionString, config, clock: realNow, machine });
  const doctor = [...found.machine, ...found.database];
  const ofSystem = await systemOverview(context(), systemId);
  const ofPartner = await partnerOverview(context(), { systemId, partnerId });
  const shown: Readonly<Record<Outlet, boolean>> = {
    doctor: doctor.some(({ check, status }) => check === name && status !== "ok"),
    readyz: concernsOf(results).some((text) => text.startsWith(`${name}: `)),
    mail: smtp.mails.slice(mailsBefore).some(({ data }) => about.test(data) && !/^Subject: Over/m.test(data)),
    "operator overview": ofSystem.checks.some((check) => check.name === name),
    "partner overview": ofPartner.checks.some((check) => check.name === name),
    metric: countResults(results).some((count) => count.name === name && count.n > 0),
  };
  return (Object.keys(shown) as Outlet[]).filter((outlet) => shown[outlet]);
}

interface Incident {
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

const flag = (name: keyof typeof isOngoing): Incident => ({
  begin: () => (isOngoing[name] = true),
  end: () => (isOngoing[name] = false),
});
const reported = (name: "redis" | "replica" | "clock"): Incident => ({
  begin: () => reports.set(name, { detail: "it is away", fix: "Start it." }),
  end: () => reports.set(name, undefined),
});
const taken = (name: CheckName): Incident => ({
  begin: () => given.set(name, true),
  end: () => given.set(name, false),
});
const endpoint = (columns: string, values: string): Incident => ({
  begin: async () => {
    await run(
      `insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, status, created_at, updated_at${columns})
       values ($1, 'endpoint_1', $2, 'tag001', 'https://partner.example/', '{ride.started}', ${values}`,
      partnerId,
      ago(DAY),
    );
    await run("insert into webhook_lanes (system_id, endpoint_id) values ($1, 'endpoint_1')");
  },
  end: async () => {
    for (const table of ["webhook_queue", "webhook_deliveries", "webhook_lanes", "webhook_endpoints"])
      await run(`delete from ${table} where system_id = $1`);
  },
});
const active = endpoint("", "'active', $3, $3)");
const withDelivery = (values: string, ...more: unknown[]): Incident => ({
  ...active,
  begin: async () => {
    await active.begin();
    await run(
      `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, attempts,
         status, latest_failure, finished_at)
       values ($1, $2::timestamptz::date, 'delivery_1', 'endpoint_1', 'event_1', 'ride.started', $2, 1, ${values})`,
      ago(HOUR),
      ...more,
    );
  },
});
const key = (more: object) =>
  issueKey(actor(), {
    systemId: database.systemId,

    partnerId,
    scopes: ["rides:read"],
    ...more,
  });
const noKeys = () => run("delete from keys where system_id = $1");
const noUsage = async () => {
  for (const table of ["key_usage_minutes", "key_usage_days"]) await run(`delete from ${table} where system_id = $1`);
  await noKeys();
};
/** Logs requests of a key in this hour. */
async function request(keyId: string, status: number, times: number): Promise<void> {
  const log = openRequestLog({ db: database.db, onUnlogged: () => undefined, onError: () => undefined });
  for (let n = 0; n < times; n++)
    log.record({
      ...{ systemId: database.systemId, id: `req_${n}_${realNow()}`, at: clock() - MINUTE, keyId, partnerId },
      ...{ method: "GET", route: "/v1/rides", status, error: status < 400 ? null : "rate_limited" },
      ...{ ms: 1, address: "192.0.2.1" },
    });
  await log.close();
}

/** Makes each check find something, and then nothing. A check without an entry does not compile. */
const incidents: Readonly<Record<CheckName, Incident>> = {
  "background work": flag("standstill"),
  "database away": flag("outage"),
  "disk full": flag("diskFull"),
  redis: reported("redis"),
  replica: reported("replica"),
  clock: reported("clock"),
  "redis memory": taken("redis memory"),
  replicas: taken("replicas"),
  "connections in use": taken("connections in use"),
  "long transactions": taken("long transactions"),
  "data directory": {
    begin: () => rm(join(directory, "data"), { recursive: true }),
    end: () => mkdir(join(directory, "data")),
  },
  certificate: { begin: () => renewCertificate(5), end: () => renewCertificate(90) },
  "latest backup": { begin: () => makeBackup(100), end: () => makeBackup(1) },
  "database size": {
    begin: () => (config.databaseSizeLimitGb = 0.001),
    end: () => (config.databaseSizeLimitGb = 1_000),
  },
  partitions: {
    begin: () =>
      database.db.query(
        statement(
          "",
          `do $$ declare part regclass; begin
             for part in select inhrelid::regclass from pg_inherits
               where inhparent = 'webhook_deliveries'::regclass and inhrelid::regclass::text not like '%default'
             loop execute format('drop table %s', part); end loop; end $$`,
        ),
      ),
    end: () => createFirstPartitions(database.db, clock),
  },
  "rate limit": {
    begin: async () => {
      for (const process of ["one", "other"]) await updateApiHeartbeat(database.db, process, HOUR);
    },
    end: () => database.db.query(statement("", "delete from api_processes")),
  },
  workers: {
    begin: () => updateApiHeartbeat(database.db, "one", HOUR),
    end: () => run("insert into webhook_workers (system_id, worker, alive_until) values ($1, 'w', now() + '1 h')"),
  },
  events: {
    begin: () =>
      run(
        "insert into event_outbox values ($1, $2, 'ride.started', now(), null, '{}')",
        firstIdAt("event", ago(5 * MINUTE).getTime()),
      ),
    end: () => run("delete from event_outbox where system_id = $1"),
  },
  "late webhooks": {
    begin: () =>
      run(
        `insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, replay, due_at, attempts, tries)
         values ($1, 'delivery-1', 'endpoint-1', $2::timestamptz::date, 'event-1', false, $2::timestamptz, 0, 0)`,
        ago(20 * MINUTE),
      ),
    end: () => run("delete from webhook_queue where system_id = $1"),
  },
  "held webhooks": withDelivery("'held', null, null"),
  "set aside": {
    begin: () =>
      run(
        `insert into work_failures (system_id, work, unit, failures, crashes, message, due_at)
         values ($1, 'reservations', 'one', 3, 3, 'it fails', null)`,
      ),
    end: () => run("delete from work_failures where system_id = $1"),
  },
  imports: {
    begin: () =>
      run(
        `insert into running_imports values ($1, 'import-1', 'trips', now(), now() + interval '1 h', now() - interval '1 h',
           0.5, 1, 0, 0, 0)`,
      ),
    end: () => run("delete from running_imports where system_id = $1"),
  },
  "long rides": {
    begin: () =>
      run(
        `insert into rides (system_id, id, bike_id, status, started_at, updated_at, source)
         values ($1, 'ride-1', 'bike-1', 'started', $2, $2, 'test')`,
        ago(30 * HOUR),
      ),
    end: () => run("delete from rides where system_id = $1"),
  },
  feeds: {
    begin: async () => {
      const scope = { systemId: database.systemId, source: "gbfs", now: clock() };
      await updateSourceHealth(database.db, { ...scope, location: "x", intervalMs: 30_000, message: null });
      const failure = { now: clock() - HOUR, message: "HTTP 500", retryAfterMs: null, intervalMs: 30_000 };
      await updateFeedHealth(database.db, scope, new Map([["station_status", afterFailure(UNKNOWN_HEALTH, failure)]]));
    },
    end: async () => {
      await run("delete from gbfs_feed_health where system_id = $1");
    },
  },
  exports: {
    begin: async () => {
      await run(
        `insert into exports (system_id, id, kind, format, is_shared, state, requested_at, requested_by)
         select $1, 'export-' || n, 'stations', 'csv', false, 'waiting', $2, 'test' from generate_series(1, 20) as n`,
        ago(HOUR),
      );
      await run(
        `insert into export_schedules (system_id, id, kind, format, is_shared, keep_months, created_at, created_by)
         values ($1, 'schedule-1', 'stations', 'csv', false, 12, $2, 'test')`,
        ago(HOUR),
      );
    },
    end: async () => {
      for (const table of ["export_schedules", "exports"]) await run(`delete from ${table} where system_id = $1`);
    },
  },
  planners: {
    begin: () =>
      run(
        `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, updated_at,
           source, counters)
         values ($1, 'station-1', 'Central', 59.9, 10.7, true, true, true, 'online', now(), 'operator', 'mirrored')`,
      ),
    end: () => run("delete from stations where system_id = $1"),
  },
  "webhook address": { begin: () => undefined, end: () => active.begin() },
  "webhook paused": endpoint(", pause_reason, paused_at", "'paused', $3, $3, 'failing', $3)"),
  "webhook failing": {
    ...active,
    begin: async () => {
      await active.begin();
      await run("update webhook_lanes set failing_since = $2, failures = 7 where system_id = $1", ago(8 * HOUR));
    },
  },
  "webhooks given up": withDelivery("'failed', 'timeout', $2"),
  "webhooks retried": withDelivery("'pending', 'http_5xx', null"),
  "unreadable events": active,
  "compromised keys": {
    begin: async () => markKeyAsCompromised(actor(), (await key({})).key, "url"),
    end: noKeys,
  },
  "replaced keys": {
    begin: async () => {
      const { id } = await key({});
      await run(
        "update keys set revoked_at = $2, last_used_at = $3 where system_id = $1 and id = $4",
        ago(-DAY),
        ago(HOUR),
        id,
      );
    },
    end: noKeys,
  },
  "expiring keys": { begin: () => key({ expiresAt: ago(-5 * DAY) }), end: noKeys },
  "rate-limited keys": {
    begin: async () => request((await key({ rateLimit: 10 })).id, 429, 3),
    end: noUsage,
  },
  "refused keys": {
    begin: async () => {
      const { id } = await key({});
      await run("update keys set revoked_at = $2 where system_id = $1 and id = $3", ago(HOUR), id);
      await request(id, 401, 3);
    },
    end: noUsage,
  },
  "failing requests": { begin: async () => request((await key({})).id, 404, 30), end: noUsage },
};

/**
 * Outlets that show a check besides those of its scope (`more`), and outlets of its scope that do not show it here
 * (`lacking`).
 */
const more: Partial<Record<CheckName, readonly Outlet[]>> = {
  // The partner's overview reads the same state, and describes it for partners.
  "held webhooks": ["partner overview"],
};
const lacking: Partial<Record<CheckName, readonly Outlet[]>> = {
  // Doctor looks at the database itself. The tests beside `given` create these states.
  replicas: ["doctor"],
  "connections in use": ["doctor"],
  "long transactions": ["doctor"],
  // Partners are not told, because a leaked key looks the same: the operator asks the partner.
  "refused keys": ["partner overview"],
};

it.each(Object.keys(incidents) as CheckName[])(
  "%s: made wrong, it is seen in every outlet of its scope and in no other; mended, in none",
  async (name) => {
    const { begin, end } = incidents[name];
    await begin();
    const expected = [...outletsOf[checkScopes[name]], ...(more[name] ?? [])].filter(
      (outlet) => !(lacking[name] ?? []).includes(outlet),
    );
    expect((await askOutlets(name)).toSorted()).toEqual(expected.toSorted());
    await end();
    // A finding is kept for five minutes after its end, in case it comes back at once.
    aheadMs += 10 * MINUTE;
    expect(await askOutlets(name)).toEqual([]);
  },
);
