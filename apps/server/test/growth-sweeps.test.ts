import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deleteExpiredLinks } from "../src/console/dashboard-links/queries.ts";
import { deleteExpiredChallenges } from "../src/console/people/credential-queries.ts";
import { insertInvitation } from "../src/console/people/queries.ts";
import { deleteExpiredSessions } from "../src/console/sessions/queries.ts";
import { updateRunningImport } from "../src/feeds/imports/queries.ts";
import { startIdempotencySweeper } from "../src/http/idempotency/service.ts";
import { updateApiHeartbeat } from "../src/http/rate-limits/queries.ts";
import { startUsageSweeper } from "../src/partners/request-log/service.ts";
import { statement } from "../src/storage/db/statement.ts";
import { updateKeyHolder } from "../src/storage/key-rotation/queries.ts";
import { addDays, dailyTables, dayOf, oldestKept } from "../src/storage/partitions/partition.rules.ts";
import { createPartitions, dropPastDays, partitionedDays } from "../src/storage/partitions/service.ts";
import { updateSecretsEnd } from "../src/webhooks/endpoints/secret-queries.ts";
import { updateHeartbeat } from "../src/webhooks/queue/lane-queries.ts";
import { deletePastLogSizes } from "../src/webhooks/queue/log-size-queries.ts";
import { insertReplay } from "../src/webhooks/queue/replay-queries.ts";
import { type EndpointsHarness, openEndpointsHarness } from "./webhooks/endpoints.harness.ts";

/*
 * Tests that each sweeper deletes the rows that are too old, and keeps others. growth.test.ts says what limits each table.
 */

let harness: EndpointsHarness;
let endpointId: string;
/** The time by PostgreSQL's clock, by which some sweepers delete. */
let now: Date;
beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  const [row] = await harness.db.query<{ now: Date }>(statement("", "select now() as now"));
  now = row?.now ?? new Date(Number.NaN);
});
afterEach(() => harness.close());

