import type { MembershipRole } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import type { ActorContext, CommandContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { holdPartner } from "../../partners/service.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { endSessionsOf, hasSession } from "../sessions/service.ts";
import { hashToken, isToken, makeToken } from "../sessions/session.rules.ts";
import type { BeginSession, SignInContext } from "./context.ts";
import { listIdentities, listPasskeys } from "./credential-queries.ts";
import type { AccountOwner } from "./members.ts";
import {
  type AddressProof,
  invitationExpiry,
  isCommandLine,
  isOpen,
  normalizedEmail,
  type Opening,
  openingOf,
  proofOf,
  proofOfLink,
} from "./people.rules.ts";
import {
  findInvitation,
  findPersonByEmail,
  insertInvitation,
  insertMembership,
  insertPerson,
  type InvitationRow,
  listMembershipsOf,
  lockInvitation,
  lockPerson,
  lockRightToInvite,
  lockSystem,
  type PersonRow,
  updateAccepted,
  updateProof,
  updateProves,
} from "./queries.ts";
import { type RemovedCredentials, takeOver } from "./reset.ts";

/*
 * Makes, shows and accepts invitations. Opening a link may prove that the invited address is the person's (`proves`). If
 * nobody has proved the address of an existing account yet, the account goes to the person who opens such a link.
 */

export interface InvitationInput {
  readonly systemId: string;
  /** Null: into the operator's own people. */
  readonly partnerId: string | null;
  readonly email: string;
  readonly role: MembershipRole;
  /** The proof of address that opening the link gives; null: none, because a partner's admin sees the link. */
  readonly proves: LinkProof | null;
}

/** Why opening a link proves the address of the invited person: the link was mailed, or given by the operator. */
export type LinkProof = "mail" | "operator";

/** A new invitation. `token` is part of its link, and is not stored. */
interface IssuedInvitation {
  readonly id: string;
  readonly token: string;
  readonly expires_at: Date;
}

/**
 * Offers somebody a membership. Replaces an open invitation of the address to the same partner or operator.
 * @throws ServiceError when there is no such partner, or the maker may not invite any more
 */
export function invite(context: ActorContext, input: InvitationInput): Promise<IssuedInvitation> {
  const { systemId, partnerId, role, proves } = input;
  const { clock, ids, actor } = context;
  return context.db.transaction(async (tx) => {
    const email = normalizedEmail(input.email);
    const now = clock();
    await lockScope(tx, systemId, partnerId);
    const made = { system_id: systemId, partner_id: partnerId, created_by: actor, proves };
    if (!(await lockRightOfMaker(tx, made))) throw serviceError("not_found", "page");
    const id = ids.next("invitation");
    const token = makeToken((bytes) => ids.randomBytes(bytes));
    const expiresAt = invitationExpiry(now);
    await insertInvitation(tx, {
      ...made,
      id,
      hash: hashToken(token),
      email,
      role,
      created_at: new Date(now),
      expires_at: expiresAt,
      accepted_at: null,
      revoked_at: null,
    });
    const detail = { email, role, partner_id: partnerId };
    await insertActOf(context, tx, { systemId, action: "person.invited", subject: partnerId ?? systemId, detail });
    return { id, token, expires_at: expiresAt };
  });
}

/** Locks the scope of an invitation: of two concurrent invitations of an address, the later one replaces the earlier one. */
async function lockScope(tx: Transaction, systemId: string, partnerId: string | null): Promise<void> {
  if (partnerId === null) return lockSystem(tx, systemId);
  if ((await holdPartner(tx, systemId, partnerId)) === undefined) throw serviceError("not_found", "partner");
}

/**
 * Records that the link of an invitation was shown to its maker, because it could not be mailed.
 * @param proves what the link proves from now on
 */
export function noteShown(
  { db }: Pick<CommandContext, "db">,
  systemId: string,
  id: string,
  proves: LinkProof | null,
): Promise<void> {
  return updateProves(db, systemId, id, proves);
}

/**
 * Returns the invitation of a link's token, and locks it until the transaction ends. An invitation that a person made is
 * valid while they are a member: locks their membership too, and first, in the same order as its removal.
 * @throws ServiceError `not_found` when it can no longer be accepted
 */
export async function lockOpenInvitation(
  { clock }: Pick<CommandContext, "clock">,
  tx: Transaction,
  token: string,
): Promise<InvitationRow> {
  const hash = isToken(token) ? hashToken(token) : undefined;
  const found = hash && (await findInvitation(tx, hash));
  const mayMakerInvite = found !== undefined && (await lockRightOfMaker(tx, found));
  const invitation = hash && mayMakerInvite ? await lockInvitation(tx, hash) : undefined;
  if (invitation === undefined || !isOpen(invitation, clock())) throw serviceError("not_found", "invitation");
  return invitation;
}

/**
 * Tells whether the maker of an invitation may still invite, and locks the membership that gives the right. The command line
 * always may, without a membership.
 */
async function lockRightOfMaker(
  tx: Transaction,
  invitation: Pick<InvitationRow, "system_id" | "partner_id" | "created_by" | "proves">,
): Promise<boolean> {
  const { system_id: systemId, partner_id: partnerId, created_by: maker, proves } = invitation;
  if (isCommandLine(maker)) return true;
  const personId = maker.startsWith("person:") ? maker.slice("person:".length) : undefined;
  return personId !== undefined && lockRightToInvite(tx, personId, { systemId, partnerId }, proves === "operator");
}

/** An invitation as its link shows it before it is accepted. */
interface OpenInvitation extends InvitationRow {
  /** The person has an account that the link alone does not open. */
  readonly needsSignIn: boolean;
  /** Opening the link proves the address. */
  readonly provesAddress: boolean;
}

/** Returns the invitation of a link's token. @throws ServiceError `not_found` when it cannot be accepted any more */
export function openInvitation(context: CommandContext, token: string): Promise<OpenInvitation> {
  return context.db.transaction(async (tx) => {
    const invitation = await lockOpenInvitation(context, tx, token);
    const person = await findPersonByEmail(tx, invitation.email);
    const needsSignIn = person !== undefined && (await openingBy(tx, invitation, person)) === "needs_sign_in";
    return { ...invitation, needsSignIn, provesAddress: proofOfLink(invitation) !== null };
  });
}

interface Acceptance {
  /** The person whose session the browser brought, and that session. */
  readonly signedIn: AccountOwner | undefined;
  /** The name of a new person; undefined: the part of the address before the @. */
  readonly name: string | undefined;
}

/** The person who has accepted an invitation. */
interface Accepted {
  readonly person: PersonRow;
  /**
   * The credentials that the account lost because no earlier proof of its address covers its memberships; undefined: none.
   */
  readonly removed: RemovedCredentials | undefined;
}

/**
 * Accepts an invitation, once, and begins a session.
 * @throws ServiceError `not_found` when it cannot be accepted any more; `unauthorized` when the person must sign in first;
 * `forbidden` when another person is signed in, or the link would bypass the identity provider
 */
export function acceptInvitation(
  context: CommandContext & Pick<SignInContext, "signInMethods">,
  token: string,
  acceptance: Acceptance,
  begin: BeginSession,
): Promise<Accepted & { readonly session: string }> {
  return context.db.transaction(async (tx) => {
    const invitation = await lockOpenInvitation(context, tx, token);
    const known = await findPersonByEmail(tx, invitation.email);
    const signedIn = await ownerStillSignedIn(tx, acceptance.signedIn, known);
    const isSignedInToAccount = signedIn !== undefined && signedIn.personId === known?.id;
    // The link is about to sign somebody in. If people sign in only at the identity provider, it would bypass the provider.
    if (!isSignedInToAccount) requireOtherMethod(context);
    const accepted = await acceptLocked(context, tx, invitation, { ...acceptance, signedIn });
    return { ...accepted, session: await begin(tx, accepted.person.id) };
  });
}

/**
 * Returns who is signed in. If the invitation is for that person's account, locks the account until the transaction ends,
 * and returns undefined if the session has ended since it was read: somebody else may have proved the address, which ends
 * its sessions.
 */
async function ownerStillSignedIn(
  tx: Transaction,
  signedIn: AccountOwner | undefined,
  invited: PersonRow | undefined,
): Promise<AccountOwner | undefined> {
  if (signedIn === undefined || signedIn.personId !== invited?.id) return signedIn;
  await lockPerson(tx, signedIn.personId);
  return (await hasSession(tx, signedIn.sessionId)) ? signedIn : undefined;
}

/** @throws ServiceError if people sign in only at the identity provider */
function requireOtherMethod({ signInMethods }: Pick<SignInContext, "signInMethods">): void {
  if (signInMethods.every((method) => method === "oidc")) throw serviceError("forbidden", "signInMethod");
}

/** Accepts an invitation that is locked: creates the account, or enters the existing one, and joins. */
async function acceptLocked(
  context: CommandContext,
  tx: Transaction,
  invitation: InvitationRow,
  { signedIn, name }: Acceptance,
): Promise<Accepted> {
  const proof = proofOfLink(invitation);
  const made = await makePerson(context, tx, invitation.email, name, proof);
  const accepted =
    made === undefined ? await enterAccount(context, tx, invitation, signedIn) : { person: made, removed: undefined };
  await join(context, tx, invitation, accepted.person);
  return accepted;
}

/** Creates the account of an address. @returns undefined: there is one already */
export function makePerson(
  { clock, ids }: CommandContext,
  tx: Transaction,
  email: string,
  name: string | undefined,
  proof: AddressProof | null,
): Promise<PersonRow | undefined> {
  const person = { id: ids.next("person"), email, name: name ?? nameIn(email), created_at: new Date(clock()) };
  return insertPerson(tx, person, proof);
}

/** Gives a person, who is locked or new, the membership of an invitation. */
export async function join(
  context: CommandContext,
  tx: Transaction,
  invitation: InvitationRow,
  { id: personId }: Pick<PersonRow, "id">,
): Promise<void> {
  const { clock, ids } = context;
  const now = new Date(clock());
  const { system_id: systemId, id, partner_id: partnerId, role, email } = invitation;
  await insertMembership(tx, { systemId, id: ids.next("membership"), personId, partnerId, role, createdAt: now });
  await updateAccepted(tx, systemId, id, now);
  const act = { systemId, action: "person.joined", subject: partnerId ?? systemId, detail: { email, role } };
  await insertActOf({ ...context, actor: `person:${personId}` }, tx, act);
}

/**
 * Returns the existing account of the invited address, if the link or the browser's session opens it.
 * @throws ServiceError when neither does
 */
async function enterAccount(
  context: CommandContext,
  tx: Transaction,
  invitation: InvitationRow,
  signedIn: AccountOwner | undefined,
): Promise<Accepted> {
  const person = await lockedPerson(tx, invitation.email);
  const opening = await openingBy(tx, invitation, person);
  const proof = proofOfLink(invitation);
  if (opening === "takes_over" && proof !== null)
    return { person, removed: await takeOver(context, tx, person, proof) };
  if (person.id === signedIn?.personId) return { person, removed: undefined };
  if (opening === "needs_sign_in") {
    if (signedIn !== undefined) throw serviceError("forbidden", "otherInvitation", { email: invitation.email });
    throw serviceError("unauthorized", proof === null ? "unprovedInvitation" : "noSession");
  }
  // The account has no password, passkey or identity, so that a link of an invitation is the only way in. Ends the
  // sessions that earlier links began.
  await endSessionsOf(tx, person.id, null);
  await updateProof(tx, person.id, proof);
  return { person, removed: undefined };
}

/** Returns the account of an address, which must exist, and locks it until the transaction ends. */
export async function lockedPerson(tx: Transaction, email: string): Promise<PersonRow> {
  const found = await findPersonByEmail(tx, email);
  const person = found && (await lockPerson(tx, found.id));
  if (person === undefined) throw new Error("a person was there when it was to be made, and now is not");
  return person;
}

/** Returns the effect of an invitation's link on the existing account of its address. */
async function openingBy(db: Queryable, invitation: InvitationRow, person: PersonRow): Promise<Opening> {
  const memberships = await listMembershipsOf(db, person.id);
  const hasCredentials =
    person.password_hash !== null ||
    (await listPasskeys(db, person.id)).length > 0 ||
    (await listIdentities(db, person.id)).length > 0;
  const { system_id: systemId, partner_id: partnerId } = invitation;
  const link = { systemId, partnerId, proof: proofOfLink(invitation) };
  return openingOf(link, { proof: proofOf(person), hasCredentials, memberships });
}

/** Returns the name of a person who has not given one: the part of the address before the @. */
function nameIn(email: string): string {
  return email.split("@", 1)[0] ?? email;
}
