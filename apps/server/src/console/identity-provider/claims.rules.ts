import { MAX_MAIL_ADDRESS, MAX_PERSON_NAME } from "@bikeshare/contract";
import { normalizedEmail } from "../people/people.rules.ts";

/** A person's identity at the provider, from its signed token. */
export interface Identity {
  readonly issuer: string;
  /** The provider's own id of the account (the claim `sub`). */
  readonly subject: string;
  /** The mail address, in the form of `normalizedEmail`; undefined: the provider has verified none. */
  readonly email: string | undefined;
  /** The person's name at the provider; undefined when the provider sends none that can be stored. */
  readonly name: string | undefined;
  /**
   * When the person last proved their identity to the provider, in milliseconds since 1970; undefined when the provider does
   * not say.
   */
  readonly authenticatedAt: number | undefined;
  /** The provider's ID token, which is sent back to the provider when the person signs out. */
  readonly idToken: string;
}

/** Milliseconds by which the provider's clock and this one's may differ. */
const CLOCK_TOLERANCE_MS = 30_000;

/** Maximum characters of a provider's id of an account, as OpenID Connect bounds them. */
const MAX_SUBJECT_LENGTH = 255;

/**
 * Validates claims that the library leaves to its caller: the id can be stored, and the token is not from the future.
 * @throws Error that describes the invalid claim
 */
export function requireUsable({ sub, iat }: { readonly sub: string; readonly iat: number }, now: number): void {
  if (sub.length === 0 || sub.length > MAX_SUBJECT_LENGTH || /[\p{Cc}\p{Cs}]/u.test(sub))
    throw new Error("the ID token's sub is not 1 to 255 characters without control characters");
  if (iat * 1000 > now + CLOCK_TOLERANCE_MS)
    throw new Error("the ID token was issued in the future: compare the clocks of both machines");
}

/** Returns the identity that claims name. Leaves out what cannot be stored, and an address that is not verified. */
export function identityOf(
  issuer: string,
  idToken: string,
  claims: { readonly sub: string; readonly [name: string]: unknown },
): Identity {
  const { sub, email, name, auth_time: authTime } = claims;
  // An address has one @, and neither spaces nor control characters. A name has no control characters, and no space at
  // either end.
  const isAddress =
    typeof email === "string" && email.length <= MAX_MAIL_ADDRESS && /^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(email);
  const isName = typeof name === "string" && /^[^\p{C}\p{Z}](?:[^\p{C}]*[^\p{C}\p{Z}])?$/u.test(name);
  return {
    issuer,
    subject: sub,
    email: isAddress && isVerified(claims) ? normalizedEmail(email) : undefined,
    name: isName && name.length <= MAX_PERSON_NAME ? name : undefined,
    authenticatedAt: typeof authTime === "number" ? authTime * 1000 : undefined,
    idToken,
  };
}

/**
 * Tells whether the provider confirms that the address belongs to the person. Microsoft Entra ID has no `email_verified`:
 * its `xms_edov` means that the organisation owns the address's domain. An explicit denial always wins.
 */
function isVerified({ email_verified: verified, xms_edov: isOwnDomain }: Readonly<Record<string, unknown>>): boolean {
  if (verified !== undefined) return verified === true;
  return isOwnDomain === true || isOwnDomain === 1 || isOwnDomain === "1";
}

/** Tells whether an address is in one of the domains; a subdomain does not count as its domain. */
export function isInDomains(email: string, domains: readonly string[]): boolean {
  return domains.includes(email.slice(email.lastIndexOf("@") + 1));
}

/** Tells whether somebody has proved who they are since an instant. */
export function isProvedSince({ authenticatedAt }: Identity, since: number): boolean {
  return authenticatedAt !== undefined && authenticatedAt >= since - CLOCK_TOLERANCE_MS;
}
