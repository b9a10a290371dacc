import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/* Statements about passkeys, answered challenges, passwords, authenticator apps, recovery codes and identities. */

const passkeys = columnsOfTable("passkeys");
export type PasskeyRow = RowOf<typeof passkeys>;

const passkeysOf = statement(
  "passkeys.ofPerson",
  `select ${passkeys.list()} from passkeys where person_id = $1 order by created_at, id`,
);
const ownerOf = statement("passkeys.owner", "select person_id from passkeys where id = $1");
const lock = statement("passkeys.lock", `select ${passkeys.list()} from passkeys where id = $1 for update`);
const insert = statement(
  "passkeys.insert",
  `insert into passkeys (${passkeys.list()}) values (${passkeys.names.map((_, index) => `$${index + 1}`).join(", ")})
   on conflict (id) do nothing returning id`,
);
const use = statement("passkeys.use", "update passkeys set counter = $2, last_used_at = $3 where id = $1");
const remove = statement("passkeys.delete", "delete from passkeys where id = $1 and person_id = $2 returning id");

/** Returns a person's passkeys, the oldest first. */
export function listPasskeys(db: Queryable, personId: string): Promise<PasskeyRow[]> {
  return db.query<PasskeyRow>(passkeysOf, [personId]);
}

/** Returns the owner of a passkey. */
export async function findPasskeyOwner(db: Queryable, id: string): Promise<string | undefined> {
  return (await db.query<{ person_id: string }>(ownerOf, [id]))[0]?.person_id;
}

/** Returns a passkey, and locks it until the transaction ends. */
export async function lockPasskey(tx: Transaction, id: string): Promise<PasskeyRow | undefined> {
  return (await tx.query<PasskeyRow>(lock, [id]))[0];
}

/** Stores a passkey. @returns false: it is stored already, for this or another person */
export async function insertPasskey(db: Queryable, passkey: PasskeyRow): Promise<boolean> {
  const values = passkeys.names.map((name) => passkey[name]);
  return (await db.query(insert, values)).length > 0;
}

/** Writes the last use of a passkey, and the counter of its signatures. */
export async function updatePasskeyUse(db: Queryable, id: string, counter: number, at: Date): Promise<void> {
  await db.query(use, [id, counter, at]);
}

/** Deletes a passkey of a person. @returns whether there was one */
export async function deletePasskey(db: Queryable, personId: string, id: string): Promise<boolean> {
  return (await db.query(remove, [id, personId])).length > 0;
}

const useChallenge = statement(
  "challenges.use",
  "insert into used_challenges (hash, expires_at) values ($1, $2) on conflict (hash) do nothing returning hash",
);
const forgetChallenges = statement("challenges.deleteExpired", "delete from used_challenges where expires_at <= $1");

/** Marks a challenge as answered. @returns false when it was already */
export async function insertUsedChallenge(db: Queryable, hash: Uint8Array, expiresAt: Date): Promise<boolean> {
  return (await db.query(useChallenge, [hash, expiresAt])).length > 0;
}

/** Deletes answered challenges that have expired. */
export async function deleteExpiredChallenges(db: Queryable, now: Date): Promise<void> {
  await db.query(forgetChallenges, [now]);
}

const setPassword = statement("people.setPassword", "update people set password_hash = $2 where id = $1");
const setAuthenticator = statement(
  "people.setAuthenticatorApp",
  "update people set totp_secret = $2, totp_last_step = $3 where id = $1",
);
const useStep = statement(
  "people.useTotpStep",
  `update people set totp_last_step = $2 where id = $1 and (totp_last_step is null or totp_last_step < $2) returning id`,
);

/** Sets or, with null, removes a person's password. */
export async function updatePassword(db: Queryable, personId: string, hash: string | null): Promise<void> {
  await db.query(setPassword, [personId, hash]);
}

/**
 * Sets or, with null, removes a person's authenticator app.
 * @param step the time step (a period of 30 s) of the code that proved it; that code is used up
 */
