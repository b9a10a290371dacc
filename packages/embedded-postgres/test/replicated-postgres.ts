import { once } from "node:events";
import { chmod, copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeDatabaseDirectory } from "@bikeshare/test-kit";
import { findNative, runnableBinaries } from "../src/binaries.ts";
import { createCluster, dataOf } from "../src/cluster.ts";
import { connectionStringOf, ensureDatabase, findFreePort, readConnection, SUPERUSER } from "../src/configuration.ts";
import { findAccount, isRoot } from "../src/operating-system.ts";
import { copyCluster, createServer, type PostgresServer, type ServerFiles, writeOwned } from "./postgres-server.ts";

export type { PostgresServer } from "./postgres-server.ts";

/** A primary and a streaming replica for one test. */
export interface ReplicatedPostgres {
  /** The connection string of the service's database on the current primary. It stays the same over failovers. */
  readonly primaryUrl: string;
  /** The URL of whichever server is the replica. It refuses connections while there is none. */
  readonly replicaUrl: string;
  readonly primary: () => PostgresServer;
  readonly replica: () => PostgresServer;
  /** Returns when the replica has replayed all that the primary has written. */
  caughtUp(): Promise<void>;
  /** Sets whether a commit waits until the replica has written it too. If not, a failover loses acknowledged rows. */
  setSynchronous(isSynchronous: boolean): Promise<void>;
  /**
   * Kills the primary and promotes the replica, which then has no replica: its commits wait for none. The old primary stays
   * down until `rejoin`.
   */
  failOver(): Promise<void>;
  /**
   * Lets `primaryUrl` lead to the replica (true), or to the primary again (false). True cuts the connections to the primary.
   * False keeps the connections that were made to the replica meanwhile.
   */
  misdirect(isMisdirected: boolean): void;
  /** Makes the server that is down a replica of the primary, from a new copy. */
  rejoin(): Promise<void>;
  /** Ends both servers and removes their files. */
  close(): Promise<void>;
}

/** The free space that is needed: two small clusters with their write-ahead logs, and room to spare. */
const NEEDED_BYTES = 4 * 1024 ** 3;

const SETTINGS = `shared_buffers = 64MB
max_connections = 200
jit = off
# A replica that was down for a while finds what it missed.
wal_keep_size = 1GB
wal_retrieve_retry_interval = 100ms
# Tests ask for conflicts with what is replayed: by default a statement would be spared for 30 s.
max_standby_streaming_delay = 100ms
`;

/**
 * Starts a primary and a replica, both on loopback, with their files in memory if there is room. After a `kill`, `freeze`,
 * `pg_wal_replay_pause()` or `failOver` the test itself must repair them. Both write durably, as in production.
 *
 * @example
 * const postgres = await startReplicatedPostgres();
 * const env = { DATABASE_URL: postgres.primaryUrl, DATABASE_REPLICA_URL: postgres.replicaUrl };
 * await postgres.replica().run("select pg_wal_replay_pause()");
 * await postgres.replica().run("select pg_wal_replay_resume()");
 * await postgres.replica().kill();
 * await postgres.replica().start();
 * await postgres.setSynchronous(true); // while it is on and the replica down, commits wait
 * await postgres.failOver();
 * await postgres.rejoin();
 * await postgres.close();
 */
export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const directory = await makeDatabaseDirectory("bikeshare-replicated-", NEEDED_BYTES);
  // As root PostgreSQL runs under another account, which must be able to enter.
  await chmod(directory, 0o711);
  const account = isRoot() ? await findAccount(["postgres", "nobody"]) : undefined;
  const native = await findNative();
  const copyBases = [join(tmpdir(), "bikeshare")];
  const binaries = await runnableBinaries({ native, account, copyBases, log: () => undefined });
  const filesOf = async (name: string) => ({
    home: join(directory, name),
    port: await findFreePort(),
    binaries,
    account,
  });
  const [one, other] = [await filesOf("one"), await filesOf("other")];
  await createCluster(one.home, binaries, account);
  await writeFile(join(one.home, "settings.conf"), SETTINGS, { mode: 0o644 });
  const primary = await createServer(one);
  await primary.start();
  const connection = { ...(await readConnection(one.home)), port: one.port };
  await ensureDatabase(connection);
  const replica = await makeReplica(one, other);
  const toPrimary = await startForwarder(one.port);
  const toReplica = await startForwarder(other.port);
  return replicate({
    directory,
    toPrimary,
    toReplica,
    connectionString: (port) => connectionStringOf({ ...connection, port }),
    primary: { files: one, server: primary },
    replica: { files: other, server: replica },
  });
}

