import type { Queryable, Transaction } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import type { Tables } from "../../db/tables.generated.ts";

/** A secret as it is kept. `ended`: by the database's clock it signs nothing any more. */
export type SecretRow = Pick<Tables["webhook_secrets"], "id" | "endpoint_id" | "encrypted" | "expires_at"> & {
  readonly ended: boolean;
};

const columns = "id, endpoint_id, encrypted, expires_at, expires_at is not null and expires_at <= now() as ended";
const order = "expires_at is null desc, created_at desc, id desc";

const ofSystem = statement(
  "secrets.ofSystem",
  `select ${columns} from webhook_secrets where system_id = $1 order by endpoint_id, ${order}`,
);
const ofEndpoint = statement(
  "secrets.ofEndpoint",
  `select ${columns} from webhook_secrets
   where system_id = $1 and endpoint_id = $2 and (expires_at is null or expires_at > $3) order by ${order}`,
);
const insert = statement(
  "secrets.insert",
  `insert into webhook_secrets (system_id, id, endpoint_id, encrypted, created_at) values ($1, $2, $3, $4, $5)`,
);
// Never later than what was set before: an earlier end stands.
const end = statement(
  "secrets.end",
  `update webhook_secrets set expires_at = least(expires_at, $3::timestamptz) where system_id = $1 and endpoint_id = $2`,
);
const forgetEnded = statement(
  "secrets.forgetEnded",
  `delete from webhook_secrets where system_id = $1 and endpoint_id = $2 and expires_at <= $3`,
);

const forgetAll = statement(
  "secrets.forgetAll",
  `delete from webhook_secrets where system_id = $1 and endpoint_id = $2`,
);

/** Every secret of a system, by endpoint, the newest first. */
export function listSecrets(db: Queryable, systemId: string): Promise<SecretRow[]> {
  return db.query<SecretRow>(ofSystem, [systemId]);
}

/** An endpoint's secrets that sign at an instant, the newest first. */
export function listLiveSecrets(db: Queryable, systemId: string, endpointId: string, now: Date): Promise<SecretRow[]> {
  return db.query<SecretRow>(ofEndpoint, [systemId, endpointId, now]);
}

export async function insertSecret(
  tx: Transaction,
  secret: Omit<SecretRow, "expires_at" | "ended"> & { readonly system_id: string; readonly created_at: Date },
): Promise<void> {
  await tx.query(insert, [secret.system_id, secret.id, secret.endpoint_id, secret.encrypted, secret.created_at]);
}

/** Ends an endpoint's secrets at an instant, which may lie ahead, and forgets those that have ended by `now`. */
export async function endSecrets(
  tx: Transaction,
  systemId: string,
  endpointId: string,
  at: Date,
  now: Date,
): Promise<void> {
  await tx.query(end, [systemId, endpointId, at]);
  await tx.query(forgetEnded, [systemId, endpointId, now]);
}

/** Destroys every secret of an endpoint. */
export async function forgetSecrets(tx: Transaction, systemId: string, endpointId: string): Promise<void> {
  await tx.query(forgetAll, [systemId, endpointId]);
}
