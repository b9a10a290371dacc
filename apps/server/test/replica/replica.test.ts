import { setTimeout as sleep } from "node:timers/promises";
import type { ListEnvelope } from "@bikeshare/contract";
import type { ReplicatedPostgres } from "@bikeshare/embedded-postgres/testing";
import { randomRuns } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkReplicas } from "../../src/health/checks/machine-checks.ts";
import { findIsCommitWaiting } from "../../src/health/database-health/service.ts";
import { checkReplica } from "../../src/health/doctor/checks.ts";
import { openDatabase } from "../../src/storage/db/database.ts";
import { codeOf, isOutage, wasNeverRun } from "../../src/storage/db/errors.ts";
import { openReadPool } from "../../src/storage/db/read-pool.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { followUnderLoad } from "../follow.ts";
import { until } from "../until.ts";
import type { Item } from "../walk.ts";
import { openReplicaHarness, type Process, type ReplicaHarness } from "./replica.harness.ts";

/** Of each caller's writing and reading, in each state of the replica. */
const CYCLES = randomRuns(2);
/** Of a caller whose request was not decided. */
const PAUSE_BEFORE_REPEAT_MS = 100;
/** Of a caller between two cycles. Too low: callers take the processor from the change of state that they wait for. */
const PAUSE_BETWEEN_CYCLES_MS = 60;
/** With `TEST_RUNS_FACTOR` the replica is also frozen, and promoted by mistake: each takes ten seconds. */
const isLongRun = randomRuns(1) > 1;

let harness: ReplicaHarness;

beforeAll(async () => {
  harness = await openReplicaHarness();
  const [one] = harness.processes;
  await one.post("/operator/v1/stations", { items: [{ id: "s", name: "S", lat: 1, lon: 2 }] });
  const bikes = Array.from({ length: 8 }, (_, i) => ({ id: `b${i}`, station_id: "s" }));
  await one.post("/operator/v1/bikes", { items: bikes });
});
afterAll(() => harness.close());

/** Reads answered by the replica, over both processes. */
async function readsOnReplica(): Promise<number> {
  const counts = harness.processes.map((each) => each.metric('bikeshare_replica_reads_total{outcome="replica"}'));
  return (await Promise.all(counts)).reduce((sum, n) => sum + n, 0);
}

const areUsing = async (isUsed: boolean) =>
  (await Promise.all(harness.processes.map((each) => each.metric("bikeshare_replica_used")))).every(
    (used) => used === (isUsed ? 1 : 0),
  );

const idsIn = ({ body }: { readonly body: Record<string, unknown> }) =>
  (body["data"] as { id: string }[]).map(({ id }) => id);

/** Takes what `fetch` throws where it gets no answer. */
function unlessDisconnected(error: unknown): undefined {
  if (!(error instanceof TypeError)) throw error;
}

