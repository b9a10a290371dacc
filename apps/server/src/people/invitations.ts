import type { MembershipRole } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import { insertActOf } from "../audit/queries.ts";
import type { ActorContext, CommandContext } from "../command-context.ts";
import type { Queryable, Transaction } from "../db/database.ts";
import { partnerWithId } from "../partners/service.ts";
import { hashToken, isToken, makeToken } from "../sessions/session.rules.ts";
import type { SignInContext } from "./context.ts";
import { listPasskeys } from "./credential-queries.ts";
import { listIdentities } from "./identity-queries.ts";
import {
  findInvitation,
  insertInvitation,
  type InvitationRow,
  lockInvitation,
  updateAccepted,
} from "./invitation-queries.ts";
import { invitationExpiry, isOpen, linkSignsIn, normalizedEmail } from "./invitation.rules.ts";
import { findPersonByEmail, insertMembership, insertPerson, listMembershipsOf, type PersonRow } from "./queries.ts";

export interface InvitationInput {
  readonly systemId: string;
  /** Null: into the operator's own people. */
  readonly partnerId: string | null;
  readonly email: string;
  readonly role: MembershipRole;
}

/** An invitation just made. `token` is in its link, and stored nowhere. */
export interface IssuedInvitation {
  readonly id: string;
  readonly token: string;
  readonly expires_at: Date;
}

/** Offers somebody a membership. @throws ServiceError when there is no such partner */
export function invite(context: ActorContext, input: InvitationInput): Promise<IssuedInvitation> {
  const { systemId, partnerId, role } = input;
  const { clock, ids, actor } = context;
  return context.db.transaction(async (tx) => {
    if (partnerId !== null && (await partnerWithId({ db: tx }, systemId, partnerId)) === undefined)
      throw serviceError("not_found", "partner");
    const now = clock();
    const id = ids.next("invitation");
    const token = makeToken((bytes) => ids.randomBytes(bytes));
    const email = normalizedEmail(input.email);
    const expiresAt = invitationExpiry(now);
    await insertInvitation(tx, {
      system_id: systemId,
      id,
      hash: hashToken(token),
      email,
      partner_id: partnerId,
      role,
      created_at: new Date(now),
      created_by: actor,
      expires_at: expiresAt,
      accepted_at: null,
      revoked_at: null,
    });
    const detail = { email, role, partner_id: partnerId };
    await insertActOf(context, tx, { systemId, action: "person.invited", subject: partnerId ?? systemId, detail });
    return { id, token, expires_at: expiresAt };
  });
}

/** What a link shows before anybody accepts. */
export interface OpenInvitation extends InvitationRow {
  /** The person has an account that the link alone does not open. */
  readonly needsSignIn: boolean;
}

/** The invitation of a link's token. @throws ServiceError `not_found` when it cannot be accepted any more */
export async function openInvitation(context: CommandContext, token: string): Promise<OpenInvitation> {
  const { db, clock } = context;
  const invitation = isToken(token) ? await findInvitation(db, hashToken(token)) : undefined;
  if (invitation === undefined || !isOpen(invitation, clock())) throw serviceError("not_found", "invitation");
  const person = await findPersonByEmail(db, invitation.email);
  return { ...invitation, needsSignIn: person !== undefined && !(await signsIn(db, invitation, person)) };
}

/**
 * Accepts an invitation, once.
 * @param signedIn the person whose session the browser has
 * @param name of a new person
 * @throws ServiceError `not_found` when it cannot be accepted any more; `unauthorized` when the person must sign in first
 */
export function acceptInvitation(
  context: CommandContext & Pick<SignInContext, "signInMethods">,
  token: string,
  { signedIn, name }: Acceptance,
): Promise<PersonRow> {
  return context.db.transaction(async (tx) => {
    const invitation = await lockOpenInvitation(context, tx, token);
    const person = await findPersonByEmail(tx, invitation.email);
    // Otherwise the link would be a way in beside the identity provider.
    if (signedIn === undefined || person?.id !== signedIn) requireOtherMethod(context);
    return acceptLocked(context, tx, invitation, { signedIn, name });
  });
}

/** @throws ServiceError where people sign in at the identity provider alone */
function requireOtherMethod({ signInMethods }: Pick<SignInContext, "signInMethods">): void {
  if (signInMethods.every((method) => method === "oidc")) throw serviceError("forbidden", "signInMethod");
}

interface Acceptance {
  readonly signedIn: string | undefined;
  readonly name: string | undefined;
}

/** The invitation of a link's token, held until the transaction ends. @throws ServiceError `not_found`, as above */
export async function lockOpenInvitation(
  { clock }: CommandContext,
  tx: Transaction,
  token: string,
): Promise<InvitationRow> {
  const invitation = isToken(token) ? await lockInvitation(tx, hashToken(token)) : undefined;
  if (invitation === undefined || !isOpen(invitation, clock())) throw serviceError("not_found", "invitation");
  return invitation;
}

/** Accepts an invitation that is open and locked. */
export async function acceptLocked(
  context: CommandContext,
  tx: Transaction,
  invitation: InvitationRow,
  { signedIn, name }: Acceptance,
): Promise<PersonRow> {
  const { clock, ids } = context;
  const now = new Date(clock());
  const { system_id: systemId, id, partner_id: partnerId, role, email } = invitation;
  const made = await insertPerson(tx, { id: ids.next("person"), email, name: name ?? nameIn(email), created_at: now });
  const person = made ?? (await knownPerson(tx, invitation, signedIn));
  const membership = { systemId, id: ids.next("membership"), personId: person.id, partnerId, role, createdAt: now };
  await insertMembership(tx, membership);
  await updateAccepted(tx, systemId, id, now);
  const act = { systemId, action: "person.joined", subject: partnerId ?? systemId, detail: { email, role } };
  await insertActOf({ ...context, actor: `person:${person.id}` }, tx, act);
  return person;
}

/** The person who has an account already, if this browser may accept for them. */
async function knownPerson(
  tx: Transaction,
  invitation: InvitationRow,
  signedIn: string | undefined,
): Promise<PersonRow> {
  const person = await findPersonByEmail(tx, invitation.email);
  if (person === undefined) throw new Error("a person was there when it was to be made, and now is not");
  if (person.id === signedIn || (await signsIn(tx, invitation, person))) return person;
  if (signedIn !== undefined) throw serviceError("forbidden", "otherInvitation", { email: invitation.email });
  throw serviceError("unauthorized", "noSession");
}

/** Whether the link alone signs the person in. */
async function signsIn(db: Queryable, invitation: InvitationRow, person: PersonRow): Promise<boolean> {
  const memberships = await listMembershipsOf(db, person.id);
  const hasCredentials =
    person.password_hash !== null ||
    (await listPasskeys(db, person.id)).length > 0 ||
    (await listIdentities(db, person.id)).length > 0;
  return linkSignsIn(invitation, { hasCredentials, memberships });
}

/** What a person is called who has not said their name: the part of the address before the @. */
function nameIn(email: string): string {
  return email.split("@", 1)[0] ?? email;
}
