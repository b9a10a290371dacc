import type { MembershipRole } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import type { ActorContext, CommandContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { holdPartner } from "../../partners/service.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { hashToken, isToken, makeToken } from "../sessions/session.rules.ts";
import { isCommandLine } from "./address-proof.rules.ts";
import {
  findInvitation,
  insertInvitation,
  type InvitationRow,
  lockInvitation,
  lockRightToInvite,
  lockSystem,
  updateProves,
} from "./invitation-queries.ts";
import { invitationExpiry, isOpen, normalizedEmail } from "./invitation.rules.ts";

export interface InvitationInput {
  readonly systemId: string;
  /** Null: into the operator's own people. */
  readonly partnerId: string | null;
  readonly email: string;
  readonly role: MembershipRole;
  /** The proof of address that opening the link gives; null: none, because a partner's admin sees the link. */
  readonly proves: LinkProof | null;
}

/** The way by which a link reaches the invited person so that it proves the address: mailed, or given by the operator. */
export type LinkProof = "mail" | "operator";

/** An invitation just made. `token` is in its link, and stored nowhere. */
export interface IssuedInvitation {
  readonly id: string;
  readonly token: string;
  readonly expires_at: Date;
}

/**
 * Offers somebody a membership, in place of an open offer of the same.
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
    if (!(await makerMayInvite(tx, made))) throw serviceError("not_found", "page");
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

/** Records that the link of an invitation was shown to its maker, because it could not be mailed. */
export function noteShown(
  { db }: Pick<CommandContext, "db">,
  systemId: string,
  id: string,
  proves: LinkProof | null,
): Promise<void> {
  return updateProves(db, systemId, id, proves);
}

/**
 * Returns the invitation of a link's token. Locks it, and its maker's membership, without which it is invalid, until the
 * transaction ends. Locks the membership first, in the same order as its removal.
 * @throws ServiceError `not_found` when it can no longer be accepted
 */
export async function lockOpenInvitation(
  { clock }: Pick<CommandContext, "clock">,
  tx: Transaction,
  token: string,
): Promise<InvitationRow> {
  const hash = isToken(token) ? hashToken(token) : undefined;
  const found = hash && (await findInvitation(tx, hash));
  const mayBeAccepted = found !== undefined && (await makerMayInvite(tx, found));
  const invitation = hash && mayBeAccepted ? await lockInvitation(tx, hash) : undefined;
  if (invitation === undefined || !isOpen(invitation, clock())) throw serviceError("not_found", "invitation");
  return invitation;
}

/** Tells whether the maker of an invitation may still invite. The command line always may. */
async function makerMayInvite(
  tx: Transaction,
  invitation: Pick<InvitationRow, "system_id" | "partner_id" | "created_by" | "proves">,
): Promise<boolean> {
  const { system_id: systemId, partner_id: partnerId, created_by: maker, proves } = invitation;
  if (isCommandLine(maker)) return true;
  const personId = maker.startsWith("person:") ? maker.slice("person:".length) : undefined;
  return personId !== undefined && lockRightToInvite(tx, personId, { systemId, partnerId }, proves === "operator");
}
