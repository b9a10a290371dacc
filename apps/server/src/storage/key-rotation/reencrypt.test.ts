import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { authenticatorContext, SIGN_IN_PURPOSE } from "../../console/people/authenticator-app.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";
import type { Database, Transaction } from "../db/database.ts";
import { createTokenCipher, type NumberedKey } from "../secrets/encryption.ts";
import { countLeft, reencryptAll, removeOldKeys } from "./rotate.ts";

/** More than two batches of secrets and of authenticator apps. */
const SECRETS = 250;
const APPS = 250;

const [old, next] = [1, 2].map((id): NumberedKey => ({ id, key: randomBytes(32) })) as [NumberedKey, NumberedKey];
const secretsOf = (...keys: NumberedKey[]) => ({ cursorKeys: keys, webhookKeys: keys });

let harness: EndpointsHarness;
let endpointId: string;
beforeEach(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  await harness.rows("delete from webhook_secrets where system_id = $1");
  const names = (n: number) => Array.from({ length: n }, (_, index) => `id-${String(index).padStart(3, "0")}`);
  const cipher = createSecretCipher([old]);
  await harness.rows(
    `insert into webhook_secrets (system_id, id, endpoint_id, encrypted, created_at)
     select $1, w.id, $2, w.encrypted, now() from unnest($3::text[], $4::text[]) as w (id, encrypted)`,
    ...[endpointId, names(SECRETS), names(SECRETS).map((id) => cipher.encrypt(ownerOf(id), `secret of ${id}`))],
  );
  const tokens = createTokenCipher([old], SIGN_IN_PURPOSE);
  await harness.rows(
    `insert into people (id, email, name, created_at, totp_secret)
     select w.id, w.id || '@' || $1::text, w.id, now(), w.encrypted from unnest($2::text[], $3::text[]) as w (id, encrypted)`,
    ...[names(APPS), names(APPS).map((id) => tokens.encrypt(authenticatorContext(id), `app of ${id}`))],
  );
});
afterEach(() => harness.close());

const ownerOf = (secretId: string) => ({ systemId: harness.systemId, endpointId, secretId });

/** A database for a process that is killed after so many changed rows: its uncommitted changes are lost. */
function killedAfter(changes: number): Database {
  let left = changes;
  const killed = (tx: Transaction): Transaction => ({
    ...tx,
    query: (statement, values) => {
      if (statement.name.startsWith("keyRotation.set") && left-- === 0) throw new Error("killed");
      return tx.query(statement, values);
    },
  });
  return { ...harness.db, transaction: (work) => harness.db.transaction((tx) => work(killed(tx))) };
}

/** Returns how many secrets and authenticator apps these keys decrypt. */
async function readable(...keys: NumberedKey[]): Promise<[secrets: number, apps: number]> {
  const cipher = createSecretCipher(keys);
  const tokens = createTokenCipher(keys, SIGN_IN_PURPOSE);
  const secrets = await harness.rows<{ id: string; encrypted: string }>(
    "select id, encrypted from webhook_secrets where system_id = $1",
  );
  const apps = await harness.rows<{ id: string; totp_secret: string }>(
    "select id, totp_secret from people where totp_secret is not null and $1 <> ''",
  );
  const isSecret = ({ id, encrypted }: (typeof secrets)[number]) => {
    try {
      return cipher.decrypt(ownerOf(id), encrypted) === `secret of ${id}`;
    } catch {
      return false;
    }
  };
  const isApp = ({ id, totp_secret }: (typeof apps)[number]) =>
    tokens.decrypt(authenticatorContext(id), totp_secret) === `app of ${id}`;
  return [secrets.filter(isSecret).length, apps.filter(isApp).length];
}

it("who is killed inside a batch loses nothing, the next goes on behind it, and until then the old key is needed", async () => {
  const keys = secretsOf(next, old);
  await expect(reencryptAll(killedAfter(150), keys)).rejects.toThrow("killed");
  expect(await readable(next)).toEqual([100, 0]);
  expect(await readable(next, old)).toEqual([SECRETS, APPS]);
  expect(await countLeft(harness.db, keys)).toBe(SECRETS - 100 + APPS);

  // This process is killed after all secrets, while it changes the authenticator apps.
  await expect(reencryptAll(killedAfter(SECRETS - 100 + 230), keys)).rejects.toThrow("killed");
  expect(await readable(next)).toEqual([SECRETS, 200]);
  expect(await readable(next, old)).toEqual([SECRETS, APPS]);
  expect(await countLeft(harness.db, keys)).toBe(50);

  expect(await reencryptAll(harness.db, keys)).toEqual({ changed: 50, unreadable: 0 });
  expect(await countLeft(harness.db, keys)).toBe(0);
  expect(await readable(next)).toEqual([SECRETS, APPS]);
});

it("secrets and apps that no key of the file decrypts do not keep old keys in the file", async () => {
  const [lost, first] = [3, 4].map((id): NumberedKey => ({ id, key: randomBytes(32) })) as [NumberedKey, NumberedKey];
  const secret = createSecretCipher([lost]).encrypt(ownerOf("id-000"), "secret of id-000");
  await harness.rows("update webhook_secrets set encrypted = $2 where system_id = $1 and id = 'id-000'", secret);
  const app = createTokenCipher([lost], SIGN_IN_PURPOSE).encrypt(authenticatorContext("id-000"), "app of id-000");
  await harness.rows("update people set totp_secret = $2 where id = 'id-000' and $1 <> ''", app);
  const keys = secretsOf(first, old);
  expect(await countLeft(harness.db, keys)).toBe(SECRETS - 1 + APPS - 1);

  expect(await reencryptAll(harness.db, keys)).toEqual({ changed: SECRETS - 1 + APPS - 1, unreadable: 2 });
  expect(await countLeft(harness.db, keys)).toBe(0);
});

it("old keys are not removed when the file is changed after they were checked: an added key would be removed too", async () => {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-rotation-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, "secrets.json");
  const fileOf = (...keys: NumberedKey[]) => {
    const written = keys.map(({ id, key }) => ({ id, key: Buffer.from(key).toString("base64url") }));
    const usedAt = new Date(0).toISOString();
    const rotation = { added_at: usedAt, used_at: usedAt };
    return JSON.stringify({ cursor_keys: written, webhook_keys: written, rotation });
  };
  await writeFile(path, fileOf(next, old));
  await reencryptAll(harness.db, secretsOf(next, old));
  const changed = fileOf({ id: 3, key: randomBytes(32) }, next, old);
  const waiting = { waitMs: 0, sleep: () => Promise.resolve(), onWaiting: () => undefined };
  // `removeOldKeys` asks for the time after all other checks.
  const clock = () => {
    writeFileSync(path, changed);
    return harness.clock();
  };
  await expect(removeOldKeys({ ...harness, ...waiting, path, clock }, false)).rejects.toThrow("Run this command again");
  expect(await readFile(path, "utf8")).toBe(changed);
});
