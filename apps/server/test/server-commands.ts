import { Socket } from "node:net";
import pg from "pg";
import { until } from "./until.ts";

/** The one system of a test's database. */
export const SYSTEM_ID = "main";

/** This process's connection to each server, kept: a new one takes as long as most statements, and there are thousands. */
const connections = new Map<string, Promise<Connection>>();

interface Connection {
  readonly client: pg.Client;
  readonly socket: Socket;
  /** Statements that are under way. Without one it keeps no process alive. */
  running: number;
}

/** Runs one statement that no transaction may hold, such as `create database`. */
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
  // Also when the server stops.
  client.on("error", forget).on("end", forget);
  const connected = client.connect().then(() => ({ client, socket, running: 0 }));
  connections.set(serverUrl, connected);
  connected.catch(forget);
  return connected;
}

const INSUFFICIENT_PRIVILEGE = "42501";
const OBJECT_IN_USE = "55006";

/**
 * Makes a database like another one, to which nobody must be connected: who is just leaving is waited for. Its files are
 * copied, which takes a fifth of the processor time of the default: writing all of them to the write-ahead log.
 */
export async function copyDatabase(serverUrl: string, template: string, name: string): Promise<void> {
  await until(() => isDone(runOnServer(serverUrl, `create database ${name} template ${template} strategy file_copy`)));
}

/**
 * Drops a database with whatever is still connected to it. An autovacuum worker belongs to the superuser: we may not end
 * it, but a drop without force asks it to leave.
 */
export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await until(
    async () =>
      (await isDone(runOnServer(serverUrl, `drop database if exists ${name} with (force)`))) ||
      (await isDone(runOnServer(serverUrl, `drop database if exists ${name}`))),
  );
}

/** The names of the databases that begin with `prefix`, which has letters, digits and underscores alone. */
export async function databasesLike(serverUrl: string, prefix: string): Promise<string[]> {
  const { rows } = await runOnServer(
    serverUrl,
    `select datname from pg_database where starts_with(datname, '${prefix}')`,
  );
  return (rows as { readonly datname: string }[]).map(({ datname }) => datname);
}

/** False when somebody else's use of a database kept it from being done. */
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

/** The URL of another database on the same server. */
export function withDatabaseName(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * Keeps everybody from a database that others are copied from, and ends the connections that it has: a distributed
 * database has one of the extension's own, which would come back.
 */
export async function closeToConnections(serverUrl: string, name: string): Promise<void> {
  await runOnServer(serverUrl, `alter database ${name} allow_connections false`);
  await runOnServer(serverUrl, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
}
