/** Who somebody is at the identity provider, by what it has signed. */
export interface Identity {
  readonly issuer: string;
  /** The provider's own id of the account. */
  readonly subject: string;
  /** In lower case; undefined where the provider does not say that it has verified one. */
  readonly email: string | undefined;
  /** What the provider calls them; undefined where it does not say. */
  readonly name: string | undefined;
  /** When they last proved to the provider who they are; undefined where it does not say. */
  readonly authenticatedAt: number | undefined;
}

/** Most characters of a person's name, as the contract has it. */
const MAX_NAME_LENGTH = 100;
const MAX_EMAIL_LENGTH = 254;

export function identityOf(
  issuer: string,
  claims: { readonly sub: string; readonly [name: string]: unknown },
): Identity {
  const { sub, email, name, auth_time: authTime } = claims;
  const isAddress = typeof email === "string" && email.length <= MAX_EMAIL_LENGTH && /^[^\s@]+@[^\s@]+$/.test(email);
  const isName = typeof name === "string" && /^[^\p{C}\p{Z}](?:[^\p{C}]*[^\p{C}\p{Z}])?$/u.test(name);
  return {
    issuer,
    subject: sub,
    email: isAddress && isVerified(claims) ? email.toLowerCase() : undefined,
    name: isName && name.length <= MAX_NAME_LENGTH ? name : undefined,
    authenticatedAt: typeof authTime === "number" ? authTime * 1000 : undefined,
  };
}

/**
 * Whether the provider says that the address is the person's. Microsoft Entra ID has no `email_verified`: there `xms_edov`
 * says that the organisation owns the address's domain. What a provider denies, nothing else makes true.
 */
function isVerified({ email_verified: verified, xms_edov: isOwnDomain }: Readonly<Record<string, unknown>>): boolean {
  if (verified !== undefined) return verified === true;
  return isOwnDomain === true || isOwnDomain === 1 || isOwnDomain === "1";
}

/** Whether an address is in one of the domains; a domain's subdomains are others. */
export function isInDomains(email: string, domains: readonly string[]): boolean {
  return domains.includes(email.slice(email.lastIndexOf("@") + 1));
}

/** Milliseconds by which the provider's clock may be behind this one's. */
const CLOCK_TOLERANCE_MS = 30_000;

/** Whether somebody has proved who they are since an instant. */
export function isProvedSince({ authenticatedAt }: Identity, since: number): boolean {
  return authenticatedAt !== undefined && authenticatedAt >= since - CLOCK_TOLERANCE_MS;
}
