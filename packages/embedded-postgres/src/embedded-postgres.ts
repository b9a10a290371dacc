import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findNative, runnableBinaries } from "./binaries.ts";
import { assertSameMajorVersion, createCluster, dataOf, findHome } from "./cluster.ts";
import {
  type Connection,
  connectionStringOf,
  ensureDatabase,
  isPassing,
  readConnection,
  runAsSuperuser,
} from "./configuration.ts";
import {
  ensureDataDir,
  ensureLockFile,
  type KernelLock,
  tryExclusiveLock,
  trySharedLock,
  waitForLock,
} from "./data-directory.ts";
import type { LogEvent } from "./events.ts";
import { isRoot } from "./operating-system.ts";
import { findFullDisk, type Postmaster } from "./postmaster.ts";
import { type Cluster, ensureRunning, stop } from "./server.ts";
import { supervise, type Supervisor, watchForSurvivor } from "./supervisor.ts";

export type EmbeddedPostgresOptions = {
  /** The directory of the database; created if missing. Relative paths count from the working directory. */
  dataDir: string;
  log: LogEvent;
  /**
   * The directory for binaries and clusters, when the process runs as root and PostgreSQL's account has no access to the
   * usual places. Default /var/lib/bikeshare.
   */
  systemDirectory?: string;
  /** The accounts that PostgreSQL may run as when the process runs as root, best first. Default postgres, then nobody. */
  accounts?: readonly string[];
  /** Seconds that PostgreSQL waits for a successor when we were killed. Default 15. */
  survivorSeconds?: number;
  /** False for a database that its tests throw away: writes wait for no disk, and a power cut may destroy it. Default true. */
  isDurable?: boolean;
};

export type EmbeddedPostgres = {
  /** The connection string of the service's own role and database. It stays valid when PostgreSQL is restarted. */
  connectionString: string;
  /** Runs statements in that database as the superuser, for changes that the service's own role must not be able to undo. */
  asSuperuser(statements: string): Promise<void>;
  /** Returns how often PostgreSQL was restarted since it was opened. */
  restartedCount(): number;
  /**
   * Returns why PostgreSQL has ended all connections for want of disk space since it was opened, which it writes into its log
   * alone; undefined where it has not.
   */
  findFullDisk(): Promise<string | undefined>;
  /** Leaves; the last user to leave stops PostgreSQL. Later calls return the same promise. */
  close(): Promise<void>;
};

/**
 * Runs our own PostgreSQL 18 on `dataDir`, or joins the one that already runs there, also one that a
 * killed process left behind. Whenever it dies it is started again until `close()`.
 * Errors: `EmbeddedPostgresError`, whose message says what to do.
 *
 * Two locks make this safe for any number of processes: `postgresql.lock` is held by the one that
 * changes something (create, start, join, stop), `postgresql.users` is shared by all that use the server.
 *
 * @example
 * const database = await openEmbeddedPostgres({ dataDir: '.bikeshare', log: (event) => logger.info(event) })
 * const pool = new pg.Pool({ connectionString: database.connectionString })
 * await pool.end()
 * await database.close()
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { survivorSeconds = SURVIVOR_SECONDS } = options;
  const dataDir = await ensureDataDir(options.dataDir);
  const usersFile = join(dataDir, "postgresql.users");
  const mutexFile = join(dataDir, "postgresql.lock");
  const mutex = () => tryExclusiveLock(mutexFile);
  await ensureLockFile(usersFile);
  await ensureLockFile(mutexFile);
  const lock = await waitForLock(mutex);
  try {
    const cluster = await prepareCluster(dataDir, options);
    const isFirst = isUnused(usersFile);
    const user = await waitForLock(() => trySharedLock(usersFile));
    return await startOrJoin({ cluster, user, usersFile, mutexFile, mutex, survivorSeconds }, isFirst);
  } finally {
    lock.release();
  }
}

/** One user of a running cluster: its share of the users' lock, and the way to the lock under which things change. */
type Membership = {
  cluster: Cluster;
  user: KernelLock;
  usersFile: string;
  mutexFile: string;
  mutex: () => KernelLock | undefined;
  survivorSeconds: number;
};

