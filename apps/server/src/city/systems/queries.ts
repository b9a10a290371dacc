import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { OperatorFacts } from "./facts.rules.ts";

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

// A system that nobody named is called by its id.
const columns = `system_id, nullif(name, system_id) as name, timezone, language, feed_contact_email, opening_hours, operator,
  url, licence`;

const find = statement("systemFacts.find", `select ${columns} from systems where system_id = $1`);
const list = statement("systemFacts.list", `select ${columns} from systems order by created_at, system_id`);
const lock = statement("systemFacts.lock", `select ${columns} from systems where system_id = $1 for update`);

const update = statement(
  "systemFacts.update",
  `update systems set name = coalesce($2, system_id), timezone = $3, language = $4, feed_contact_email = $5,
     opening_hours = $6, operator = $7, url = $8, licence = $9
   where system_id = $1`,
);

// Whoever keeps something made of a system's facts listens for stations already.
const notify = statement("systemFacts.notify", "select pg_notify('stations', $1)");

/** What the operator says of a system; undefined where there is no such system. */
export async function findFacts(db: Queryable, systemId: string): Promise<OperatorFacts | undefined> {
  return (await db.query<OperatorFacts>(find, [systemId]))[0];
}

/** What the operator says of every system, oldest first. */
export function listFacts(db: Queryable): Promise<OperatorFacts[]> {
  return db.query<OperatorFacts>(list);
}

/** The same of one system, locked until the transaction ends. */
export async function lockFacts(tx: Transaction, systemId: string): Promise<OperatorFacts | undefined> {
  return (await tx.query<OperatorFacts>(lock, [systemId]))[0];
}

/** Writes what the operator says of a system, and tells listeners once the transaction has committed. */
export async function updateFacts(tx: Transaction, facts: OperatorFacts): Promise<void> {
  await tx.query(update, [
    facts.system_id,
    facts.name,
    facts.timezone,
    facts.language,
    facts.feed_contact_email,
    facts.opening_hours,
    facts.operator,
    facts.url,
    facts.licence,
  ]);
  await tx.query(notify, [facts.system_id]);
}