/** Callers that write on one process and read on another, until they are stopped. */
function startCallers() {
  let isStopped = false;
  let begun = 0;
  let webhooks = 0;
  let served = 0;
  let unavailable = 0;
  const wrong: string[] = [];
  const [one, other] = harness.processes;
  const pick = (): readonly [Process, Process] => (Math.random() < 0.5 ? [one, other] : [other, one]);

  const expectSame = (what: string, found: unknown, written: unknown) => {
    if (found !== written) wrong.push(`${what}: ${String(found)} instead of ${String(written)}`);
  };
  /**
   * What was answered to a request, which is sent until that is known: `unavailable` may be said of a change that was made,
   * and a connection that was kept may be closed under a request. Undefined where it was refused, which is wrong.
   */
  const answered = async (send: () => ReturnType<Process["get"]>) => {
    for (;;) {
      const answer = await send().catch(unlessDisconnected);
      if (answer !== undefined && answer.status < 400) {
        served++;
        return answer;
      }
      if (answer !== undefined && answer.status !== 503 && answer.body["error"] !== "idempotency_in_progress") {
        wrong.push(`${answer.status} ${JSON.stringify(answer.body)}`);
        return undefined;
      }
      unavailable++;
      await sleep(PAUSE_BEFORE_REPEAT_MS);
    }
  };
  /** Sends an operator's command about one item, again until a process answers. */
  const commanded = async (
    { post }: Process,
    path: string,
    item: { readonly id: string; readonly [of: string]: unknown },
  ) => {
    const answer = await answered(() => post(`/operator/v1/${path}`, { items: [item] }));
    const [result] = (answer?.body["results"] ?? []) as { outcome: string }[];
    if (result?.outcome === "failed") wrong.push(`${path}: ${JSON.stringify(result)}`);
  };
  const callers: ((n: number) => Promise<void>)[] = [
    async function reportRange(n) {
      const [writer, reader] = pick();
      await commanded(writer, "bikes", { id: "b0", current_range_meters: n });
      const bike = await answered(() => reader.get("/v1/bikes/b0"));
      expectSame("bike", bike?.body["current_range_meters"], n);
      const listed = await answered(() => reader.get("/v1/bikes?station_id=s"));
      const [first] = (listed?.body["data"] ?? []) as { current_range_meters: number }[];
      expectSame("filtered bikes", first?.current_range_meters, n);
    },
    async function renameStation(n) {
      const [writer, reader] = pick();
      await commanded(writer, "stations", { id: "s", name: `S${n}` });
      const station = await answered(() => reader.get("/v1/stations/s"));
      expectSame("station", station?.body["name"], `S${n}`);
    },
    async function reserve(n) {
      const [writer, reader] = pick();
      const made = await answered(() => writer.post("/v1/reservations", { bike_id: "b1" }, `reservation-${n}`));
      const id = String(made?.body["id"]);
      const found = await answered(() => reader.get(`/v1/reservations/${id}`));
      expectSame("reservation", found?.body["status"], "active");
      const listed = await answered(() => reader.get("/v1/reservations?limit=1"));
      expectSame("reservations", listed && idsIn(listed)[0], id);
      await answered(() => reader.delete(`/v1/reservations/${id}`));
      const cancelled = await answered(() => writer.get(`/v1/reservations/${id}`));
      expectSame("cancelled reservation", cancelled?.body["status"], "cancelled");
    },
    async function ride(n) {
      const [writer, reader] = pick();
      const id = `r${n}`;
      await commanded(writer, "rides/start", { id, bike_id: "b2" });
      await commanded(reader, "rides/end", { id, end_station_id: "s" });
      const newest = await answered(() => writer.get("/v1/rides?limit=1"));
      expectSame("rides", newest && idsIn(newest)[0], id);
    },
  ];
  harness.onWebhook(async ({ id }) => {
    webhooks++;
    const ride = await answered(() => pick()[0].get(`/v1/rides/${String(id)}`));
    expectSame("ride of a webhook", ride?.body["status"], "completed");
  });
  const cycles = callers.map(() => 0);
  const failures: unknown[] = [];
  const running = callers.map(async (call, index) => {
    while (!isStopped && failures.length === 0) {
      await call(++begun).catch((error: unknown) => failures.push(error));
      cycles[index] = (cycles[index] ?? 0) + 1;
      await sleep(PAUSE_BETWEEN_CYCLES_MS);
    }
  });
  return {
    /** Resolves when each caller has gone through several cycles more. */
    async go(): Promise<void> {
      const [before, delivered] = [[...cycles], webhooks];
      const areThrough = () => cycles.every((n, index) => n >= (before[index] ?? 0) + CYCLES) && webhooks > delivered;
      await until(() => failures.length > 0 || areThrough(), STATE_TIMEOUT_MS);
      expect(failures).toEqual([]);
    },
    async end() {
      isStopped = true;
      await Promise.all(running);
      return { wrong, served, unavailable };
    },
  };
}

/** Milliseconds. It waits for some twenty changes of state, each a matter of seconds where the machine is busy. */
const STORY_TIMEOUT_MS = 600_000;
/**
 * Limits the wait for one change. It is lower than the limit of the whole test, so that a failure names the missing
 * change.
 */
const STATE_TIMEOUT_MS = 240_000;

it("lists are followed without a loss, though the replica knows nothing of the transactions that write", async () => {
  const [one, other] = harness.processes;
  const { partner } = (await one.get("/v1/me")).body as { partner: { id: string } };
  // Without time limits: its writers keep transactions open on purpose, for as long as walks take.
  const db = openDatabase({ connectionString: harness.postgres.primaryUrl, statementTimeoutMs: 0 });
  let turn = 0;
  const get = async (path: string) => {
    const { status, body } = await (turn++ % 2 === 0 ? one : other).get(path);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body as unknown as ListEnvelope<Item>;
  };
  const isListReadThere = async () => {
    const earlier = await readsOnReplica();
    await get("/v1/rides?updated_since=2026-01-01T00:00:00Z");
    return (await readsOnReplica()) > earlier;
  };
  let before = 0;
  // Lists have connections of their own, which a busy machine leaves out for seconds after so many new rows.
  const ready = async () => {
    await until(isListReadThere, STATE_TIMEOUT_MS);
    before = await readsOnReplica();
  };
  try {
    const options = { db, systemId: "main", partnerId: partner.id, get, ready, changes: randomRuns(12) };
    for (const { list, mirrored, present } of await followUnderLoad(options)) expect(mirrored, list).toEqual(present);
  } finally {
    await db.close();
  }
  expect(await readsOnReplica()).toBeGreaterThan(before);
});

