import { setTimeout as sleep } from "node:timers/promises";
import { startReplicatedPostgres } from "@bikeshare/embedded-postgres/testing";
import { type BadDay, expectBack } from "./bad-day.ts";

/*
 * A bad day (a fault under load, see bad-day.ts): PostgreSQL's primary is killed, its synchronous standby is promoted,
 * and the address moves; then the old primary returns as the standby. After each failover the address leads to the
 * standby by mistake, as it does for a moment while addresses move.
 */

const REPETITIONS = 2;
/** Milliseconds for which the address leads to the standby by mistake. */
const ASTRAY_MS = 3_000;

export const failover: BadDay = {
  async prepare() {
    const postgres = await startReplicatedPostgres();
    const untilSynchronous = async () => {
      await postgres.setSynchronous(true);
      const state = "select 1 from pg_stat_replication where sync_state = 'sync'";
      while ((await postgres.primary().run(state)).length === 0) await sleep(20);
    };
    return {
      // The setting's own `close` stops the servers.
      world: { database: { connectionString: postgres.primaryUrl, close: () => Promise.resolve() } },
      async happen(stage) {
        const { note, errors } = stage;
        for (let n = 0; n < REPETITIONS; n++) {
          await untilSynchronous();
          // Discards the errors so far, so that the next report is about what follows.
          errors();
          await postgres.failOver();
          await expectBack(stage, "a failover, whose promotion is not counted");
          await postgres.rejoin();
          await untilSynchronous();
          errors();
          postgres.misdirect(true);
          await sleep(ASTRAY_MS);
          note(`the address leads to the standby for ${ASTRAY_MS / 1_000} s: ${errors()}`);
          postgres.misdirect(false);
          await expectBack(stage, "it leads to the primary again");
        }
      },
      close: () => postgres.close(),
    };
  },
};