/**
 * Seconds for which PostgreSQL survives its last process. Too low: a supervisor restarts the process too late to join
 * it. Too high: PostgreSQL still runs when an operator checks, a minute later.
 */
const SURVIVOR_SECONDS = 15;

function isUnused(usersFile: string): boolean {
  const alone = tryExclusiveLock(usersFile);
  alone?.release();
  return alone !== undefined;
}

async function startOrJoin(membership: Membership, isFirst: boolean): Promise<EmbeddedPostgres> {
  const { cluster, mutex, usersFile, mutexFile } = membership;
  const findFull = () => findFullDisk(dataOf(cluster.home));
  const fullBefore = await findFull();
  // Before PostgreSQL is started: we may be killed at any moment after.
  const watch = watchForSurvivor({ ...cluster, usersFile, mutexFile }, membership.survivorSeconds);
  try {
    const { running, connection } = await runWithDatabase(cluster, isFirst);
    const supervisor = supervise(cluster, running, mutex);
    let closing: Promise<void> | undefined;
    const close = () => (closing ??= closeOnce(membership, supervisor).finally(() => watch.end()));
    return {
      connectionString: connectionStringOf(connection),
      asSuperuser: (statements) => runAsSuperuser(connection, statements),
      restartedCount: supervisor.restartedCount,
      findFullDisk: async () => {
        const line = await findFull();
        return line === fullBefore ? undefined : line?.replace(/^.* PANIC: +/, "");
      },
      close,
    };
  } catch (error) {
    await leave(membership).finally(() => watch.end());
    throw error;
  }
}

async function prepareCluster(dataDir: string, options: EmbeddedPostgresOptions): Promise<Cluster> {
  const { log, systemDirectory = "/var/lib/bikeshare", accounts = ["postgres", "nobody"], isDurable = true } = options;
  const home = await findHome(dataDir, { systemDirectory, accounts });
  const native = await findNative();
  // Binaries may go to the temporary directory, they can be copied again; the database never does.
  const copyBases = isRoot() ? [systemDirectory, join(tmpdir(), "bikeshare")] : [dataDir];
  const binaries = await runnableBinaries({ native, account: home.account, copyBases, log });
  if (home.isNew) {
    log({ event: "creating_cluster", directory: home.directory });
    await createCluster(home.directory, binaries, home.account);
    log({ event: "cluster_created", directory: home.directory });
  }
  await home.confirm();
  await assertSameMajorVersion(home.directory, native.version);
  return { home: home.directory, binaries, account: home.account, isDurable, log };
}

/** There is no supervision yet, so this code restarts a PostgreSQL that dies between its start and our log-in. */
async function runWithDatabase(
  cluster: Cluster,
  isFirst: boolean,
): Promise<{ running: Postmaster; connection: Connection }> {
  for (let attempt = 1; ; attempt += 1) {
    const running = await ensureRunning(cluster, { mayMove: isFirst, signal: new AbortController().signal });
    const connection = { ...(await readConnection(cluster.home)), port: running.port };
    try {
      await ensureDatabase(connection);
      return { running, connection };
    } catch (error) {
      // 300 tries at 100 ms: 30 s, in which a crashed child's recovery is over unless the disk is very slow.
      if (!isPassing(error) || attempt >= 300) throw error;
      await sleep(100);
    }
  }
}

async function closeOnce(membership: Membership, supervisor: Supervisor): Promise<void> {
  await supervisor.end();
  const lock = await waitForLock(membership.mutex);
  try {
    await leave(membership);
  } finally {
    lock.release();
  }
}

/** Stops PostgreSQL unless others use it. Called under the lock, so that no process joins between the check and the stop. */
async function leave({ cluster, user, usersFile }: Membership): Promise<void> {
  user.release();
  const alone = tryExclusiveLock(usersFile);
  if (!alone) {
    cluster.log({ event: "left_to_other_users" });
    return;
  }
  try {
    await stop(cluster);
  } finally {
    alone.release();
  }
}
