import { setTimeout as sleep } from "node:timers/promises";
import { type Database, openDatabase, ping } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { type BadDay, expectBack } from "./bad-day.ts";

/*
 * A bad day (a fault under load, see bad-day.ts): another client takes every connection of PostgreSQL, and the service's
 * connections are closed. New connections of the service fail (SQLSTATE 53300), those of running processes and those of a
 * process that starts.
 */

/** Milliseconds for which no connection is free. */
const TAKEN_MS = 15_000;
/** Connections to open. It exceeds PostgreSQL's `max_connections`. */
const WANTED = 220;

// Ends the connections of the service. Those of `takeAll` have the same application name, but run `pg_sleep`.
const endOurs = statement(
  "badDay.endConnections",
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'bikeshare' and backend_type = 'client backend' and pid <> pg_backend_pid() and query not like '%pg_sleep%'",
);
const hold = statement("badDay.hold", "select pg_sleep(600)");

export const connections: BadDay = {
  prepare: () =>
    Promise.resolve({
      async happen(stage) {
        const { world, note, expect, errors } = stage;
        const greedy = await takeAll(world.databaseUrl);
        await greedy.control.query(endOurs);
        const [api] = world.apis;
        const pid = api?.pid();
        const until = performance.now() + TAKEN_MS;
        await sleep(TAKEN_MS / 3);
        // Kills an API process, so that a new one starts while no connection is free.
        if (pid !== undefined) process.kill(pid, "SIGKILL");
        while (performance.now() < until) {
          // Ends what the service could connect in a moment in which a connection was free.
          await greedy.control.query(endOurs).catch(() => undefined);
          await sleep(500);
        }
        note(`no connection left for ${TAKEN_MS / 1_000} s: ${errors()}`);
        const others = world.apis.slice(1).map((each) => each.endedCount());
        expect(
          others.every((ended) => ended === 0),
          "the processes that ran went on",
        );
        await greedy.release();
        await expectBack(stage, "there were connections again");
        await api?.untilUp();
      },
    }),
};

/** Takes every connection. @returns `control`, a connection that was opened before, and a function that ends the others */
async function takeAll(connectionString: string): Promise<{ readonly control: Database; release(): Promise<void> }> {
  const control = openDatabase({ connectionString, maxConnections: 1 });
  // Opens this control connection before all connections are taken.
  await ping(control);
  const all = openDatabase({
    connectionString,
    maxConnections: WANTED,
    statementTimeoutMs: 0,
    connectTimeoutMs: 60_000,
  });
  let isReleased = false;
  const take = async () => {
    while (!isReleased) await all.query(hold).catch(() => sleep(20));
  };
  const taking = Array.from({ length: WANTED }, take);
  const endHolds = statement(
    "badDay.release",
    "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()",
  );
  return {
    control,
    async release() {
      isReleased = true;
      let isOver = false;
      const over = Promise.all(taking).then(() => (isOver = true));
      // Closes the connections again and again, because each closed one lets another attempt succeed that was waiting.
      while (!isOver) await Promise.all([control.query(endHolds), sleep(50)]);
      await over;
      await all.close();
      await control.close();
    },
  };
}
