import type { ActorContext, CommandContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { endSessionsOf } from "../sessions/service.ts";
import { removeAuthenticatorApp } from "./authenticator-app.ts";
import { deleteIdentities, deletePasskey, listIdentities, listPasskeys, updatePassword } from "./credential-queries.ts";
import { type AddressProof, normalizedEmail } from "./people.rules.ts";
import { findPersonByEmail, lockPerson, type PersonRow, updateProof, updateRevokedOf } from "./queries.ts";
import { recordActOf } from "./sign-in.ts";

/*
 * Removes all credentials of an account: by a command of the operator, or when its address is proved for the first
 * time.
 */

/** The credentials that were removed from a person. */
export interface RemovedCredentials {
  readonly passkeys: number;
  readonly hadPassword: boolean;
  readonly identities: number;
}

/**
 * Removes all credentials of a person, and ends their sessions: for somebody who has lost them, or from whom they were
 * stolen. Memberships stay, so that a new invitation gives access again; rights of the operator are suspended until
 * the address is proved again.
 * @throws ServiceError when nobody has the address
 */
export function resetPerson(
  context: ActorContext,
  systemId: string,
  email: string,
): Promise<RemovedCredentials & { readonly id: string }> {
  return context.db.transaction(async (tx) => {
    const found = await findPersonByEmail(tx, normalizedEmail(email));
    const person = found && (await lockPerson(tx, found.id));
    if (person === undefined) throw commandError("not_found", "person", { email });
    const { id } = person;
    const removed = await removeCredentials(context, tx, person);
    await insertActOf(context, tx, { systemId, action: "person.reset", subject: id, detail: { email: person.email } });
    return { id, ...removed };
  });
}

/**
 * Gives the account of a person, who is locked, to the first who proved its address. Until then the holder of the account
 * was unknown: all credentials are removed, with the sessions and the invitations made in them.
 * @returns the removed credentials; undefined: none
 */
export async function takeOver(
  context: CommandContext,
  tx: Transaction,
  person: PersonRow,
  proof: AddressProof,
): Promise<RemovedCredentials | undefined> {
  const removed = await removeCredentials(context, tx, person);
  await updateProof(tx, person.id, proof);
  const hadSome = removed.passkeys > 0 || removed.hadPassword || removed.identities > 0;
  if (hadSome) await recordActOf(context, tx, person.id, "person.credentials_removed", { ...removed });
  return hadSome ? removed : undefined;
}

/**
 * Removes all credentials and the proof of a locked person, ends their sessions, and revokes the invitations that they made.
 */
async function removeCredentials(
  { clock }: CommandContext,
  tx: Transaction,
  person: PersonRow,
): Promise<RemovedCredentials> {
  const { id } = person;
  const passkeys = await listPasskeys(tx, id);
  for (const passkey of passkeys) await deletePasskey(tx, id, passkey.id);
  await updatePassword(tx, id, null);
  await removeAuthenticatorApp(tx, id);
  const identities = await listIdentities(tx, id);
  await deleteIdentities(tx, id);
  await endSessionsOf(tx, id, null);
  await updateRevokedOf(tx, id, new Date(clock()));
  await updateProof(tx, id, null);
  return { passkeys: passkeys.length, hadPassword: person.password_hash !== null, identities: identities.length };
}
