import { appendFile, chmod, chown, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Account, runAs } from "./account.ts";
import { type Connection, newConnection, SUPERUSER, writeConnection } from "./connection-file.ts";
import { renameDurably } from "./durable-file.ts";
import { EmbeddedPostgresError } from "./errors.ts";
import { dataOf } from "./home.ts";
import { program } from "./platform-package.ts";

const PARTIAL = ".partial-";

/**
 * Makes a complete cluster at `home`: initdb and the connection file, in a directory of another name
 * that gets its own only at the end. A kill on the way leaves that other directory, which the next
 * start clears. Its name is new each time, for an initdb may outlive its killed starter and write on. Call it under the data directory's lock.
 */
export async function createCluster(home: string, binaries: string, account: Account | undefined): Promise<void> {
  await removeHalfClusters(home);
  const partial = await mkdtemp(`${home}${PARTIAL}`);
  // PostgreSQL's account passes through by its group; it may not write here, so what it could be tricked into stays in data/.
  if (account) {
    await chown(partial, 0, account.gid);
    await chmod(partial, 0o710);
  }
  const data = dataOf(partial);
  await mkdir(data, { mode: 0o700 });
  if (account) await chown(data, account.uid, account.gid);
  const connection = await newConnection();
  await runInitdb({ partial, data, binaries, account, connection });
  await appendFile(
    join(data, "postgresql.conf"),
    "\ninclude '../settings.conf'\n# Your own settings below this line win.\n",
  );
  await writeConnection(partial, connection);
  await renameDurably(partial, home);
}

async function removeHalfClusters(home: string): Promise<void> {
  const prefix = `${basename(home)}${PARTIAL}`;
  for (const name of await readdir(dirname(home))) {
    // Retried while such an initdb still adds files; it fails as soon as its directory is gone.
    if (name.startsWith(prefix))
      await rm(join(dirname(home), name), { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

async function runInitdb(step: {
  partial: string;
  data: string;
  binaries: string;
  account: Account | undefined;
  connection: Connection;
}): Promise<void> {
  const passwordFile = join(step.partial, "initdb-password");
  const handle = await open(passwordFile, "wx", 0o600);
  try {
    await writeFile(handle, `${step.connection.superuserPassword}\n`);
    if (step.account) await handle.chown(step.account.uid, step.account.gid);
  } finally {
    await handle.close();
  }
  const result = await runAs(step.account, program(step.binaries, "initdb"), [
    ...["--pgdata", step.data, "--username", SUPERUSER, "--pwfile", passwordFile],
    // Text compares the same on every machine and after every upgrade of its libraries: an index never turns wrong.
    ...["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
    ...["--data-checksums", "--auth=scram-sha-256", "--no-instructions"],
  ]);
  await rm(passwordFile);
  if (result.ok) return;
  throw new EmbeddedPostgresError(
    `The database could not be created in ${step.data}: ${result.error?.message ?? result.output.trim().split("\n").slice(-3).join(" ")}. ` +
      "Check the free space and the permissions there, or set DATABASE_URL.",
    result.error ? { cause: result.error } : {},
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
