import { randomBytes } from "node:crypto";
import { appendFile, chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { program } from "./binaries.ts";
import { type Connection, newConnection, SUPERUSER, writeConnection } from "./configuration.ts";
import {
  type Account,
  assertTrusted,
  canEnter,
  EmbeddedPostgresError,
  ensureTrustedDirectory,
  findAccount,
  findUntrusted,
  isRoot,
  ownUid,
  renameDurably,
  runAs,
  systemCode,
  writeDurably,
} from "./operating-system.ts";

/*
 * Finds or creates a cluster: the files of one PostgreSQL server. Most of the cases are for a process that runs as root.
 * PostgreSQL refuses to run as root, so it gets an unprivileged account, which must reach the files while nobody else can.
 */

/** The directory of one cluster: it contains data/, connection.json, settings.conf and start.log. */
export type Home = {
  directory: string;
  /** The account that runs PostgreSQL; undefined: the account of this process. */
  account: Account | undefined;
  isNew: boolean;
  /** Records that the cluster is complete. Call it once `createCluster` has made it, or if it is there already. */
  confirm(): Promise<void>;
};

/** Returns PostgreSQL's data directory within a cluster's directory. */
export const dataOf = (home: string) => join(home, "data");

/**
 * Decides where the cluster of `dataDir` is or will be. Usually it is inside `dataDir`. When this process is root, and
 * PostgreSQL's account cannot reach `dataDir` or other accounts can write there, the cluster is below `systemDirectory`,
 * in a directory with a random id, and a pointer file in `dataDir` contains this id. Call it under the data directory's
 * lock.
 */
export async function findHome(
  dataDir: string,
  options: { systemDirectory: string; accounts: readonly string[] },
): Promise<Home> {
  const pointer = await readPointer(dataDir);
  if (pointer) return homeOutside(dataDir, options, pointer);
  const inside = join(dataDir, "postgresql");
  // A cluster inside `dataDir` is found without a pointer, so there is nothing to record.
  const confirm = async () => {};
  // Without an owner there are no files: the cluster is new.
  const owner = await ownerOf(dataOf(inside));
  if (owner) return { directory: inside, account: await accountFor(owner, inside), isNew: false, confirm };
  if (!isRoot()) return { directory: inside, account: undefined, isNew: true, confirm };
  const account = await findAccount(options.accounts);
  const isSuitable = (await findUntrusted(dataDir)) === undefined && (await canEnter(account, dataDir));
  if (isSuitable) return { directory: inside, account, isNew: true, confirm };
  const fresh = { id: randomBytes(12).toString("hex"), isComplete: false };
  return homeOutside(dataDir, options, fresh);
}

const pointerShape = z.object({ id: z.string().regex(/^[0-9a-f]{24}$/), isComplete: z.boolean() });
type Pointer = z.infer<typeof pointerShape>;
const pointerFile = (dataDir: string) => join(dataDir, "postgresql.pointer");

/** Returns the cluster below `systemDirectory` to which a pointer leads, or is going to lead. */
async function homeOutside(
  dataDir: string,
  options: { systemDirectory: string; accounts: readonly string[] },
  pointer: Pointer,
): Promise<Home> {
  const directory = join(options.systemDirectory, pointer.id);
  const owner = await ownerOf(dataOf(directory));
  if (!owner && pointer.isComplete) {
    throw new EmbeddedPostgresError(
      `The database of ${dataDir} should be in ${directory} and is not there. ` +
        `Restore that directory from a backup, or remove ${pointerFile(dataDir)} to start with an empty database.`,
    );
  }
  if (!isRoot()) {
    throw new EmbeddedPostgresError(
      `The database of ${dataDir} was made by root in ${directory}. Start as root, or choose another DATA_DIR.`,
    );
  }
  await ensureSystemDirectory(options.systemDirectory);
  if (owner) await assertTrusted(directory);
  const save = (isComplete: boolean) =>
    writeDurably(pointerFile(dataDir), `${JSON.stringify({ id: pointer.id, isComplete })}\n`, 0o600);
  // Written before the cluster is created: if the process is killed in between, the pointer still leads to the remains.
  if (!pointer.isComplete) await save(false);
  const account = owner ? await accountFor(owner, directory) : await findAccount(options.accounts);
  return { directory, account, isNew: !owner, confirm: () => (pointer.isComplete ? Promise.resolve() : save(true)) };
}

async function ensureSystemDirectory(directory: string): Promise<void> {
  try {
    await ensureTrustedDirectory(directory);
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause;
    throw new EmbeddedPostgresError(
      `${directory} cannot be made, and PostgreSQL's unprivileged account cannot reach DATA_DIR. ` +
        "Set DATA_DIR to a directory that every account may enter and only root may write, start as another user, or set DATABASE_URL.",
      { cause },
    );
  }
}

async function readPointer(dataDir: string): Promise<Pointer | undefined> {
  const file = pointerFile(dataDir);
  try {
    return pointerShape.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return undefined;
    throw new EmbeddedPostgresError(
      `${file} cannot be read. It says where the database is: restore it, or start as the account that owns it.`,
      { cause },
    );
  }
}

/** Returns the owner of a file or directory; undefined: there is none at the path. */
async function ownerOf(path: string): Promise<Account | undefined> {
  try {
    const { uid, gid } = await lstat(path);
    return { uid, gid };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw new EmbeddedPostgresError(
      `${path} cannot be entered. Start as the account that owns it, or choose another DATA_DIR.`,
      { cause: error },
    );
  }
}

/**
 * Returns the account for an existing cluster: its owner, because PostgreSQL runs only as the owner of its files. Undefined:
 * the account of this process.
 */
async function accountFor(owner: Account, home: string): Promise<Account | undefined> {
  const uid = ownUid();
  // Windows, or an ordinary account that owns the files: PostgreSQL runs as the account of this process.
  if (uid === undefined || (owner.uid === uid && uid !== 0)) return undefined;
  // Only root may start a program as another account, and PostgreSQL does not run as root.
  if (uid !== 0 || owner.uid === 0) {
    throw new EmbeddedPostgresError(
      `${home} belongs to account ${owner.uid}. Start as that account (not root), or choose another DATA_DIR.`,
    );
  }
  if (await canEnter(owner, home)) return owner;
  throw new EmbeddedPostgresError(
    `PostgreSQL runs as account ${owner.uid}, which may not enter ${home}. Give it search permission on every directory on the way, or move DATA_DIR.`,
  );
}

const PARTIAL = ".partial-";

/**
 * Makes a complete cluster at `home`. It runs initdb and writes the connection file in a temporary directory, and renames
 * this directory to `home` at the end. When the process is killed before that, the next start removes the temporary
 * directory. Each attempt uses a new name, because the initdb of a killed process may still be writing into the old one.
 * Call it under the data directory's lock.
 */
export async function createCluster(home: string, binaries: string, account: Account | undefined): Promise<void> {
  await removeHalfClusters(home);
  const partial = await mkdtemp(`${home}${PARTIAL}`);
  // PostgreSQL's account may enter by its group and may not write here, so that an attacker who gains this account can
  // change data/ only.
  if (account) {
    await chown(partial, 0, account.gid);
    await chmod(partial, 0o710);
  }
  const data = dataOf(partial);
  await mkdir(data, { mode: 0o700 });
  if (account) await chown(data, account.uid, account.gid);
  const connection = await newConnection();
  await runInitdb(program(binaries, "initdb"), data, account, connection);
  await appendFile(
    join(data, "postgresql.conf"),
    "\ninclude '../settings.conf'\n# Your own settings below this line win.\n",
  );
  await writeConnection(partial, connection);
  await renameDurably(partial, home);
}

/** Removes the temporary directories of `createCluster` that a killed process has left. */
async function removeHalfClusters(home: string): Promise<void> {
  const prefix = `${basename(home)}${PARTIAL}`;
  for (const name of await readdir(dirname(home))) {
    // Removal is retried, because an initdb that is still running may add files. That initdb fails once its directory is
    // gone.
    if (name.startsWith(prefix))
      await rm(join(dirname(home), name), { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

async function runInitdb(
  initdb: string,
  data: string,
  account: Account | undefined,
  { superuserPassword }: Connection,
): Promise<void> {
  const passwordFile = join(dirname(data), "initdb-password");
  await writeFile(passwordFile, `${superuserPassword}\n`, { flag: "wx", mode: 0o600 });
  if (account) await chown(passwordFile, account.uid, account.gid);
  const { ok, output, error } = await runAs(account, initdb, [
    ...["--pgdata", data, "--username", SUPERUSER, "--pwfile", passwordFile],
    // With this locale texts sort the same on every machine and after every upgrade of its libraries. Otherwise an upgrade
    // could corrupt indexes.
    ...["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
    ...["--data-checksums", "--auth=scram-sha-256", "--no-instructions"],
  ]);
  await rm(passwordFile);
  if (ok) return;
  throw new EmbeddedPostgresError(
    `The database could not be created in ${data}: ${error?.message ?? output.trim().split("\n").slice(-3).join(" ")}. ` +
      "Check the free space and the permissions there, or set DATABASE_URL.",
    { cause: error },
  );
}

/** Throws when the cluster was made by another major version than the binaries are. */
export async function assertSameMajorVersion(home: string, version: string): Promise<void> {
  const made = (await readFile(join(dataOf(home), "PG_VERSION"), "utf8")).trim();
  const major = version.split(".")[0];
  if (made === major) return;
  throw new EmbeddedPostgresError(
    `The database in ${home} was made by PostgreSQL ${made} and this release brings ${major}. ` +
      `Dump it with the release that made it, choose a new DATA_DIR, and restore it there.`,
  );
}
