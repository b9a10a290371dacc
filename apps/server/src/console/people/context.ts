import { hash } from "node:crypto";
import { type RateDecision, serviceError } from "@bikeshare/rules";
import type { CommandContext } from "../../command-context.ts";
import type { SignInMethod } from "../../config.ts";
import type { RateLimits } from "../../http/rate-limits/rate-limits.ts";
import type { Transaction } from "../../storage/db/database.ts";
import type { TokenCipher } from "../../storage/secrets/encryption.ts";
import type { IdentityProvider } from "../identity-provider/provider.ts";
import type { PasswordHashing } from "./passwords.ts";
import { normalizedEmail } from "./people.rules.ts";

/* The dependencies of signing in, and the limits of sign-in attempts and of invitations. */

/** The dependencies of signing in. */
export interface SignInContext extends CommandContext {
  /** The address at which browsers reach the service. */
  readonly baseUrl: () => string;
  /** The operator's name, which browsers and authenticator apps show. */
  readonly serviceName: string;
  /** Encrypts challenges and the secrets of authenticator apps. */
  readonly cipher: TokenCipher;
  readonly passwords: PasswordHashing;
  readonly signInLimits: SignInLimits;
  /** The methods of signing in. */
  readonly signInMethods: readonly SignInMethod[];
  readonly identityProvider: IdentityProvider | undefined;
}

/**
 * Begins a session of a person in the browser that has signed in. Call it in the transaction that has locked the person and
 * verified their credentials: otherwise a concurrent transaction that ends the person's sessions would miss this one.
 * @returns the cookie's token
 */
export type BeginSession = (tx: Transaction, personId: string, signIn?: SignInFacts) => Promise<string>;

/** The facts about a sign-in, apart from the person. */
interface SignInFacts {
  /** When the person proved their identity, in milliseconds since 1970; now, when left out. */
  readonly confirmedAt?: number;
  /** The ID token of the identity provider. */
  readonly idToken?: string;
}

/** Limits attempts with passwords and codes. Passkeys need no limit: a signature cannot be guessed. */
interface SignInLimits {
  /** Counts one attempt. @throws ServiceError `rate_limited` for an account or an address that has used up its attempts */
  count(email: string, address: string): Promise<void>;
  /**
   * Counts one code, by the person who has typed the right password.
   * @throws ServiceError `rate_limited` for a person who has tried too many codes
   */
  countCode(personId: string): Promise<void>;
  /**
   * Counts one confirmation, by its session: other people cannot use up its attempts.
   * @throws ServiceError `rate_limited` for a session that has used up its attempts
   */
  countConfirmation(sessionId: string): Promise<void>;
  /**
   * Counts one return of a browser from the identity provider. A successful return uses up none of the address's attempts.
   * @throws ServiceError `rate_limited` for an address that has used up its attempts, or has returned too often
   */
  countReturn(address: string): Promise<void>;
  /** Counts a failed return as one of the address's attempts. Refuses nothing, because the return has failed anyway. */
  countFailedReturn(address: string): Promise<void>;
  /** Removes expired counts. */
  sweep(): void;
}

/** Milliseconds for which an attempt to sign in counts. */
const WINDOW_MS = 15 * 60_000;
/**
 * Limits attempts on one account: people mistype a few times. At most 960 attempts a day do not suffice to guess a password.
 * Somebody who has the password needs about eight months for even odds to guess a six-digit code, of which three are valid
 * at a time.
 */
const ATTEMPTS_PER_ACCOUNT = 10;
/** Limits attempts from one address: enough for an office of people who all mistype. */
const ATTEMPTS_PER_ADDRESS = 100;
/**
 * Limits returns from the identity provider to one address: enough for an office that begins its day. Each return costs
 * requests to the provider.
 */
const RETURNS_PER_ADDRESS = 1000;

export function createSignInLimits(rateLimits: RateLimits): SignInLimits {
  const limiter = rateLimits.limiter("sign-in", WINDOW_MS);
  const requireAllowed = ({ allowed, resetSeconds }: RateDecision) => {
    if (!allowed) throw serviceError("rate_limited", "signIn", { retryAfterSeconds: resetSeconds });
  };
  const take = async (key: string, limit: number) => requireAllowed(await limiter.take(key, limit));
  const addressKey = (address: string) => `address ${address}`;
  return {
    async count(email, address) {
      await take(addressKey(address), ATTEMPTS_PER_ADDRESS);
      // Counts by two bytes of the mail address's hash: however many a client invents, at most 65,536 windows are kept.
      await take(`account ${hash("sha256", normalizedEmail(email)).slice(0, 4)}`, ATTEMPTS_PER_ACCOUNT);
    },
    countCode: (personId) => take(`code ${personId}`, ATTEMPTS_PER_ACCOUNT),
    countConfirmation: (sessionId) => take(`confirmation ${sessionId}`, ATTEMPTS_PER_ACCOUNT),
    async countReturn(address) {
      requireAllowed(await limiter.peek(addressKey(address), ATTEMPTS_PER_ADDRESS));
      await take(`return ${address}`, RETURNS_PER_ADDRESS);
    },
    async countFailedReturn(address) {
      await limiter.take(addressKey(address), ATTEMPTS_PER_ADDRESS);
    },
    sweep: () => limiter.sweep(),
  };
}

/** Bounds how many invitations the pages make: each may be a mail from the operator's domain. */
export interface InvitationLimits {
  /**
   * Counts one invitation.
   * @param by the partner whose admin invites; `partnerId` null: the operator
   * @throws ServiceError `rate_limited` for a partner or an address that has reached its limit
   */
  count(by: { readonly systemId: string; readonly partnerId: string | null }, email: string): Promise<void>;
  /** Removes expired counts. */
  sweep(): void;
}

const INVITATION_WINDOW_MS = 3_600_000;
/** Limits the invitations of one partner: enough for a new team. */
const PER_PARTNER = 50;
/** Limits the invitations of one partner, or of the operator, to one address: a link may get lost twice. */
const PER_INVITER_AND_ADDRESS = 3;
/**
 * Limits the invitations of all partners and operators to one address. It is higher than the limit of one inviter, so
 * that one inviter cannot block the invitations of another.
 */
const PER_ADDRESS = 10;

export function createInvitationLimits(rateLimits: RateLimits): InvitationLimits {
  const limiter = rateLimits.limiter("invitations", INVITATION_WINDOW_MS);
  const take = async (key: string, limit: number) => {
    const { allowed, resetSeconds } = await limiter.take(key, limit);
    if (!allowed) throw serviceError("rate_limited", "invitations", { retryAfterSeconds: resetSeconds });
  };
  return {
    async count({ systemId, partnerId }, email) {
      const inviter = `by ${systemId} ${partnerId ?? ""}`;
      const invited = hash("sha256", normalizedEmail(email)).slice(0, 16);
      // Comes first, because it also limits how many addresses are remembered. The operator has no such limit: the mails
      // come from its own domain.
      if (partnerId !== null) await take(inviter, PER_PARTNER);
      await take(`${inviter} to ${invited}`, PER_INVITER_AND_ADDRESS);
      await take(`to ${invited}`, PER_ADDRESS);
    },
    sweep: () => limiter.sweep(),
  };
}
