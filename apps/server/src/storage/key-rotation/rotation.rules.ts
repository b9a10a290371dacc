import { hash } from "node:crypto";
import type { AllSecrets, SecretsFile } from "../secrets/secrets.ts";

/** A process, and the keys of the secrets file that it has read, by fingerprint. They are encryption keys, not API keys. */
export interface KeyHolder {
  readonly process: string;
  readonly host: string;
  /** The keys that it can decrypt with. */
  readonly keys: readonly string[];
  /** The keys that it encrypts with: one for cursors and one for webhook secrets. */
  readonly current_keys: readonly string[];
}

/**
 * The step of a key rotation. `none`: no rotation is in progress. `added`: the file has new keys. `used`: they encrypt, and
 * the old keys have not been removed.
 */
export type RotationStep = "none" | "added" | "used";

/** Returns the step of the rotation that the file records. */
export function stepOf({ rotation }: SecretsFile): RotationStep {
  if (rotation === undefined) return "none";
  return rotation.used_at === null ? "added" : "used";
}

/** A key as the file has it: its id, and its 32 bytes in base64url. */
type Key = SecretsFile["cursor_keys"][number];

/**
 * Returns the file with a new key of each kind at the end of its list: processes decrypt with it, but do not encrypt with it
 * yet.
 */
export function withNewKeys(file: SecretsFile, newKey: () => string, now: Date): SecretsFile {
  const add = (keys: readonly Key[]) => [...keys, { id: unusedId(keys), key: newKey() }];
  return {
    ...file,
    cursor_keys: add(file.cursor_keys),
    webhook_keys: add(file.webhook_keys ?? []),
    rotation: { added_at: now.toISOString(), used_at: null },
  };
}

/** Returns the file with the newest key of each list moved to the front: the first key encrypts. */
export function withNewKeysInUse(file: SecretsFile, now: Date): SecretsFile {
  if (stepOf(file) !== "added") return file;
  const use = (keys: readonly Key[]) => [...keys.slice(-1), ...keys.slice(0, -1)];
  return {
    ...file,
    cursor_keys: use(file.cursor_keys),
    webhook_keys: use(file.webhook_keys ?? []),
    rotation: { added_at: file.rotation?.added_at ?? now.toISOString(), used_at: now.toISOString() },
  };
}

/** Returns the file with only the keys that encrypt: the first of each list. */
export function withoutOldKeys({ rotation: _ended, ...file }: SecretsFile): SecretsFile {
  return { ...file, cursor_keys: file.cursor_keys.slice(0, 1), webhook_keys: (file.webhook_keys ?? []).slice(0, 1) };
}

/** Returns an id that no key has: one byte, the next after the highest where possible; after 255, begins again at 0. */
function unusedId(keys: readonly Key[]): number {
  const used = new Set(keys.map(({ id }) => id));
  const highest = Math.max(...used, 0);
  const candidates = Array.from({ length: 256 }, (_, index) => (highest + 1 + index) % 256);
  const free = candidates.find((id) => !used.has(id));
  if (free === undefined)
    throw new Error("The secrets file has 256 keys already. Remove those that are no longer needed.");
  return free;
}

/** Returns fingerprints that distinguish the keys of a process without revealing them. */
export function fingerprintsOf({ cursorKeys, webhookKeys }: AllSecrets): Pick<KeyHolder, "keys" | "current_keys"> {
  const cursor = cursorKeys.map(({ key }) => fingerprintOf("cursor", key));
  const webhook = webhookKeys.map(({ key }) => fingerprintOf("webhook", key));
  return { keys: [...cursor, ...webhook], current_keys: [...cursor.slice(0, 1), ...webhook.slice(0, 1)] };
}

function fingerprintOf(kind: string, key: Uint8Array): string {
  return hash("sha256", Buffer.concat([Buffer.from(`${kind} key fingerprint`), key]), "base64url").slice(0, 12);
}

/** Returns the processes that cannot decrypt with every key of a file yet. */
export function holdersWithout(holders: readonly KeyHolder[], secrets: AllSecrets): KeyHolder[] {
  const { keys } = fingerprintsOf(secrets);
  return holders.filter((holder) => !keys.every((key) => holder.keys.includes(key)));
}

/** Returns the processes that still encrypt with another key than a file's first. */
export function holdersNotUsing(holders: readonly KeyHolder[], secrets: AllSecrets): KeyHolder[] {
  const { current_keys: current } = fingerprintsOf(secrets);
  return holders.filter((holder) => !current.every((key) => holder.current_keys.includes(key)));
}
