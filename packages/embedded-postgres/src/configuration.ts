import { randomBytes, randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { z } from "zod";
import { EmbeddedPostgresError, writeDurably } from "./operating-system.ts";

/*
 * What the service and the embedded PostgreSQL agree on: the connection file, the role and the database, and PostgreSQL's
 * settings.
 */

/** The address of our PostgreSQL, and the passwords of its two roles. Stored in a file that only its owner may read. */
const connectionShape = z.object({
  port: z.number().int().min(1024).max(65535),
  password: z.string().min(32),
  superuserPassword: z.string().min(32),
});
export type Connection = z.infer<typeof connectionShape>;

/** The name of the service's role, and of its database. */
const DATABASE = "bikeshare";
/** The role that initdb makes. The service runs no requests as this role: injected SQL could read files and run programs. */
export const SUPERUSER = "postgres";

const fileOf = (home: string) => join(home, "connection.json");

/** Reads the connection file of a cluster. @throws EmbeddedPostgresError when it is missing or damaged */
export async function readConnection(home: string): Promise<Connection> {
  const file = fileOf(home);
  try {
    return connectionShape.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `${file} cannot be read, and without it nobody can log in to the database beside it. ` +
        "Restore it from a backup, or start as the account that owns it.",
      { cause },
    );
  }
}

/** Writes the connection file of a cluster. */
export async function writeConnection(home: string, value: Connection): Promise<void> {
  await writeDurably(fileOf(home), `${JSON.stringify(value, undefined, 2)}\n`, 0o600);
}

/** Returns the connection of a new cluster: a free port and random passwords. */
export async function newConnection(): Promise<Connection> {
  const secret = () => randomBytes(32).toString("base64url");
  return { port: await findFreePort(), password: secret(), superuserPassword: secret() };
}

/** Returns a random free port of 127.0.0.1. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    // Operating systems take the ports of outgoing connections from 32768 up. Such a connection could take PostgreSQL's port
    // while PostgreSQL is down, and a restart on the same port would fail. So the port is below this range.
    const port = randomInt(20_000, 32_768);
    if (await isFree(port)) return port;
  }
  throw new EmbeddedPostgresError(
    "No free port was found on 127.0.0.1. Check that this machine has a loopback interface, or set DATABASE_URL.",
  );
}

/** Tells whether a port of 127.0.0.1 is free. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  });
}

/** Returns the URL of the service's own database. @param socketDirectory that of a Unix socket; left out: it uses TCP */
export function connectionStringOf({ port, password }: Connection, socketDirectory?: string): string {
  const host = socketDirectory === undefined ? "" : `?host=${socketDirectory}`;
  return `postgresql://${DATABASE}:${password}@127.0.0.1:${port}/${DATABASE}${host}`;
}

/** Most bytes of the path of a Unix socket. macOS takes the fewest. */
const MAX_SOCKET_PATH_BYTES = 103;

/** Tells whether a Unix socket can be in a directory: its path is short enough, and has no characters that must be quoted. */
export function canHaveSocket(directory: string, port: number): boolean {
  const path = join(directory, `.s.PGSQL.${port}`);
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES && /^[\w./-]+$/.test(path);
}

/** Runs statements in the service's database as the superuser. */
export function runAsSuperuser({ port, superuserPassword }: Connection, statements: string): Promise<void> {
  const url = `postgresql://${SUPERUSER}:${superuserPassword}@127.0.0.1:${port}/${DATABASE}`;
  return withClient(url, async (client) => {
    await client.query(statements);
  });
}

// The SQLSTATE codes of errors that are handled here.
const INVALID_PASSWORD = "28P01";
const INVALID_AUTHORIZATION = "28000";
const INVALID_CATALOG_NAME = "3D000";
const ADMIN_SHUTDOWN = "57P01";
const CANNOT_CONNECT_NOW = "57P03";
const CRASH_SHUTDOWN = "57P02";
const TOO_MANY_CONNECTIONS = "53300";

/**
 * Makes the service's role and database if they are missing. Call it under the data directory's lock. The caller may
 * repeat it after an error for which `isPassing` is true.
 */
export async function ensureDatabase(connection: Connection): Promise<void> {
  try {
    await withClient(connectionStringOf(connection), async () => {});
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    // All connections are in use, so the database exists.
    if (code === TOO_MANY_CONNECTIONS) return;
    // The role is missing or has another password, or the database is missing.
    if (code !== INVALID_PASSWORD && code !== INVALID_AUTHORIZATION && code !== INVALID_CATALOG_NAME) throw error;
    await createDatabase(connection);
  }
}

/** Tells whether an error passes by itself: PostgreSQL died and will be restarted, or it restarts itself after a crash. */
export function isPassing(error: unknown): boolean {
  // An error that PostgreSQL did not send means that the connection broke or was refused.
  if (!(error instanceof pg.DatabaseError)) return true;
  return [ADMIN_SHUTDOWN, CRASH_SHUTDOWN, CANNOT_CONNECT_NOW].includes(error.code ?? "");
}

