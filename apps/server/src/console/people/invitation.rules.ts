/** Milliseconds for which an invitation's link works: over a weekend, and over a holiday of some days. */
const INVITATION_LIFETIME_MS = 7 * 24 * 3_600_000;

/** When an invitation that is made now ends. */
export function invitationExpiry(now: number): Date {
  return new Date(now + INVITATION_LIFETIME_MS);
}

/** Tells whether an invitation can be accepted. */
export function isOpen(
  invitation: {
    readonly expires_at: Date;
    readonly accepted_at: Date | null;
    readonly revoked_at: Date | null;
    readonly partner_removed: boolean;
  },
  now: number,
): boolean {
  const { expires_at, accepted_at, revoked_at, partner_removed } = invitation;
  return now < expires_at.getTime() && accepted_at === null && revoked_at === null && !partner_removed;
}

/** This machine by its address, as the host of a URL. */
const LOOPBACK_HOST = /^(https?:\/\/)(?:127(?:\.\d+){3}|\[::1\])(?=[:/]|$)/;

/**
 * Returns the base address by which people reach the service. This machine goes by its name: passkeys work on no IP
 * address.
 */
export function namedBaseUrl(baseUrl: string): string {
  return baseUrl.replace(LOOPBACK_HOST, "$1localhost").replace(/\/+$/, "");
}

/** Returns the link of an invitation. The token is behind the `#`, which browsers do not send to servers. */
export function invitationUrl(baseUrl: string, token: string): string {
  return `${namedBaseUrl(baseUrl)}/dashboard/invitation#${token}`;
}

/** All but letters that become a common one as a small letter: the signs of ohm, kelvin and ångström, and the Turkish İ. */
const CASED = /[^\u{130}\u{2126}\u{212A}\u{212B}]+/gu;

/**
 * Returns the form of an address that is stored and mailed to: addresses that differ only in case belong to one person. The
 * kelvin sign does not become a k: otherwise the owner of the one address could prove the other.
 */
export function normalizedEmail(email: string): string {
  return email.trim().replaceAll(CASED, (part) => part.toLowerCase());
}
