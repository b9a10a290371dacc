import { ServiceError, serviceError } from "@bikeshare/rules";
import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import type { CommandContext } from "../../command-context.ts";
import type { SignInMethod } from "../../config.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { useCode } from "./authenticator-app.ts";
import type { BeginSession, SignInContext } from "./context.ts";
import { finishAuthentication } from "./passkeys.ts";
import { normalizedEmail } from "./people.rules.ts";
import { findPerson, findPersonByEmail, listMembershipsOf, lockPerson, type PersonRow } from "./queries.ts";

/* Signs people in with passwords and passkeys, and confirms the identity of a person who is signed in. */

/** A password, and a code where the person has set up an authenticator app. */
export interface PasswordProof {
  readonly password: string;
  readonly code?: string | undefined;
}

/** A browser's answer to a challenge. */
export interface PasskeyProof {
  readonly challengeToken: string;
  readonly response: AuthenticationResponseJSON;
}

/**
 * Signs in with a password. The response is the same, and takes nearly as long, if there is no such account or it has no
 * password. The route has counted the attempt.
 * @param proof `address`: the caller's IPv4 address or IPv6 network
 * @returns the token of the session; `needs_code` when the password is right and a code is missing
 */
export async function signInWithPassword(
  context: SignInContext,
  { email, address, ...proof }: PasswordProof & { readonly email: string; readonly address: string },
  begin: BeginSession,
): Promise<{ readonly session: string } | "needs_code"> {
  const person = await personWithEmail(context, email);
  const countCode = (id: string) => context.signInLimits.countCode(id);
  const outcome = await provePassword(context, person, proof, { by: address, countCode });
  if (outcome === "needs_code") return outcome;
  if (outcome === "wrong" || person === undefined) {
    // Not awaited: the duration would reveal which accounts exist. If the database fails, only the record is lost.
    if (person !== undefined)
      recordActOf(context, context.db, person.id, "person.sign_in_refused", { method: "password" }).catch(
        () => undefined,
      );
    throw serviceError("unauthorized", "wrongSignIn");
  }
  return context.db.transaction(async (tx) => {
    const locked = await lockPerson(tx, person.id);
    const hasApp = (row: PersonRow) => row.totp_secret !== null;
    // The credentials may have been removed since they were verified.
    if (locked === undefined || locked.password_hash !== person.password_hash || hasApp(locked) !== hasApp(person))
      throw serviceError("unauthorized", "wrongSignIn");
    await recordActOf(context, tx, person.id, "person.signed_in", { method: "password" });
    return { session: await begin(tx, person.id) };
  });
}

/** Finds the person with an address as it was typed; undefined: there is none. */
export function personWithEmail({ db }: Pick<CommandContext, "db">, email: string): Promise<PersonRow | undefined> {
  return findPersonByEmail(db, normalizedEmail(email));
}

/** Signs in with a passkey. @returns the session's token */
export function signInWithPasskey(context: SignInContext, proof: PasskeyProof, begin: BeginSession): Promise<string> {
  return context.db.transaction(async (tx) => {
    const personId = await finishAuthentication(context, tx, proof);
    await recordActOf(context, tx, personId, "person.signed_in", { method: "passkey" });
    return begin(tx, personId);
  });
}

/**
 * Verifies a signed-in person's identity once more.
 * @throws ServiceError `confirmation_required` when the proof is wrong, or another person's; the session goes on
 */
export async function confirmPerson(
  context: SignInContext,
  personId: string,
  proof: PasswordProof | PasskeyProof,
): Promise<void> {
  if ("password" in proof) {
    const person = await findPerson(context.db, personId);
    // The route has counted the attempt for the session, so codes are not counted by person.
    const outcome = await provePassword(context, person, proof, { by: personId, countCode: () => Promise.resolve() });
    if (outcome !== "right") throw serviceError("confirmation_required", "wrongPassword");
    return;
  }
  const proven = await context.db
    .transaction((tx) => finishAuthentication(context, tx, proof))
    .catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === "unauthorized") return undefined;
      throw error;
    });
  if (proven !== personId) throw serviceError("confirmation_required", "wrongPasskey");
}

/**
 * Verifies a password, and the code if the person has an authenticator app.
 * @param person undefined: nobody has the address
 * @param limits `by`: who asks, because each may have only a few passwords waiting to be hashed; `countCode` counts a code
 * before it is compared
 */
async function provePassword(
  context: SignInContext,
  person: PersonRow | undefined,
  { password, code }: PasswordProof,
  { by, countCode }: { readonly by: string; readonly countCode: (personId: string) => Promise<void> },
): Promise<"right" | "wrong" | "needs_code"> {
  const isRight = await context.passwords.verify(person?.password_hash ?? null, password, by);
  if (!isRight || person === undefined) return "wrong";
  if (person.totp_secret === null) return "right";
  if (code === undefined || code === "") return "needs_code";
  await countCode(person.id);
  return (await useCode(context, person, code)) ? "right" : "wrong";
}

/** @throws ServiceError `forbidden` for a sign-in method that the operator has disabled */
export function requireMethod({ signInMethods }: SignInContext, method: SignInMethod): void {
  if (!signInMethods.includes(method)) throw serviceError("forbidden", "signInMethod");
}

/** Records an act on a person's own account in the audit log of each partner and operator that they belong to. */
export async function recordActOf(
  context: CommandContext,
  tx: Queryable,
  personId: string,
  action: string,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const memberships = await listMembershipsOf(tx, personId);
  const actor = `person:${personId}`;
  for (const { systemId, partnerId } of memberships)
    await insertActOf({ ...context, actor }, tx, { systemId, partnerId, action, subject: personId, detail });
}
