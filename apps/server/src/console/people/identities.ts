import type { SignInNotice } from "@bikeshare/contract/console";
import { ServiceError, serviceError } from "@bikeshare/rules";
import type { Transaction } from "../../storage/db/database.ts";
import { type Identity, isInDomains, isProvedSince } from "../identity-provider/claims.rules.ts";
import { type IdentityProvider, type ProviderSecrets, ProviderUnavailable } from "../identity-provider/provider.ts";
import { endSessionsOf } from "../sessions/service.ts";
import { makeToken } from "../sessions/session.rules.ts";
import type { BeginSession, SignInContext } from "./context.ts";
import {
  findIdentity,
  type IdentityRow,
  insertIdentity,
  listIdentities,
  updateIdentityUse,
} from "./credential-queries.ts";
import { join, lockedPerson, lockOpenInvitation, makePerson } from "./invitations.ts";
import { lockOwner } from "./members.ts";
import { type Challenge, giveChallenge, readChallenge, useChallenge } from "./passkeys.ts";
import { type AddressProof, covers, namedBaseUrl, proofOf } from "./people.rules.ts";
import {
  findPerson,
  findPersonByEmail,
  listMembershipsOf,
  lockPerson,
  type Membership,
  type PersonRow,
} from "./queries.ts";
import { type RemovedCredentials, takeOver } from "./reset.ts";
import { recordActOf } from "./sign-in.ts";

/*
 * Signs people in at the identity provider, and connects identities to accounts. An identity is a person's account at the
 * provider. An attempt begins in `beginAttempt`, goes through the provider's pages, and comes back to `readAttempt` and
 * `identify`; one of the functions below them then acts on the identity.
 */

/** The purpose of an attempt at the identity provider. */
export type ProviderPurpose =
  | { readonly kind: "sign_in" }
  | { readonly kind: "invitation"; readonly token: string }
  | { readonly kind: "connect" | "confirm"; readonly personId: string; readonly sessionId: string };

/**
 * One attempt to sign in at the provider. The browser stores it, encrypted, so that the service stores no unfinished
 * attempts.
 */
export interface ProviderAttempt {
  readonly secrets: ProviderSecrets;
  readonly purpose: ProviderPurpose;
  /** The page of the dashboard to which the browser comes back. */
  readonly next: string;
  /** Milliseconds since 1970. */
  readonly begunAt: number;
}

/** Seconds until the browser must be back: enough to look up a password, or to set up a second factor at the provider. */
export const ATTEMPT_TIMEOUT_SECONDS = 15 * 60;

/** The purpose of the stored attempts as challenges. It keeps them apart from other challenges. */
const CHALLENGE_PURPOSE = "identity provider";
const CALLBACK_PATH = "/console/v1/sign-in/oidc/callback";

/** A sign-in at the provider ended without success, and changed nothing. The page shows the notice. */
export class ProviderSignInError extends Error {
  override readonly name = "ProviderSignInError";
  readonly notice: SignInNotice;

  /** @param reason a text for the operator's log; by default the notice */
  constructor(notice: SignInNotice, reason: string = notice, options?: ErrorOptions) {
    super(reason, options);
    this.notice = notice;
  }
}

/** @throws ServiceError `not_found` when no provider is configured, or signing in there is disabled */
export function requireProvider({ identityProvider, signInMethods }: SignInContext): IdentityProvider {
  if (identityProvider === undefined || !signInMethods.includes("oidc"))
    throw serviceError("not_found", "identityProvider");
  return identityProvider;
}

/**
 * Begins an attempt.
 * @returns the address to which the browser is redirected, and the data that it stores meanwhile
 * @throws ProviderSignInError when the provider cannot be reached
 */
export async function beginAttempt(
  context: SignInContext,
  purpose: ProviderPurpose,
  next: string,
): Promise<{ readonly url: string; readonly token: string }> {
  const random = () => makeToken((bytes) => context.ids.randomBytes(bytes));
  const secrets = { state: random(), nonce: random(), verifier: random() };
  const attempt: ProviderAttempt = { secrets, purpose, next, begunAt: context.clock() };
  const token = giveChallenge(context, CHALLENGE_PURPOSE, JSON.stringify(attempt), ATTEMPT_TIMEOUT_SECONDS * 1000);
  const url = await requireProvider(context)
    .addressFor(secrets, redirectUri(context), purpose.kind === "confirm")
    .catch(explain);
  return { url, token };
}