interface Member {
  readonly files: ServerFiles;
  readonly server: PostgresServer;
}

interface Pair {
  readonly directory: string;
  readonly toPrimary: Forwarder;
  readonly toReplica: Forwarder;
  readonly connectionString: (port: number) => string;
  readonly primary: Member;
  readonly replica: Member;
}

function replicate({ directory, toPrimary, toReplica, connectionString, ...first }: Pair): ReplicatedPostgres {
  let { primary, replica } = first;
  return {
    primaryUrl: connectionString(toPrimary.port),
    replicaUrl: connectionString(toReplica.port),
    primary: () => primary.server,
    replica: () => replica.server,
    caughtUp: async () => {
      const [written] = await primary.server.run<{ lsn: string }>("select pg_current_wal_flush_lsn()::text as lsn");
      const isReplayed = "select pg_last_wal_replay_lsn() >= $1::pg_lsn as done";
      const isDone = async () => (await replica.server.run<{ done: boolean }>(isReplayed, [written?.lsn]))[0]?.done;
      while (!(await isDone())) await sleep(5);
    },
    setSynchronous: async (isSynchronous) => {
      const names = isSynchronous ? "'*'" : "''";
      await primary.server.run(`alter system set synchronous_standby_names = ${names}`);
      await primary.server.run("select pg_reload_conf()");
    },
    failOver: async () => {
      await primary.server.kill();
      toReplica.lead(undefined);
      await replica.server.run("select pg_promote()");
      [primary, replica] = [replica, primary];
      toPrimary.lead(primary.server.port);
    },
    misdirect: (isMisdirected) =>
      isMisdirected ? toPrimary.lead(replica.server.port) : toPrimary.lead(primary.server.port, { keepsOpen: true }),
    rejoin: async () => {
      await replica.server.stop();
      await rm(replica.files.home, { recursive: true, force: true, maxRetries: 10 });
      replica = { files: replica.files, server: await makeReplica(primary.files, replica.files) };
      toReplica.lead(replica.server.port);
    },
    close: async () => {
      await Promise.all([toPrimary.close(), toReplica.close(), primary.server.kill(), replica.server.kill()]);
      await rm(directory, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Copies the primary and starts the copy as its replica. */
async function makeReplica(primary: ServerFiles, replica: ServerFiles): Promise<PostgresServer> {
  await mkdir(replica.home, { mode: 0o711 });
  for (const file of ["connection.json", "settings.conf"]) {
    await copyFile(join(primary.home, file), join(replica.home, file));
  }
  await copyCluster(primary, replica);
  const { superuserPassword } = await readConnection(primary.home);
  const source = `host=127.0.0.1 port=${primary.port} user=${SUPERUSER} password=${superuserPassword} application_name=replica`;
  const data = dataOf(replica.home);
  await writeOwned(join(data, "postgresql.auto.conf"), `primary_conninfo = '${source}'\n`, replica.account);
  await writeOwned(join(data, "standby.signal"), "", replica.account);
  const server = await createServer(replica);
  await server.start();
  return server;
}

/** A fixed port that forwards connections to a target port that can change, like a virtual address or a proxy. */
interface Forwarder {
  readonly port: number;
  /** Sets the target port; undefined: new connections are closed at once. Cuts open connections, unless `keepsOpen`. */
  lead(port: number | undefined, options?: { readonly keepsOpen: boolean }): void;
  close(): Promise<void>;
}

async function startForwarder(firstTarget: number): Promise<Forwarder> {
  let target: number | undefined = firstTarget;
  const open = new Set<Socket>();
  const pass = (one: Socket, two: Socket) => {
    open.add(one);
    one.on("error", () => two.destroy());
    one.on("close", () => {
      open.delete(one);
      two.destroy();
    });
    one.pipe(two);
  };
  const server = createTcpServer({ noDelay: true }, (caller) => {
    if (target === undefined) return void caller.destroy();
    const called = connect({ port: target, host: "127.0.0.1", noDelay: true });
    pass(caller, called);
    pass(called, caller);
  });
  const port = await findFreePort();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port,
    lead: (next, { keepsOpen } = { keepsOpen: false }) => {
      target = next;
      if (!keepsOpen) cut();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
