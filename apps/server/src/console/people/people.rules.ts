/* Rules that say when an invitation can be accepted, what proves an address, and where passkeys are valid. */

/** Milliseconds for which an invitation's link works: over a weekend, and over a holiday of some days. */
const INVITATION_LIFETIME_MS = 7 * 24 * 3_600_000;

/** Returns when an invitation that is made now expires. */
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

/** Matches a URL whose host is a loopback address. */
const LOOPBACK_HOST = /^(https?:\/\/)(?:127(?:\.\d+){3}|\[::1\])(?=[:/]|$)/;

/**
 * Returns the base address by which people reach the service. Replaces a loopback address by `localhost`, because passkeys
 * do not work on IP addresses.
 */
export function namedBaseUrl(baseUrl: string): string {
  return baseUrl.replace(LOOPBACK_HOST, "$1localhost").replace(/\/+$/, "");
}

/** Returns the link of an invitation. The token is behind the `#`, which browsers do not send to servers. */
export function invitationUrl(baseUrl: string, token: string): string {
  return `${namedBaseUrl(baseUrl)}/dashboard/invitation#${token}`;
}

/**
 * Matches every character but four: the signs of ohm, kelvin and ångström, and the Turkish İ. In lower case, these become
 * common letters.
 */
const SAFE_TO_LOWER = /[^\u{130}\u{2126}\u{212A}\u{212B}]+/gu;

/**
 * Returns the form of an address that is stored and mailed to: addresses that differ only in case belong to one person. For
 * example, the kelvin sign does not become a k: otherwise the owner of an address with the sign could prove the address with
 * a k.
 */
export function normalizedEmail(email: string): string {
  return email.trim().replaceAll(SAFE_TO_LOWER, (part) => part.toLowerCase());
}

/** What a membership is for: a partner of a system, or with null its operator. */
interface Reach {
  readonly systemId: string;
  readonly partnerId: string | null;
}

/** The proof that an account's address belongs to its person. */
export interface AddressProof {
  /**
   * The kind of proof: a mailed link, an identity with an address that the provider has verified, or a link from the
   * operator.
   */
  readonly by: "mail" | "identity" | "operator";
  /**
   * The system whose operator vouches for the person, for a link from the operator. Null: the proof counts in every system.
   */
  readonly systemId: string | null;
}

/** Returns the proof of an account's address, from its row; null: there is none. */
export function proofOf(row: {
  readonly proof: string | null;
  readonly proof_system_id: string | null;
}): AddressProof | null {
  const { proof, proof_system_id: systemId } = row;
  return proof === "mail" || proof === "identity" || proof === "operator" ? { by: proof, systemId } : null;
}

/**
 * Returns the proof of address that opening an invitation's link gives; null: none, because a partner's admin has seen the
 * link.
 */
export function proofOfLink(invitation: {
  readonly system_id: string;
  readonly proves: string | null;
  readonly created_by: string;
}): AddressProof | null {
  const { system_id: systemId, proves, created_by: maker } = invitation;
  if (proves === "mail") return { by: "mail", systemId: null };
  // A user of the command line has access to the database, and so to every system.
  return proves === "operator" ? { by: "operator", systemId: isCommandLine(maker) ? null : systemId } : null;
}

/** Tells whether an actor of the audit log is somebody at the command line. */
export function isCommandLine(actor: string): boolean {
  return actor.startsWith("cli:");
}

/**
 * Tells whether a proof counts for all memberships of an account: an operator cannot vouch for people in another operator's
 * system.
 */
export function covers(proof: AddressProof | null, reach: readonly Pick<Reach, "systemId">[]): boolean {
  if (proof === null) return false;
  return proof.systemId === null || reach.every(({ systemId }) => systemId === proof.systemId);
}

/** The properties of an account that decide the effect of a link. */
export interface AccountState {
  readonly proof: AddressProof | null;
  readonly hasCredentials: boolean;
  /** The memberships that the account already has. */
  readonly memberships: readonly Reach[];
}

/**
 * The effect of opening a link on an existing account:
 * - `takes_over`: it is the first proof of the address. The earlier holder of the account loses it.
 * - `opens`: it signs in, and ends the existing sessions, because the account has no other credential.
 * - `needs_sign_in`: nothing, unless the browser is signed in to the account.
 */
export type Opening = "takes_over" | "opens" | "needs_sign_in";

/**
 * Returns the effect of opening a link. Asks of both proofs, the account's and the link's, whether they cover every
 * membership that the account will then have: those it has, and the link's.
 */
export function openingOf(
  link: Reach & { readonly proof: AddressProof | null },
  { proof, hasCredentials, memberships }: AccountState,
): Opening {
  const reach = [...memberships, link];
  const isProved = covers(proof, reach);
  if (covers(link.proof, reach)) {
    if (!isProved) return "takes_over";
    return hasCredentials ? "needs_sign_in" : "opens";
  }
  // A partner's admin may have opened the link. So it opens only an account without proof and credentials whose memberships
  // are all of that partner.
  const areAllOfPartner = reach.every(
    ({ systemId, partnerId }) => systemId === link.systemId && partnerId === link.partnerId && partnerId !== null,
  );
  return link.proof === null && proof === null && areAllOfPartner && !hasCredentials ? "opens" : "needs_sign_in";
}

/** The domain of a passkey: browsers use the passkey nowhere else. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/**
 * Returns the relying party of a service at a base URL; undefined: it is not a URL, or its host is an IP address, on which
 * browsers allow no passkeys. A loopback address counts as `localhost`, on which they do.
 */
export function relyingParty(baseUrl: string): RelyingParty | undefined {
  const url = URL.parse(baseUrl);
  if (url === null) return undefined;
  if (/^(?:127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)) url.hostname = "localhost";
  // URLs write any IPv4 address as four numbers, and any IPv6 address in brackets.
  if (/^(?:\d+(?:\.\d+){3}|\[.*\])$/.test(url.hostname)) return undefined;
  return { id: url.hostname, origin: url.origin };
}
