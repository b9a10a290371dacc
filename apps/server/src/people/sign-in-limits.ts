import { hash } from "node:crypto";
import { serviceError } from "@bikeshare/rules";
import type { RateLimits } from "../rate-limits/rate-limits.ts";

/** Bounds how often passwords and codes are tried. Passkeys need no bound: nobody guesses a signature. */
export interface SignInLimits {
  /** Counts one attempt. @throws ServiceError `rate_limited` for an account or an address that has used up its attempts */
  count(email: string, address: string): Promise<void>;
  /** Counts one attempt whose account is not known yet. @throws ServiceError `rate_limited` for an address, as above */
  countAddress(address: string): Promise<void>;
  /** Forgets what is counted no more. */
  sweep(): void;
}

const WINDOW_MS = 15 * 60_000;
/**
 * Attempts on one account: people mistype a few times. With 960 a day nobody guesses a password, and a code of six digits,
 * of which three are right at a time, is guessed in a year at even odds by who has the password already.
 */
const ATTEMPTS_PER_ACCOUNT = 10;
/** Attempts from one address: an office of people who all mistype. */
const ATTEMPTS_PER_ADDRESS = 100;

export function createSignInLimits(rateLimits: RateLimits): SignInLimits {
  const limiter = rateLimits.limiter("sign-in", WINDOW_MS);
  const take = async (key: string, limit: number) => {
    const { allowed, resetSeconds } = await limiter.take(key, limit);
    if (!allowed) throw serviceError("rate_limited", "signIn", { retryAfterSeconds: resetSeconds });
  };
  const countAddress = (address: string) => take(`address ${address}`, ATTEMPTS_PER_ADDRESS);
  return {
    countAddress,
    async count(email, address) {
      await countAddress(address);
      // Two bytes of its hash: however many accounts are made up, 65,536 windows are kept at most.
      await take(`account ${hash("sha256", email).slice(0, 4)}`, ATTEMPTS_PER_ACCOUNT);
    },
    sweep: () => limiter.sweep(),
  };
}
