import { serviceError } from "@bikeshare/rules";
import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { endSessionsOf } from "../sessions/service.ts";
import { finishSetup, removeAuthenticatorApp } from "./authenticator-app.ts";
import type { SignInContext } from "./context.ts";
import {
  countRecoveryCodes,
  deleteIdentity,
  deletePasskey,
  type IdentityRow,
  listIdentities,
  listPasskeys,
  type PasskeyRow,
  updatePassword,
} from "./credential-queries.ts";
import { requireProvider } from "./identities.ts";
import { type AccountOwner, lockOwner } from "./members.ts";
import { finishRegistration } from "./passkeys.ts";
import { findPerson } from "./queries.ts";
import { recordActOf } from "./sign-in.ts";

/* Changes how a person signs in: passkeys, password, authenticator app, and the account at the identity provider. */

/** A person's methods of signing in. */
export interface Credentials {
  readonly passkeys: readonly PasskeyRow[];
  readonly hasPassword: boolean;
  readonly hasAuthenticatorApp: boolean;
  readonly recoveryCodesLeft: number;
  /** The person's account at the configured identity provider. */
  readonly identity: IdentityRow | undefined;
}

type CredentialContext = Pick<SignInContext, "identityProvider">;

/** @param personId somebody who may be unknown: then there are no credentials */
export async function credentialsOf(
  { identityProvider }: CredentialContext,
  db: Queryable,
  personId: string,
): Promise<Credentials> {
  const person = await findPerson(db, personId);
  const identities = await listIdentities(db, personId);
  return {
    identity: identities.find(({ issuer }) => issuer === identityProvider?.issuer),
    passkeys: await listPasskeys(db, personId),
    hasPassword: (person?.password_hash ?? null) !== null,
    hasAuthenticatorApp: (person?.totp_secret ?? null) !== null,
    recoveryCodesLeft: await countRecoveryCodes(db, personId),
  };
}

/** Adds a passkey, and ends the owner's other sessions. */
export function addPasskey(
  context: SignInContext,
  owner: AccountOwner,
  answer: { readonly name: string; readonly challengeToken: string; readonly response: RegistrationResponseJSON },
): Promise<void> {
  return add(context, owner, "person.passkey_added", (tx) => finishRegistration(context, tx, owner.personId, answer));
}

/** @throws ServiceError when there is no such passkey, or nothing else to sign in with */
export function removePasskey(context: SignInContext, owner: AccountOwner, id: string): Promise<void> {
  return change(context, owner, "person.passkey_removed", async (tx) => {
    if (!(await deletePasskey(tx, owner.personId, id))) throw serviceError("not_found", "passkey");
    await requireCredential(context, tx, owner.personId);
  });
}

/**
 * Sets or replaces the password, and ends the owner's other sessions.
 * @throws ServiceError when the password is easy to guess
 */
export async function setPassword(
  context: SignInContext,
  owner: AccountOwner & { readonly email: string },
  password: string,
): Promise<void> {
  requireStrength(password, owner.email);
  const hash = await context.passwords.hash(password, owner.personId);
  await add(context, owner, "person.password_set", (tx) => updatePassword(tx, owner.personId, hash));
}

/**
 * Removes the password and the authenticator app, because the app's codes are asked for only with a password.
 * @throws ServiceError when the person has nothing else to sign in with
 */
export function removePassword(context: SignInContext, owner: AccountOwner): Promise<void> {
  return change(context, owner, "person.password_removed", async (tx) => {
    await updatePassword(tx, owner.personId, null);
    await removeAuthenticatorApp(tx, owner.personId);
    await requireCredential(context, tx, owner.personId);
  });
}

/** @returns recovery codes, which are shown once */
export async function setAuthenticatorApp(
  context: SignInContext,
  owner: AccountOwner,
  setup: { readonly setupToken: string; readonly code: string },
): Promise<string[]> {
  let codes: string[] = [];
  await add(context, owner, "person.authenticator_app_set", async (tx) => {
    codes = await finishSetup(context, tx, owner.personId, setup);
  });
  return codes;
}

/** Removes the authenticator app on the owner's request. (`removeAuthenticatorApp` is the bare change.) */
export function unsetAuthenticatorApp(context: SignInContext, owner: AccountOwner): Promise<void> {
  return change(context, owner, "person.authenticator_app_removed", (tx) => removeAuthenticatorApp(tx, owner.personId));
}

/** @throws ServiceError when no identity is connected, or there is nothing else to sign in with */
export function disconnectIdentity(context: SignInContext, owner: AccountOwner): Promise<void> {
  const { issuer } = requireProvider(context);
  return change(context, owner, "person.identity_disconnected", async (tx) => {
    if (!(await deleteIdentity(tx, owner.personId, issuer))) throw serviceError("not_found", "identity");
    await requireCredential(context, tx, owner.personId);
  });
}

/** Changes how a person signs in: one change at a time, with its entry in the audit log. */
function change(
  context: SignInContext,
  owner: AccountOwner,
  action: string,
  work: (tx: Transaction) => Promise<void>,
): Promise<void> {
  return context.db.transaction(async (tx) => {
    await lockOwner(tx, owner);
    await work(tx);
    await recordActOf(context, tx, owner.personId, action);
  });
}

/** Adds a sign-in method and ends every other session, because somebody else may have started one of them. */
function add(
  context: SignInContext,
  owner: AccountOwner,
  action: string,
  work: (tx: Transaction) => Promise<void>,
): Promise<void> {
  return change(context, owner, action, async (tx) => {
    await work(tx);
    await endSessionsOf(tx, owner.personId, owner.sessionId);
  });
}

/** Requires that a person keeps a credential of an enabled method. @throws ServiceError `last_one` when there is none */
async function requireCredential(context: SignInContext, tx: Transaction, personId: string): Promise<void> {
  const { passkeys, hasPassword, identity } = await credentialsOf(context, tx, personId);
  const has = { passkey: passkeys.length > 0, password: hasPassword, oidc: identity !== undefined };
  if (!context.signInMethods.some((method) => has[method])) throw serviceError("last_one", "credential");
}

/**
 * Rejects a password that repeats one character, or contains the name of the mail address, because attackers try these
 * first. The contract checks the length.
 */
function requireStrength(password: string, email: string): void {
  const [name = ""] = email.split("@", 1);
  const isOneCharacter = new Set(password).size === 1;
  const containsName = name.length >= 4 && password.toLowerCase().includes(name);
  if (isOneCharacter || containsName) throw serviceError("invalid_parameter", "passwordSimple");
}
