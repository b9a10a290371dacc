import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/*
 * Statements about the secrets that sign the deliveries of endpoints. Secrets are stored encrypted. The encryption key is in
 * the deployment's secrets file; the database has only its fingerprint.
 */

/** A stored secret. `expires_at` null: no end is set. `ended`: it no longer signs, by the database's clock. */
export type SecretRow = Pick<Tables["webhook_secrets"], "id" | "endpoint_id" | "encrypted" | "expires_at"> & {
  readonly ended: boolean;
};

const secretColumns = "id, endpoint_id, encrypted, expires_at, expires_at is not null and expires_at <= now() as ended";
/** Newest first. The secret without an end is the newest. */
const order = "expires_at is null desc, created_at desc, id desc";

const ofSystem = statement(
  "secrets.ofSystem",
  `select ${secretColumns} from webhook_secrets where system_id = $1 order by endpoint_id, ${order}`,
);
const ofEndpoint = statement(
  "secrets.ofEndpoint",
  `select ${secretColumns} from webhook_secrets
   where system_id = $1 and endpoint_id = $2 and (expires_at is null or expires_at > $3) order by ${order}`,
);
const insertSecretRow = statement(
  "secrets.insert",
  `insert into webhook_secrets (system_id, id, endpoint_id, encrypted, created_at) values ($1, $2, $3, $4, $5)`,
);
// Never extends the end that was set before.
const end = statement(
  "secrets.end",
  `update webhook_secrets set expires_at = least(expires_at, $3::timestamptz) where system_id = $1 and endpoint_id = $2`,
);
const deleteEnded = statement(
  "secrets.deleteEnded",
  `delete from webhook_secrets where system_id = $1 and endpoint_id = $2 and expires_at <= $3`,
);

const deleteAll = statement(
  "secrets.deleteAll",
  `delete from webhook_secrets where system_id = $1 and endpoint_id = $2`,
);

/** Lists every secret of a system, by endpoint, newest first. */
export function listSecrets(db: Queryable, systemId: string): Promise<SecretRow[]> {
  return db.query<SecretRow>(ofSystem, [systemId]);
}

/** Lists an endpoint's secrets that sign at `now`, newest first. */
export function listActiveSecrets(
  db: Queryable,
  systemId: string,
  endpointId: string,
  now: Date,
): Promise<SecretRow[]> {
  return db.query<SecretRow>(ofEndpoint, [systemId, endpointId, now]);
}

/** Inserts a secret that signs until `updateSecretsEnd` sets its end. */
export async function insertSecret(
  tx: Transaction,
  secret: Omit<SecretRow, "expires_at" | "ended"> & { readonly system_id: string; readonly created_at: Date },
): Promise<void> {
  await tx.query(insertSecretRow, [
    secret.system_id,
    secret.id,
    secret.endpoint_id,
    secret.encrypted,
    secret.created_at,
  ]);
}

/** Sets the end of an endpoint's secrets, which may be in the future, and deletes those that have ended by `now`. */
export async function updateSecretsEnd(
  tx: Transaction,
  systemId: string,
  endpointId: string,
  at: Date,
  now: Date,
): Promise<void> {
  await tx.query(end, [systemId, endpointId, at]);
  await tx.query(deleteEnded, [systemId, endpointId, now]);
}

/** Deletes every secret of an endpoint. */
export async function deleteSecrets(tx: Transaction, systemId: string, endpointId: string): Promise<void> {
  await tx.query(deleteAll, [systemId, endpointId]);
}

/** The encryption key of a system's secrets, by its fingerprint, and when it was recorded. */
export type EncryptionKeyRow = Pick<Tables["webhook_encryption_keys"], "fingerprint" | "recorded_at">;

const findKey = statement(
  "secrets.findKey",
  "select fingerprint, recorded_at from webhook_encryption_keys where system_id = $1",
);
// Writes only a changed value, because every process calls it repeatedly.
const insertKey = statement(
  "secrets.insertKey",
  `insert into webhook_encryption_keys as latest (system_id, fingerprint, recorded_at) values ($1, $2, $3)
   on conflict (system_id) do update set fingerprint = excluded.fingerprint, recorded_at = excluded.recorded_at
   where latest.fingerprint <> excluded.fingerprint`,
);

/** Returns the encryption key that was recorded last for a system; undefined: none was. */
export async function findEncryptionKey(db: Queryable, systemId: string): Promise<EncryptionKeyRow | undefined> {
  return (await db.query<EncryptionKeyRow>(findKey, [systemId]))[0];
}

/** Records the key that encrypts a system's new secrets from now on. */
export async function insertEncryptionKey(
  db: Queryable,
  systemId: string,
  fingerprint: string,
  now: Date,
): Promise<void> {
  await db.query(insertKey, [systemId, fingerprint, now]);
}
