import type { Queryable, QueryRunner, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

export type SystemRow = Pick<Tables["systems"], "system_id" | "name" | "created_at">;

const insert = statement(
  "systems.insert",
  `insert into systems (system_id, name, created_at) values ($1, $2, $3) on conflict do nothing returning system_id`,
);
// In a statement of its own: a distributed database has the two tables on different machines.
const insertPlaced = statement(
  "systems.insertPlaced",
  `insert into placed_systems (system_id) values ($1) on conflict (system_id) do nothing`,
);
const all = statement("systems.all", `select system_id, name, created_at from systems order by created_at, system_id`);

/** @returns false when there is a system with this id already */
export async function insertSystem(
  db: Queryable,
  { system_id: systemId, name, created_at: createdAt }: SystemRow,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    tx.send(insertPlaced, [systemId]);
    return (await tx.query(insert, [systemId, name, createdAt])).length === 1;
  });
}

export function listSystems(db: Queryable): Promise<SystemRow[]> {
  return db.query<SystemRow>(all);
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