/**
 * Returns the attempt that a browser stored, if the provider's answer is for this attempt.
 * @param query of the URL to which the browser returned
 * @throws ProviderSignInError `expired`
 */
export function readAttempt(
  context: SignInContext,
  token: string | undefined,
  query: URLSearchParams,
): { readonly attempt: ProviderAttempt; readonly challenge: Challenge } {
  try {
    const challenge = readChallenge(context, CHALLENGE_PURPOSE, token ?? "");
    // A value that decrypts was written by this file.
    const attempt = JSON.parse(challenge.value) as ProviderAttempt;
    if (query.get("state") === attempt.secrets.state) return { attempt, challenge };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
  throw new ProviderSignInError("expired");
}

/**
 * Returns the identity of the person who came back.
 * @throws ProviderSignInError when the provider rejects the attempt or cannot be reached
 */
export function identify(context: SignInContext, attempt: ProviderAttempt, query: URLSearchParams): Promise<Identity> {
  const returned = new URL(redirectUri(context));
  returned.search = query.toString();
  return requireProvider(context).identify(returned, attempt.secrets).catch(explain);
}

function redirectUri({ baseUrl }: SignInContext): string {
  return namedBaseUrl(baseUrl()) + CALLBACK_PATH;
}

/** Maximum characters of a reason in the log. */
const MAX_REASON_LENGTH = 500;

/**
 * Maps the library's errors to messages for the person. Logs only messages, because the errors themselves may hold tokens.
 */
function explain(error: unknown): never {
  const unavailable = [error, (error as Error).cause].find((one) => one instanceof ProviderUnavailable);
  if (unavailable !== undefined) throw new ProviderSignInError("provider_unavailable", unavailable.message);
  // Properties of the errors of openid-client; the last two are what the provider answered.
  const { code, error: answer, error_description: more } = error as Readonly<Record<string, unknown>>;
  if (answer === "access_denied") throw new ProviderSignInError("cancelled");
  const parts = [(error as Error).message, code, answer, more, causeOf(error as Error)];
  const reason = parts.filter((part) => typeof part === "string").join(": ");
  // Cleans and shortens the reason, because the browser's parameters may hold any text.
  throw new ProviderSignInError("provider_refused", reason.replaceAll(/\p{C}/gu, " ").slice(0, MAX_REASON_LENGTH));
}

function causeOf({ cause }: { readonly cause?: unknown }): string | undefined {
  return cause instanceof Error ? cause.message : undefined;
}

/** A person's identity from the provider, and the stored sign-in attempt (the challenge), which can be used once. */
export interface ProviderProof {
  readonly identity: Identity;
  readonly challenge: Challenge;
}

/** Somebody who has signed in at the provider. */
export interface ProviderSignIn {
  readonly person: Pick<PersonRow, "id" | "email">;
  /** The credentials that the account lost because its address had not been verified before; undefined: none. */
  readonly removed: RemovedCredentials | undefined;
  /** The token of the session that has begun. */
  readonly session: string;
}

/**
 * Signs in the person of an identity. Connects a new identity to the account with its address, if the provider has verified
 * the address.
 * @throws ProviderSignInError when there is no such account, or the identity cannot be connected to it
 */
export function signInAtProvider(
  context: SignInContext,
  proof: ProviderProof,
  begin: BeginSession,
): Promise<ProviderSignIn> {
  return proving(context, proof, async (tx, identity) => {
    const known = await findIdentity(tx, identity.issuer, identity.subject);
    const found = await (known === undefined
      ? findPersonByEmail(tx, verifiedEmail(identity))
      : findPerson(tx, known.person_id));
    const person = found && (await lockPerson(tx, found.id));
    if (person === undefined) throw new ProviderSignInError("unknown_person");
    // Reads the identity again after the lock: meanwhile somebody else may have proved the address, which disconnects the
    // identity.
    if (known !== undefined && (await findIdentity(tx, identity.issuer, identity.subject)) === undefined)
      throw new ProviderSignInError("unknown_person");
    const { removed } = await connectOwn(context, tx, person, identity, await listMembershipsOf(tx, person.id));
    await noteSignIn(context, tx, person, identity);
    const { idToken } = identity;
    // The provider's session may be old. Without a time from the provider, endpoints that need a confirmation ask for one
    // at once.
    return {
      person,
      removed,
      session: await begin(tx, person.id, { confirmedAt: identity.authenticatedAt ?? 0, idToken }),
    };
  });
}

/**
 * Accepts an invitation for an identity with the invited address, and creates the account if there is none.
 * @throws ProviderSignInError when the identity has another or an unverified address, or is connected to another account
 * @throws ServiceError `not_found` when the invitation is over
 */
export function acceptAtProvider(
  context: SignInContext,
  proof: ProviderProof,
  token: string,
  begin: BeginSession,
): Promise<ProviderSignIn> {
  return proving(context, proof, async (tx, identity) => {
    const invitation = await lockOpenInvitation(context, tx, token);
    const { email } = invitation;
    if (verifiedEmail(identity) !== email) throw new ProviderSignInError("other_email");
    const made = await makePerson(context, tx, email, identity.name, BY_IDENTITY);
    const person = made ?? (await lockedPerson(tx, email));
    const known = await findIdentity(tx, identity.issuer, identity.subject);
    if (known !== undefined && known.person_id !== person.id) throw new ProviderSignInError("other_account");
    await join(context, tx, invitation, person);
    // The memberships are read after `join`, so that they include the new one.
    const { removed } = await connectOwn(context, tx, person, identity, await listMembershipsOf(tx, person.id));
    await noteSignIn(context, tx, person, identity);
    // As after every accepted invitation, the session counts as confirmed now, whatever the age of the provider's session.
    return { person, removed, session: await begin(tx, person.id, { idToken: identity.idToken }) };
  });
}

/**
 * Connects an identity, with any address, to the account of a person who is signed in, and ends the account's other
 * sessions. An identity with the account's own address proves that address, as a sign-in does: one new session then replaces
 * all sessions.
 * @throws ProviderSignInError when the identity is connected to another account, or the account to another identity
 */
export function connectIdentity(
  context: SignInContext,
  proof: ProviderProof,
  { personId, sessionId }: { readonly personId: string; readonly sessionId: string },
  begin: BeginSession,
): Promise<Omit<ProviderSignIn, "session"> & { readonly session: string | undefined }> {
  return proving(context, proof, async (tx, identity) => {
    const person = await lockOwner(tx, { personId, sessionId });
    const known = await findIdentity(tx, identity.issuer, identity.subject);
    if (known !== undefined && known.person_id !== personId) throw new ProviderSignInError("other_account");
    const memberships = await listMembershipsOf(tx, personId);
    const { isFirstProof, removed } = await connectOwn(context, tx, person, identity, memberships);
    if (isFirstProof) return { person, removed, session: await begin(tx, personId, { idToken: identity.idToken }) };
    await endSessionsOf(tx, personId, sessionId);
    return { person, removed, session: undefined };
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

/** Marks a proof as used in the transaction that it authorizes, and requires an address of one of the allowed domains. */
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

/** The proof of an identity whose address the provider has verified. */
const BY_IDENTITY: AddressProof = { by: "identity", systemId: null };

/**
 * Connects an identity to the account of a person, who is locked. If it is the first proof of the account's address, the
 * account then belongs to the owner of the identity, whoever held it before.
 * @returns `removed`: the credentials that the account lost by that; undefined: none
 */
async function connectOwn(
  context: SignInContext,
  tx: Transaction,
  person: PersonRow,
  identity: Identity,
  memberships: readonly Pick<Membership, "systemId">[],
): Promise<{ readonly isFirstProof: boolean; readonly removed: RemovedCredentials | undefined }> {
  // A proof by one system's operator does not count for an account that has memberships in other systems.
  const isFirstProof = identity.email === person.email && !covers(proofOf(person), memberships);
  const removed = isFirstProof ? await takeOver(context, tx, person, BY_IDENTITY) : undefined;
  // The identities are read after `takeOver`, which disconnects all of them.
  const connected = await listIdentities(tx, person.id);
  if (connected.some((one) => isSame(one, identity))) return { isFirstProof, removed };
  if (connected.some(({ issuer }) => issuer === identity.issuer)) throw new ProviderSignInError("other_account");
  await connect(context, tx, person.id, identity);
  return { isFirstProof, removed };
}

function isSame(one: Pick<IdentityRow, "issuer" | "subject">, other: Pick<Identity, "issuer" | "subject">): boolean {
  return one.issuer === other.issuer && one.subject === other.subject;
}

/** Stores that an identity belongs to an account. @throws ProviderSignInError when it belongs to another one already */
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
