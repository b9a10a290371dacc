import pg from "pg";
import { closeWithin, connectionSettings } from "../database.ts";
import { nameConnectionError } from "../errors.ts";
import { runStatement } from "../transaction.ts";
import type { Runner } from "./queries.ts";

/** A connection of its own, without time limits. It ends the migrator's lock when it ends. */
export interface MigrationSession extends Runner {
  /** Runs text that cannot be prepared: several statements, or one that must be in no transaction. */
  run(text: string): Promise<void>;
  /** Runs `work` in a transaction whose statements wait so long for a lock, and no longer. */
  transaction(lockTimeoutMs: number, work: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * How often PostgreSQL looks during a statement whether this process still lives, which it otherwise notices only when the
 * statement ends: until then a migrator that takes over waits. Not every system can.
 */
const CLIENT_CHECK = "set client_connection_check_interval = '2s'";

export async function openMigrationSession(connectionString: string): Promise<MigrationSession> {
  const client = new pg.Client({ ...connectionSettings(connectionString), statement_timeout: 0 });
  // The statement that runs, or the next one, fails with it.
  client.on("error", () => undefined);
  const run = async (text: string) => {
    await client.query(text).catch((error: unknown) => {
      throw nameConnectionError(error);
    });
  };
  await client.connect().catch((error: unknown) => {
    throw nameConnectionError(error);
  });
  await run(CLIENT_CHECK).catch(() => undefined);
  return {
    query: (statement, values) => runStatement(client, statement, values),
    run,
    async transaction(lockTimeoutMs, work) {
      await run(`begin; set local lock_timeout = ${lockTimeoutMs}`);
      try {
        await work();
        await run("commit");
      } catch (error) {
        // If this fails as well, the connection is gone, and PostgreSQL has rolled back by itself.
        await run("rollback").catch(() => undefined);
        throw error;
      }
    },
    close: () => closeWithin(client.end()),
  };
}
