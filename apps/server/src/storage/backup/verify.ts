import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { systemsOf } from "../../city/systems/service.ts";
import { checkInvariants, type InvariantCheck } from "../../health/check/service.ts";
import { openDatabase } from "../db/database.ts";
import { type BackupSummary, unlessAborted } from "./backup.ts";
import { type RestoreOptions, restoreBackup } from "./restore.ts";
import { readSecretsOf } from "./secrets.ts";

/** The result of verifying a backup. */
export interface VerifiedBackup extends BackupSummary {
  readonly systems: readonly { readonly id: string; readonly invariants: readonly InvariantCheck[] }[];
}

/**
 * Restores a backup into a temporary PostgreSQL, checks that its secrets belong to its data, and checks every system's rows
 * against the invariants. Removes the temporary PostgreSQL at the end, even when the signal aborts.
 * @throws BackupFileError
 */
export async function verifyBackup(
  path: string,
  { onTable = () => undefined, signal }: Pick<RestoreOptions, "onTable"> & { readonly signal?: AbortSignal } = {},
): Promise<VerifiedBackup> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-verify-"));
  try {
    // As root, PostgreSQL runs as another account, which must have access to its files below.
    await chmod(directory, 0o711);
    const server = await openEmbeddedPostgres({
      dataDir: join(directory, "data"),
      systemDirectory: join(directory, "system"),
      log: () => undefined,
      isDurable: false,
    });
    try {
      const secretsPath = join(directory, "secrets.json");
      const options = { ...server, secretsPath, onTable, dataDirectory: directory };
      // After the signal, the verification may still run: closing the server ends it.
      return await unlessAborted(verifyInto(path, options), signal);
    } finally {
      await server.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Restores a backup into an empty database, verifies it there, and keeps the database. @throws BackupFileError */
export async function verifyInto(path: string, options: RestoreOptions): Promise<VerifiedBackup> {
  const summary = await restoreBackup(options, path);
  const db = openDatabase({ connectionString: options.connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  try {
    await readSecretsOf(db, options.secretsPath);
    const systems = [];
    for (const { system_id: id } of await systemsOf(db))
      systems.push({ id, invariants: await checkInvariants(db, id) });
    return { ...summary, systems };
  } finally {
    await db.close();
  }
}