/** Creates the role, or gives it the password of the connection file, and creates the database if it is missing. */
async function createDatabase({ port, password, superuserPassword }: Connection): Promise<void> {
  await withClient(`postgresql://${SUPERUSER}:${superuserPassword}@127.0.0.1:${port}/postgres`, async (client) => {
    const role = await client.query("select from pg_roles where rolname = $1", [DATABASE]);
    const verb = role.rowCount === 0 ? "create" : "alter";
    // The default of 4,096 rounds protects passwords that people choose against guessing. It would take half of the
    // processor time of each new connection, and nobody can guess 32 random bytes.
    await client.query("set scram_iterations = 1");
    // createdb for tests and restores; pg_monitor so that `doctor` may read settings and statistics.
    await client.query(`${verb} role ${DATABASE} login createdb password ${client.escapeLiteral(password)}`);
    await client.query(`grant pg_monitor to ${DATABASE}`);
    const database = await client.query("select from pg_database where datname = $1", [DATABASE]);
    if (database.rowCount === 0) await client.query(`create database ${DATABASE} owner ${DATABASE}`);
  });
}

/** Connects, and disconnects after `use`, even if it fails. */
async function withClient(connectionString: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString });
  // An idle connection that breaks emits an error, which would end the process if nobody listened.
  client.on("error", () => {});
  try {
    await client.connect();
    await use(client);
  } finally {
    await client.end();
  }
}

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/**
 * Returns PostgreSQL's settings for a machine that it shares with this service. They are written at each start.
 * postgresql.conf includes them before the operator's own lines, so the operator's lines win. `memoryBytes`: the memory of
 * the machine, or of the container.
 */
export function renderSettings(memoryBytes: number): string {
  const megabytes = (bytes: number) => `${Math.round(bytes / MiB)}MB`;
  return `# Written at each start. Your own settings go to the end of data/postgresql.conf and win.
# An eighth of the memory: Node.js and the page cache need the rest. Below 64 MB the indexes' upper pages are evicted
# under load; above 4 GB the checkpoint of a stop takes longer than supervisors wait.
shared_buffers = ${megabytes(clamp(memoryBytes / 8, 64 * MiB, 4 * GiB))}
# Only tells the planner what the page cache may hold. Too low: it shuns index scans; too high: it trusts a cold cache.
effective_cache_size = ${megabytes(memoryBytes / 2)}
# A sort or hash in one statement. Lower spills report queries to disk; higher times 200 connections exhausts the memory.
work_mem = ${megabytes(clamp(memoryBytes / 1024, 4 * MiB, 32 * MiB))}
# Index builds and vacuum, of which three may run at once. Lower: vacuum passes over the indexes several times.
maintenance_work_mem = ${megabytes(clamp(memoryBytes / 32, 64 * MiB, 512 * MiB))}
# Several processes of ours with a pool each, and command lines beside. Lower: a second process gets no connection;
# higher: a pool that grows without bound slows everyone before it is refused.
max_connections = 200
# Write-ahead log between checkpoints. Lower: imports checkpoint all the time and write each page in full again;
# higher: more disk is held, and recovery after a crash takes longer (about 10 s a GB).
max_wal_size = 4GB
min_wal_size = 256MB
# Pages written in full after a checkpoint are most of the log's bytes; these binaries have pglz only.
wal_compression = on
# Statements here are short; compiling them costs more than it saves, and a misjudged plan stalls for 100 ms.
jit = off
# One random read on a solid-state disk costs about a sequential one. Higher: full scans where an index serves.
random_page_cost = 1.1
# A week of logs in a ring: each weekday's file is overwritten a week later.
logging_collector = on
log_directory = 'log'
log_filename = 'postgresql-%a.log'
log_truncate_on_rotation = on
log_rotation_age = 1d
log_rotation_size = 0
log_timezone = 'UTC'
timezone = 'UTC'
`;
}

/** Settings with which an acknowledged row survives a power cut. */
const DURABLE = { fsync: "on", full_page_writes: "on", synchronous_commit: "on" };

/** Settings for tests: a power cut may destroy the database, no write waits for a disk, and nothing is kept for recovery. */
const NOT_DURABLE = {
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  // Too high: each `create database` and `drop database` scans all of it. Too low: reads the page cache more often.
  shared_buffers: "256MB",
  // The default reads through worker processes. Here the files are in the page cache, where reading directly costs less.
  io_method: "sync",
  // Too low: starts a vacuum process for databases that are dropped a moment later.
  autovacuum_naptime: "1h",
};

/**
 * Returns the settings that the configuration files must not change, as arguments of the command line, which overrides the
 * files.
 * @param socketDirectory the directory of the Unix socket; left out: there is none
 */
export function fixedSettings(port: number, isDurable: boolean, socketDirectory = ""): string[] {
  const settings = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: socketDirectory,
    ...(isDurable ? DURABLE : NOT_DURABLE),
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
