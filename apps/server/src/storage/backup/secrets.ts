import { readFile } from "node:fs/promises";
import { findLatestKey } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";
import type { Queryable } from "../db/database.ts";
import { codeOf } from "../db/errors.ts";
import { loadSecrets } from "../secrets/secrets.ts";
import { BackupFileError } from "./archive.ts";

/**
 * Reads the secrets file that belongs to a database.
 * @throws BackupFileError when it is missing or a different one: the encrypted values of the database could not be read
 */
export async function readSecretsOf(db: Queryable, path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new BackupFileError(
      `There is no secrets file ${path}, without which a backup is useless. Set SECRETS_FILE or DATA_DIR as the service has them; a service that never ran makes it at its first start.`,
    );
  });
  const latest = await findLatestKey(db);
  if (latest === undefined) return text;
  // The file is there, so none is made.
  const { webhookKeys } = await loadSecrets(path, () => new Uint8Array());
  if (!createSecretCipher(webhookKeys).hasKey(latest.fingerprint)) {
    throw new BackupFileError(
      `The secrets file ${path} is not the one that the database is used with: set SECRETS_FILE as the service has it.`,
    );
  }
  return text;
}
