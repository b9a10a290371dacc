import { hkdfSync } from "node:crypto";
import { link, open, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectory, tryExclusiveLock, waitForLock } from "@bikeshare/embedded-postgres";
import { z } from "zod";
import type { CursorKey } from "../../http/cursor.ts";
import type { SecretKey } from "../../webhooks/endpoints/secret.ts";
import { codeOf } from "../db/errors.ts";

/*
 * Reads, creates and changes the secrets file. Its keys encrypt cursors and stored secrets; they are not API keys. They must
 * be the same in every process of a deployment.
 */

/** Everything in the secrets file. */
export interface AllSecrets {
  /** The keys for cursors. The first key encrypts new cursors; all keys decrypt. */
  readonly cursorKeys: readonly CursorKey[];
  /**
   * The keys for webhook secrets, and for tokens of other purposes such as download links. The first key encrypts new
   * secrets; all keys decrypt.
   */
  readonly webhookKeys: readonly SecretKey[];
}

type RandomBytes = (bytes: number) => Uint8Array;

/** At least one key, each with another id, which is one byte. 32 bytes have 43 characters in base64url. */
const keysShape = z
  .array(z.object({ id: z.number().int().min(0).max(255), key: z.string().regex(/^[A-Za-z0-9_-]{43}$/) }))
  .min(1)
  .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length);
/** The progress of a rotation of keys: when the new keys were added (`added_at`), and since when they encrypt. */
const rotationShape = z.object({ added_at: z.string().datetime(), used_at: z.string().datetime().nullable() });
const fileShape = z
  .object({ cursor_keys: keysShape, webhook_keys: keysShape.optional(), rotation: rotationShape.optional() })
  .passthrough();
/** The content of the file. Of several keys, the first encrypts. */
export type SecretsFile = z.infer<typeof fileShape>;

/** Returns the path of the secrets file: SECRETS_FILE, or a file in the data directory. */
export function secretsPath(config: { readonly secretsFile: string | undefined; readonly dataDir: string }): string {
  return config.secretsFile ?? join(config.dataDir, "secrets.json");
}

/**
 * Reads the secrets file, or creates it, readable by its owner alone. Adds missing secrets to a file of an earlier version.
 * @throws Error when the file is no secrets file, or lacks a secret and cannot be written
 */
export async function loadSecrets(path: string, randomBytes: RandomBytes): Promise<AllSecrets> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) {
    await create(path, randomBytes);
    // Reads the file again: if another process created it first, the secrets of that process count.
    return loadSecrets(path, randomBytes);
  }
  const file = parseSecrets(path, text);
  if (file.webhook_keys === undefined) {
    await addWebhookKey(path, text, file, randomBytes);
    return loadSecrets(path, randomBytes);
  }
  return secretsIn(file);
}

/** Parses the text of a secrets file. @throws Error when the text is not a secrets file's */
export function parseSecrets(path: string, text: string): SecretsFile {
  const parsed = fileShape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new Error(
    `The secrets file ${path} is damaged. Restore it from a backup. Without it, cursors given out before stop working, and every partner's webhook secret must be rotated.`,
  );
}

/** Returns the keys of a file that has all of them. */
export function secretsIn({ cursor_keys: cursorKeys, webhook_keys: webhookKeys = [] }: SecretsFile): AllSecrets {
  return { cursorKeys: cursorKeys.map(readKey), webhookKeys: webhookKeys.map(readKey) };
}

/**
 * Changes the file atomically. If it is changed meanwhile, calls `change` again with the new content.
 * @returns the content that was written
 */
export async function changeSecretsFile(
  path: string,
  change: (file: SecretsFile) => SecretsFile,
  randomBytes: RandomBytes,
): Promise<SecretsFile> {
  const before = await readFile(path, "utf8");
  const changed = textOf(change(parseSecrets(path, before)));
  const isReplaced = await replace(await realpath(path), before, changed, randomBytes);
  return isReplaced ? parseSecrets(path, changed) : changeSecretsFile(path, change, randomBytes);
}

