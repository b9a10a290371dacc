import type { Queryable, Transaction } from "../../db/database.ts";
import { commandError } from "../../errors/command-errors.ts";
import { systemsOf } from "../../systems/service.ts";
import { findSealing, noteSealing, type SealingRow } from "./sealing-queries.ts";
import { listSecrets, type SecretRow } from "./secret-queries.ts";
import { describeMismatch, type SecretSealer } from "./secret.ts";

interface SealingContext {
  readonly sealer: SecretSealer;
  readonly clock: () => number;
}

/**
 * Refuses to seal with a secrets file that is not the deployment's: one that lacks the key of a secret that signs, or of
 * the service that ran last. Every system's are looked at, because one process serves them all.
 * @throws ServiceError
 */
export async function mustSealLikeOthers({ sealer }: SealingContext, tx: Transaction): Promise<void> {
  for (const { system_id: systemId } of await systemsOf(tx)) {
    const foreign = await foreignSecrets(tx, systemId, sealer);
    if (foreign.length > 0) {
      const endpointIds = [...new Set(foreign.map((secret) => secret.endpoint_id))];
      throw commandError("secrets_file_mismatch", "foreignSecrets", { mismatch: describeMismatch(endpointIds) });
    }
    const noted = await findSealing(tx, systemId);
    if (noted === undefined || sealer.knowsKey(noted.fingerprint)) continue;
    throw commandError("secrets_file_mismatch", "olderKey", { since: noted.recorded_at.toISOString() });
  }
}

/** Notes that secrets of a system are encrypted with our key, for the processes that come after. */
export function noteOurSealing({ sealer, clock }: SealingContext, db: Queryable, systemId: string): Promise<void> {
  return noteSealing(db, systemId, sealer.mark, new Date(clock()));
}

/** With which key the service, or a command, has encrypted last; undefined where nothing ever was. */
export async function lastSealing(db: Queryable): Promise<SealingRow | undefined> {
  let last: SealingRow | undefined;
  for (const { system_id: systemId } of await systemsOf(db)) {
    const noted = await findSealing(db, systemId);
    if (noted !== undefined && (last === undefined || noted.recorded_at > last.recorded_at)) last = noted;
  }
  return last;
}

/**
 * The service says which secrets file it uses, before there is any secret. Where secrets sign that it cannot open, it has
 * no say.
 */
export async function noteServiceSealing(context: SealingContext, db: Queryable, systemId: string): Promise<void> {
  const foreign = await foreignSecrets(db, systemId, context.sealer);
  if (foreign.length === 0) await noteOurSealing(context, db, systemId);
}

/** Secrets that sign and were encrypted with a key that is not ours. */
async function foreignSecrets(db: Queryable, systemId: string, sealer: SecretSealer): Promise<SecretRow[]> {
  const secrets = await listSecrets(db, systemId);
  return secrets.filter(({ ended, encrypted }) => !ended && !sealer.knows(encrypted));
}
