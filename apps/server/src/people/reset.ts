import { insertActOf } from "../audit/queries.ts";
import type { ActorContext } from "../command-context.ts";
import type { Transaction } from "../db/database.ts";
import { commandError } from "../errors/command-errors.ts";
import { endSessionsOf } from "../sessions/service.ts";
import { removeAuthenticatorApp } from "./authenticator-app.ts";
import { deletePasskey, listPasskeys, updatePassword } from "./credential-queries.ts";
import { deleteIdentities, listIdentities } from "./identity-queries.ts";
import { normalizedEmail } from "./invitation.rules.ts";
import { findPersonByEmail, lockPerson, type PersonRow } from "./queries.ts";

/** What was taken from a person. */
export interface RemovedCredentials {
  readonly passkeys: number;
  readonly hadPassword: boolean;
  readonly identities: number;
}

/**
 * Takes everything from a person that they sign in with, and signs them out everywhere: for somebody who has lost it all,
 * or from whom it was stolen. Memberships stay, so that a new invitation lets them in again.
 * @throws ServiceError when nobody has the address
 */
export function resetPerson(
  context: ActorContext,
  systemId: string,
  email: string,
): Promise<RemovedCredentials & { readonly id: string }> {
  return context.db.transaction(async (tx) => {
    const person = await findPersonByEmail(tx, normalizedEmail(email));
    if (person === undefined) throw commandError("not_found", "person", { email });
    const { id } = person;
    await lockPerson(tx, id);
    const removed = await removeCredentials(tx, person);
    await insertActOf(context, tx, { systemId, action: "person.reset", subject: id, detail: { email: person.email } });
    return { id, ...removed };
  });
}

/** Takes everything that a person, who is locked, signs in with, and ends their sessions. */
export async function removeCredentials(tx: Transaction, person: PersonRow): Promise<RemovedCredentials> {
  const { id } = person;
  const passkeys = await listPasskeys(tx, id);
  for (const passkey of passkeys) await deletePasskey(tx, id, passkey.id);
  await updatePassword(tx, id, null);
  await removeAuthenticatorApp(tx, id);
  const identities = await listIdentities(tx, id);
  await deleteIdentities(tx, id);
  await endSessionsOf(tx, id, null);
  return { passkeys: passkeys.length, hadPassword: person.password_hash !== null, identities: identities.length };
}
