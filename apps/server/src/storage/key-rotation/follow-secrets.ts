import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import type { Config } from "../../config.ts";
import type { Conditions } from "../../health/conditions/conditions.ts";
import type { Ids } from "../../ids.ts";
import { findLatestKey, recordServiceKeys } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher, SecretsFileMismatch } from "../../webhooks/endpoints/secret.ts";
import { startPeriodic } from "../background/periodic.ts";
import type { WorkWatch } from "../background/work-watch.ts";
import type { Database } from "../db/database.ts";
import { type AllSecrets, parseSecrets, secretsIn, secretsPath } from "../secrets/secrets.ts";
import { deleteKeyHolder, updateKeyHolder } from "./queries.ts";
import { fingerprintsOf } from "./rotation.rules.ts";

/*
 * Reads the secrets file again and again, so that a process uses new keys without a restart. These keys encrypt cursors and
 * stored secrets; they are not API keys.
 */

/** The dependencies of `followSecrets`. */
interface FollowSecretsOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly path: string;
  /** The secrets as they were read at the start. */
  readonly secrets: AllSecrets;
  /** A name of this process that no other process has. */
  readonly process: string;
  readonly host: string;
  readonly log: { info(detail: object, message: string): void };
  readonly onRead: () => void;
  readonly onError: (error: unknown) => void;
  readonly watch: WorkWatch;
}

/** The secrets file while it is followed. */
interface FollowedSecrets {
  /** The current keys: reading a property returns the keys of the latest valid version of the file. */
  readonly secrets: AllSecrets;
  close(): Promise<void>;
}

/** Between two reads of the file. Too high: a key rotation takes longer, because it waits for every process twice. */
const POLL_INTERVAL_MS = 2_000;
/** Polls from one heartbeat of this process to the next, while its keys do not change. */
const POLLS_PER_HEARTBEAT = 5;
/**
 * How long a process counts as alive after its latest heartbeat. A rotation waits this long for a killed process. Three
 * heartbeat intervals, so that a slow process still counts.
 */
const ALIVE_MS = 30_000;

/** The parts of a service that follows its secrets file. */
interface Service {
  readonly logger: FollowSecretsOptions["log"];
  readonly conditions: Conditions;
  readonly closers: (() => Promise<void>)[];
}

/** Follows a service's secrets file until the service closes. @returns the keys, which change when the file changes */
export async function followSecretsFile(
  db: Database,
  secrets: AllSecrets,
  { config, clock, ids }: { readonly config: Config; readonly clock: () => number; readonly ids: Pick<Ids, "next"> },
  { logger: log, conditions, closers }: Service,
): Promise<AllSecrets> {
  // A failure counts as solved only by a successful read, which `onRead` reports.
  const reading = conditions.of("reading the secrets file", { quietMs: Number.POSITIVE_INFINITY });
  const { succeeded: onRead, failed: onError, watch } = reading;
  const followed = await followSecrets({
    db,
    clock,
    secrets,
    path: secretsPath(config),
    process: ids.next("process"),
    host: hostname(),
    log,
    onRead,
    onError,
    watch,
  });
  closers.push(() => followed.close());
  return followed.secrets;
}

/**
 * Polls the secrets file, so that new keys are used without a restart, and records in the database which keys this process
 * has. Keeps the present keys if the file is damaged or belongs to another deployment.
 */
async function followSecrets(options: FollowSecretsOptions): Promise<FollowedSecrets> {
  const { db, clock, path, process, host, log, onRead, onError, watch } = options;
  let current = options.secrets;
  let lastText: string | undefined;
  let pollsUntilHeartbeat = 0;
  const read = async () => {
    const text = await readFile(path, "utf8");
    if (text === lastText) return;
    const next = secretsIn(parseSecrets(path, text));
    if (isSame(next, current)) {
      lastText = text;
      return;
    }
    await requireOurs(db, next);
    current = next;
    lastText = text;
    // Makes this run record the new keys in the database: a rotation waits for that.
    pollsUntilHeartbeat = 0;
    await recordServiceKeys({ clock, cipher: createSecretCipher(next.webhookKeys) }, db);
    log.info({ path, ...fingerprintsOf(next) }, "the secrets file has changed: its keys are in use");
  };
  const heartbeat = async () => {
    if (pollsUntilHeartbeat > 0) {
      pollsUntilHeartbeat--;
      return;
    }
    await updateKeyHolder(db, { process, host, ...fingerprintsOf(current) }, ALIVE_MS);
    pollsUntilHeartbeat = POLLS_PER_HEARTBEAT - 1;
  };
  const work = async () => {
    try {
      await read();
      onRead();
    } catch (error) {
      onError(error);
    }
    await heartbeat();
  };
  const polling = startPeriodic({ intervalMs: POLL_INTERVAL_MS, work, onError, watch });
  // Runs twice: a rotation may change the file after the first read and before this process is recorded as a key holder,
  // and would not wait for it. The second run reads that change.
  await polling.runOnce().catch(onError);
  await polling.runOnce().catch(onError);
  return {
    secrets: presentKeys(() => current),
    close: async () => {
      await polling.close();
      await deleteKeyHolder(db, process).catch(onError);
    },
  };
}

/** Returns an object whose properties give the current keys each time they are read. */
function presentKeys(current: () => AllSecrets): AllSecrets {
  return {
    get cursorKeys() {
      return current().cursorKeys;
    },
    get webhookKeys() {
      return current().webhookKeys;
    },
  };
}

function isSame(one: AllSecrets, other: AllSecrets): boolean {
  return JSON.stringify(fingerprintsOf(one)) === JSON.stringify(fingerprintsOf(other));
}

/** @throws SecretsFileMismatch when the file lacks the key that the deployment encrypts with */
async function requireOurs(db: Database, { webhookKeys }: AllSecrets): Promise<void> {
  const latest = await findLatestKey(db);
  if (latest === undefined || createSecretCipher(webhookKeys).hasKey(latest.fingerprint)) return;
  throw new SecretsFileMismatch(
    "The secrets file has been replaced by one that lacks the key which encrypts webhook secrets. This process goes on with the keys that it has; put the deployment's file back.",
  );
}
