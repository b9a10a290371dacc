import { everySystemOf } from "../../city/systems/service.ts";
import { commandError } from "../../command-errors.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import type { SigningSecret } from "./dispatch-endpoints.ts";
import {
  lockExistingEndpoint,
  MAX_ACTIVE_SECRETS,
  MAX_OVERLAP_DAYS,
  MAX_OVERLAP_MS,
  type EndpointScope,
  recordEndpointAct,
  type SecretContext,
} from "./endpoint-context.ts";
import type { EndpointRow } from "./endpoint-queries.ts";
import {
  type EncryptionKeyRow,
  findEncryptionKey,
  insertEncryptionKey,
  insertSecret,
  listActiveSecrets,
  listSecrets,
  type SecretRow,
  updateSecretsEnd,
} from "./secret-queries.ts";
import { createSecret, describeMismatch, type SecretCipher, SecretsFileMismatch } from "./secret.ts";

/*
 * Creates, rotates, shows and decrypts the secrets of endpoints, and refuses to use a wrong secrets file. A secret signs an
 * endpoint's deliveries; it is active until it expires. A key here is never an API key: it is one of the secrets file, which
 * all processes of a deployment share, and encrypts the secrets for the database.
 */

/** A secret that replaces others. */
export interface NewSecret {
  /** The text of the secret. Later, only `showSecret` returns it. */
  readonly secret: string;
  /** When the secrets before it stop signing, at the latest. */
  readonly old_secrets_end_at: Date;
}

export interface RotatedSecret extends NewSecret {
  readonly endpoint: EndpointRow;
}

/**
 * Creates a new secret. Older secrets still sign for `overlap` milliseconds (0 to 7 d), unless they end earlier.
 * @param input `lost`: the secrets file that encrypted the old ones is gone for good; they end now
 * @throws ServiceError when there is no endpoint, `overlap` is not allowed, too many secrets sign already, or this process's
 * secrets file is not the deployment's
 */
export async function rotateSecret(
  context: SecretContext,
  input: EndpointScope & { readonly overlap: number; readonly lost?: boolean },
): Promise<RotatedSecret> {
  const { systemId, overlap, lost = false } = input;
  if (overlap < 0 || overlap > MAX_OVERLAP_MS) {
    throw commandError("invalid_parameter", "secretOverlap", { days: MAX_OVERLAP_DAYS });
  }
  return context.db.transaction(async (tx) => {
    const endpoint = await lockExistingEndpoint(tx, input);
    if (!lost) await requireSharedKey(context, tx);
    const replaced = await replaceSecret(context, tx, systemId, endpoint, lost ? 0 : overlap);
    const { old_secrets_end_at } = replaced;
    const detail = { old_secrets_end_at, lost };
    await recordEndpointAct(context, tx, systemId, "webhook.secret_rotated", endpoint.id, detail);
    return { endpoint, ...replaced };
  });
}

/**
 * Returns the newest secret of an endpoint, in plain text. The audit log records who has seen it.
 * @throws ServiceError when there is no endpoint, or this process's secrets file cannot decrypt the secret
 */
export async function showSecret(
  context: SecretContext,
  scope: EndpointScope,
): Promise<{ readonly id: string; readonly secret: string }> {
  const { systemId } = scope;
  return context.db.transaction(async (tx) => {
    const endpoint = await lockExistingEndpoint(tx, scope);
    const [newest] = await decryptActiveSecrets({ ...context, db: tx }, systemId, endpoint.id);
    if (newest === undefined) throw new Error(`${endpoint.id} has no secret that signs`);
    await recordEndpointAct(context, tx, systemId, "webhook.secret_shown", endpoint.id, { secret_id: newest.id });
    return { id: newest.id, secret: newest.text };
  });
}

/**
 * Returns the secrets of an endpoint that sign now, newest first.
 * @throws ServiceError when the key of one is not in this process's secrets file; DamagedSecret when one is damaged
 */
export async function decryptActiveSecrets(
  { db, clock, cipher }: KeyContext & { readonly db: Queryable },
  systemId: string,
  endpointId: string,
): Promise<readonly (SigningSecret & { readonly id: string })[]> {
  const rows = await listActiveSecrets(db, systemId, endpointId, new Date(clock()));
  try {
    return rows.map(({ id, encrypted, expires_at: expiresAt }) => ({
      id,
      text: cipher.decrypt({ systemId, endpointId, secretId: id }, encrypted),
      expiresAt: expiresAt?.getTime() ?? null,
    }));
  } catch (error) {
    if (!(error instanceof SecretsFileMismatch)) throw error;
    throw commandError("secrets_file_mismatch", "foreignSecrets", { mismatch: error.message });
  }
}