it(
  "whoever writes, or gets a webhook, reads nothing older on any process, whatever becomes of the replica",
  async () => {
    const { postgres } = harness;
    const replica = () => postgres.replica();
    const callers = startCallers();
    const goWithReplica = async () => {
      await eventually(() => areUsing(true));
      const before = await readsOnReplica();
      await eventually(async () => {
        await callers.go();
        return (await readsOnReplica()) > before;
      });
    };
    const goWithout = async () => {
      await eventually(() => areUsing(false));
      await callers.go();
    };
    await goWithReplica();

    // What it replays comes late by more than a read may wait, and then not at all.
    await replica().run("alter system set recovery_min_apply_delay = 200");
    await replica().run("select pg_reload_conf()");
    await goWithout();
    await replica().run("alter system reset recovery_min_apply_delay");
    await replica().run("select pg_reload_conf()");
    await goWithReplica();
    await replica().run("select pg_wal_replay_pause()");
    await goWithout();
    // From here on it replays again, once it is back.
    await replica().kill();
    await callers.go();
    await replica().start();
    await goWithReplica();
    expect(await statuses()).toEqual(["ok", "warning"]);

    if (isLongRun) {
      await replica().freeze();
      await goWithout();
      await replica().thaw();
      await goWithReplica();
      // Promoted by mistake: it takes no part any more, though its position may be as high as the primary's.
      await replica().run("select pg_promote()");
      await goWithout();
      expect(await statuses()).toEqual(["failure", "warning"]);
      await postgres.rejoin();
      await goWithReplica();
    }

    // A failover: the service writes and reads on the new primary, until there is a replica again.
    await postgres.setSynchronous(true);
    await eventually(() => isSynchronous(postgres));
    await postgres.failOver();
    await goWithout();
    await postgres.rejoin();
    await goWithReplica();
    await postgres.setSynchronous(true);
    await eventually(() => isSynchronous(postgres));
    expect(await statuses()).toEqual(["ok", "ok"]);
    expect(await isCommitWaitingToOrdinaryRole(postgres)).toBe(false);

    const { wrong, served, unavailable } = await callers.end();
    expect(wrong).toEqual([]);
    expect(unavailable).toBeLessThan(served / 2);
  },
  STORY_TIMEOUT_MS,
);

it("where the primary is needed a connection to a standby is refused, as it would be made while a failover moves an address", async () => {
  const { replicaUrl: connectionString } = harness.postgres;
  const pools = [openDatabase({ connectionString }), openReadPool({ connectionString, connections: 1 })] as const;
  const [db, reads] = pools;
  const now = statement("test.now", "select now()");
  for (const ask of [() => db.query(now), () => db.transaction((tx) => tx.query(now)), () => reads.read(now, [])]) {
    const error: unknown = await ask().catch((thrown: unknown) => thrown);
    expect([isOutage(error), wasNeverRun(error), codeOf(error)]).toEqual([true, true, "25006"]);
  }
  for (const pool of pools) await pool.close();
});

it("doctor and the operator's mail name a replica that is gone for good, and doctor one that cannot be reached", async () => {
  const { postgres } = harness;
  const db = openDatabase({ connectionString: postgres.primaryUrl });
  try {
    expect(await checkReplicas(db)).toMatchObject([{ status: "ok" }]);
    // As a replica leaves it that streamed over a slot and does not come back.
    await postgres.primary().run("select pg_create_physical_replication_slot('gone', true)");
    const [found, ...others] = await checkReplicas(db);
    expect(found).toMatchObject({
      status: "failure",
      detail: expect.stringContaining("slot gone, for which") as string,
    });
    expect(found?.fix).toContain("pg_drop_replication_slot('gone')");
    expect(others).toEqual([]);
    await postgres.primary().run("select pg_drop_replication_slot('gone')");
    expect(await checkReplicas(db)).toMatchObject([{ status: "ok" }]);
    // Nothing listens there.
    const [unreachable] = await checkReplica(db, "postgres://127.0.0.1:1/bikes");
    expect(unreachable).toMatchObject({ check: "replica", status: "failure" });
    expect(unreachable?.fix).toContain("DATABASE_REPLICA_URL");
  } finally {
    await db.close();
  }
});

/** What `doctor` says of the replica, and of a failover to it. */
async function statuses(): Promise<string[]> {
  const { primaryUrl, replicaUrl } = harness.postgres;
  const db = openDatabase({ connectionString: primaryUrl });
  const found = await checkReplica(db, replicaUrl);
  await db.close();
  return found.map(({ status }) => status);
}

/** What a role finds that is shown that a replica streams, and nothing of it: it lacks `pg_monitor`. */
async function isCommitWaitingToOrdinaryRole(postgres: ReplicatedPostgres): Promise<boolean> {
  await postgres.primary().run("create role ordinary login password 'ordinary'");
  const url = new URL(postgres.primaryUrl);
  url.username = url.password = "ordinary";
  const db = openDatabase({ connectionString: url.href });
  try {
    return await findIsCommitWaiting(db);
  } finally {
    await db.close();
  }
}

async function isSynchronous(postgres: ReplicatedPostgres): Promise<boolean> {
  const states = await postgres.primary().run<{ sync_state: string }>("select sync_state from pg_stat_replication");
  return states.some(({ sync_state: state }) => state === "sync");
}

/** Asks seldom, since each answer costs the processes some work. */
function eventually(isTrue: () => Promise<boolean>): Promise<unknown> {
  return until(() => isTrue().then(async (holds) => holds || sleep(100, false)), STATE_TIMEOUT_MS);
}
