import type { Queryable, QueryRunner, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** A system: its id, and the name under which it is listed. */
export type SystemRow = Pick<Tables["systems"], "system_id" | "name" | "created_at">;

const insert = statement(
  "systems.insert",
  `insert into systems (system_id, name, created_at) values ($1, $2, $3) on conflict do nothing returning system_id`,
);
// `placed_systems` has a row for each system, which a distributed database stores on the system's machine. It stores
// `systems` elsewhere, so this is a separate statement.
const insertPlaced = statement(
  "systems.insertPlaced",
  `insert into placed_systems (system_id) values ($1) on conflict (system_id) do nothing`,
);
// The operator's own systems: a sandbox's system has a row in `sandboxes`.
const ofOperator = statement(
  "systems.live",
  `select system_id, name, created_at from systems
   where not exists (select from sandboxes where sandboxes.system_id = systems.system_id) order by created_at, system_id`,
);
const all = statement(
  "systems.all",
  `select system_id, name, systems.created_at, sandboxes.partner_id as sandbox_of
   from systems left join sandboxes using (system_id) order by systems.created_at, system_id`,
);
// A sandbox counts while it is in use, and its partner is neither suspended nor removed in the operator's system
// (`live_system_id`).
const atWork = statement(
  "systems.atWork",
  `select systems.system_id as "systemId", sandboxes.system_id is not null as "isSandbox", sandboxes.webhook_faults as "webhookFaults"
   from systems left join sandboxes on sandboxes.system_id = systems.system_id
   left join partners partner on partner.system_id = sandboxes.live_system_id and partner.id = sandboxes.partner_id
   where sandboxes.system_id is null
     or sandboxes.used_at > $1 and partner.suspended_at is null and partner.removed_at is null
   order by systems.created_at, systems.system_id`,
);

/** Inserts a system. @returns false when there is a system with this id already */
export async function insertSystem(
  db: Queryable,
  { system_id: systemId, name, created_at: createdAt }: SystemRow,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    tx.send(insertPlaced, [systemId]);
    return (await tx.query(insert, [systemId, name, createdAt])).length === 1;
  });
}

/** Returns the operator's systems, oldest first. */
export function listLiveSystems(db: Queryable): Promise<SystemRow[]> {
  return db.query<SystemRow>(ofOperator);
}

/** A system of any kind. */
export interface AnySystemRow extends SystemRow {
  /** The partner whose sandbox it is; null: it is the operator's. */
  readonly sandbox_of: string | null;
}

/** Returns every system, oldest first. */
export function listSystems(db: Queryable): Promise<AnySystemRow[]> {
  return db.query<AnySystemRow>(all);
}

/** A system that background work is for. */
export interface SystemAtWork {
  readonly systemId: string;
  readonly isSandbox: boolean;
  /** The simulated faults of a sandbox's deliveries; null: none. */
  readonly webhookFaults: Tables["sandboxes"]["webhook_faults"];
}

/** Returns the operator's systems, and of the sandboxes those that active partners have used since an instant. */
export function listSystemsAtWork(db: Queryable, usedSince: Date): Promise<SystemAtWork[]> {
  return db.query<SystemAtWork>(atWork, [usedSince]);
}

const rename = statement("systems.rename", "update systems set name = $2 where system_id = $1");

/** Changes the name under which a system is listed. */
export async function updateSystemName(tx: Transaction, systemId: string, name: string): Promise<void> {
  await tx.query(rename, [systemId, name]);
}

const findName = statement("systems.findName", "select name from systems where system_id = $1");

/** Returns the name under which a system is listed; undefined without such a system. */
export async function findSystemName(db: QueryRunner, systemId: string): Promise<string | undefined> {
  return (await db.query<{ name: string }>(findName, [systemId]))[0]?.name;
}
