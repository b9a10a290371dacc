import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { everySystemOf } from "../../city/systems/service.ts";
import type { ActorContext } from "../../command-context.ts";
import { authenticatorContext, SIGN_IN_PURPOSE } from "../../console/people/authenticator-app.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { recordServiceKeys } from "../../webhooks/endpoints/endpoint-secrets.ts";
import {
  createSecretCipher,
  DamagedSecret,
  type SecretCipher,
  SecretsFileMismatch,
} from "../../webhooks/endpoints/secret.ts";
import type { Database, Transaction } from "../db/database.ts";
import { createTokenCipher, type TokenCipher } from "../secrets/encryption.ts";
import { type AllSecrets, changeSecretsFile, parseSecrets, type SecretsFile, secretsIn } from "../secrets/secrets.ts";
import {
  countSecretsOfKeys,
  listKeyHolders,
  lockAuthenticatorApps,
  lockSecretsOfOtherKeys,
  updateEncrypted,
  updateTotpSecret,
} from "./queries.ts";
import {
  fingerprintsOf,
  holdersNotUsing,
  holdersWithout,
  type KeyHolder,
  stepOf,
  withNewKeys,
  withNewKeysInUse,
  withoutOldKeys,
} from "./rotation.rules.ts";

/*
 * Replaces the keys of the secrets file. These keys encrypt cursors, webhook secrets, and the secrets of authenticator apps,
 * among others; they are not API keys. A holder is a running process, with the keys that it has read from the file.
 */

/** The dependencies of replacing the keys of the secrets file. */
export interface RotationContext extends ActorContext {
  readonly db: Database;
  /** The path of the secrets file. */
  readonly path: string;
  /** Milliseconds that the processes may take to read the file. */
  readonly waitMs: number;
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** Reports the reason for waiting. */
  readonly onWaiting: (text: string) => void;
}

/** What a rotation has done. */
export interface Rotation extends Reencrypted {
  /** The keys that encrypt from now on, by fingerprint. */
  readonly keys: readonly string[];
}

/** Milliseconds between two checks of the keys that the processes have read. */
const CHECK_INTERVAL_MS = 250;
/** Bytes of a key. */
const BYTES = 32;
/** How long callers are assumed to use an encrypted value that they hold, such as a cursor or a sign-in in progress. */
const IN_USE_MS = 3_600_000;

/**
 * Replaces the keys of the secrets file while the service runs. New keys are added, are used once every process can decrypt
 * with them, and everything stored is encrypted anew once every process encrypts with them. If a rotation is stopped, the
 * next call continues it: the file and the database record its progress.
 * @throws Error when processes do not read the file in time
 */
export async function rotateKeys(context: RotationContext): Promise<Rotation> {
  const { path, db, ids, clock } = context;
  const newKey = () => Buffer.from(ids.randomBytes(BYTES)).toString("base64url");
  const change = (to: (file: SecretsFile) => SecretsFile) =>
    changeSecretsFile(path, to, (bytes) => ids.randomBytes(bytes));
  const now = () => new Date(clock());
  let file = await readSecretsFile(path);
  if (stepOf(file) === "none") {
    file = await change((before) => (stepOf(before) === "none" ? withNewKeys(before, newKey, now()) : before));
    await record(context, "secrets.keys_added", secretsIn(file));
  }
  if (stepOf(file) === "added") {
    await waitUntilNone(context, (holders) => holdersWithout(holders, secretsIn(file)));
    file = await change((before) => withNewKeysInUse(before, now()));
    await record(context, "secrets.keys_used", secretsIn(file));
  }
  const secrets = secretsIn(file);
  await waitUntilNone(context, (holders) => holdersNotUsing(holders, secrets));
  const done = await reencryptAll(db, secrets);
  // From now on a service refuses to start with a file that lacks the new key, even if no secret is stored.
  await recordServiceKeys({ clock, cipher: createSecretCipher(secrets.webhookKeys) }, db);
  return { ...done, keys: fingerprintsOf(secrets).current_keys };
}

/**
 * Removes all keys but those that encrypt, once no stored value needs them.
 * @param isForced whether to remove old keys although callers may still have cursors, or sign-ins in progress, with them
 * @returns how many keys were removed
 * @throws Error when a stored value, a process, or perhaps a caller still needs an old key, new keys are not used yet, or the
 * file is changed meanwhile
 */
