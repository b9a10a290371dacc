import pg from "pg";

/** Runs one statement that no transaction may hold, such as `create database`. */
export async function runOnServer(serverUrl: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Drops a database with whatever is still connected to it. An autovacuum worker belongs to the superuser: we may not end
 * it, but a drop without force asks it to leave.
 */
export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  try {
    await runOnServer(serverUrl, `drop database if exists ${name} with (force)`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
    await runOnServer(serverUrl, `drop database if exists ${name}`);
  }
}

/** The URL of another database on the same server. */
export function withDatabaseName(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
