import { hash } from "node:crypto";
import { serviceError } from "@bikeshare/rules";
import type { RateLimits } from "../../http/rate-limits/rate-limits.ts";
import { normalizedEmail } from "./invitation.rules.ts";

/** Bounds how many invitations the pages make: each may be a mail from the operator's domain. */
export interface InvitationLimits {
  /**
   * Counts one invitation.
   * @param by whose admins invite: a partner's, or with null the operator's
   * @throws ServiceError `rate_limited` for a partner or an address that has had its number of them
   */
  count(by: { readonly systemId: string; readonly partnerId: string | null }, email: string): Promise<void>;
  /** Forgets what is counted no more. */
  sweep(): void;
}

const WINDOW_MS = 3_600_000;
/** Invitations of one partner: a team that begins. */
const PER_PARTNER = 50;
/** Of one partner, or of the operator, to one address: a link that was lost, twice. */
const PER_INVITER_AND_ADDRESS = 3;
/** To one address, of all partners together. Higher than for one, so that no partner keeps others from inviting somebody. */
const PER_ADDRESS = 10;

export function createInvitationLimits(rateLimits: RateLimits): InvitationLimits {
  const limiter = rateLimits.limiter("invitations", WINDOW_MS);
  const take = async (key: string, limit: number) => {
    const { allowed, resetSeconds } = await limiter.take(key, limit);
    if (!allowed) throw serviceError("rate_limited", "invitations", { retryAfterSeconds: resetSeconds });
  };
  return {
    async count({ systemId, partnerId }, email) {
      const inviter = `by ${systemId} ${partnerId ?? ""}`;
      const address = hash("sha256", normalizedEmail(email)).slice(0, 16);
      // First: it bounds how many addresses are remembered, too. The operator may mail from their own domain.
      if (partnerId !== null) await take(inviter, PER_PARTNER);
      await take(`${inviter} to ${address}`, PER_INVITER_AND_ADDRESS);
      await take(`to ${address}`, PER_ADDRESS);
    },
    sweep: () => limiter.sweep(),
  };
}
