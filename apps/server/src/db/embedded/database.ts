import pg from "pg";
import { type Connection, connectionStringOf, DATABASE, SUPERUSER } from "./connection-file.ts";

const INVALID_PASSWORD = "28P01";
const INVALID_AUTHORIZATION = "28000";
const INVALID_CATALOG_NAME = "3D000";
const ADMIN_SHUTDOWN = "57P01";
const CANNOT_CONNECT_NOW = "57P03";
const CRASH_SHUTDOWN = "57P02";
const TOO_MANY_CONNECTIONS = "53300";

/**
 * Makes the service's role and database where they are missing. Call it under the data directory's lock.
 * May be repeated after any failure that `isPassing`.
 */
export async function ensureDatabase(connection: Connection): Promise<void> {
  try {
    await withClient(connectionStringOf(connection), async () => {});
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    // All seats taken: then the database is there and in use.
    if (code === TOO_MANY_CONNECTIONS) return;
    if (code !== INVALID_PASSWORD && code !== INVALID_AUTHORIZATION && code !== INVALID_CATALOG_NAME) throw error;
    await createDatabase(connection);
  }
}

/** Whether PostgreSQL died, or restarts itself after one of its children crashed: it will be back. */
export function isPassing(error: unknown): boolean {
  // Anything that is not an answer of PostgreSQL is a broken or refused connection.
  if (!(error instanceof pg.DatabaseError)) return true;
  return [ADMIN_SHUTDOWN, CRASH_SHUTDOWN, CANNOT_CONNECT_NOW].includes(error.code ?? "");
}

async function createDatabase({ port, password, superuserPassword }: Connection): Promise<void> {
  await withClient(`postgresql://${SUPERUSER}:${superuserPassword}@127.0.0.1:${port}/postgres`, async (client) => {
    const role = await client.query("select from pg_roles where rolname = $1", [DATABASE]);
    const verb = role.rowCount === 0 ? "create" : "alter";
    // createdb for tests and restores; pg_monitor so that `doctor` may read settings and statistics.
    await client.query(`${verb} role ${DATABASE} login createdb password ${client.escapeLiteral(password)}`);
    await client.query(`grant pg_monitor to ${DATABASE}`);
    const database = await client.query("select from pg_database where datname = $1", [DATABASE]);
    if (database.rowCount === 0) await client.query(`create database ${DATABASE} owner ${DATABASE}`);
  });
}

async function withClient(connectionString: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString });
  // A connection that breaks while idle reports here; without a listener it would end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    await use(client);
  } finally {
    await client.end();
  }
}