interface Sweep {
  /** The column that identifies a row. */
  readonly name: string;
  /** The values of a row: $1 is the system, $2 the name of the row, $3 an instant, $4 the endpoint, $5 the partner. */
  readonly columns: Readonly<Record<string, string>>;
  /** Milliseconds: the age of a row that must be deleted. `kept`: the age of a row that must stay. */
  readonly past: number;
  readonly kept: number;
  readonly run: () => Promise<unknown>;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns the options of a sweeper that runs on the only system. */
const surroundings = () => ({
  systems: () => Promise.resolve([harness.systemId]),
  onError: (error: unknown) => {
    throw error;
  },
});
async function sweepOnce(sweeper: { runOnce(): Promise<unknown>; close(): Promise<void> }): Promise<void> {
  await sweeper.runOnce();
  await sweeper.close();
}

const hash = "decode(md5($2) || md5($2), 'hex')";
const processes = { past: 61 * MINUTE, kept: 59 * MINUTE, name: "process" };

const sweeps: Readonly<Record<string, Sweep>> = {
  key_holders: {
    ...processes,
    columns: { process: "$2", host: "'host'", keys: "'{}'", current_keys: "'{}'", alive_until: "$3" },
    // Rows of ended processes are deleted by another process, when it updates its own row.
    run: () => updateKeyHolder(harness.db, { process: "another", host: "host", keys: [], current_keys: [] }, 10_000),
  },
  api_processes: {
    ...processes,
    columns: { process: "$2", alive_until: "$3" },
    run: () => updateApiHeartbeat(harness.db, "another", 10_000),
  },
  webhook_workers: {
    ...{ ...processes, name: "worker" },
    columns: { system_id: "$1", worker: "$2", alive_until: "$3" },
    run: () => updateHeartbeat(harness.db, harness.systemId, "another", 10_000),
  },
  running_imports: {
    ...{ ...processes, name: "id" },
    columns: {
      ...{ system_id: "$1", id: "$2", kind: "'trips'", began_at: "$3", alive_until: "$3" },
      ...{ rows_read: "0", created: "0", unchanged: "0", rejected: "0" },
    },
    run: () =>
      updateRunningImport(harness.db, { systemId: harness.systemId, id: "another", kind: "trips" }, 10_000, {
        ...{ share: null, rows_read: 0, created: 0, unchanged: 0, rejected: 0 },
      }),
  },
  idempotency_keys: {
    ...{ name: "key", past: 25 * HOUR, kept: 23 * HOUR },
    columns: { system_id: "$1", caller: "'partner'", path: "'/'", key: "$2", body_hash: "''", created_at: "$3" },
    run: () => sweepOnce(startIdempotencySweeper({ db: harness.db, clock: () => now.getTime(), ...surroundings() })),
  },
  key_usage_days: {
    ...{ name: "key_id", past: 800 * DAY, kept: 30 * DAY },
    columns: {
      ...{ system_id: "$1", key_id: "$2", day: "$3::timestamptz::date", route: "'GET /'", requests: "1" },
      ...{ client_errors: "0", server_errors: "0", rate_limited: "0", total_ms: "1" },
    },
    run: () => sweepOnce(startUsageSweeper({ db: harness.db, clock: () => now.getTime(), ...surroundings() })),
  },
  sessions: {
    ...{ name: "id", past: MINUTE, kept: -MINUTE },
    columns: {
      ...{ id: "$2", person_id: "'person-1'", hash, created_at: "$3", last_used_at: "$3", expires_at: "$3" },
      ...{ confirmed_at: "$3", address: "''", user_agent: "''" },
    },
    run: () => deleteExpiredSessions(harness.db, "person-1", now),
  },
  used_challenges: {
    ...{ name: "hash", past: MINUTE, kept: -MINUTE },
    columns: { hash, expires_at: "$3" },
    run: () => deleteExpiredChallenges(harness.db, now),
  },
  dashboard_links: {
    ...{ name: "id", past: MINUTE, kept: -MINUTE },
    columns: {
      ...{ system_id: "$1", id: "$2", hash, partner_id: "$5", role: "'viewer'", viewer: "''" },
      ...{ created_at: "$3", expires_at: "$3" },
    },
    run: () => deleteExpiredLinks(harness.db, harness.systemId, now),
  },
  invitations: {
    ...{ name: "id", past: 31 * DAY, kept: 29 * DAY },
    columns: {
      ...{ system_id: "$1", id: "$2", hash, email: "'a@bikes.example'", role: "'viewer'", created_at: "$3" },
      ...{ created_by: "''", expires_at: "$3" },
    },
    run: () =>
      insertInvitation(harness.db, {
        ...{ system_id: harness.systemId, id: "another", hash: Buffer.alloc(32), email: "b@bikes.example" },
        ...{ partner_id: null, role: "viewer", created_at: now, created_by: "", expires_at: now },
        ...{ accepted_at: null, revoked_at: null, proves: null },
      }),
  },
  webhook_log_sizes: {
    ...{ name: "day", past: 40 * DAY, kept: 20 * DAY },
    columns: { system_id: "$1", endpoint_id: "$4", day: "$3::timestamptz::date", bytes: "1", answer_bytes: "1" },
    run: () => deletePastLogSizes(harness.db, harness.systemId, oldestKept(dayOf(now.getTime()))),
  },
  webhook_secrets: {
    ...{ name: "id", past: MINUTE, kept: -MINUTE },
    columns: { system_id: "$1", id: "$2", endpoint_id: "$4", encrypted: "''", created_at: "$3", expires_at: "$3" },
    run: () =>
      harness.db.transaction((tx) =>
        updateSecretsEnd(tx, harness.systemId, endpointId, new Date(now.getTime() + HOUR), now),
      ),
  },
  webhook_replays: {
    ...{ name: "id", past: 31 * DAY, kept: 29 * DAY },
    columns: {
      ...{ system_id: "$1", id: "$2", endpoint_id: "$4", since: "$3", until: "$3", total: "0" },
      ...{ created_at: "$3", finished_at: "$3" },
    },
    run: () =>
      harness.db.transaction((tx) =>
        insertReplay(
          tx,
          { systemId: harness.systemId, endpointId, since: now, until: now, statuses: ["failed"] },
          "another",
          now,
        ),
      ),
  },
};

async function insert(table: string, { columns }: Sweep, name: string, ageMs: number): Promise<void> {
  const at = new Date(now.getTime() - ageMs);
  // Uses each parameter once, so that PostgreSQL can infer its type.
  const isGiven =
    "$1::text <> '' and $2::text <> '' and $3::timestamptz is not null and $4::text <> '' and $5::text <> ''";
  const values = Object.values(columns).map((value) => (value === "$3" ? "$3::timestamptz" : value));
  await harness.rows(
    `insert into ${table} (${Object.keys(columns).join(", ")}) select ${values.join(", ")} where ${isGiven}`,
    ...[name, at, endpointId, harness.partnerId],
  );
}

describe("what is past goes, and nothing else, of", () => {
  it.each(Object.entries(sweeps))("%s", async (table, sweep) => {
    await harness.rows("insert into people (id, email, name, created_at) values ('person-1', $1, '', now())");
    const names = () =>
      harness.db.query(
        statement("", `select ${sweep.name}::text from ${table} where ${sweep.name}::text <> 'another' order by 1`),
      );
    if (table === "webhook_secrets") await harness.rows("delete from webhook_secrets where system_id = $1");
    await insert(table, sweep, "kept", sweep.kept);
    const kept = await names();
    expect(kept).toHaveLength(1);
    await insert(table, sweep, "past", sweep.past);
    expect(await names()).toHaveLength(2);
    await sweep.run();
    expect(await names()).toEqual(kept);
  });
});

/**
 * Days for which the partition of a day is kept: 30 for events and attempts, 7 for the request log, about a year for the
 * audit log.
 */
const KEPT_DAYS = {
  ...{ events: 30, webhook_deliveries: 30, webhook_bodies: 30, webhook_attempts: 30 },
  ...{ request_log: 7, key_usage_minutes: 7, audit_log: 366 + 30, station_changes: 397 + 30, vehicle_events: 396 },
} as const;

it.each(dailyTables.map((table) => [table.name, table] as const))(
  "a partition of %s stays for as long as its rows are kept, and is dropped on the day after",
  async (name, table) => {
    const { db } = harness;
    const day = "2020-01-01";
    await createPartitions(db, table, day);
    const staysOn = async (days: number) => {
      await dropPastDays({ db, clock: () => Date.parse(addDays(day, days)) + DAY - 1, warn: () => undefined }, table);
      return (await partitionedDays(db, table)).includes(day);
    };
    expect(await staysOn(KEPT_DAYS[name])).toBe(true);
    expect(await staysOn(KEPT_DAYS[name] + 1)).toBe(false);
  },
);
