import type { Queryable, Transaction } from "../../db/database.ts";
import { oneRow } from "../../db/rows.ts";
import { statement } from "../../db/statement.ts";
import type { Tables } from "../../db/tables.generated.ts";

/** An endpoint as it is stored. */
export type EndpointRow = Pick<
  Tables["webhook_endpoints"],
  | "id"
  | "partner_id"
  | "tag"
  | "url"
  | "events"
  | "email"
  | "signature"
  | "status"
  | "pause_reason"
  | "paused_at"
  | "created_at"
  | "updated_at"
>;
/** What is set of an endpoint. */
export type EndpointColumns = Pick<EndpointRow, "url" | "events" | "email" | "signature">;
export type PauseReason = NonNullable<EndpointRow["pause_reason"]>;

const columns = `id, partner_id, tag, url, events, email, signature, status, pause_reason, paused_at, created_at, updated_at`;

const all = statement("endpoints.all", `select ${columns} from webhook_endpoints where system_id = $1 order by id`);
const ofPartner = statement(
  "endpoints.ofPartner",
  `select ${columns} from webhook_endpoints where system_id = $1 and partner_id = $2`,
);
const lock = statement(
  "endpoints.lock",
  `select ${columns} from webhook_endpoints where system_id = $1 and partner_id = $2 for update`,
);

/** Every endpoint of a system. */
export function listEndpoints(db: Queryable, systemId: string): Promise<EndpointRow[]> {
  return db.query<EndpointRow>(all, [systemId]);
}

export async function findEndpoint(
  db: Queryable,
  systemId: string,
  partnerId: string,
): Promise<EndpointRow | undefined> {
  return (await db.query<EndpointRow>(ofPartner, [systemId, partnerId]))[0];
}

/** A partner's endpoint, held against every other change until the transaction ends. */
export async function lockEndpoint(
  tx: Transaction,
  systemId: string,
  partnerId: string,
): Promise<EndpointRow | undefined> {
  return (await tx.query<EndpointRow>(lock, [systemId, partnerId]))[0];
}

const insert = statement(
  "endpoints.insert",
  `with made as (
     insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, email, status, created_at, updated_at, signature)
     values ($1, $2, $3, $4, $5, $6, $7, 'active', $8, $8, $9)
     on conflict (system_id, partner_id) do nothing
     returning ${columns})
   select * from made`,
);
const insertLane = statement(
  "endpoints.insertLane",
  `insert into webhook_lanes (system_id, endpoint_id) values ($1, $2) on conflict (system_id, endpoint_id) do nothing`,
);

/** Inserts an endpoint with its lane; undefined where the partner has one already. */
export async function insertEndpoint(
  tx: Transaction,
  systemId: string,
  made: Pick<EndpointRow, "id" | "partner_id" | "tag" | "url" | "events" | "email" | "signature" | "created_at">,
): Promise<EndpointRow | undefined> {
  const [row] = await tx.query<EndpointRow>(insert, [
    systemId,
    made.id,
    made.partner_id,
    made.tag,
    made.url,
    made.events,
    made.email,
    made.created_at,
    made.signature,
  ]);
  if (row !== undefined) await tx.query(insertLane, [systemId, row.id]);
  return row;
}

const update = statement(
  "endpoints.update",
  `update webhook_endpoints set url = $3, events = $4, email = $5, signature = $7, updated_at = $6
   where system_id = $1 and id = $2 returning ${columns}`,
);

export async function updateEndpoint(
  tx: Transaction,
  systemId: string,
  id: string,
  settings: EndpointColumns,
  now: Date,
): Promise<EndpointRow> {
  const { url, events, email, signature } = settings;
  return oneRow(await tx.query<EndpointRow>(update, [systemId, id, url, events, email, now, signature]));
}

const remove = statement(
  "endpoints.remove",
  `update webhook_endpoints
   set status = 'paused', pause_reason = 'removed', paused_at = $4, updated_at = $4, url = $3, events = '{}', email = null
   where system_id = $1 and id = $2 returning ${columns}`,
);
const restore = statement(
  "endpoints.restore",
  `update webhook_endpoints
   set status = 'active', pause_reason = null, paused_at = null, updated_at = $6, url = $3, events = $4, email = $5,
     signature = $7
   where system_id = $1 and id = $2 returning ${columns}`,
);

/** Deletes what the log of a removed endpoint does not need. @param url one that leads nowhere */
export async function updateRemoved(
  tx: Transaction,
  systemId: string,
  id: string,
  url: string,
  now: Date,
): Promise<EndpointRow> {
  return oneRow(await tx.query<EndpointRow>(remove, [systemId, id, url, now]));
}

/** Makes an endpoint that was removed active again, with other settings and nothing of how it once answered. */
export async function updateRestored(
  tx: Transaction,
  systemId: string,
  id: string,
  settings: EndpointColumns,
  now: Date,
): Promise<EndpointRow> {
  const { url, events, email, signature } = settings;
  await updateHealthReset(tx, systemId, id);
  return oneRow(await tx.query<EndpointRow>(restore, [systemId, id, url, events, email, now, signature]));
}

const pause = statement(
  "endpoints.pause",
  `update webhook_endpoints set status = 'paused', pause_reason = $3, paused_at = $4, updated_at = $4
   where system_id = $1 and id = $2 and status = any($5::text[]) returning ${columns}`,
);
const unpause = statement(
  "endpoints.unpause",
  `update webhook_endpoints set status = $3, pause_reason = null, paused_at = null, updated_at = $4
   where system_id = $1 and id = $2 and status = $5 returning ${columns}`,
);

/** Pauses an endpoint that has one of the statuses `from`; undefined where it has another. */
export async function updatePaused(
  tx: Transaction,
  systemId: string,
  id: string,
  change: { readonly from: readonly EndpointRow["status"][]; readonly reason: PauseReason; readonly now: Date },
): Promise<EndpointRow | undefined> {
  return (await tx.query<EndpointRow>(pause, [systemId, id, change.reason, change.now, change.from]))[0];
}

/** Takes an endpoint from one status to another that is no pause; undefined where it has another by now. */
export async function updateStatus(
  tx: Transaction,
  systemId: string,
  id: string,
  change: {
    readonly from: EndpointRow["status"];
    readonly to: Exclude<EndpointRow["status"], "paused">;
    readonly now: Date;
  },
): Promise<EndpointRow | undefined> {
  return (await tx.query<EndpointRow>(unpause, [systemId, id, change.to, change.now, change.from]))[0];
}

const resetHealth = statement(
  "endpoints.resetHealth",
  `update webhook_lanes
   set failing_since = null, last_failed_at = null, failures = 0, failed_deliveries = '{}', gone_answers = 0,
     gone_since = null, warned = 0
   where system_id = $1 and endpoint_id = $2`,
);

/** Forgets how an endpoint has answered. */
export async function updateHealthReset(tx: Transaction, systemId: string, id: string): Promise<void> {
  await tx.query(resetHealth, [systemId, id]);
}

const notify = statement("endpoints.notify", `select pg_notify('webhook_endpoints', $1)`);

/** Notifies every dispatcher, when the transaction commits, that an endpoint of the system changed. */
export async function notifyEndpointChanged(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(notify, [systemId]);
}