function readKey({ id, key }: { readonly id: number; readonly key: string }): CursorKey & SecretKey {
  return { id, key: Buffer.from(key, "base64url") };
}

/** Creates the file with new keys, unless another process has just created it. */
async function create(path: string, randomBytes: RandomBytes): Promise<void> {
  // By default this is the data directory: PostgreSQL's account must pass through it, and nobody else may list it.
  makeDirectory(dirname(path), 0o711);
  const key = () => ({ id: 1, key: Buffer.from(randomBytes(32)).toString("base64url") });
  const contents = textOf({ cursor_keys: [key()], webhook_keys: [key()] });
  // The file is complete before it gets its name: a process that starts at the same moment must not read half a file.
  const draft = draftName(path, randomBytes);
  try {
    await writeFile(draft, contents, { flag: "wx", mode: 0o600, flush: true });
    await link(draft, path);
  } catch (error) {
    // `EEXIST`: another process has created the file first.
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Adds the webhook key that a file of an earlier version lacks. Derives it from the cursor key, so that processes that do
 * this at the same time, or on copies of the file on several machines, all get the same key.
 */
async function addWebhookKey(path: string, text: string, file: SecretsFile, randomBytes: RandomBytes): Promise<void> {
  const [source] = file.cursor_keys;
  if (source === undefined) throw new Error("the file's shape has at least one cursor key");
  const made = hkdfSync("sha256", Buffer.from(source.key, "base64url"), "", "bikeshare webhook key", 32);
  const key = Buffer.from(made).toString("base64url");
  try {
    await replace(await realpath(path), text, textOf({ ...file, webhook_keys: [{ id: 1, key }] }), randomBytes);
  } catch (error) {
    throw new Error(
      `The secrets file ${path} has no webhook_keys yet, and they cannot be added. Make the file and its directory writable for one start, or add "webhook_keys": [{ "id": 1, "key": "<32 random bytes in base64url>" }] yourself, the same on every machine.`,
      { cause: error },
    );
  }
}

/**
 * Replaces a file atomically. Does nothing if its content is no longer `before`: the caller must then read it again.
 * @returns whether it was replaced
 */
async function replace(path: string, before: string, after: string, randomBytes: RandomBytes): Promise<boolean> {
  const draft = draftName(path, randomBytes);
  const { uid, gid, mode } = await stat(path);
  const handle = await open(draft, "wx", 0o600);
  try {
    const own = await handle.stat();
    // A command that runs as root must not lock out the account that owns the file.
    if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid);
    // Keeps the rights of the owner and the group to read and write. Others get none.
    await handle.chmod(mode & 0o660);
    await handle.writeFile(after);
    await handle.sync();
    return await withLock(path, async () => {
      if ((await readFile(path, "utf8")) !== before) return false;
      await rename(draft, path);
      return true;
    });
  } finally {
    await handle.close();
    await rm(draft, { force: true });
  }
}

/** Runs `work` while no other process may replace the file. */
async function withLock<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const lockFile = `${path}.lock`;
  await ensureLock(path, lockFile);
  const lock = await waitForLock(() => tryExclusiveLock(lockFile));
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** Creates the lock file if it is missing, for the owner of the secrets file. */
async function ensureLock(path: string, lockFile: string): Promise<void> {
  const { uid, gid } = await stat(path);
  try {
    const handle = await open(lockFile, "wx", 0o600);
    // Only a file that this process has just made is given away: a link that was put here could lead to another file.
    try {
      await handle.chown(uid, gid);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** Returns the text of a file with this content. */
function textOf(file: SecretsFile): string {
  return `${JSON.stringify(file, null, 2)}\n`;
}

/** Returns a random name beside the file, for its content until it is complete. */
function draftName(path: string, randomBytes: RandomBytes): string {
  return `${path}.${Buffer.from(randomBytes(8)).toString("hex")}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
