import type { MembershipRole } from "@bikeshare/contract/console";
import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { AddressProof } from "./address-proof.rules.ts";

const people = columnsOfTable("people");
export type PersonRow = RowOf<typeof people>;

const byEmail = statement("people.byEmail", `select ${people.list()} from people where email = $1`);
const byId = statement("people.byId", `select ${people.list()} from people where id = $1`);
const insert = statement(
  "people.insert",
  `insert into people (id, email, name, created_at, proof, proof_system_id) values ($1, $2, $3, $4, $5, $6)
   on conflict (email) do nothing returning ${people.list()}`,
);

export async function findPersonByEmail(db: Queryable, email: string): Promise<PersonRow | undefined> {
  return (await db.query<PersonRow>(byEmail, [email]))[0];
}

export async function findPerson(db: Queryable, id: string): Promise<PersonRow | undefined> {
  return (await db.query<PersonRow>(byId, [id]))[0];
}

const lock = statement("people.lock", `select ${people.list()} from people where id = $1 for update`);
const setProof = statement("people.setProof", "update people set proof = $2, proof_system_id = $3 where id = $1");

/** Locks a person until the transaction ends: concurrent sign-ins and changes of credentials wait. */
export async function lockPerson(tx: Transaction, id: string): Promise<PersonRow | undefined> {
  return (await tx.query<PersonRow>(lock, [id]))[0];
}

/** Makes a person. @returns undefined when there is one with this address */
export async function insertPerson(
  db: Queryable,
  person: Pick<PersonRow, "id" | "email" | "name" | "created_at">,
  proof: AddressProof | null,
): Promise<PersonRow | undefined> {
  const { id, email, name, created_at } = person;
  const values = [id, email, name, created_at, proof?.by ?? null, proof?.systemId ?? null];
  return (await db.query<PersonRow>(insert, values))[0];
}

/** Writes how the person who holds an account proved its address; null: not at all. */
export async function updateProof(tx: Transaction, id: string, proof: AddressProof | null): Promise<void> {
  await tx.query(setProof, [id, proof?.by ?? null, proof?.systemId ?? null]);
}

/** The scope of a membership: a partner of a system, or with null its operator. */
export interface Membership {
  readonly systemId: string;
  readonly partnerId: string | null;
  readonly role: MembershipRole;
}

const membershipsOf = statement(
  "memberships.ofPerson",
  `select system_id as "systemId", partner_id as "partnerId", role from memberships where person_id = $1`,
);
// An invitation never takes anything away: who is an admin stays one.
const addMembership = statement(
  "memberships.insert",
  `insert into memberships as m (system_id, id, person_id, partner_id, role, created_at) values ($1, $2, $3, $4, $5, $6)
   on conflict (system_id, person_id, partner_id)
   do update set role = case when m.role = 'admin' then m.role else excluded.role end`,
);

/** Every membership of a person. */
export function listMembershipsOf(db: Queryable, personId: string): Promise<Membership[]> {
  return db.query<Membership>(membershipsOf, [personId]);
}

/** Inserts a membership; an existing member becomes an admin when the new membership is an admin's. */
export async function insertMembership(
  db: Queryable,
  membership: Membership & { readonly id: string; readonly personId: string; readonly createdAt: Date },
): Promise<void> {
  const { systemId, id, personId, partnerId, role, createdAt } = membership;
  await db.query(addMembership, [systemId, id, personId, partnerId, role, createdAt]);
}
