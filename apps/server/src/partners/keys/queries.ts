import { arrayOf, columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/* Statements that store, find, change and end API keys. */

const keyFields = columnsOfTable("keys").without("hash");

/** A stored key, with the state of its partner and its sandbox. */
export interface KeyRow extends RowOf<typeof keyFields> {
  /** null: an operator key */
  readonly partner_name: Tables["partners"]["name"] | null;
  /** When the partner was suspended or removed. Since then all its keys are refused, including those of its sandbox. */
  readonly partner_suspended_at: Date | null;
  /** Whether the key is one of a sandbox, and reaches nothing else. */
  readonly is_sandbox: boolean;
  /** Whether the sandbox has faults: some requests to it are made to fail. */
  readonly has_faults: boolean;
}

const columns = `${keyFields.list("k")}, p.name as partner_name,
  coalesce(p.suspended_at, p.removed_at, l.suspended_at, l.removed_at) as partner_suspended_at,
  x.system_id is not null as is_sandbox, x.faults is not null as has_faults`;
// `k`: the key. `p`: its partner. `x`: the sandbox, if the key's system is one. `l`: the partner in the live system who has
// the sandbox.
const from = `keys k left join partners p on p.system_id = k.system_id and p.id = k.partner_id
   left join sandboxes x on x.system_id = k.system_id
   left join partners l on l.system_id = x.live_system_id and l.id = x.partner_id`;

// A request brings only its key, so no system can be named here.
const byHash = statement("keys.byHash", `select ${columns}, k.hash from ${from} where k.hash = any($1::bytea[])`);

const byId = statement("keys.byId", `select ${columns} from ${from} where k.system_id = $1 and k.id = $2`);

const lockById = statement("keys.lock", "select id from keys where system_id = $1 and id = $2 for no key update");

const replaced = statement(
  "keys.replaced",
  `select ${columns} from ${from} where k.system_id = $1 and k.partner_id is not distinct from $2 and k.rotated_to = $3
   order by k.created_at limit 1`,
);

const all = statement(
  "keys.all",
  `select ${columns} from ${from}
   where k.system_id = $1 and ($2::text is null or k.partner_id = $2)
   order by k.created_at, k.id`,
);

const newFields = keyFields
  .without("revoked_at", "rotated_to", "compromised_at", "last_used_at", "last_used_path", "last_used_address")
  .and({ hash: arrayOf<Uint8Array>("bytea") });
const insert = statement(
  "keys.insert",
  `insert into keys (${newFields.list()}) values (${newFields.names.map((_, index) => `$${index + 1}`).join(", ")})`,
);

// Never moves `revoked_at` to a later time, because a revocation is final.
const revoke = statement(
  "keys.revoke",
  `update keys set revoked_at = least(revoked_at, $3::timestamptz), rotated_to = coalesce($4, rotated_to)
   where system_id = $1 and id = $2`,
);

const remove = statement("keys.remove", "delete from keys where system_id = $1 and id = $2");

// Keeps the keys that the operator made for the partner: the operator limits their number.
const removeEndedOwn = statement(
  "keys.removeEndedOwn",
  `delete from keys where system_id = $1 and partner_id = $2 and made_by_partner and least(revoked_at, expires_at) < $3`,
);

// Marks a key only once: a client that exposes its key does so with each request, and the audit log must not grow each time.
const markCompromised = statement(
  "keys.markCompromised",
  `update keys set compromised_at = $2 where hash = $1 and compromised_at is null returning system_id, id`,
);

const recordUse = statement(
  "keys.recordUse",
  `update keys k set last_used_at = u.at, last_used_path = u.path, last_used_address = u.address
   from unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[]) as u(system_id, id, at, path, address)
   where k.system_id = u.system_id and k.id = u.id and (k.last_used_at is null or k.last_used_at < u.at)`,
);

const sandboxOfSystem = statement("keys.sandbox", "select 1 as n from sandboxes where system_id = $1");

// Writes at most once a minute for each sandbox.
const recordSandboxUse = statement(
  "keys.recordSandboxUse",
  `update sandboxes set used_at = u.at from unnest($1::text[], $2::timestamptz[]) as u(system_id, at)
   where sandboxes.system_id = u.system_id and sandboxes.used_at < u.at - interval '1 minute'`,
);

const agencyOfPartner = statement(
  "keys.agencyOfPartner",
  "select 1 as n from agencies where system_id = $1 and partner_id = $2",
);

const notifyChanged = statement("keys.notifyChanged", `select pg_notify('keys', $1)`);

/** Tells whether a partner is an agency. */
export async function isAgencyPartner(db: Queryable, systemId: string, partnerId: string): Promise<boolean> {
  return (await db.query(agencyOfPartner, [systemId, partnerId])).length > 0;
}

/** Tells whether a system is a sandbox. */
export async function isSandbox(db: Queryable, systemId: string): Promise<boolean> {
  return (await db.query(sandboxOfSystem, [systemId])).length > 0;
}

/** Deletes a key. Its acts stay in the audit log. */
export async function deleteKey(db: Queryable, systemId: string, id: string): Promise<void> {
  await db.query(remove, [systemId, id]);
}

/** Deletes the keys of a partner's own people that ended before an instant. */
export async function deleteEndedOwnKeys(
  tx: Transaction,
  systemId: string,
  partnerId: string,
  before: Date,
): Promise<void> {
  await tx.query(removeEndedOwn, [systemId, partnerId, before]);
}

/** Returns the keys that have one of the hashes, in no order. */
export function findKeysByHash(
  db: Queryable,
  hashes: readonly Uint8Array[],
): Promise<(KeyRow & Pick<Tables["keys"], "hash">)[]> {
  return db.query<KeyRow & Pick<Tables["keys"], "hash">>(byHash, [hashes]);
}

/** Returns a key, also one that has ended; undefined: the system has none with this id. */
export async function findKey(db: Queryable, systemId: string, id: string): Promise<KeyRow | undefined> {
  return (await db.query<KeyRow>(byId, [systemId, id]))[0];
}

/** Locks a key until the transaction ends. */
export async function lockKey(tx: Transaction, systemId: string, id: string): Promise<void> {
  await tx.query(lockById, [systemId, id]);
}

/** Returns the key that another one replaces; undefined: it replaces none. */
export async function findReplacedKey(
  db: Queryable,
  systemId: string,
  { partner_id: partnerId, id }: Pick<KeyRow, "partner_id" | "id">,
): Promise<KeyRow | undefined> {
  return (await db.query<KeyRow>(replaced, [systemId, partnerId, id]))[0];
}

/** Returns a system's keys, oldest first; of one partner when one is named. */
export function listKeys(db: Queryable, systemId: string, partnerId: string | null): Promise<KeyRow[]> {
  return db.query<KeyRow>(all, [systemId, partnerId]);
}

/** Inserts a key, by its hash: the key itself is not stored. */
export async function insertKey(db: Queryable, key: RowOf<typeof newFields>): Promise<void> {
  await db.query(
    insert,
    newFields.names.map((name) => key[name]),
  );
}

/** Ends a key at an instant, which may lie ahead. @param successor the key that takes its place; null: leaves it as it is */
export async function updateRevocation(
  db: Queryable,
  systemId: string,
  id: string,
  at: Date,
  successor: string | null,
): Promise<void> {
  await db.query(revoke, [systemId, id, at, successor]);
}

/** Marks a key as compromised. @returns its system and id the first time; undefined: it is already marked or unknown */
export async function updateCompromised(
  db: Queryable,
  hash: Uint8Array,
  at: Date,
): Promise<Pick<KeyRow, "system_id" | "id"> | undefined> {
  return (await db.query<Pick<KeyRow, "system_id" | "id">>(markCompromised, [hash, at]))[0];
}

/** A request that carried a key. */
export interface KeyUse {
  readonly systemId: string;
  readonly id: string;
  readonly at: Date;
  readonly path: string;
  readonly address: string;
}

/** Stores the latest use of each key, many keys at once, and that sandboxes were used. */
export async function updateKeyUses(db: Queryable, used: readonly KeyUse[]): Promise<void> {
  // Every process locks the rows in the same order, so that no two wait for each other.
  const rank = ({ systemId, id }: KeyUse) => `${systemId}\n${id}`;
  const uses = used.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const systems = new Map<string, Date>();
  for (const { systemId, at } of uses)
    if ((systems.get(systemId)?.getTime() ?? 0) < at.getTime()) systems.set(systemId, at);
  await db.query(recordSandboxUse, [[...systems.keys()], [...systems.values()]]);
  await db.query(recordUse, [
    uses.map((use) => use.systemId),
    uses.map((use) => use.id),
    uses.map((use) => use.at),
    uses.map((use) => use.path),
    uses.map((use) => use.address),
  ]);
}

/** Notifies every process, when the transaction commits, that a key changed. */
export async function notifyKeyChanged(db: Queryable, systemId: string): Promise<void> {
  await db.query(notifyChanged, [systemId]);
}
