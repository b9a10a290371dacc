import type { Queryable, Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import type { KeyHolder } from "./rotation.rules.ts";

/*
 * Statements for the rotation of the keys in the secrets file, which encrypt other secrets; they are not API keys. The table
 * `key_holders` says which of these keys each process has read, so that a rotation can wait for all processes. The other
 * statements find the secrets that another key encrypted, and store them encrypted anew.
 */

const heartbeat = statement(
  "keyHolders.heartbeat",
  `insert into key_holders (process, host, keys, current_keys, alive_until)
   values ($1, $2, $3::text[], $4::text[], now() + $5::bigint * interval '1 ms')
   on conflict (process) do update
   set keys = excluded.keys, current_keys = excluded.current_keys, alive_until = excluded.alive_until`,
);
const alive = statement(
  "keyHolders.alive",
  "select process, host, keys, current_keys from key_holders where alive_until > now() order by host, process",
);
const deleteOne = statement("keyHolders.delete", "delete from key_holders where process = $1");
const deleteDead = statement(
  "keyHolders.deleteDead",
  "delete from key_holders where alive_until < now() - interval '1 hour'",
);

/**
 * Records the encryption keys that a process has read (`keys`) and those of them that it encrypts with (`current_keys`), and
 * that it is alive for `aliveMs`. Deletes processes that died over an hour ago.
 */
export async function updateKeyHolder(db: Queryable, holder: KeyHolder, aliveMs: number): Promise<void> {
  await db.query(heartbeat, [holder.process, holder.host, holder.keys, holder.current_keys, aliveMs]);
  await db.query(deleteDead);
}

/** Returns the processes that are alive, with their encryption keys. */
export function listKeyHolders(db: Queryable): Promise<KeyHolder[]> {
  return db.query<KeyHolder>(alive);
}

/** Deletes the record of a process that ends. */
export async function deleteKeyHolder(db: Queryable, process: string): Promise<void> {
  await db.query(deleteOne, [process]);
}

/** A webhook secret, as it is stored. */
type SecretRow = Pick<Tables["webhook_secrets"], "id" | "endpoint_id" | "encrypted">;

// $3: the fingerprint of a key, and a dot. Every secret that the key encrypted begins with it.
const lockSecrets = statement(
  "keyRotation.lockSecrets",
  `select id, endpoint_id, encrypted from webhook_secrets
   where system_id = $1 and id > $2 and left(encrypted, length($3)) <> $3
   order by id limit $4 for update`,
);
const setSecret = statement(
  "keyRotation.setSecret",
  "update webhook_secrets set encrypted = $4 where system_id = $1 and endpoint_id = $2 and id = $3",
);
// `^@`: begins with.
const countSecrets = statement(
  "keyRotation.countSecrets",
  `select count(*) as n from webhook_secrets
   where system_id = $1 and encrypted ^@ any ($2::text[]) and (expires_at is null or expires_at > now())`,
);

/**
 * Locks and returns webhook secrets with ids above `after`, by id, that were not encrypted with the key of
 * `fingerprint`.
 */
export function lockSecretsOfOtherKeys(
  tx: Transaction,
  systemId: string,
  { after, fingerprint, limit }: { readonly after: string; readonly fingerprint: string; readonly limit: number },
): Promise<SecretRow[]> {
  return tx.query<SecretRow>(lockSecrets, [systemId, after, `${fingerprint}.`, limit]);
}

/** Stores a webhook secret that was encrypted anew. */
export async function updateEncrypted(tx: Transaction, systemId: string, row: SecretRow): Promise<void> {
  await tx.query(setSecret, [systemId, row.endpoint_id, row.id, row.encrypted]);
}

/** Counts the unexpired webhook secrets that were encrypted with the keys of these fingerprints. */
export async function countSecretsOfKeys(
  db: Queryable,
  systemId: string,
  fingerprints: readonly string[],
): Promise<number> {
  const prefixes = fingerprints.map((fingerprint) => `${fingerprint}.`);
  return (await db.query<{ n: number }>(countSecrets, [systemId, prefixes]))[0]?.n ?? 0;
}

/** A person's id, and the encrypted secret of the person's authenticator app. */
type AppRow = { readonly id: string; readonly totp_secret: string };

const lockApps = statement(
  "keyRotation.lockAuthenticatorApps",
  `select id, totp_secret from people where totp_secret is not null and id > $1 order by id limit $2 for update`,
);
const setApp = statement("keyRotation.setAuthenticatorApp", "update people set totp_secret = $2 where id = $1");

/**
 * Locks and returns people with ids above `after`, by id, who have an authenticator app, whichever key encrypted its secret:
 * the caller finds out which.
 */
export function lockAuthenticatorApps(tx: Transaction, after: string, limit: number): Promise<AppRow[]> {
  return tx.query<AppRow>(lockApps, [after, limit]);
}

/** Stores the secret of an authenticator app that was encrypted anew. */
export async function updateTotpSecret(tx: Transaction, { id, totp_secret }: AppRow): Promise<void> {
  await tx.query(setApp, [id, totp_secret]);
}
