import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

const identities = columnsOfTable("identities");
export type IdentityRow = RowOf<typeof identities>;

const bySubject = statement(
  "identities.bySubject",
  `select ${identities.list()} from identities where issuer = $1 and subject = $2`,
);
const ofPerson = statement("identities.ofPerson", `select ${identities.list()} from identities where person_id = $1`);
const insert = statement(
  "identities.insert",
  `insert into identities (${identities.list()})
   values (${identities.names.map((_, index) => `$${index + 1}`).join(", ")})
   on conflict (issuer, subject) do nothing returning issuer`,
);
const use = statement("identities.use", "update identities set last_used_at = $3 where issuer = $1 and subject = $2");
const removeOne = statement(
  "identities.deleteOne",
  "delete from identities where person_id = $1 and issuer = $2 returning issuer",
);
const removeAll = statement("identities.deleteAll", "delete from identities where person_id = $1");

/** Whose account at an identity provider it is. */
export async function findIdentity(db: Queryable, issuer: string, subject: string): Promise<IdentityRow | undefined> {
  return (await db.query<IdentityRow>(bySubject, [issuer, subject]))[0];
}

/** A person's accounts at identity providers, also at those that are configured no more. */
export function listIdentities(db: Queryable, personId: string): Promise<IdentityRow[]> {
  return db.query<IdentityRow>(ofPerson, [personId]);
}

/** Connects an account at an identity provider. @returns false when it is connected already, to whomever */
export async function insertIdentity(db: Queryable, identity: IdentityRow): Promise<boolean> {
  const values = identities.names.map((name) => identity[name]);
  return (await db.query(insert, values)).length > 0;
}

export async function updateIdentityUse(db: Queryable, issuer: string, subject: string, at: Date): Promise<void> {
  await db.query(use, [issuer, subject, at]);
}

/** Disconnects a person's account at one provider. @returns whether there was one */
export async function deleteIdentity(db: Queryable, personId: string, issuer: string): Promise<boolean> {
  return (await db.query(removeOne, [personId, issuer])).length > 0;
}

export async function deleteIdentities(db: Queryable, personId: string): Promise<void> {
  await db.query(removeAll, [personId]);
}
