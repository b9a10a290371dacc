import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** A secret as it is stored. `ended`: by the database's clock it no longer signs. */
export type SecretRow = Pick<Tables["webhook_secrets"], "id" | "endpoint_id" | "encrypted" | "expires_at"> & {
  readonly ended: boolean;
};

const columns = "id, endpoint_id, encrypted, expires_at, expires_at is not null and expires_at <= now() as ended";
const order = "expires_at is null desc, created_at desc, id desc";

const ofSystem = statement(
  "secrets.ofSystem",
  `select ${columns} from webhook_secrets where system_id = $1 order by endpoint_id, ${order}`,
);
const ofEndpoint = statement(
  "secrets.ofEndpoint",
  `select ${columns} from webhook_secrets
   where system_id = $1 and endpoint_id = $2 and (expires_at is null or expires_at > $3) order by ${order}`,
);
const insert = statement(
  "secrets.insert",
  `insert into webhook_secrets (system_id, id, endpoint_id, encrypted, created_at) values ($1, $2, $3, $4, $5)`,
);
// Never later than what was set before: an earlier end stays.
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

/** Every secret of a system, by endpoint, the newest first. */
export function listSecrets(db: Queryable, systemId: string): Promise<SecretRow[]> {
  return db.query<SecretRow>(ofSystem, [systemId]);
}

/** An endpoint's secrets that sign at `now`, the newest first. */
export function listActiveSecrets(
  db: Queryable,
  systemId: string,
  endpointId: string,
  now: Date,
): Promise<SecretRow[]> {
  return db.query<SecretRow>(ofEndpoint, [systemId, endpointId, now]);
}

export async function insertSecret(
  tx: Transaction,
  secret: Omit<SecretRow, "expires_at" | "ended"> & { readonly system_id: string; readonly created_at: Date },
): Promise<void> {
  await tx.query(insert, [secret.system_id, secret.id, secret.endpoint_id, secret.encrypted, secret.created_at]);
}

/** Ends an endpoint's secrets at a time, which may be in the future, and deletes those that have ended by `now`. */
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

/** The key that a system's secrets are encrypted with. */
export type EncryptionKeyRow = Pick<Tables["webhook_encryption_keys"], "fingerprint" | "recorded_at">;

const findKey = statement(
  "secrets.findKey",
  "select fingerprint, recorded_at from webhook_encryption_keys where system_id = $1",
);
// Called by every process again and again: written only where it changes something.
const insertKey = statement(
  "secrets.insertKey",
  `insert into webhook_encryption_keys as latest (system_id, fingerprint, recorded_at) values ($1, $2, $3)
   on conflict (system_id) do update set fingerprint = excluded.fingerprint, recorded_at = excluded.recorded_at
   where latest.fingerprint <> excluded.fingerprint`,
);

export async function findEncryptionKey(db: Queryable, systemId: string): Promise<EncryptionKeyRow | undefined> {
  return (await db.query<EncryptionKeyRow>(findKey, [systemId]))[0];
}

/** Records with which key a system's secrets are encrypted from now on. */
export async function insertEncryptionKey(
  db: Queryable,
  systemId: string,
  fingerprint: string,
  now: Date,
): Promise<void> {
  await db.query(insertKey, [systemId, fingerprint, now]);
}