/** Creates a secret; older ones end after `overlap` milliseconds. @throws ServiceError when there are too many */
export async function replaceSecret(
  context: SecretContext,
  tx: Transaction,
  systemId: string,
  endpoint: EndpointRow,
  overlap: number,
): Promise<NewSecret> {
  const now = context.clock();
  const endAt = new Date(now + overlap);
  await updateSecretsEnd(tx, systemId, endpoint.id, endAt, new Date(now));
  const { length: active } = await listActiveSecrets(tx, systemId, endpoint.id, new Date(now));
  if (active >= MAX_ACTIVE_SECRETS) throw commandError("invalid_parameter", "tooManySecrets", { count: active });
  return { secret: await addSecret(context, tx, systemId, endpoint), old_secrets_end_at: endAt };
}

/** Creates a secret. @returns its text */
export async function addSecret(
  context: SecretContext,
  tx: Transaction,
  systemId: string,
  { id: endpointId, signature }: Pick<EndpointRow, "id" | "signature">,
): Promise<string> {
  const { ids, cipher, clock } = context;
  const secret = createSecret((bytes) => ids.randomBytes(bytes), signature === "both" ? "base64" : "base64url");
  const id = ids.next("secret");
  const encrypted = cipher.encrypt({ systemId, endpointId, secretId: id }, secret);
  const createdAt = new Date(clock());
  await insertSecret(tx, { system_id: systemId, id, endpoint_id: endpointId, encrypted, created_at: createdAt });
  await recordKey(context, tx, systemId);
  return secret;
}

type KeyContext = Pick<SecretContext, "cipher" | "clock">;

/**
 * Refuses to encrypt with a secrets file that is not the deployment's: one that lacks the key of an active secret, or the
 * key that was recorded last. Every system is checked, because one process serves them all.
 * @throws ServiceError
 */
export async function requireSharedKey({ cipher }: KeyContext, tx: Transaction): Promise<void> {
  for (const { system_id: systemId } of await everySystemOf(tx)) {
    const undecryptable = await listUndecryptable(tx, systemId, cipher);
    if (undecryptable.length > 0) {
      const endpointIds = [...new Set(undecryptable.map((secret) => secret.endpoint_id))];
      throw commandError("secrets_file_mismatch", "foreignSecrets", { mismatch: describeMismatch(endpointIds) });
    }
    const recorded = await findEncryptionKey(tx, systemId);
    if (recorded === undefined || cipher.hasKey(recorded.fingerprint)) continue;
    throw commandError("secrets_file_mismatch", "olderKey", { since: recorded.recorded_at.toISOString() });
  }
}

/** Records that a system's secrets are encrypted with this process's key, so that other processes can check theirs. */
function recordKey({ cipher, clock }: KeyContext, db: Queryable, systemId: string): Promise<void> {
  return insertEncryptionKey(db, systemId, cipher.fingerprint, new Date(clock()));
}

/** Returns the key that the service or a command recorded last; undefined: none was ever recorded. */
export async function findLatestKey(db: Queryable): Promise<EncryptionKeyRow | undefined> {
  let latest: EncryptionKeyRow | undefined;
  for (const { system_id: systemId } of await everySystemOf(db)) {
    const recorded = await findEncryptionKey(db, systemId);
    if (recorded !== undefined && (latest === undefined || recorded.recorded_at > latest.recorded_at))
      latest = recorded;
  }
  return latest;
}

/**
 * Records the key of the service's secrets file for a system, even before the system has a secret. Records nothing if the
 * file cannot decrypt all active secrets.
 */
export async function recordServiceKey(context: KeyContext, db: Queryable, systemId: string): Promise<void> {
  const undecryptable = await listUndecryptable(db, systemId, context.cipher);
  if (undecryptable.length === 0) await recordKey(context, db, systemId);
}

/** Like `recordServiceKey`, for every system. */
export async function recordServiceKeys(context: KeyContext, db: Queryable): Promise<void> {
  for (const { system_id: systemId } of await everySystemOf(db)) await recordServiceKey(context, db, systemId);
}

/** Returns the active secrets that were encrypted with a key that this process does not have. */
async function listUndecryptable(db: Queryable, systemId: string, cipher: SecretCipher): Promise<SecretRow[]> {
  const secrets = await listSecrets(db, systemId);
  return secrets.filter(({ ended, encrypted }) => !ended && !cipher.canDecrypt(encrypted));
}
