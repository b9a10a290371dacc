import { Socket } from "node:net";
import pg from "pg";
import { until } from "./until.ts";

/** The id of the only system in a test's database. */
export const SYSTEM_ID = "main";

/** One open connection to each server. A new connection takes as long as most statements, and tests run thousands. */
const connections = new Map<string, Promise<Connection>>();

interface Connection {
  readonly client: pg.Client;
  readonly socket: Socket;
  /** The number of running statements. An idle connection does not keep the process alive. */
  running: number;
}

/** Runs a statement that cannot run in a transaction, such as `create database`. */
export async function runOnServer(serverUrl: string, text: string): Promise<pg.QueryResult> {
  const connection = await (connections.get(serverUrl) ?? connect(serverUrl));
  const { client, socket } = connection;
  if (connection.running++ === 0) socket.ref();
  try {
    return await client.query(text);
  } finally {
    if (--connection.running === 0) socket.unref();
  }
}

function connect(serverUrl: string): Promise<Connection> {
  const socket = new Socket();
  const client = new pg.Client({ connectionString: serverUrl, stream: () => socket });
  const forget = () => void connections.delete(serverUrl);
  // Forgets the connection when it ends, for example because the server stops.
  client.on("error", forget).on("end", forget);
  const connected = client.connect().then(() => ({ client, socket, running: 0 }));
  connections.set(serverUrl, connected);
  connected.catch(forget);
  return connected;
}

// Codes of PostgreSQL's errors (SQLSTATE).
const INSUFFICIENT_PRIVILEGE = "42501";
const OBJECT_IN_USE = "55006";

/**
 * Creates a copy of a database. Waits until nobody is connected to the original. The strategy `file_copy` needs a fifth of
 * the processor time of the default, which writes everything to the write-ahead log.
 */
export async function copyDatabase(serverUrl: string, template: string, name: string): Promise<void> {
  await until(() => isDone(runOnServer(serverUrl, `create database ${name} template ${template} strategy file_copy`)));
}

/**
 * Drops a database and ends its connections. An autovacuum worker belongs to the superuser, so `force` may not end it. A
 * drop without `force` asks the worker to stop.
 */
export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await until(
    async () =>
      (await isDone(runOnServer(serverUrl, `drop database if exists ${name} with (force)`))) ||
      (await isDone(runOnServer(serverUrl, `drop database if exists ${name}`))),
  );
}

/** The names of the databases that begin with `prefix`, which may have only letters, digits and underscores. */
export async function databasesLike(serverUrl: string, prefix: string): Promise<string[]> {
  const { rows } = await runOnServer(
    serverUrl,
    `select datname from pg_database where starts_with(datname, '${prefix}')`,
  );
  return (rows as { readonly datname: string }[]).map(({ datname }) => datname);
}

/** Runs a command. Returns false if it failed because a database is in use by others, whom it may not be able to end. */
async function isDone(command: Promise<unknown>): Promise<boolean> {
  try {
    await command;
    return true;
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    if (code !== INSUFFICIENT_PRIVILEGE && code !== OBJECT_IN_USE) throw error;
    return false;
  }
}

/** Returns the URL of another database on the same server. */
export function withDatabaseName(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * Forbids new connections to a template database and ends the existing ones. A distributed database has a connection of the
 * Citus extension, which would otherwise reconnect.
 */
export async function closeToConnections(serverUrl: string, name: string): Promise<void> {
  await runOnServer(serverUrl, `alter database ${name} allow_connections false`);
  await runOnServer(serverUrl, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
}