export async function updateAuthenticatorApp(
  db: Queryable,
  personId: string,
  encryptedSecret: string | null,
  step: number | null,
): Promise<void> {
  await db.query(setAuthenticator, [personId, encryptedSecret, step]);
}

/** Uses up the codes of a time step and of all earlier ones. @returns false: they are used up already */
export async function updateTotpStep(db: Queryable, personId: string, step: number): Promise<boolean> {
  return (await db.query(useStep, [personId, step])).length > 0;
}

const addCodes = statement(
  "recoveryCodes.insert",
  "insert into recovery_codes (person_id, hash) select $1, unnest($2::bytea[])",
);
const removeCodes = statement("recoveryCodes.deleteAll", "delete from recovery_codes where person_id = $1");
const useCode = statement(
  "recoveryCodes.use",
  "delete from recovery_codes where person_id = $1 and hash = $2 returning hash",
);
const countCodes = statement(
  "recoveryCodes.count",
  "select count(*)::int as count from recovery_codes where person_id = $1",
);

export async function insertRecoveryCodes(
  db: Queryable,
  personId: string,
  hashes: readonly Uint8Array[],
): Promise<void> {
  await db.query(addCodes, [personId, hashes]);
}

export async function deleteRecoveryCodes(db: Queryable, personId: string): Promise<void> {
  await db.query(removeCodes, [personId]);
}

/** Uses a recovery code up. @returns whether there was one */
export async function deleteRecoveryCode(db: Queryable, personId: string, hash: Uint8Array): Promise<boolean> {
  return (await db.query(useCode, [personId, hash])).length > 0;
}

/** Counts the recovery codes that are not used up. */
export async function countRecoveryCodes(db: Queryable, personId: string): Promise<number> {
  return (await db.query<{ count: number }>(countCodes, [personId]))[0]?.count ?? 0;
}

const identities = columnsOfTable("identities");
export type IdentityRow = RowOf<typeof identities>;

const bySubject = statement(
  "identities.bySubject",
  `select ${identities.list()} from identities where issuer = $1 and subject = $2`,
);
const ofPerson = statement("identities.ofPerson", `select ${identities.list()} from identities where person_id = $1`);
const insertIdentityRow = statement(
  "identities.insert",
  `insert into identities (${identities.list()})
   values (${identities.names.map((_, index) => `$${index + 1}`).join(", ")})
   on conflict (issuer, subject) do nothing returning issuer`,
);
const useIdentity = statement(
  "identities.use",
  "update identities set last_used_at = $3 where issuer = $1 and subject = $2",
);
const removeOne = statement(
  "identities.deleteOne",
  "delete from identities where person_id = $1 and issuer = $2 returning issuer",
);
const removeAll = statement("identities.deleteAll", "delete from identities where person_id = $1");

/** Returns the identity with a provider's id of an account. */
export async function findIdentity(db: Queryable, issuer: string, subject: string): Promise<IdentityRow | undefined> {
  return (await db.query<IdentityRow>(bySubject, [issuer, subject]))[0];
}

/** Returns a person's accounts at identity providers, also at providers that are no longer configured. */
export function listIdentities(db: Queryable, personId: string): Promise<IdentityRow[]> {
  return db.query<IdentityRow>(ofPerson, [personId]);
}

/** Connects an account at an identity provider. @returns false: it is connected already, to this or another person */
export async function insertIdentity(db: Queryable, identity: IdentityRow): Promise<boolean> {
  const values = identities.names.map((name) => identity[name]);
  return (await db.query(insertIdentityRow, values)).length > 0;
}

export async function updateIdentityUse(db: Queryable, issuer: string, subject: string, at: Date): Promise<void> {
  await db.query(useIdentity, [issuer, subject, at]);
}

/** Disconnects a person's account at one provider. @returns whether there was one */
export async function deleteIdentity(db: Queryable, personId: string, issuer: string): Promise<boolean> {
  return (await db.query(removeOne, [personId, issuer])).length > 0;
}

export async function deleteIdentities(db: Queryable, personId: string): Promise<void> {
  await db.query(removeAll, [personId]);
}
