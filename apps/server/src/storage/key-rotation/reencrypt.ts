import { systemsOf } from "../../city/systems/service.ts";
import { authenticatorContext, SIGN_IN_PURPOSE } from "../../console/people/authenticator-app.ts";
import {
  createSecretCipher,
  DamagedSecret,
  type SecretCipher,
  SecretsFileMismatch,
} from "../../webhooks/endpoints/secret.ts";
import type { Database, Transaction } from "../db/database.ts";
import { createTokenCipher, type TokenCipher } from "../secrets/encryption.ts";
import type { AllSecrets } from "../secrets/secrets.ts";
import {
  countSecretsOfOtherKeys,
  lockAuthenticatorApps,
  lockSecretsOfOtherKeys,
  updateEncrypted,
  updateTotpSecret,
} from "./queries.ts";

export interface Reencrypted {
  /** What is now encrypted with the first key and was not before. */
  readonly changed: number;
  /** What no key of the file decrypts: it was lost before. */
  readonly unreadable: number;
}

/** Rows in one transaction. More keep a delivery's endpoint locked for longer; fewer take more round trips. */
const BATCH_SIZE = 100;

/**
 * Encrypts everything that is stored with the first key of the secrets file, in batches: what is stopped midway goes on
 * with what is left.
 */
export async function reencryptAll(db: Database, secrets: AllSecrets): Promise<Reencrypted> {
  const cipher = createSecretCipher(secrets.webhookKeys);
  const tokens = createTokenCipher(secrets.webhookKeys, SIGN_IN_PURPOSE);
  const total = { changed: 0, unreadable: 0 };
  const inBatches = async (batch: (tx: Transaction, after: string) => Promise<Batch>) => {
    for (let after = ""; ;) {
      const done = await db.transaction((tx) => batch(tx, after));
      total.changed += done.changed;
      total.unreadable += done.unreadable;
      if (done.last === undefined) return;
      after = done.last;
    }
  };
  for (const { system_id: systemId } of await systemsOf(db))
    await inBatches((tx, after) => reencryptSecrets(tx, systemId, cipher, after));
  await inBatches((tx, after) => reencryptApps(tx, tokens, after));
  return total;
}

/** Webhook secrets that sign, and authenticator apps, that are encrypted with a key that is not the file's first. */
export async function countLeft(db: Database, secrets: AllSecrets): Promise<number> {
  const { fingerprint } = createSecretCipher(secrets.webhookKeys);
  let left = 0;
  for (const { system_id: systemId } of await systemsOf(db))
    left += await countSecretsOfOtherKeys(db, systemId, fingerprint);
  return left + (await countApps(db, createTokenCipher(secrets.webhookKeys, SIGN_IN_PURPOSE)));
}

/** Those that no key decrypts were lost before, and need none. */
async function countApps(db: Database, tokens: TokenCipher): Promise<number> {
  let left = 0;
  for (let after = ""; ;) {
    const rows = await db.transaction((tx) => lockAuthenticatorApps(tx, after, BATCH_SIZE));
    for (const { id, totp_secret: encrypted } of rows)
      if (!tokens.isCurrent(encrypted) && tokens.decrypt(authenticatorContext(id), encrypted) !== undefined) left++;
    if (rows.length < BATCH_SIZE) return left;
    after = rows.at(-1)?.id ?? "";
  }
}

interface Batch extends Reencrypted {
  /** The id to go on behind; undefined: it was the last batch. */
  readonly last: string | undefined;
}

async function reencryptSecrets(
  tx: Transaction,
  systemId: string,
  cipher: SecretCipher,
  after: string,
): Promise<Batch> {
  const options = { after, fingerprint: cipher.fingerprint, limit: BATCH_SIZE };
  const rows = await lockSecretsOfOtherKeys(tx, systemId, options);
  let changed = 0;
  for (const row of rows) {
    const owner = { systemId, endpointId: row.endpoint_id, secretId: row.id };
    const text = decryptOrNot(() => cipher.decrypt(owner, row.encrypted));
    if (text === undefined) continue;
    await updateEncrypted(tx, systemId, { ...row, encrypted: cipher.encrypt(owner, text) });
    changed++;
  }
  return { changed, unreadable: rows.length - changed, last: rows.length < BATCH_SIZE ? undefined : rows.at(-1)?.id };
}

async function reencryptApps(tx: Transaction, tokens: TokenCipher, after: string): Promise<Batch> {
  const rows = await lockAuthenticatorApps(tx, after, BATCH_SIZE);
  const old = rows.filter((row) => !tokens.isCurrent(row.totp_secret));
  let changed = 0;
  for (const { id, totp_secret: encrypted } of old) {
    const text = tokens.decrypt(authenticatorContext(id), encrypted);
    if (text === undefined) continue;
    await updateTotpSecret(tx, { id, totp_secret: tokens.encrypt(authenticatorContext(id), text) });
    changed++;
  }
  return { changed, unreadable: old.length - changed, last: rows.length < BATCH_SIZE ? undefined : rows.at(-1)?.id };
}

function decryptOrNot(decrypt: () => string): string | undefined {
  try {
    return decrypt();
  } catch (error) {
    if (error instanceof SecretsFileMismatch || error instanceof DamagedSecret) return undefined;
    throw error;
  }
}
