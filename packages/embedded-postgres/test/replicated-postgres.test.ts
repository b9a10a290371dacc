import { expect, it } from "vitest";
import { answers, query, until } from "./embedded-postgres.harness.ts";
import { startReplicatedPostgres } from "./replicated-postgres.ts";

it("a pair replicates, fails over without loss, and replicates again the other way", async () => {
  const postgres = await startReplicatedPostgres();
  const { primaryUrl, replicaUrl } = postgres;
  const read = (url: string) => query(url, "select n from t order by n").then((rows) => rows.map(({ n }) => n));
  await query(primaryUrl, "create table t (n int)");
  await query(primaryUrl, "insert into t values (1)");
  await postgres.caughtUp();
  expect(await read(replicaUrl)).toEqual([1]);

  await postgres.setSynchronous(true);
  await until(async () => {
    const [row] = await postgres.primary().run<{ sync_state: string }>("select sync_state from pg_stat_replication");
    return row?.sync_state === "sync";
  });
  await query(primaryUrl, "insert into t values (2)");
  await postgres.failOver();
  expect(await read(primaryUrl)).toEqual([1, 2]);
  expect(await answers(replicaUrl)).toBe(false);

  await postgres.rejoin();
  await query(primaryUrl, "insert into t values (3)");
  await postgres.caughtUp();
  expect(await read(replicaUrl)).toEqual([1, 2, 3]);

  await postgres.replica().freeze();
  await query(primaryUrl, "insert into t values (4)");
  await postgres.replica().thaw();
  await postgres.replica().kill();
  expect(await answers(replicaUrl)).toBe(false);
  await postgres.replica().start();
  await postgres.caughtUp();
  expect(await read(replicaUrl)).toEqual([1, 2, 3, 4]);
  await postgres.close();
});
