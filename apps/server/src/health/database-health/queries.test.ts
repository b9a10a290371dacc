import { expect, it } from "vitest";
import { createTestDatabase } from "../../../test/database.ts";
import { listReplicaLags } from "./queries.ts";

it("of replicas with one name, which they have where nobody names them, the lag is that of the last", async () => {
  const { db, close } = await createTestDatabase();
  try {
    await db.transaction(async (tx) => {
      // The temporary table hides PostgreSQL's own view, which has rows only with real replicas.
      await tx.run(
        "create temporary table pg_stat_replication (application_name text, replay_lsn pg_lsn, replay_lag interval)",
      );
      await tx.run(`insert into pg_stat_replication values ('named', pg_current_wal_lsn(), null),
        ('walreceiver', '0/1', '90 s'), ('walreceiver', pg_current_wal_lsn(), '1 s'), ('unseen', null, null)`);
      await tx.run("set local search_path = pg_temp, public, pg_catalog");
      const [named, unnamed, ...others] = await listReplicaLags(tx, 10);
      expect(named).toMatchObject({ replica: "named", lag_seconds: 0 });
      expect(unnamed).toMatchObject({ replica: "walreceiver", lag_seconds: 90 });
      expect(unnamed?.lag_bytes).toBeGreaterThan(1_000_000);
      expect(others).toEqual([]);
    });
  } finally {
    await close();
  }
});
