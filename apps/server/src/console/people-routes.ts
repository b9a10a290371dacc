import type { IssuedInvitation, MemberList, MembershipRole } from "@bikeshare/contract/console";
import type { ActorContext } from "../command-context.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller, type ConsoleRequest, consoleSession, partnerCaller, requireConfirmed } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { type InvitationInput, invite, type LinkProof, noteShown } from "./people/invitations.ts";
import { invitationMail } from "./people/mails.ts";
import { changeRole, peopleOf, type PeopleScope, removeMember, revokeInvitation } from "./people/members.ts";
import { invitationUrl, normalizedEmail } from "./people/people.rules.ts";

/** The answer of routes that only change something. */
const done = { status: 200, body: {} } as const;

/** Routes with which a partner's admins manage its people. */
export function partnerPeopleRoutes(context: ConsoleContext): ConsoleRoutes["partnerPeople"] {
  const contextOf = (request: ConsoleRequest) => actingAs(context, partnerCaller(request).actor);
  const scopeOf = (request: ConsoleRequest) => {
    const { systemId, partnerId } = partnerCaller(request);
    return { systemId, partnerId };
  };
  return {
    list: async ({ request }) => {
      const { systemId, partnerId } = scopeOf(request);
      return { status: 200, body: await describePeople(context, systemId, partnerId) };
    },
    invite: async ({ request, body }) => ({
      status: 200,
      body: await inviteAndMail(context, contextOf(request), { ...scopeOf(request), ...body }, "partner"),
    }),
    ...memberRoutes(context, contextOf, scopeOf),
  };
}

/** Routes with which the operator's admins manage the operator's people, and those of every partner of the system. */
export function operatorPeopleRoutes(context: ConsoleContext): ConsoleRoutes["operatorPeople"] {
  const contextOf = (request: ConsoleRequest) => actingAs(context, consoleCaller(request).actor);
  // Undefined: the operator's own people, and those of every partner.
  const scopeOf = (request: ConsoleRequest) => ({ systemId: consoleCaller(request).systemId, partnerId: undefined });
  return {
    list: async ({ request, query }) => ({
      status: 200,
      body: await describePeople(context, scopeOf(request).systemId, query.partner_id ?? null),
    }),
    invite: async ({ request, body: { email, role, partner_id: partnerId } }) => {
      const input = { systemId: scopeOf(request).systemId, partnerId, email, role };
      return { status: 200, body: await inviteAndMail(context, contextOf(request), input, "operator") };
    },
    ...memberRoutes(context, contextOf, scopeOf),
  };
}

interface MemberCall {
  readonly request: ConsoleRequest;
  readonly params: { readonly id: string };
}

/** Routes that partners and the operator have in common: changes to one member or invitation. */
function memberRoutes(
  { clock }: ConsoleContext,
  contextOf: (request: ConsoleRequest) => ActorContext,
  scopeOf: (request: ConsoleRequest) => PeopleScope,
) {
  return {
    revokeInvitation: async ({ request, params }: MemberCall) => {
      await revokeInvitation(contextOf(request), scopeOf(request), params.id);
      return done;
    },
    changeRole: async ({
      request,
      params,
      body,
    }: MemberCall & { readonly body: { readonly role: MembershipRole } }) => {
      // Needs a confirmation, as an invitation does: the new role gives somebody all permissions of an admin.
      if (body.role === "admin") requireConfirmed(consoleSession(request), clock());
      await changeRole(contextOf(request), scopeOf(request), params.id, body.role);
      return done;
    },
    remove: async ({ request, params }: MemberCall) => {
      await removeMember(contextOf(request), scopeOf(request), params.id);
      return done;
    },
  };
}

function actingAs({ db, clock, ids }: ConsoleContext, actor: string): ActorContext {
  return { db, clock, ids, actor };
}

/**
 * Invites by mail: opening a mailed link proves the invited person's address. Without a mail server, or if the mail fails,
 * the inviter is shown the link. It then proves the address only if the operator invites, who is trusted.
 * @param invitedBy whether an admin of the operator or of a partner invites
 */
async function inviteAndMail(
  { mailer, baseUrl, serviceName, logger, invitationLimits }: ConsoleContext,
  acting: ActorContext,
  input: Omit<InvitationInput, "proves">,
  invitedBy: "operator" | "partner",
): Promise<Served<IssuedInvitation>> {
  // The partner whose invitations are counted; null: the operator's are.
  const inviter = invitedBy === "operator" ? null : input.partnerId;
  await invitationLimits.count({ systemId: input.systemId, partnerId: inviter }, input.email);
  // What the link proves if the inviter sees it; null: nothing.
  const proofIfShown: LinkProof | null = invitedBy === "operator" ? "operator" : null;
  const proves = mailer === undefined ? proofIfShown : "mail";
  const { id, token, expires_at: expiresAt } = await invite(acting, { ...input, proves });
  const { systemId } = input;
  const email = normalizedEmail(input.email);
  const url = invitationUrl(baseUrl(), token);
  const body = { id, email, expires_at: expiresAt, proves_address: proves !== null };
  if (mailer === undefined) return { ...body, url };
  try {
    await mailer.send(invitationMail({ id, email, serviceName, url, expiresAt }));
    return { ...body, url: null };
  } catch (error) {
    logger.warn({ err: error, invitation: id }, "an invitation could not be mailed: its link is shown to the inviter");
    // Changes the proof before the link is returned, so that nobody has seen a link that proves more.
    await noteShown(acting, systemId, id, proofIfShown);
    return { ...body, url, proves_address: proofIfShown !== null };
  }
}

async function describePeople(
  context: ConsoleContext,
  systemId: string,
  partnerId: string | null,
): Promise<Served<MemberList>> {
  const { members, invitations } = await peopleOf(context, systemId, partnerId);
  return { members, invitations: invitations.map((open) => ({ ...open, invited_by: open.created_by })) };
}
