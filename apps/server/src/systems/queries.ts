import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

export type SystemRow = Pick<Tables["systems"], "system_id" | "name" | "created_at">;

const insert = statement(
  "systems.insert",
  `insert into systems (system_id, name, created_at) values ($1, $2, $3) on conflict do nothing returning system_id`,
);
const all = statement("systems.all", `select system_id, name, created_at from systems order by created_at, system_id`);

/** @returns false when there is a system with this id already */
export async function insertSystem(db: Queryable, system: SystemRow): Promise<boolean> {
  return (await db.query(insert, [system.system_id, system.name, system.created_at])).length === 1;
}

export function listSystems(db: Queryable): Promise<SystemRow[]> {
  return db.query<SystemRow>(all);
}
