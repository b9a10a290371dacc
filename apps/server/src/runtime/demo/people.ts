import type { ActorContext } from "../../command-context.ts";
import { invitationUrl } from "../../console/people/invitation.rules.ts";
import { invite } from "../../console/people/invitations.ts";

/** Links that sign in to the dashboard, once. */
export interface SignInLinks {
  readonly operator: string;
  readonly partner: string;
}

/** Invites the demo's two people, of the operator and of its partner, to the dashboard at a base address. */
export async function inviteToDemo(
  context: ActorContext & { readonly systemId: string; readonly partnerId: string },
  baseUrl: string,
): Promise<SignInLinks> {
  const { systemId, partnerId } = context;
  const link = async (of: string | null, email: string) => {
    const { token } = await invite(context, { systemId, partnerId: of, email, role: "admin", proves: "operator" });
    return invitationUrl(baseUrl, token);
  };
  return {
    operator: await link(null, "operator@demo.example"),
    partner: await link(partnerId, "partner@demo.example"),
  };
}
