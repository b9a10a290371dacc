import type { Transaction } from "../db/database.ts";
import { type Identity, isInDomains, isProvedSince } from "../identity-provider/claims.rules.ts";
import { type Challenge, useChallenge } from "./challenges.ts";
import type { SignInContext } from "./context.ts";
import {
  findIdentity,
  type IdentityRow,
  insertIdentity,
  listIdentities,
  updateIdentityUse,
} from "./identity-queries.ts";
import { acceptLocked, lockOpenInvitation } from "./invitations.ts";
import { ProviderSignInError, requireProvider } from "./provider-attempts.ts";
import { findPerson, findPersonByEmail, lockPerson, type PersonRow } from "./queries.ts";
import { type RemovedCredentials, removeCredentials } from "./reset.ts";
import { recordActOf } from "./sign-in.ts";

/** Who came back from the identity provider, and the challenge that is used up with it. */
export interface ProviderProof {
  readonly identity: Identity;
  readonly challenge: Challenge;
}

/** Somebody who has signed in at the provider. */
export interface ProviderSignIn {
  readonly person: Pick<PersonRow, "id" | "email">;
  /** What the account lost, because nobody had proved its address before; undefined: nothing. */
  readonly removed: RemovedCredentials | undefined;
}

/**
 * Signs in whoever an identity belongs to. One that is new here is connected to the account with its address, where the
 * provider has verified that.
 * @throws ProviderSignInError when there is no such account
 */
export function signInAtProvider(context: SignInContext, proof: ProviderProof): Promise<ProviderSignIn> {
  return proving(context, proof, async (tx, identity) => {
    const known = await findIdentity(tx, identity.issuer, identity.subject);
    const person = await (known === undefined
      ? findPersonByEmail(tx, verifiedEmail(identity))
      : findPerson(tx, known.person_id));
    if (person === undefined) throw new ProviderSignInError("unknown_person");
    const removed = known === undefined ? await connectProved(context, tx, person, identity) : undefined;
    await noteSignIn(context, tx, person, identity);
    return { person, removed };
  });
}

/**
 * Accepts an invitation by an identity with the invited address, which makes the account where there is none.
 * @throws ProviderSignInError when the identity has another address, or is connected to another account
 * @throws ServiceError `not_found` when the invitation is over
 */
export function acceptAtProvider(context: SignInContext, proof: ProviderProof, token: string): Promise<ProviderSignIn> {
  return proving(context, proof, async (tx, identity) => {
    const invitation = await lockOpenInvitation(context, tx, token);
    if (verifiedEmail(identity) !== invitation.email) throw new ProviderSignInError("other_email");
    const known = await findIdentity(tx, identity.issuer, identity.subject);
    const existing = await findPersonByEmail(tx, invitation.email);
    if (known !== undefined && known.person_id !== existing?.id) throw new ProviderSignInError("other_account");
    const acceptance = { signedIn: existing?.id, name: identity.name };
    const person = await acceptLocked(context, tx, invitation, acceptance);
    const removed = known === undefined ? await connectProved(context, tx, person, identity) : undefined;
    await noteSignIn(context, tx, person, identity);
    return { person, removed };
  });
}

/**
 * Connects an identity, with whatever address, to the account of a person who is signed in. Nothing else changes.
 * @throws ProviderSignInError when it, or the account, is connected already to another
 */
export function connectIdentity(context: SignInContext, proof: ProviderProof, personId: string): Promise<void> {
  return proving(context, proof, async (tx, identity) => {
    await lockPerson(tx, personId);
    const known = await findIdentity(tx, identity.issuer, identity.subject);
    if (known?.person_id === personId) return;
    const others = (await listIdentities(tx, personId)).filter(({ issuer }) => issuer === identity.issuer);
    if (known !== undefined || others.length > 0) throw new ProviderSignInError("other_account");
    await connect(context, tx, personId, identity);
  });
}

/** Makes sure that a person has just proved at the provider who they are. @throws ProviderSignInError */
export function confirmAtProvider(
  context: SignInContext,
  proof: ProviderProof,
  { personId, since }: { readonly personId: string; readonly since: number },
): Promise<void> {
  return proving(context, proof, async (tx, identity) => {
    const known = await findIdentity(tx, identity.issuer, identity.subject);
    if (known?.person_id !== personId) throw new ProviderSignInError("other_person");
    if (!isProvedSince(identity, since)) throw new ProviderSignInError("not_recent");
  });
}

/** Uses a proof up in the transaction of what it is for. */
function proving<Result>(
  context: SignInContext,
  { identity, challenge }: ProviderProof,
  work: (tx: Transaction, identity: Identity) => Promise<Result>,
): Promise<Result> {
  const { emailDomains } = requireProvider(context);
  return context.db.transaction(async (tx) => {
    await useChallenge(context, tx, challenge);
    if (emailDomains !== undefined && !isInDomains(verifiedEmail(identity), emailDomains))
      throw new ProviderSignInError("email_domain");
    return work(tx, identity);
  });
}

function verifiedEmail({ email }: Identity): string {
  if (email === undefined) throw new ProviderSignInError("email_unverified");
  return email;
}

/**
 * Connects an identity to the account whose address it proves. As long as nobody has proved that address, anybody may have
 * accepted the account's first invitation, and may hold what signs in to it: all of that is removed.
 */
async function connectProved(
  context: SignInContext,
  tx: Transaction,
  person: PersonRow,
  identity: Identity,
): Promise<RemovedCredentials | undefined> {
  await lockPerson(tx, person.id);
  const connected = await listIdentities(tx, person.id);
  if (connected.some((one) => isSame(one, identity))) return undefined;
  const isProved = connected.some(({ email }) => email === person.email);
  if (isProved && connected.some(({ issuer }) => issuer === identity.issuer))
    throw new ProviderSignInError("other_account");
  const removed = isProved ? undefined : await removeCredentials(tx, person);
  await connect(context, tx, person.id, identity);
  const hadSome = removed !== undefined && (removed.passkeys > 0 || removed.hadPassword || removed.identities > 0);
  if (hadSome) await recordActOf(context, tx, person.id, "person.credentials_removed", { ...removed });
  return hadSome ? removed : undefined;
}

function isSame(one: Pick<IdentityRow, "issuer" | "subject">, other: Pick<Identity, "issuer" | "subject">): boolean {
  return one.issuer === other.issuer && one.subject === other.subject;
}

async function connect(context: SignInContext, tx: Transaction, personId: string, identity: Identity): Promise<void> {
  const { issuer, subject, email } = identity;
  const now = new Date(context.clock());
  const times = { created_at: now, last_used_at: now };
  const isNew = await insertIdentity(tx, { issuer, subject, person_id: personId, email: email ?? null, ...times });
  if (!isNew) throw new ProviderSignInError("other_account");
  await recordActOf(context, tx, personId, "person.identity_connected", { issuer, email: email ?? null });
}

async function noteSignIn(
  context: SignInContext,
  tx: Transaction,
  { id }: Pick<PersonRow, "id">,
  { issuer, subject }: Identity,
): Promise<void> {
  await updateIdentityUse(tx, issuer, subject, new Date(context.clock()));
  await recordActOf(context, tx, id, "person.signed_in", { method: "oidc" });
}
