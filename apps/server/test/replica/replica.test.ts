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

/** The number of cycles of writing and reading of each caller, in each state of the replica. */
const CYCLES = randomRuns(2);
/** The pause of a caller after a request with an unknown outcome. */
const PAUSE_BEFORE_REPEAT_MS = 100;
/**
 * The pause of a caller between two cycles. Too low: the callers take the processor time that the awaited change of the
 * replica needs.
 */
const PAUSE_BETWEEN_CYCLES_MS = 200;
/**
 * Whether the test also freezes the replica and promotes it by mistake, each of which takes ten seconds. `TEST_RUNS_FACTOR`
 * enables it.
 */
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

/** Returns the number of reads on the replica, of both processes together. */
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

/** Ignores the error that `fetch` throws when it gets no response. */
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
   * Repeats a request until its outcome is known. @returns the response; undefined if the request was refused, which is an
   * error. Repeating is needed because a change may have been made in spite of a 503 or a closed connection.
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
  /** Sends a command of the operator about one item, and repeats it until a process answers. */
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
    /** Resolves when each caller has completed `CYCLES` more cycles. */
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

/** Milliseconds for the whole test, which waits for about twenty changes of state. On a busy machine each takes seconds. */
const STORY_TIMEOUT_MS = 600_000;
/**
 * Milliseconds for one change of state. Lower than the limit of the whole test, so that a failure names the missing change.
 */
const STATE_TIMEOUT_MS = 240_000;

it("lists are followed without a loss, though the replica knows nothing of the transactions that write", async () => {
  const [one, other] = harness.processes;
  const { partner } = (await one.get("/v1/me")).body as { partner: { id: string } };
  // Without a statement timeout, because the writers keep transactions open on purpose.
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
    // A busy machine leaves the replica's lists out again, so the writers go on until it has served one.
    const isEnough = async () => (await readsOnReplica()) > before;
    const options = { db, systemId: "main", partnerId: partner.id, get, ready, isEnough, changes: randomRuns(8) };
    for (const { list, mirrored, present } of await followUnderLoad(options)) expect(mirrored, list).toEqual(present);
  } finally {
    await db.close();
  }
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

    // The replica replays changes with a delay that is longer than reads wait, and then not at all.
    await replica().run("alter system set recovery_min_apply_delay = 200");
    await replica().run("select pg_reload_conf()");
    await goWithout();
    await replica().run("alter system reset recovery_min_apply_delay");
    await replica().run("select pg_reload_conf()");
    await goWithReplica();
    await replica().run("select pg_wal_replay_pause()");
    await goWithout();
    // The restart ends the pause of the replay.
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
      // After it was promoted by mistake, the replica must not be used, even if its WAL position is as high as the
      // primary's.
      await replica().run("select pg_promote()");
      await goWithout();
      expect(await statuses()).toEqual(["failure", "warning"]);
      await postgres.rejoin();
      await goWithReplica();
    }

    // After a failover, the service writes and reads on the new primary until a replica exists again.
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
    // Creates the replication slot of a replica that does not come back.
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
    // Nothing listens at this address.
    const [unreachable] = await checkReplica(db, "postgres://127.0.0.1:1/bikes");
    expect(unreachable).toMatchObject({ check: "replica", status: "failure" });
    expect(unreachable?.fix).toContain("DATABASE_REPLICA_URL");
  } finally {
    await db.close();
  }
});

/** Returns the statuses of `doctor`'s checks of the replica and of a failover to it. */
async function statuses(): Promise<string[]> {
  const { primaryUrl, replicaUrl } = harness.postgres;
  const db = openDatabase({ connectionString: primaryUrl });
  const found = await checkReplica(db, replicaUrl);
  await db.close();
  return found.map(({ status }) => status);
}

/** Runs the check as a role without `pg_monitor`, which sees that a replica streams, but no details. */
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

/** Polls a condition rarely, because each check costs the processes some work. */
function eventually(isTrue: () => Promise<boolean>): Promise<unknown> {
  return until(() => isTrue().then(async (holds) => holds || sleep(100, false)), STATE_TIMEOUT_MS);
}
