import { insertAct } from "../../partners/audit/queries.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import type { EndpointStatus, PauseCause } from "../rules/after-attempt.ts";
import {
  type EndpointRow,
  listEndpoints,
  notifyEndpointChanged,
  updatePaused,
  updateStatus,
} from "./endpoint-queries.ts";
import { listSecrets, type SecretRow } from "./secret-queries.ts";
import { DamagedSecret, describeMismatch, type SecretCipher, SecretsFileMismatch } from "./secret.ts";

/* The endpoints as the dispatcher needs them, and the changes of their status that responses cause. */

/** A secret that signs until it expires. */
export interface SigningSecret {
  readonly text: string;
  /** Milliseconds since 1970; null: until it is rotated. */
  readonly expiresAt: number | null;
}

/** What deliveries are signed with: `Service-Signature` alone, or the headers of Standard Webhooks beside it. */
export type SignatureSchemes = EndpointRow["signature"];

/** An endpoint as the dispatcher needs it. */
export interface DispatchEndpoint {
  readonly systemId: string;
  readonly id: string;
  readonly partnerId: string;
  readonly name: string;
  readonly url: string;
  readonly status: EndpointStatus;
  /** The address that is mailed when deliveries fail; null: nobody. */
  readonly email: string | null;
  readonly signature: SignatureSchemes;
  /** Deliveries of new events in an hour, at most; null: all. */
  readonly maxPerHour: number | null;
  /** The newest first. Some may have expired already. */
  readonly secrets: readonly SigningSecret[];
}

/**
 * Returns every endpoint of a system, paused and removed ones too, with its secrets. An endpoint with a damaged active
 * secret counts as paused: its deliveries wait, those of other endpoints are sent.
 * @param onDamaged called with each damaged active secret
 * @throws SecretsFileMismatch when an active secret was encrypted with the key of another secrets file: deliveries are
 * signed with all active secrets or not sent
 */
export async function loadEndpoints(
  { db, cipher }: { readonly db: Queryable; readonly cipher: SecretCipher },
  systemId: string,
  onDamaged: (error: DamagedSecret) => void = () => undefined,
): Promise<DispatchEndpoint[]> {
  // Reads the secrets after the endpoints. An endpoint is created together with its secret, so none is read without one.
  const rows = await listEndpoints(db, systemId);
  const secrets = await listSecrets(db, systemId);
  mustKnow(cipher, secrets);
  const byEndpoint = Map.groupBy(secrets, (secret) => secret.endpoint_id);
  const decryptRow = ({ id, endpoint_id: endpointId, encrypted, expires_at: expiresAt, ended }: SecretRow) => {
    try {
      const text = cipher.decrypt({ systemId, endpointId, secretId: id }, encrypted);
      return [{ text, expiresAt: expiresAt?.getTime() ?? null }];
    } catch (error) {
      // An ended secret signs nothing, so it must stop nothing, whether it is damaged or of another secrets file.
      if (ended) return [];
      throw error;
    }
  };
  return rows.map((row) => {
    const { id, partner_id: partnerId, name, url, status, email, signature, max_per_hour: maxPerHour } = row;
    const endpoint = { systemId, id, partnerId, name, url, status, email, signature, maxPerHour };
    try {
      return { ...endpoint, secrets: (byEndpoint.get(id) ?? []).flatMap(decryptRow) };
    } catch (error) {
      if (!(error instanceof DamagedSecret)) throw error;
      onDamaged(error);
      return { ...endpoint, status: "paused", secrets: [] };
    }
  });
}

/** @throws SecretsFileMismatch when the encryption key of an active secret is not in this process's secrets file */
function mustKnow(cipher: SecretCipher, secrets: readonly SecretRow[]): void {
  const mismatched = secrets.flatMap(({ ended, encrypted, endpoint_id: endpointId }) =>
    ended || cipher.canDecrypt(encrypted) ? [] : [endpointId],
  );
  if (mismatched.length > 0) throw new SecretsFileMismatch(describeMismatch([...new Set(mismatched)]));
}

/** The statuses that an endpoint can be paused from, by the reason of the pause. */
const pausedFrom = {
  failing: ["active"],
  gone: ["active"],
  probe_failed: ["probing"],
} as const satisfies Record<PauseCause, readonly EndpointRow["status"][]>;

/** An endpoint whose status changes because of its responses. */
export interface EndpointFinding {
  readonly systemId: string;
  readonly endpointId: string;
  readonly now: Date;
}

/**
 * Pauses an endpoint because of its responses, unless somebody has paused or resumed it meanwhile.
 * @returns whether it was paused by this
 */
export async function pauseByAnswers(
  tx: Transaction,
  { systemId, endpointId, reason, now }: EndpointFinding & { readonly reason: PauseCause },
): Promise<boolean> {
  const paused = await updatePaused(tx, systemId, endpointId, { from: pausedFrom[reason], reason, now });
  if (paused !== undefined) await recordFinding(tx, { systemId, endpointId, now }, "webhook.paused", { reason });
  // Notifies even if nothing changed, because the caller's settings of the endpoint are outdated then.
  await notifyEndpointChanged(tx, systemId);
  return paused !== undefined;
}

/** Activates an endpoint whose probe succeeded. @returns whether it was still probing */
export async function activateByAnswers(tx: Transaction, finding: EndpointFinding): Promise<boolean> {
  const { systemId, endpointId, now } = finding;
  const active = await updateStatus(tx, systemId, endpointId, { from: "probing", to: "active", now });
  if (active !== undefined) await recordFinding(tx, finding, "webhook.probe_succeeded", {});
  await notifyEndpointChanged(tx, systemId);
  return active !== undefined;
}

function recordFinding(
  tx: Transaction,
  { systemId, endpointId, now }: EndpointFinding,
  action: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  // The id is derived from the content: an endpoint changes its status at most once in a millisecond.
  const id = `act_${endpointId}_${action}_${now.getTime()}`;
  return insertAct(tx, { systemId, id, at: now, actor: "server", action, subject: endpointId, detail });
}
