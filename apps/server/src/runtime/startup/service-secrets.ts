import { stat } from "node:fs/promises";
import { type Config, ConfigError } from "../../config.ts";
import type { Ids } from "../../ids.ts";
import type { Database } from "../../storage/db/database.ts";
import { codeOf } from "../../storage/db/errors.ts";
import { type AllSecrets, loadSecrets, secretsPath } from "../../storage/secrets/secrets.ts";
import { findLatestKey, recordServiceKeys } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";

export interface SecretsContext {
  readonly db: Database;
  readonly config: Pick<Config, "secretsFile" | "dataDir">;
  readonly ids: Pick<Ids, "randomBytes">;
}

/**
 * Reads the deployment's secrets file, or creates it if the database has never been used with one. If a file was used before
 * and is missing now, fails: the path may be mistyped or a disk not mounted, and a new file would silently invalidate every
 * cursor and every webhook secret. Does not check that the file is the deployment's, as `serviceSecrets` does for `serve`.
 * @param isNew the operator confirms that the old file is lost
 * @throws ConfigError
 */
export async function readSecrets(context: SecretsContext, isNew: boolean): Promise<AllSecrets> {
  const { db, config, ids } = context;
  const path = secretsPath(config);
  if (!isNew && !(await exists(path))) {
    const last = await findLatestKey(db);
    if (last !== undefined) {
      throw new ConfigError(
        `${named(config)}: there is no such file, and this database has been used with one since ${last.recorded_at.toISOString()}. ` +
          `Correct SECRETS_FILE, or restore the file from a backup. ${GONE}`,
      );
    }
  }
  try {
    return await loadSecrets(path, (bytes) => ids.randomBytes(bytes));
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS", "EISDIR", "ENOTDIR", "ENOENT"].includes(codeOf(error) ?? "")) throw error;
    throw new ConfigError(
      `${named(config)}: the secrets file cannot be read or made there. Name a file that this account may read.`,
      { cause: error },
    );
  }
}

/** Advice for an operator who no longer has the file. */
const GONE =
  "If it is gone for good, `serve --new-secrets` goes on with a new one: cursors that partners hold end, and every webhook secret must be rotated with --lost-secrets.";

export interface ServiceSecretsContext extends SecretsContext {
  readonly clock: () => number;
  readonly logger: { warn(detail: object, message: string): void };
}

/**
 * Returns the secrets of a service. They must be those that the deployment has used so far: the database stores their
 * fingerprint.
 * @param isNew the operator confirms that the old file is lost
 * @throws ConfigError when the file is not the one that was used so far
 */
export async function serviceSecrets(context: ServiceSecretsContext, isNew: boolean): Promise<AllSecrets> {
  const { db, clock, config, logger } = context;
  const secrets = await readSecrets(context, isNew);
  const path = secretsPath(config);
  if (((await stat(path)).mode & OTHERS) !== 0 && process.platform !== "win32") {
    logger.warn({ path }, "the secrets file is open to every account of this machine: chmod 600 makes it its owner's");
  }
  const cipher = createSecretCipher(secrets.webhookKeys);
  const last = await findLatestKey(db);
  if (last !== undefined && !isNew && !cipher.hasKey(last.fingerprint)) {
    throw new ConfigError(
      `${named(config)}: is not the secrets file that this database has been used with since ${last.recorded_at.toISOString()}: it lacks the key that encrypts webhook secrets. ` +
        `Set SECRETS_FILE to that file. ${GONE}`,
    );
  }
  await recordServiceKeys({ cipher, clock }, db);
  return secrets;
}

/** The bits of a file's mode that let everybody read or write it. */
const OTHERS = 0o006;

/** Returns the path of the secrets file, and where it is set, for messages. */
function named(config: Pick<Config, "secretsFile" | "dataDir">): string {
  const path = secretsPath(config);
  return config.secretsFile === undefined ? `${path} (in DATA_DIR; SECRETS_FILE is not set)` : `SECRETS_FILE=${path}`;
}

/** Tells whether a file exists. One that this account may not look at counts as existing: reading it explains the error. */
async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => !["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? ""),
  );
}
