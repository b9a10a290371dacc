import { readFile } from "node:fs/promises";
import { z } from "zod";
import { findLatestKey } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";
import type { Queryable } from "../db/database.ts";
import { codeOf } from "../db/errors.ts";
import { loadSecrets } from "../secrets/secrets.ts";
import { BackupFileError } from "./archive.ts";

/** Another number is another form of backups, which this program cannot read. */
export const FORMAT = 1;

/** Limits the days of a table: more than ten years. Each is a partition, which takes time and memory. */
const MAX_DAYS = 4_000;

/** The description of a backup: the file `manifest.json` in its archive. */
export const manifestShape = z.object({
  format: z.literal(FORMAT),
  /** The data are those of this instant. RFC 3339. */
  made_at: z.string().datetime(),
  /** The version of the program that wrote it. */
  program: z.string(),
  /** The numbers of the migrations that the schema had seen. */
  migrations: z.array(z.number().int().positive()).min(1),
  tables: z.array(
    z.object({
      name: z.string(),
      columns: z.array(z.string()),
      /** The days that had partitions, `2026-01-31`, of a table by day. */
      days: z.array(z.string().date()).max(MAX_DAYS).optional(),
      rows: z.number().int().min(0),
      /** The size of the rows, before they are compressed. Backups of 0.1.0 lack it: their archive's directory alone has it. */
      bytes: z.number().int().min(0).optional(),
    }),
  ),
});

export type Manifest = z.infer<typeof manifestShape>;
export type BackedUpTable = Manifest["tables"][number];

/** Describes a backup that this program writes. */
export function createManifest(content: Omit<Manifest, "format">): Manifest {
  return { format: FORMAT, ...content };
}

/** The paths of a backup's parts in its archive. */
export const entryNames = {
  manifest: "manifest.json",
  secrets: "secrets.json",
  /** The rows of a table, as `copy … to stdout` writes them. */
  table: (name: string) => `tables/${name}.copy`,
} as const;

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