export async function removeOldKeys(context: RotationContext, isForced: boolean): Promise<{ removed: number }> {
  const { path, db, ids, clock } = context;
  const before = await readSecretsFile(path);
  const secrets = secretsIn(before);
  const { rotation } = before;
  if (stepOf(before) === "added") throw new Error("The new keys are not used yet. Run `secrets rotate` first.");
  await waitUntilNone(context, (holders) => holdersNotUsing(holders, secrets));
  const left = await countLeft(db, secrets);
  if (left > 0)
    throw new Error(
      `${left} webhook secrets and authenticator apps are encrypted with an old key. Run \`secrets rotate\`, which encrypts them anew.`,
    );
  // NaN if no rotation is recorded: the comparison below is then false, and nothing is refused.
  const usedAt = Date.parse(rotation?.used_at ?? "");
  if (!isForced && clock() - usedAt < IN_USE_MS) {
    throw new Error(
      `Callers may still hold cursors of the old keys, or be signing in with them, until ${new Date(usedAt + IN_USE_MS).toISOString()}. Wait until then, or say --now: their cursors are refused then.`,
    );
  }
  const remove = (file: SecretsFile) => {
    // The checks above know nothing of keys that another command has added since.
    if (!isDeepStrictEqual(file, before))
      throw new Error(`${path} was changed while its keys were checked. Run this command again.`);
    return withoutOldKeys(file);
  };
  const after = await changeSecretsFile(path, remove, (bytes) => ids.randomBytes(bytes));
  const removed = fingerprintsOf(secrets).keys.length - fingerprintsOf(secretsIn(after)).keys.length;
  await record(context, "secrets.keys_removed", secretsIn(after));
  return { removed };
}

async function readSecretsFile(path: string): Promise<SecretsFile> {
  return parseSecrets(path, await readFile(path, "utf8"));
}

/** Waits until `find` returns no process. @throws Error that names the remaining processes after `waitMs` */
async function waitUntilNone(
  { db, path, waitMs, sleep, onWaiting }: RotationContext,
  find: (holders: readonly KeyHolder[]) => readonly KeyHolder[],
): Promise<void> {
  let reported = "";
  for (let waited = 0; ; waited += CHECK_INTERVAL_MS) {
    const late = find(await listKeyHolders(db));
    if (late.length === 0) return;
    const names = late.map(({ process, host }) => `${process} on ${host}`).join(", ");
    if (waited >= waitMs) {
      throw new Error(
        `${late.length === 1 ? "A process has" : `${late.length} processes have`} not read ${path} as it is now: ${names}. Copy it to their machines, then run this command again: it goes on from here.`,
      );
    }
    if (names !== reported) onWaiting(`Waiting for processes to read ${path}: ${names}.`);
    reported = names;
    await sleep(CHECK_INTERVAL_MS);
  }
}

/** Writes an entry into the audit log of every system. */
async function record(context: RotationContext, action: string, secrets: AllSecrets): Promise<void> {
  const detail = { keys: fingerprintsOf(secrets).keys };
  for (const { system_id: systemId } of await everySystemOf(context.db))
    await insertActOf(context, context.db, { systemId, action, subject: "secrets file", detail });
}

/** How many values were encrypted anew. */
interface Reencrypted {
  /** Values that are now encrypted with the first key and were not before. */
  readonly changed: number;
  /** Values that no key of the file decrypts: they were unreadable before. */
  readonly unreadable: number;
}

/** Rows in one transaction. Too low: takes more round trips. Too high: keeps rows locked for longer. */
const BATCH_SIZE = 100;

/** Encrypts every stored value with the first key of the secrets file, in batches: an interrupted run can be continued. */
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
  for (const { system_id: systemId } of await everySystemOf(db))
    await inBatches((tx, after) => reencryptSecrets(tx, systemId, cipher, after));
  await inBatches((tx, after) => reencryptApps(tx, tokens, after));
  return total;
}

/**
 * Counts the unexpired webhook secrets, and the authenticator apps, that an old key of the file encrypted. Ignores those that
 * no key of the file decrypts: they are lost already and need no key.
 */
export async function countLeft(db: Database, secrets: AllSecrets): Promise<number> {
  const oldKeys = secrets.webhookKeys.slice(1).map((key) => createSecretCipher([key]).fingerprint);
  let left = 0;
  for (const { system_id: systemId } of await everySystemOf(db))
    left += await countSecretsOfKeys(db, systemId, oldKeys);
  return left + (await countApps(db, createTokenCipher(secrets.webhookKeys, SIGN_IN_PURPOSE)));
}

/**
 * Counts the authenticator apps whose secret an old key encrypted. Decrypts those that the first key did not encrypt,
 * because the database cannot tell whether a key of the file decrypts them.
 */
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

/** The result of encrypting one batch anew. */
interface Batch extends Reencrypted {
  /** The last id of the batch, after which the next one begins; undefined: it was the last batch. */
  readonly last: string | undefined;
}

/** Encrypts the next webhook secrets of a system anew. @param after the id behind which to begin; empty: the first one */
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

/** Encrypts the secrets of the next people's authenticator apps anew. @param after as for `reencryptSecrets` */
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

/** Returns the decrypted text; undefined: no key of the file decrypts it. */
function decryptOrNot(decrypt: () => string): string | undefined {
  try {
    return decrypt();
  } catch (error) {
    if (error instanceof SecretsFileMismatch || error instanceof DamagedSecret) return undefined;
    throw error;
  }
}
