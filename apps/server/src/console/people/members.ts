import type { MembershipRole } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import type { ActorContext, CommandContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { hasSession } from "../sessions/service.ts";
import {
  deleteMembership,
  type ListedInvitation,
  listMembers,
  listOpenInvitations,
  type LockedMember,
  lockMember,
  lockOperatorAdmins,
  lockPerson,
  type MemberRow,
  type PeopleScope,
  type PersonRow,
  updateRevoked,
  updateRevokedOf,
  updateRevokedTo,
  updateRole,
} from "./queries.ts";

export type { PeopleScope } from "./queries.ts";

/*
 * Lists and changes the members of a partner or of the operator, and revokes invitations. `lockOwner` serves those who change
 * their own account.
 */

/** Returns the members of a partner, or with null of the operator, and who is invited to become one. */
export async function peopleOf(
  { db, clock }: Pick<CommandContext, "db" | "clock">,
  systemId: string,
  partnerId: string | null,
): Promise<{ readonly members: readonly MemberRow[]; readonly invitations: readonly ListedInvitation[] }> {
  const [members, invitations] = await Promise.all([
    listMembers(db, systemId, partnerId),
    listOpenInvitations(db, systemId, partnerId, new Date(clock())),
  ]);
  return { members, invitations };
}

/** Revokes an invitation. @throws ServiceError `not_found` when it is not open */
export function revokeInvitation(context: ActorContext, scope: PeopleScope, id: string): Promise<void> {
  const { systemId } = scope;
  return context.db.transaction(async (tx) => {
    const revoked = await updateRevoked(tx, scope, id, new Date(context.clock()));
    if (revoked === undefined) throw serviceError("not_found", "openInvitation");
    const { email, partner_id: partnerId } = revoked;
    const act = { systemId, action: "invitation.revoked", subject: partnerId ?? systemId, detail: { email } };
    await insertActOf(context, tx, act);
  });
}

/** Changes a member's role. @throws ServiceError `not_found`; `last_one` if the operator would be left without an admin */
export function changeRole(context: ActorContext, scope: PeopleScope, id: string, role: MembershipRole): Promise<void> {
  return context.db.transaction(async (tx) => {
    const member = await lockForChange(tx, scope, id, role === "admin");
    if (member.role === role) return;
    await updateRole(tx, scope.systemId, id, role);
    if (role !== "admin") await endInvitations(context, tx, scope.systemId, member);
    await recordChange(context, tx, scope.systemId, "person.role_changed", member, { role });
  });
}

/**
 * Ends a membership. A page of it that is still open gets a 404 for its next request.
 * @throws ServiceError `not_found`; `last_one` if the operator would be left without an admin
 */
export function removeMember(context: ActorContext, scope: PeopleScope, id: string): Promise<void> {
  return context.db.transaction(async (tx) => {
    const member = await lockForChange(tx, scope, id, false);
    await deleteMembership(tx, scope.systemId, id);
    await endInvitations(context, tx, scope.systemId, member);
    await recordChange(context, tx, scope.systemId, "person.removed", member, {});
  });
}

/**
 * Revokes the invitations of a person who is no longer an admin: those that the person made, and an open one that could make
 * the person an admin again.
 */
async function endInvitations(
  { clock }: ActorContext,
  tx: Transaction,
  systemId: string,
  { person_id, partner_id: partnerId, email }: LockedMember,
): Promise<void> {
  const now = new Date(clock());
  await updateRevokedOf(tx, person_id, now, { systemId, partnerId });
  await updateRevokedTo(tx, { systemId, partnerId, email }, now);
}

/**
 * Returns a member, and locks the membership until the transaction ends.
 * @param staysAdmin true: the member remains an admin, and so may be the operator's last one
 */
async function lockForChange(
  tx: Transaction,
  scope: PeopleScope,
  id: string,
  staysAdmin: boolean,
): Promise<LockedMember> {
  const admins = await lockOperatorAdmins(tx, scope.systemId);
  const member = await lockMember(tx, scope, id);
  if (member === undefined) throw serviceError("not_found", "member");
  if (!staysAdmin && admins.length === 1 && admins[0] === id) throw serviceError("last_one", "operatorAdmin");
  return member;
}

function recordChange(
  context: ActorContext,
  tx: Transaction,
  systemId: string,
  action: string,
  { person_id, email, partner_id }: LockedMember,
  more: Readonly<Record<string, unknown>>,
): Promise<void> {
  const detail = { person_id, email, ...more };
  return insertActOf(context, tx, { systemId, action, subject: partner_id ?? systemId, detail });
}

/** A person who changes their own account, and the session in which they do so. */
export interface AccountOwner {
  readonly personId: string;
  readonly sessionId: string;
}

/**
 * Blocks other sign-ins to an account and changes of its credentials until the transaction ends.
 * @throws ServiceError `unauthorized` when the session has ended since it was read, for example because somebody has taken
 * the account over
 */
export async function lockOwner(tx: Transaction, { personId, sessionId }: AccountOwner): Promise<PersonRow> {
  const person = await lockPerson(tx, personId);
  if (person === undefined || !(await hasSession(tx, sessionId))) throw serviceError("unauthorized", "endedSession");
  return person;
}
